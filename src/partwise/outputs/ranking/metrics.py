"""Measures of rankings, and the one that a ranker was trained for."""

from __future__ import annotations

from typing import Any

from partwise.metrics.rankings import gain_name, query_measures
from partwise.structures.ranking import Ranking
from partwise.structures.ranking.measures import GAIN_MEASURES


def all_measures(
    grades: Any, scores: Any, offset: Any, structure: Ranking | None = None
) -> dict[str, float]:
    """Means over queries; the measure of `structure` with its own k, as in ``p@7``."""
    gains: list[int | None] = [10]
    precisions = [1, 3, 5, 10]
    if structure is not None and structure.measure in GAIN_MEASURES:
        gains = sorted({10, structure.k}, key=lambda k: (k is None, k))
    elif structure is not None and structure.measure == "precision_at_k":
        precisions = sorted({*precisions, structure.k or 1})
    values = query_measures(grades, scores, offset, gains, precisions)
    return {name: float(column.mean()) for name, column in values.items()}


def trained_measure(structure: Ranking) -> str:
    """The name of the measure of `structure`."""
    if structure.measure in GAIN_MEASURES:
        return gain_name(structure.k)
    names = {"average_precision": "map", "reciprocal_rank": "mrr"}
    names |= {"precision_at_k": f"p@{structure.k}"}
    return names.get(structure.measure, structure.measure)
