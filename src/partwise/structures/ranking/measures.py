"""Measures of a ranking, as losses in [0, 1], and how places are weighed.

====================== ======================================= ==================
measure                loss of a query                         Ψ
====================== ======================================= ==================
``swapped_pairs``      share of pairs with different grades    pairs, each with
                       that are in the wrong order, ties ½     its own order
``average_precision``  1 − mean precision at relevant rows     pairs of a ranking
``reciprocal_rank``    1 − 1/(place of the first relevant row) pairs of a ranking
``ndcg_pairs``         1 − DCG@k/(largest DCG@k)               pairs of a ranking
``ndcg``               1 − DCG@k/(largest DCG@k)               places
``precision_at_k``     min(1, R/k) − (relevant among k)/k      places
====================== ======================================= ==================

A row is relevant when its grade is positive; R is their number. DCG@k sums
(2^grade − 1)/log₂(1 + place) over the first k places.

* pairs: Ψ = (1/(2·n_pairs)) Σ y_ij (x_i − x_j) over all pairs in which row i is better
  than row j, y_ij = 1 where i goes first.
* places: Ψ = Σ_j c(place of j)·x_j, with c falling over the first k places and 0
  behind them. A constant added to c would add the same to Ψ of every ranking.

Grades leave open which of two equal rows goes first. Pairs of equal rows do not occur
in Ψ; with places, Ψ of the truth is the mean over all rankings that agree with the
grades, or that of a ranking which is completed by a model (``ties="latent"``). A query
whose rows are all equal has loss 0 and no constraint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Floats, Ints

PAIR_MEASURES = (
    "swapped_pairs", "average_precision", "reciprocal_rank", "ndcg_pairs",
)  # fmt: skip
PLACE_MEASURES = ("ndcg", "precision_at_k")
MEASURES = PAIR_MEASURES + PLACE_MEASURES
GAIN_MEASURES = ("ndcg", "ndcg_pairs")
GRADED = (
    "swapped_pairs",
    *GAIN_MEASURES,
)  # others: relevant or not
MAX_GRADE = 60  # gains are 2^grade − 1


class Places(NamedTuple):
    """The terms of a measure of places, for one query."""

    weight: Floats  # (m,) c of the first m = min(k, n) places, falling
    discount: Floats  # (m,) what a gain counts at each place
    gain: Floats  # (n,) of each row
    truth: Floats  # (n,) weight of each row in Ψ of the truth
    best: float  # Σ gain·discount of the truth
    is_free: bool  # whether all rows are equal

    def loss(self, rows: Ints) -> float:
        """Δ of a ranking, given by row numbers from the first place on."""
        top = np.asarray(rows)[: len(self.discount)]
        return max(self.best - float(np.sum(self.gain[top] * self.discount)), 0.0)


def make_places(measure: str, grades: Any, k: int | None, weights: Any) -> Places:
    """The terms of ``"ndcg"`` or ``"precision_at_k"`` for one query."""
    grades = np.asarray(grades, np.float64)
    n = len(grades)
    m = n if k is None else min(k, n)
    if measure in GAIN_MEASURES:
        levels = grades
        gain = 2.0**grades - 1.0
        discount = 1.0 / np.log2(2.0 + np.arange(m))
        total = float(np.sum(np.sort(gain)[::-1][:m] * discount))
        gain = gain / total if total > 0 else np.zeros(n)
        best = 1.0 if total > 0 else 0.0
    else:
        size = k or n
        levels = (grades > 0).astype(np.float64)
        gain, discount = levels, np.full(m, 1.0 / size)
        best = min(int(levels.sum()), size) / size
    weight = discount if weights is None else place_weights(weights, m)
    is_free = len(np.unique(levels)) < 2
    return Places(weight, discount, gain, _mean_weight(levels, weight), best, is_free)


def place_weights(weights: Any, m: int) -> Floats:
    """Weights c of m places, from an array or a function of the place 1, 2, …."""
    c = [weights(r) for r in range(1, m + 1)] if callable(weights) else weights
    c = np.asarray(c, np.float64)[:m]
    fits = c.shape == (m,) and bool(np.isfinite(c).all()) and bool((c >= 0).all())
    if not fits or (np.diff(c) > 0).any():
        raise ValueError(
            f"place_weights: give numbers ≥ 0 that do not rise for {m} places, or a "
            "function of the place 1, 2, … that returns them"
        )
    return c


def _mean_weight(levels: Floats, weight: Floats) -> Floats:
    """Mean of c over the places of all rows of a level, when better ones go first."""
    order = np.argsort(-levels, kind="stable")
    all_places = np.zeros(len(levels))
    all_places[: len(weight)] = weight
    sorted_levels = levels[order]
    begin = np.flatnonzero(np.append(True, np.diff(sorted_levels) != 0))
    size = np.diff(np.append(begin, len(levels)))
    mean = np.add.reduceat(all_places, begin) / size
    truth = np.empty(len(levels))
    truth[order] = np.repeat(mean, size)
    return truth


def average_precision(grades: Any, rows: Any) -> float:
    """Mean precision at the relevant rows of a ranking."""
    relevant = np.asarray(grades)[np.asarray(rows)] > 0
    places = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, len(places) + 1) / places))


def reciprocal_rank(grades: Any, rows: Any) -> float:
    """1/(place of the first relevant row)."""
    relevant = np.asarray(grades)[np.asarray(rows)] > 0
    return 1.0 / (1 + int(np.argmax(relevant)))
