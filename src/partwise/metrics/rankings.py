"""Measures of the rankings of queries, from grades and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np


def ranked_queries(
    grades: Any, scores: Any, offset: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Grades of each query, and its rows from the first place on; ties in row order."""
    grades, scores = np.asarray(grades, float), np.asarray(scores, float)
    for first, last in pairwise(np.asarray(offset).tolist()):
        yield grades[first:last], np.argsort(-scores[first:last], kind="stable")


def swapped_pairs(grades: Any, scores: Any) -> float:
    """Share of pairs of different grades in the wrong order, ties ½; 0 without any.

    Examples
    --------
    >>> swapped_pairs([2, 1, 0], [0.5, 0.9, 0.5])
    0.5
    """
    grades, scores = np.asarray(grades), np.asarray(scores, float)
    n_pairs, swapped = 0, 0.0
    below = np.empty(0)  # scores of lower grades, sorted
    for level in np.unique(grades):
        here = np.sort(scores[grades == level])
        lower = np.searchsorted(below, here)
        lower_or_equal = np.searchsorted(below, here, "right")
        swapped += len(below) * len(here) - float(np.sum(lower + lower_or_equal)) / 2
        n_pairs += len(below) * len(here)
        below = np.insert(below, np.searchsorted(below, here), here)
    return swapped / n_pairs if n_pairs else 0.0


def ndcg(grades: np.ndarray, rows: np.ndarray, k: int | None = None) -> float:
    """DCG at k over its largest value, gains 2^grade − 1; zero without gains.

    Examples
    --------
    >>> round(ndcg(np.array([2.0, 0.0, 1.0]), np.array([1, 2, 0]), 10), 3)
    0.587
    """
    gain = 2.0**grades - 1.0
    discount = 1.0 / np.log2(2.0 + np.arange(len(rows)))[:k]
    best = np.sum(np.sort(gain)[::-1][: len(discount)] * discount)
    return float(np.sum(gain[rows[: len(discount)]] * discount) / best) if best else 0.0


def precision_at(grades: np.ndarray, rows: np.ndarray, k: int) -> float:
    """Relevant rows among the first k, divided by k."""
    return float(np.sum(grades[rows[:k]] > 0) / k)


def query_measures(
    grades: Any,
    scores: Any,
    offset: Any,
    gains: Sequence[int | None] = (10,),
    precisions: Sequence[int] = (1, 3, 5, 10),
) -> dict[str, np.ndarray]:
    """Measures of each query, (n_queries,), by the names of the field.

    Queries without relevant rows count as zero, as in trec_eval with -c; those without
    pairs of different grades have none swapped.

    Parameters
    ----------
    grades, scores : array (n_rows,)
    offset : array (n_queries + 1,)
        Where the rows of queries begin.
    gains : sequence of int or None
        k of NDCG@k; None for all places.
    precisions : sequence of int
        k of precision at k.
    """
    names = ["map", *map(gain_name, gains), *(f"p@{k}" for k in precisions), "mrr"]
    values: dict[str, list[float]] = {name: [] for name in [*names, "swapped_pairs"]}
    scores = np.asarray(scores, float)
    ranked = ranked_queries(grades, scores, offset)
    for (truth, rows), first in zip(ranked, offset[:-1], strict=True):
        places = np.flatnonzero(truth[rows] > 0) + 1
        precision = np.arange(1, len(places) + 1) / places
        values["map"].append(float(precision.mean()) if len(places) else 0.0)
        values["mrr"].append(1.0 / places[0] if len(places) else 0.0)
        for k in gains:
            values[gain_name(k)].append(ndcg(truth, rows, k))
        for k in precisions:
            values[f"p@{k}"].append(precision_at(truth, rows, k))
        here = scores[first : first + len(rows)]
        values["swapped_pairs"].append(swapped_pairs(truth, here))
    return {name: np.array(column) for name, column in values.items()}


def gain_name(k: int | None) -> str:
    """The name of NDCG at k, or of all places."""
    return "ndcg" if k is None else f"ndcg@{k}"
