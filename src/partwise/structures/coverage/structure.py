"""Subsets of documents that cover subtopics, learned from covering words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.features.covering import CoveringSet
from partwise.objective import Formulation
from partwise.parameters import check_whole
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.structures.coverage.problem import CoverageProblem, pack_sets
from partwise.structures.packed import PackedStructure


class Subtopics(NamedTuple):
    """The true subtopics of the documents of a candidate set."""

    has: np.ndarray  # (n_documents, n_subtopics) bool
    weight: Floats  # (n_subtopics,), with the sum 1

    @classmethod
    def create(cls, documents: Iterable[Iterable[Any]]) -> Subtopics:
        """
        From a set of subtopics for each document.

        A subtopic weighs the more the more documents have it.

        Examples
        --------
        >>> topics = Subtopics.create([["a"], ["a", "b"], []])
        >>> topics.weight
        array([0.66666667, 0.33333333])
        >>> topics.loss([1]), topics.loss([0])
        (0.0, 0.33333333333333337)
        """
        if isinstance(documents, Subtopics):
            return documents
        listed: list[Any] = []
        for d, document in enumerate(documents):
            if isinstance(document, str) or not isinstance(document, Iterable):
                raise ValueError(
                    f"document {d} has the subtopics {document!r}; give a list or set"
                )
            listed.append(set(document))
        names = sorted(set().union(*listed), key=str) if listed else []
        has = np.array([[t in row for t in names] for row in listed], bool)
        has = has.reshape(len(listed), len(names))
        share = has.sum(axis=0)
        return cls(has, share / max(share.sum(), 1))

    def loss(self, chosen: Any) -> float:
        """Weight of the subtopics that the chosen documents do not cover."""
        rows = self.has[np.asarray(chosen, np.int64)]
        if not rows.size:
            return float(len(self.weight) > 0)
        return float(1.0 - self.weight[rows.any(axis=0)].sum())


class Coverage(PackedStructure):
    """k documents that together cover most.

    Ψ(x, y) = Σ φ(e, x) over the elements e that the documents of y cover: words, by
    default (Yue and Joachims, ICML 2008). A model learns what an element is worth, so
    that sets of high worth cover the subtopics of the query. The loss is the
    weight of the subtopics that are not covered; the target is the set of k documents
    with the least loss, and Δ = loss − loss of the target, so that Δ is 0 there.

    Finding the best set is budgeted maximum coverage. Greedy choice is within 1 − 1/e
    of it when no element has a negative score; the search for violated sets adds
    negative terms and has no such promise. Every search states a bound: of each
    document's positive gains the k largest, or what branch and bound leaves of it.

    Parameters
    ----------
    k : int
        Documents to choose; all of a smaller candidate set.
    search_nodes : int
        Branches that a search may look at after the greedy choice; 0 for no more
        than greedy choice. With enough of them the search is exact.

    Notes
    -----
    x is a `CoveringSet`; a truth is `Subtopics`, or a list with a set of subtopics for
    each document; an output is an array of document numbers, in the order of choice.
    Runs margin rescaling with an L1 penalty.

    Examples
    --------
    >>> x = CoveringSet(np.ones((4, 1)), np.array([[1, 1, 0, 0], [1, 1, 1, 0],
    ...                                            [0, 0, 0, 1]]))
    >>> coverage = Coverage(k=2)
    >>> coverage.argmax(x, np.ones(1))
    array([1, 2], dtype=int32)
    >>> topics = [["a"], ["a"], ["b"]]
    >>> round(coverage.loss(topics, [0, 1]), 3)
    0.333
    """

    def __init__(self, k: int = 5, search_nodes: int = 0) -> None:
        self.k = k
        self.search_nodes = search_nodes

    def check(self) -> None:
        """Refuse settings that mean nothing."""
        check_whole("k", self.k, 1)
        check_whole("search_nodes", self.search_nodes, 0)
        if self.k is None:
            raise ValueError("k=None: give the number of documents to choose")

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Sequence[CoveringSet], Y: Any) -> Self:
        """Number of features."""
        self.check()
        self.n_psi_ = X[0].features.shape[1]
        return self

    def joint_feature(self, x: CoveringSet, y: Any) -> Floats:
        """Ψ of an output, or of the target of a truth."""
        if isinstance(y, Subtopics):
            y = self.target(y)
        covered = x.covers[np.asarray(y, np.int64)].any(axis=0)
        return np.asarray(x.features[covered].sum(axis=0))

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ: weight of uncovered subtopics above that of the target."""
        topics = Subtopics.create(y)
        return max(topics.loss(y_hat) - topics.loss(self.target(topics)), 0.0)

    @property
    def exact_oracle(self) -> bool:  # type: ignore[override]
        """False: each search states how far it may be from the best set."""
        return False

    def enumerate(self, x: CoveringSet) -> list[Ints]:
        """All sets; for tiny ones."""
        n = len(x.covers)
        sets = combinations(range(n), min(self.k, n))
        return [np.array(one, np.int32) for one in sets]

    def target(self, y: Any) -> Ints:
        """The set of least loss: exact unless there are very many documents."""
        from partwise.structures.coverage.problem import best_cover

        topics = Subtopics.create(y)
        return best_cover(topics.has, topics.weight, self.k)[0]

    # ------------------------------------------------------------------- batches

    def pack(
        self,
        X: Sequence[CoveringSet],
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
    ) -> CoverageProblem:
        """Lay candidate sets out for a solver; Y is None to predict only."""
        self.check()
        formulation = (formulation or Formulation()).validate()
        if not formulation.is_additive:
            raise CapabilityError(
                "coverage has no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        if not len(X):
            raise ValueError("X has no candidate set; give at least one")
        topics = None
        if Y is not None:
            if len(Y) != len(X):
                raise ValueError(f"Y has {len(Y)} items where X has {len(X)} sets")
            topics = [Subtopics.create(y) for y in Y]
            for i, (x, y) in enumerate(zip(X, topics, strict=True)):
                if len(x.covers) != len(y.has):
                    raise ValueError(
                        f"candidate set {i} has {len(x.covers)} documents, but "
                        f"subtopics of {len(y.has)}"
                    )
        return pack_sets(self, X, topics, formulation, n_jobs, scorer)
