"""Rankings: the rows of a query in order, judged by pairs or by places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Floats, Ints
from partwise.structures.pair_orders import PairOrders
from partwise.structures.ranking.measures import (
    GAIN_MEASURES,
    GRADED,
    MAX_GRADE,
    MEASURES,
    PAIR_MEASURES,
    Places,
    average_precision,
    make_places,
    place_weights,
    reciprocal_rank,
)
from partwise.structures.ranking.problem import RankingProblem, pack_queries
from partwise.structures.weighted_rows import WeightedRowsStructure


class RankedRows(NamedTuple):
    """A ranking of the rows of a query, with what makes a row better than another."""

    rows: Ints  # (n,) row numbers, first place first
    grades: Floats  # (n,) of the rows 0, 1, …

    def places(self) -> Ints:
        """The place 1, 2, … of each row."""
        place = np.empty(len(self.rows), np.int64)
        place[self.rows] = np.arange(1, len(self.rows) + 1)
        return place


class Ranking(WeightedRowsStructure):
    """Orders of the rows of a query, by graded relevance.

    An input x is a matrix (rows × features) with the candidates of one query, a truth
    a grade for each row: the higher the better, relevant when positive. The best
    ranking is that by the scores <w, x_r>, whatever the measure, so a model predicts
    scores.

    Parameters
    ----------
    measure : str
        ``"swapped_pairs"``, ``"average_precision"``, ``"reciprocal_rank"``,
        ``"ndcg"``, ``"ndcg_pairs"`` or ``"precision_at_k"``: see `measures.py`.
    k : int or None
        Places that ``"ndcg"`` and ``"ndcg_pairs"`` (None: all) and
        ``"precision_at_k"`` look at.
    place_weights : array, callable or None
        c of the first k places for the two measures of places, or a function of the
        place 1, 2, …; None takes the discounts of the measure, which makes the search a
        sort instead of a linear assignment.
    ties : {"mean", "latent"}
        What stands for the truth of the two measures of places, where grades leave open
        which of equal rows goes first: the mean of all rankings that agree with them (a
        convex problem, which asks that equal rows score alike), or the best of these by
        the last model, completed between convex problems (`Latent`); at first the mean.

    Notes
    -----
    Yu and Joachims (Learning structural SVMs with latent variables, ICML 2009, section
    5.3) train precision at k with latent rankings, beginning at another model's.

    Ψ over pairs has the factor ½ of ROC area: with the Ψ of the program SVM-map, twice
    as large, C is four times as large and w half as large. For one query and grades 0
    and 1, ``"swapped_pairs"`` is the ROC area of `LabelVector`.
    ``"reciprocal_rank"`` runs every formulation, the others margin rescaling with an L1
    penalty.

    Examples
    --------
    >>> x = np.array([[1.0], [3.0], [2.0]])
    >>> grades = [2, 0, 1]
    >>> ranking = Ranking("swapped_pairs").setup([x], [grades])
    >>> ranking.loss(grades, ranking.argmax(x, np.ones(1)))
    1.0
    >>> round(Ranking("ndcg", k=2).loss(grades, [1.0, 3.0, 2.0]), 3)
    0.826
    """

    def __init__(
        self,
        measure: str = "swapped_pairs",
        k: int | None = None,
        place_weights: Any = None,
        ties: str = "mean",
    ) -> None:
        self.measure = measure
        self.k = k
        self.place_weights = place_weights
        self.ties = ties

    @property
    def is_pairwise(self) -> bool:
        """Whether Ψ is a sum over pairs."""
        return self.measure in PAIR_MEASURES

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Number of features."""
        self.check()
        self.n_psi_ = X[0].shape[1]
        return self

    def check(self) -> None:
        """Refuse settings that mean nothing."""
        if self.measure not in MEASURES:
            raise ValueError(
                f"measure={self.measure!r}: choose from {', '.join(MEASURES)}"
            )
        if self.measure == "precision_at_k" and self.k is None:
            raise ValueError("measure='precision_at_k' needs k=, a number of places")
        is_whole = isinstance(self.k, int | np.integer)
        if self.k is not None and not (is_whole and self.k >= 1):
            raise ValueError(f"k={self.k!r}: give a positive whole number")
        if self.is_pairwise and self.place_weights is not None:
            raise ValueError(
                f"measure={self.measure!r} weighs pairs: leave place_weights out"
            )
        if self.place_weights is not None and not callable(self.place_weights):
            place_weights(self.place_weights, len(self.place_weights))
        if self.ties not in ("mean", "latent"):
            raise ValueError(f"ties={self.ties!r}: choose 'mean' or 'latent'")
        if self.is_pairwise and self.ties == "latent":
            raise ValueError(
                f"measure={self.measure!r} does not depend on the order of equal rows: "
                "leave ties out"
            )

    def listed_weights(self) -> list[float]:
        """`place_weights` as numbers, for files."""
        weights = self.place_weights
        if not callable(weights):
            return place_weights(weights, len(weights)).tolist()
        if self.k is None:
            raise ValueError(
                "place_weights: a function cannot be kept in a file; give numbers, or k"
            )
        return place_weights(weights, self.k).tolist()

    def places(self, grades: Any) -> Places:
        """The terms of a measure of places, for these grades."""
        self.check()
        return make_places(self.measure, grades, self.k, self.place_weights)

    def levels(self, grades: Any) -> Ints:
        """Numbers that are larger for better rows: grades, or 0 and 1 for relevance."""
        grades = np.asarray(grades)
        return grades if self.measure in GRADED else (grades > 0) * 1

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ of an output (`RankedRows`, `PairOrders`), or of the truth (grades)."""
        if self.is_pairwise:
            if isinstance(y, RankedRows):
                y = PairOrders.of(self.levels(y.grades), -y.places())
            elif not isinstance(y, PairOrders):
                y = PairOrders.truth(self.levels(y))
            return y.feature(x)
        if isinstance(y, RankedRows):
            weight = np.zeros(len(y.rows))
            places = self.places(y.grades).weight
            weight[y.rows[: len(places)]] = places
        else:
            weight = self.places(y).truth
        return np.asarray(x.T @ weight).ravel()

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of an output, or of scores, which rank the rows (ties by row number)."""
        if isinstance(y_hat, PairOrders):
            return y_hat.loss
        if not isinstance(y_hat, RankedRows):
            scores = np.asarray(y_hat)
            if self.measure == "swapped_pairs":
                return PairOrders.of(y, scores).loss
            y_hat = RankedRows(np.argsort(-scores, kind="stable"), np.asarray(y))
        if self.measure == "swapped_pairs":
            return PairOrders.of(y, -y_hat.places()).loss
        if not self.is_pairwise or self.measure == "ndcg_pairs":
            places = self.places(y)
            return 0.0 if places.is_free else places.loss(y_hat.rows)
        if len(np.unique(self.levels(y))) < 2:
            return 0.0
        score = average_precision
        if self.measure == "reciprocal_rank":
            score = reciprocal_rank
        return 1.0 - score(y, y_hat.rows)

    def argmax(self, x: Any, w: Floats) -> Floats:
        """Scores of the rows, which rank them."""
        return np.asarray(x @ w).ravel()

    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> RankingProblem:
        """Queries, each a block with the grades of its rows."""
        self.check()
        return pack_queries(self, X, Y, formulation, n_jobs, scorer)


def check_grades(measure: str, grades: Floats) -> None:
    """Refuse grades that are not numbers, or too large for gains 2^grade."""
    if not np.isfinite(grades).all():
        raise ValueError("grades: NaN or infinity; leave rows without a grade out")
    if measure in GAIN_MEASURES and not (
        (grades >= 0).all() and (grades <= MAX_GRADE).all()
    ):
        raise ValueError(
            f"grades: measure='ndcg' needs grades from 0 to {MAX_GRADE}, because a row "
            "gains 2^grade − 1"
        )
