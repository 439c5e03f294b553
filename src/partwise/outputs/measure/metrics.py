"""Measures of binary labels and of scores; the positive label is 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.metrics.registry import Metric


def f1(y_true: Any, y_pred: Any) -> float:
    """2·tp / (2·tp + fp + fn), zero without true positives.

    Examples
    --------
    >>> f1([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    true, predicted = np.asarray(y_true) == 1, np.asarray(y_pred) == 1
    tp = int(np.sum(true & predicted))
    return 2 * tp / max(int(true.sum()) + int(predicted.sum()), 1)


def precision(y_true: Any, y_pred: Any) -> float:
    """Share of the predicted positives that are true."""
    true, predicted = np.asarray(y_true) == 1, np.asarray(y_pred) == 1
    return float(np.sum(true & predicted)) / max(int(predicted.sum()), 1)


def recall(y_true: Any, y_pred: Any) -> float:
    """Share of the true positives that are predicted."""
    return precision(y_pred, y_true)


def prbep(y_true: Any, scores: Any) -> float:
    """Precision among as many best scores as there are positives.

    Examples
    --------
    >>> prbep([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1])
    0.5
    """
    true = np.asarray(y_true) == 1
    best = np.argsort(-np.asarray(scores), kind="stable")[: int(true.sum())]
    return float(true[best].mean()) if len(best) else 0.0


def roc_auc(y_true: Any, scores: Any) -> float:
    """Share of pairs of a positive and a negative in the right order, ties ½.

    Examples
    --------
    >>> roc_auc([1, 0, 1, 0], [0.9, 0.8, 0.8, 0.1])
    0.875
    """
    true, values = np.asarray(y_true) == 1, np.asarray(scores, float)
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(size) - (size - 1) / 2)[group]
    n = int(true.sum())
    n_pairs = n * (len(true) - n)
    return float((rank[true].sum() - n * (n + 1) / 2) / n_pairs) if n_pairs else 0.5


def all_measures(y_true: Any, y_pred: Any, scores: Any) -> dict[str, Any]:
    """Every measure by its name."""
    values = {name: metric.function(y_true, y_pred) for name, metric in METRICS.items()}
    return values | {"prbep": prbep(y_true, scores), "roc_auc": roc_auc(y_true, scores)}


METRICS = {
    entry.name: entry
    for entry in (
        Metric("f1", f1, True, "harmonic mean of precision and recall", "binary"),
        Metric("precision", precision, True, "predicted positives that are", "binary"),
        Metric("recall", recall, True, "positives that are predicted", "binary"),
    )
}
