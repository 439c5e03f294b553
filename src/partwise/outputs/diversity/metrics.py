"""Metrics of selections: what they leave uncovered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.metrics.registry import Metric
from partwise.structures.coverage.structure import Subtopics


def subtopic_losses(y_true: Sequence[Any], y_pred: Sequence[Any]) -> np.ndarray:
    """Weight of the subtopics that each selection leaves out, (n,); 0 without any.

    Parameters
    ----------
    y_true : list
        For each candidate set, the subtopics of its documents.
    y_pred : list
        Numbers of the chosen documents.
    """
    pairs = zip(y_true, y_pred, strict=True)
    losses = [Subtopics.create(topics).loss(best) for topics, best in pairs]
    # weights of all subtopics sum to one but for rounding
    return np.array([loss if loss > 1e-12 else 0.0 for loss in losses])


def subtopic_loss(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Mean weight of the subtopics that are not covered; not shifted by the best.

    Examples
    --------
    >>> round(subtopic_loss([[["a"], ["a", "b"], ["c"]]], [[0, 2]]), 2)
    0.25
    """
    return float(subtopic_losses(y_true, y_pred).mean())


def subtopic_coverage(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Mean weight of the subtopics that are covered."""
    return 1.0 - subtopic_loss(y_true, y_pred)


METRICS = {
    entry.name: entry
    for entry in (
        Metric(
            "subtopic_coverage", subtopic_coverage, True, "weight of covered subtopics",
            "selections",
        ),
        Metric(
            "subtopic_loss", subtopic_loss, False, "weight of uncovered subtopics",
            "selections",
        ),
    )
}  # fmt: skip
