"""Measures of rankings: means over queries, from grades and scores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.structures.ranking.measures import average_precision, reciprocal_rank


def ranked_queries(
    grades: Any, scores: Any, offset: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Grades of each query, and its rows from the first place on; ties in row order."""
    grades, scores = np.asarray(grades, float), np.asarray(scores, float)
    for first, last in pairwise(np.asarray(offset).tolist()):
        yield grades[first:last], np.argsort(-scores[first:last], kind="stable")


def ndcg(grades: np.ndarray, rows: np.ndarray, k: int) -> float:
    """DCG at k over its largest value, gains 2^grade − 1; zero without gains.

    Examples
    --------
    >>> round(ndcg(np.array([2.0, 0.0, 1.0]), np.array([1, 2, 0]), 10), 3)
    0.587
    """
    gain = 2.0**grades - 1.0
    discount = 1.0 / np.log2(2.0 + np.arange(min(k, len(rows))))
    best = np.sum(np.sort(gain)[::-1][: len(discount)] * discount)
    return float(np.sum(gain[rows[: len(discount)]] * discount) / best) if best else 0.0


def precision_at(grades: np.ndarray, rows: np.ndarray, k: int) -> float:
    """Relevant rows among the first k, divided by k."""
    return float(np.sum(grades[rows[:k]] > 0) / k)


def query_measures(grades: Any, scores: Any, offset: Any) -> dict[str, np.ndarray]:
    """Measures of each query, (n_queries,), by the names of the field.

    Queries without relevant rows count as zero, as in trec_eval with -c.
    """
    names = ("map", "ndcg@10", "p@1", "p@3", "p@5", "p@10", "mrr")
    values: dict[str, list[float]] = {name: [] for name in names}
    for truth, rows in ranked_queries(grades, scores, offset):
        is_relevant = bool((truth > 0).any())
        values["map"].append(average_precision(truth, rows) if is_relevant else 0.0)
        values["mrr"].append(reciprocal_rank(truth, rows) if is_relevant else 0.0)
        values["ndcg@10"].append(ndcg(truth, rows, 10))
        for k in (1, 3, 5, 10):
            values[f"p@{k}"].append(precision_at(truth, rows, k))
    return {name: np.array(column) for name, column in values.items()}


def all_measures(grades: Any, scores: Any, offset: Any) -> dict[str, float]:
    """Means of `query_measures` over queries."""
    values = query_measures(grades, scores, offset)
    return {name: float(np.mean(column)) for name, column in values.items()}
