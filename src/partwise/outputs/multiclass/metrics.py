"""Metrics of classes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.metrics import label_report
from partwise.metrics.registry import Metric


def accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of rows with the right class.

    Examples
    --------
    >>> accuracy(["a", "b", "b"], ["a", "b", "a"]).__round__(3)
    0.667
    """
    pairs = zip(y_true, y_pred, strict=True)
    return sum(a == b for a, b in pairs) / max(len(y_true), 1)


def error_rate(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of rows with a wrong class."""
    return 1.0 - accuracy(y_true, y_pred)


def balanced_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Mean recall of the classes that occur.

    Examples
    --------
    >>> balanced_accuracy(["a", "b", "b", "b"], ["a", "b", "a", "a"]).__round__(3)
    0.667
    """
    rows = [row for row in label_report([list(y_true)], [list(y_pred)]) if row.support]
    return sum(row.recall for row in rows) / max(len(rows), 1)


METRICS = {
    entry.name: entry
    for entry in (
        Metric("accuracy", accuracy, True, "rows with the right class", "classes"),
        Metric("error_rate", error_rate, False, "rows with a wrong class", "classes"),
        Metric("balanced_accuracy", balanced_accuracy, True, "mean recall", "classes"),
    )
}
