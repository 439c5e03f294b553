"""Matchings: pairs of items of two sides, each item in one pair at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from partwise.bounds import check_sparse
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.structures.packed import PackedStructure


class CandidatePairs(NamedTuple):
    """Pairs of items that may be matched, with their features.

    Parameters
    ----------
    features : matrix (n_pairs, n_features), dense or CSR
    pairs : int array (n_pairs, 2)
        Numbers of the left and the right item.
    shape : (int, int)
        Items of the two sides.

    Examples
    --------
    >>> CandidatePairs.create(np.zeros((2, 3, 4))).pairs[:4].tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0]]
    """

    features: Any
    pairs: Ints
    shape: tuple[int, int]

    @classmethod
    def create(cls, x: Any) -> CandidatePairs:
        """From an array (n_left, n_right, n_features), or (features, pairs, shape)."""
        if isinstance(x, cls):
            return x
        if isinstance(x, tuple):
            if len(x) != 3 or np.shape(x[2]) != (2,):
                raise ValueError("a tuple is (features, pairs, (n_left, n_right))")
            features, pairs, (n, m) = x
            pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
            check_sparse(features, "features of pairs")
            if not sparse.issparse(features):
                features = np.asarray(features, np.float64)
            if features.ndim != 2 or features.shape[0] != len(pairs):
                raise ValueError(
                    f"features have the shape {features.shape} where there are "
                    f"{len(pairs)} pairs; give a row for each"
                )
            if len(pairs) and (pairs.min() < 0 or (pairs.max(axis=0) >= (n, m)).any()):
                raise ValueError(f"a pair is not within the {n} × {m} items")
            return cls(features, pairs, (int(n), int(m)))
        if np.iscomplexobj(x):
            raise ValueError("features are complex numbers; give real ones")
        table = np.asarray(x, np.float64)
        if table.ndim != 3:
            raise ValueError(
                f"an input has the shape {table.shape}: give an array (n_left, "
                "n_right, n_features), or (features, pairs, (n_left, n_right))"
            )
        n, m, size = table.shape
        pairs = np.stack(np.divmod(np.arange(n * m), max(m, 1)), axis=1)
        return cls(table.reshape(n * m, size), pairs, (n, m))


class Matching(PackedStructure):
    """Pair the items of a left and a right side so that no item is in two pairs.

    Ψ(x, y) = Σ φ(pair) over the pairs of y, so the best output is a linear assignment,
    found by shortest augmenting paths. The loss counts pairs,
    Δ = missed·|y − ŷ| + invented·|ŷ − y|, which adds to the scores of pairs: searches
    are exact (Taskar, Lacoste-Julien, Klein: A discriminative matching approach to word
    alignment, EMNLP 2005).

    Parameters
    ----------
    unmatched : bool
        Items may stay without a partner; else all items of the smaller side have one.
    missed, invented : float
        Costs of a true pair that is not predicted, and of a wrong pair that is.

    Notes
    -----
    x is `CandidatePairs`, or what its `create` takes. An output is an array (n_left,)
    with the right item of each left one, −1 for none; a truth may also be a list of
    pairs (k, 2).

    Examples
    --------
    >>> x = np.array([[[2.0], [1.0]], [[1.9], [0.0]]])
    >>> Matching().argmax(x, np.ones(1))
    array([1, 0])
    >>> Matching(unmatched=True).argmax(x - 1.5, np.ones(1))
    array([ 0, -1])
    """

    def __init__(
        self, unmatched: bool = False, missed: float = 1.0, invented: float = 1.0
    ) -> None:
        self.unmatched = unmatched
        self.missed = missed
        self.invented = invented

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Sequence[Any], Y: Any) -> Self:
        """Number of features."""
        self.n_psi_ = CandidatePairs.create(X[0]).features.shape[1]
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Sum of the features of the pairs."""
        x = CandidatePairs.create(x)
        rows = rows_of(x, self.as_partners(x, y))
        return np.asarray(x.features[rows[rows >= 0]].sum(axis=0)).ravel()

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ: what missed and invented pairs cost."""
        true, predicted = as_pairs(y), as_pairs(y_hat)
        missed, invented = len(true - predicted), len(predicted - true)
        return self.missed * missed + self.invented * invented

    def enumerate(self, x: Any) -> Iterator[Ints]:
        """All matchings; for tiny ones."""
        x = CandidatePairs.create(x)
        n, m = x.shape
        least = 0 if self.unmatched else min(n, m)
        known = {(int(a), int(b)) for a, b in x.pairs}

        def extend(chosen: list[int]) -> Iterator[Ints]:
            i = len(chosen)
            if i == n:
                if sum(j >= 0 for j in chosen) >= least:
                    yield np.array(chosen, np.int64)
                return
            for j in range(-1, m):
                if j < 0 or ((i, j) in known and j not in chosen):
                    yield from extend([*chosen, j])

        return extend([])

    # -------------------------------------------------------------------- truths

    def as_partners(self, x: CandidatePairs, y: Any) -> Ints:
        """A truth as the partner of each left item; refuses what is no matching."""
        n, m = x.shape
        y = np.asarray(y, np.int64)
        if y.ndim == 2 or (y.size == 0 and n):
            pairs = y.reshape(-1, 2)
            partners = np.full(n, -1, np.int64)
            if len(pairs) and (pairs.min() < 0 or (pairs.max(axis=0) >= (n, m)).any()):
                raise ValueError(f"a true pair is not within the {n} × {m} items")
            if len(set(pairs[:, 0].tolist())) < len(pairs):
                raise ValueError("a left item is in two true pairs")
            partners[pairs[:, 0]] = pairs[:, 1]
            y = partners
        if y.shape != (n,):
            raise ValueError(f"the truth has {len(y)} partners for {n} left items")
        matched = y[y >= 0]
        is_repeated = len(np.unique(matched)) < len(matched)
        if is_repeated or matched.max(initial=-1) >= m:
            raise ValueError("a right item is not there, or in two true pairs")
        if not self.unmatched and len(matched) < min(n, m):
            raise SettingsError(
                f"{min(n, m) - len(matched)} items have no partner; give "
                "<unmatched=True>"
            )
        return y

    # ------------------------------------------------------------------- batches

    def pack(
        self,
        X: Sequence[Any],
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
    ) -> Any:
        """Lay candidate pairs out for a solver; Y is None to predict only."""
        from partwise.structures.matching.problem import pack_pairs

        formulation = (formulation or Formulation()).validate()
        if not formulation.is_additive:
            raise CapabilityError(
                "matchings have no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        if not len(X):
            raise ValueError("X is empty: give at least one example")
        if Y is not None and len(Y) != len(X):
            raise ValueError(f"Y has {len(Y)} matchings where X has {len(X)} examples")
        blocks = []
        for i, x in enumerate(X):
            try:
                blocks.append(CandidatePairs.create(x))
            except ValueError as error:
                raise ValueError(f"example {i}: {error}") from None
            if not len(blocks[i].pairs):
                raise ValueError(f"example {i} has no candidate pairs; leave it out")
        return pack_pairs(self, blocks, Y, formulation, n_jobs, scorer)


def rows_of(x: CandidatePairs, partners: Ints) -> Ints:
    """The pair of each left item, by its number, −1 for none; refuses other pairs."""
    place = {(int(a), int(b)): r for r, (a, b) in enumerate(x.pairs)}
    rows = np.full(len(partners), -1, np.int64)
    for i, j in enumerate(partners.tolist()):
        if j >= 0:
            if (i, j) not in place:
                raise ValueError(f"the true pair ({i}, {j}) is no candidate")
            rows[i] = place[i, j]
    return rows


def as_pairs(y: Any) -> set[tuple[int, int]]:
    """Partners of left items, or pairs (k, 2), as a set of pairs."""
    y = np.asarray(y, np.int64)
    if y.ndim == 2:
        return {(int(a), int(b)) for a, b in y}
    return {(i, int(j)) for i, j in enumerate(y) if j >= 0}
