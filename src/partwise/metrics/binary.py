"""Metrics of binary labels and of scores; the positive label is 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.metrics.registry import Metric

Floats = np.ndarray


def f_beta(y_true: Any, y_pred: Any, beta: float = 1.0) -> float:
    """(1 + β²)·tp / ((1 + β²)·tp + β²·fn + fp), zero without true positives.

    Examples
    --------
    >>> f_beta([1, 1, 1, 0], [1, 0, 0, 0], beta=2.0).__round__(3)
    0.385
    """
    true, predicted = np.asarray(y_true) == 1, np.asarray(y_pred) == 1
    tp, weight = int(np.sum(true & predicted)), float(beta) ** 2
    size = int(predicted.sum()) + weight * int(true.sum())
    return (1 + weight) * tp / size if tp else 0.0


def f1(y_true: Any, y_pred: Any) -> float:
    """2·tp / (2·tp + fp + fn), zero without true positives.

    Examples
    --------
    >>> f1([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    return f_beta(y_true, y_pred)


def precision(y_true: Any, y_pred: Any) -> float:
    """Share of the predicted positives that are true."""
    true, predicted = np.asarray(y_true) == 1, np.asarray(y_pred) == 1
    return float(np.sum(true & predicted)) / max(int(predicted.sum()), 1)


def recall(y_true: Any, y_pred: Any) -> float:
    """Share of the true positives that are predicted."""
    return precision(y_pred, y_true)


def error(y_true: Any, y_pred: Any, weight: Any = None) -> float:
    """Share of rows with a wrong label, each counting as much as its weight."""
    is_wrong = (np.asarray(y_true) == 1) != (np.asarray(y_pred) == 1)
    return float(np.average(is_wrong, weights=weight))


def balanced_error(y_true: Any, y_pred: Any, weight: Any = None) -> float:
    """Mean over the two classes of the share of wrong rows; over one where y has one.

    Examples
    --------
    >>> balanced_error([1, 0, 0, 0], [0, 0, 0, 0])
    0.5
    """
    true, predicted = np.asarray(y_true) == 1, np.asarray(y_pred) == 1
    counts = np.ones(len(true)) if weight is None else np.asarray(weight, float)
    each = [
        error(true[rows], predicted[rows], counts[rows])
        for rows in (true, ~true)
        if counts[rows].any()
    ]
    return float(np.mean(each))


def precision_at(y_true: Any, scores: Any, k: int) -> float:
    """True rows among the k of the highest scores, divided by k.

    Examples
    --------
    >>> precision_at([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1], 2)
    0.5
    """
    best = np.argsort(-np.asarray(scores, float), kind="stable")[:k]
    return float(np.sum(np.asarray(y_true)[best] == 1)) / k if k else 0.0


def recall_at(y_true: Any, scores: Any, k: int) -> float:
    """Share of the true rows that are among the k of the highest scores."""
    n_positive = int(np.sum(np.asarray(y_true) == 1))
    return precision_at(y_true, scores, k) * k / max(n_positive, 1)


def prbep(y_true: Any, scores: Any) -> float:
    """Precision among as many best scores as there are positives.

    Examples
    --------
    >>> prbep([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1])
    0.5
    """
    return precision_at(y_true, scores, int(np.sum(np.asarray(y_true) == 1)))


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


def average_precision(y_true: Any, scores: Any) -> float:
    """Mean over the positives of the precision down to their score, ties included.

    Examples
    --------
    >>> average_precision([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1]).__round__(3)
    0.833
    """
    true = np.asarray(y_true) == 1
    _, group = np.unique(-np.asarray(scores, float), return_inverse=True)
    tp = np.cumsum(np.bincount(group, weights=true))
    precision = tp / np.cumsum(np.bincount(group))
    return float(precision[group[true]].mean()) if true.any() else 0.0


METRICS = {
    entry.name: entry
    for entry in (
        Metric("f1", f1, True, "harmonic mean of precision and recall", "binary"),
        Metric("precision", precision, True, "predicted positives that are", "binary"),
        Metric("recall", recall, True, "positives that are predicted", "binary"),
        Metric("error", error, False, "rows with a wrong label", "binary"),
        Metric("balanced_error", balanced_error, False, "of both classes", "binary"),
    )
}
