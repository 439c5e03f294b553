"""A trained reranker: kernel, anchors, and the weight of the base score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.features.dicts import DictFeaturizer
from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram, strips
from partwise.parameters import SettingsError
from partwise.protocol import Floats
from partwise.structures.candidates import Ballot, Ranked, check_lists, pieces

TABLE = 1 << 22  # kernel values that a vote holds at a time


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
        decides between candidates with equal votes.
    """

    support: ClassVar[None] = None  # the dual is not kept

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
        total = self.base_weight * base_scores(lists)
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
            base = base_scores(part)
            values = np.zeros((len(base), len(self.weights)))
            if len(self.weights):
                inputs = self.inputs(part)
                values = gram(self.kernel, inputs, self.anchors, n_jobs=n_jobs)
            ends = np.cumsum([len(ranked) for ranked in part])[:-1]
            pairs = zip(np.split(values, ends), np.split(base, ends), strict=True)
            shares += [self.ballot.shares(*pair) for pair in pairs]
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


def base_scores(lists: Sequence[Ranked]) -> Floats:
    """Base scores of all candidates, one list after the other."""
    return np.array([score for ranked in lists for _, score in ranked], float)


def describe(lists: Sequence[Ranked], features: Any) -> list[list[Any]]:
    """Features of all candidates, as a featurizer of dicts takes them."""
    return [[features(candidate) for candidate, _ in ranked] for ranked in lists]
