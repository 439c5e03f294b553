"""A trained reranker: kernel, anchors, and the weight of the base score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
)
from partwise.features.dicts import DictFeaturizer
from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram, strips
from partwise.parameters import SettingsError
from partwise.protocol import Floats

Ranked = list[tuple[Any, float]]

MAX_ANCHORS = 10_000_000
MAX_VOTES = 1 << 40  # of one model: their sum stays a whole number
TABLE = 1 << 22  # kernel values that a vote holds at a time


class Ballot(NamedTuple):
    """Models that vote, each one step after the other; the first has no anchors."""

    step: np.ndarray  # int64 (m, 2): anchors added and subtracted
    base: Floats  # (m,) change of the weight of the base score
    n_votes: np.ndarray  # int64 (m + 1,) votes of each model

    def shares(self, values: Floats, base: Floats) -> Floats:
        """Shares of the votes that candidates get.

        Parameters
        ----------
        values : array (n_candidates, n_anchors)
            Kernel values.
        base : array (n_candidates,)
            Scores of the base model.

        Returns
        -------
        array (n_candidates,)
            Their sum is 1. A model votes for the first of equally good candidates.
        """
        change = values[:, self.step[:, 0]] - values[:, self.step[:, 1]]
        change += base[:, None] * self.base
        choice = np.argmax(np.cumsum(change, axis=1), axis=0)  # of all but the first
        choice = np.append(0, choice)
        return np.bincount(choice, self.n_votes, len(base)) / max(self.n_votes.sum(), 1)


class RerankerModel:
    """
    Scores of candidates: Σ_a β_a k(c, a) + base_weight·(base score of c).

    Parameters
    ----------
    kernel : Kernel
        On candidates, or on rows of their features.
    anchors : inputs of the kernel
        Candidates of the training data that carry weight.
    beta : array (n_anchors,)
    place : int64 array (n_anchors, 2)
        Example of the training data, and candidate in its list.
    base_weight : float
    featurizer : DictFeaturizer or None
        Makes rows of features.
    features : callable or None
        Features of a candidate, a dict; the user's code, which no file keeps.
    info : dict
    ballot : Ballot or None
        Models that vote on the ranking; the weights then are their average, which
        decides between candidates with as many votes.
    """

    def __init__(
        self,
        kernel: Kernel,
        anchors: Any,
        beta: Floats,
        place: np.ndarray,
        base_weight: float,
        featurizer: DictFeaturizer | None = None,
        features: Any = None,
        info: dict[str, Any] | None = None,
        ballot: Ballot | None = None,
    ) -> None:
        self.kernel = kernel
        self.anchors = anchors
        self.weights = beta
        self.place = place
        self.base_weight = base_weight
        self.featurizer = featurizer
        self.features = features
        self.info = info or {}
        self.ballot = ballot

    def inputs(self, lists: Sequence[Ranked]) -> Any:
        """Candidates as the kernel takes them."""
        if self.featurizer is None:
            return [candidate for ranked in lists for candidate, _ in ranked]
        if self.features is None:
            raise SettingsError(
                "give <features=>, the function the model was trained with"
            )
        return self.featurizer.transform(describe(lists, self.features))

    def scores(self, lists: Sequence[Ranked], n_jobs: int = 1) -> list[Floats]:
        """Scores of the candidates of each example."""
        check_lists(lists)
        ends = np.cumsum([len(ranked) for ranked in lists])
        total = np.array([base for ranked in lists for _, base in ranked], float)
        total *= self.base_weight
        if len(self.weights):
            inputs = self.inputs(lists)
            for rows, values in strips(
                self.kernel, inputs, self.anchors, n_jobs=n_jobs
            ):
                total[rows] += np.sum(values * self.weights, axis=1)
        return np.split(total, ends[:-1])

    def votes(self, lists: Sequence[Ranked], n_jobs: int = 1) -> list[Floats]:
        """Shares of the votes of each example's candidates."""
        assert self.ballot is not None
        shares: list[Floats] = []
        width = max(self.ballot.step.size, len(self.weights), 1)
        for first, last in pieces([len(ranked) for ranked in lists], TABLE // width):
            part = lists[first:last]
            values = np.zeros((sum(map(len, part)), len(self.weights)))
            if len(self.weights):
                inputs = self.inputs(part)
                values = gram(self.kernel, inputs, self.anchors, n_jobs=n_jobs)
            end = 0
            for ranked in part:
                begin, end = end, end + len(ranked)
                base = np.array([score for _, score in ranked], float)
                shares.append(self.ballot.shares(values[begin:end], base))
        return shares

    def rank(self, lists: Sequence[Ranked], n_jobs: int = 1) -> list[Ranked]:
        """Candidates with their scores, best first; equal ones in the given order.

        Where models vote, scores are shares of the votes.
        """
        return [
            [(ranked[k][0], float(scores[k])) for k in order]
            for ranked, (order, scores) in zip(
                lists, self.orders(lists, n_jobs), strict=True
            )
        ]

    def orders(
        self, lists: Sequence[Ranked], n_jobs: int = 1
    ) -> list[tuple[np.ndarray, Floats]]:
        """Places of the candidates, best first, and what each is ranked by."""
        scores = self.scores(lists, n_jobs)
        shares = scores if self.ballot is None else self.votes(lists, n_jobs)
        pairs = zip(shares, scores, strict=True)
        return [(np.lexsort((-score, -share)), share) for share, score in pairs]


def pieces(lengths: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Runs (first, last) of lists that have at most `limit` candidates, or one list."""
    first, total = 0, 0
    for row, length in enumerate(lengths):
        if row > first and total + length > limit:
            yield first, row
            first, total = row, 0
        total += length
    yield first, len(lengths)


def check_lists(lists: Sequence[Ranked]) -> None:
    """Refuse what is no list of (candidate, score) pairs, by its place."""
    if not len(lists):
        raise ValueError("X has no example")
    for row, ranked in enumerate(lists):
        if not len(ranked):
            raise ValueError(f"X: example {row} has no candidates; leave it out")
        for pair in ranked:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, score "
                    "of the base model) is needed"
                )
            if not isinstance(pair[1], Real):
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, "
                    "score) is needed; give lists of candidates, or base="
                )
            if not abs(pair[1]) <= MAX_FEATURE:
                raise ValueError(
                    f"X: example {row} has a candidate of score {pair[1]}; scores are "
                    f"numbers within ±{MAX_FEATURE:g}"
                )


def describe(lists: Sequence[Ranked], features: Any) -> list[list[Any]]:
    """Features of all candidates, as a featurizer of dicts takes them."""
    return [[features(candidate) for candidate, _ in ranked] for ranked in lists]
