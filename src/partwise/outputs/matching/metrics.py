"""Metrics of matchings: which pairs are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.metrics.registry import Metric
from partwise.structures.matching.structure import as_pairs


def _counts(y_true: Sequence[Any], y_pred: Sequence[Any]) -> tuple[int, int, int]:
    """True pairs, predicted pairs, and those that are both."""
    n_true = n_predicted = n_both = 0
    for y, best in zip(y_true, y_pred, strict=True):
        true, predicted = as_pairs(y), as_pairs(best)
        n_true += len(true)
        n_predicted += len(predicted)
        n_both += len(true & predicted)
    return n_true, n_predicted, n_both


def pair_precision(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of the predicted pairs that are true."""
    _, n_predicted, n_both = _counts(y_true, y_pred)
    return n_both / max(n_predicted, 1)


def pair_recall(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of the true pairs that are predicted."""
    n_true, _, n_both = _counts(y_true, y_pred)
    return n_both / max(n_true, 1)


def pair_f1(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Harmonic mean of precision and recall over all pairs.

    Examples
    --------
    >>> pair_f1([[0, 1, -1]], [[0, -1, -1]])
    0.6666666666666666
    """
    n_true, n_predicted, n_both = _counts(y_true, y_pred)
    return 2 * n_both / max(n_true + n_predicted, 1)


METRICS = {
    entry.name: entry
    for entry in (
        Metric("pair_f1", pair_f1, True, "F1 over pairs", "matchings"),
        Metric("pair_precision", pair_precision, True, "pairs right", "matchings"),
        Metric("pair_recall", pair_recall, True, "true pairs found", "matchings"),
    )
}
