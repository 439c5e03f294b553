"""Metrics of sets of labels: 0/1 arrays (n, K). Two empty sets agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.metrics.registry import Metric

Floats = np.ndarray


def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Share of wrong entries.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    return float(np.mean(np.asarray(y_true) != np.asarray(y_pred)))


def jaccard(y_true: Any, y_pred: Any) -> float:
    """Mean over rows of |both| / |either|.

    Examples
    --------
    >>> jaccard([[1, 0], [1, 1], [0, 0]], [[1, 1], [1, 1], [0, 0]]).__round__(3)
    0.833
    """
    both, either = _counts(y_true, y_pred, axis=1)
    return _mean(both, either - both)


def example_f1(y_true: Any, y_pred: Any) -> float:
    """Mean over rows of 2|both| / (|true| + |predicted|)."""
    both, total = _counts(y_true, y_pred, axis=1)
    return _mean(2 * both, total)


def micro_f1(y_true: Any, y_pred: Any) -> float:
    """F1 of all entries together."""
    both, total = _counts(y_true, y_pred, axis=None)
    return _mean(2 * both, total)


def macro_f1(y_true: Any, y_pred: Any) -> float:
    """Mean of the F1 of labels; 0 for a label that is neither true nor predicted."""
    both, total = _counts(y_true, y_pred, axis=0)
    return float(np.mean(2 * both / np.maximum(total, 1)))


def exact_match(y_true: Any, y_pred: Any) -> float:
    """Share of rows whose whole set is right."""
    return float((np.asarray(y_true) == np.asarray(y_pred)).all(axis=1).mean())


def _counts(y_true: Any, y_pred: Any, axis: int | None) -> tuple[Floats, Floats]:
    """Numbers of common labels, and of labels of both sets together."""
    truth, predicted = np.asarray(y_true, float), np.asarray(y_pred, float)
    both = np.atleast_1d((truth * predicted).sum(axis=axis))
    return both, np.atleast_1d((truth + predicted).sum(axis=axis))


def _mean(part: Floats, whole: Floats) -> float:
    return float(np.mean(np.where(whole > 0, part / np.maximum(whole, 1), 1.0)))


METRICS = {
    entry.name: entry
    for entry in (
        Metric("hamming_loss", hamming_loss, False, "share of wrong entries", "sets"),
        Metric("jaccard", jaccard, True, "common labels of all, per row", "sets"),
        Metric("example_f1", example_f1, True, "F1 of the labels of a row", "sets"),
        Metric("micro_f1", micro_f1, True, "F1 of all entries together", "sets"),
        Metric("macro_f1", macro_f1, True, "mean F1 of labels", "sets"),
        Metric("exact_match", exact_match, True, "rows wholly right", "sets"),
    )
}


def all_measures(y_true: Any, y_pred: Any) -> dict[str, float]:
    """Every metric by its name."""
    return {name: entry.function(y_true, y_pred) for name, entry in METRICS.items()}
