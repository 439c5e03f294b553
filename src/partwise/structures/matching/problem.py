"""Packed matchings: a `Problem` in numba, with threads over examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.bounds import calling_sequences
from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import Cuts, Floats, Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.digests import digests
from partwise.structures.k_best import k_best_by_partition
from partwise.structures.matching._compiled import (
    MatchBlocks,
    best_matching,
    new_match_work,
    search_block,
)
from partwise.structures.matching.structure import CandidatePairs, rows_of
from partwise.structures.weighted_rows import WeightedRowsProblem

if TYPE_CHECKING:
    from partwise.structures.matching.structure import Matching


# values of pairs; items before this one are fixed, these must have a partner
Matchings = tuple[Floats, int, frozenset[int]]


class MatchingProblem(WeightedRowsProblem):
    """Packed candidate pairs; a model has one weight per feature."""

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        return search_block(blocks, work, i, code)

    def effort(self) -> Floats:
        """An assignment takes time in the square of one side and the other."""
        n, m = self.blocks.n_left, self.blocks.n_right
        return 1.0 + np.minimum(n, m) ** 2.0 * np.maximum(n, m)

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """The partner of each left item, −1 for none."""
        rows = zip(cuts.block.tolist(), cuts.codes, strict=True)
        return [self.partners(i, code) for i, code in rows]

    def partners(self, i: int, code: Ints) -> Ints:
        """The right items of a code of block i."""
        right = self.blocks.right[self.blocks.offset[i] : self.blocks.offset[i + 1]]
        has = code >= 0
        out = np.full(len(code), -1, np.int64)
        out[has] = right[code[has]]
        return out

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k best matchings of each example with their scores.

        Murty (1968): the matchings besides the best one are divided by the first left
        item that differs, with the items before it fixed; each division is an
        assignment of its own.
        """
        scores = self.scores(model)
        work = self.borrow_work()
        ranked = [self._k_best_of(i, scores, k, work) for i in range(self.n_blocks)]
        self.return_work(work)
        return ranked

    def _k_best_of(
        self, i: int, scores: Floats, k: int, work: Any
    ) -> list[tuple[Ints, float]]:
        blocks: Any = self.blocks
        span = slice(int(blocks.offset[i]), int(blocks.offset[i + 1]))
        left, right = blocks.left[span], blocks.right[span]
        n, m = int(blocks.n_left[i]), int(blocks.n_right[i])

        bonus = 1.0 + 2.0 * float(np.abs(scores[span]).sum())

        def best_of(space: Matchings) -> tuple[Ints, float] | None:
            value, _, must = space
            code = np.empty(n, np.int32)
            boosted = value + bonus * np.isin(left, list(must))
            is_possible = best_matching(
                left, right, boosted, len(value), n, m, blocks.may_be_single, work, code
            )
            if not is_possible or any(code[q] < 0 for q in must):
                return None
            return code, float(value[code[code >= 0]].sum())

        def divide(space: Matchings, code: Ints) -> Iterator[Matchings]:
            value, fixed, must = space
            for q in range(fixed, n):  # item q has another partner, or none
                other = value.copy()
                if code[q] >= 0:
                    other[code[q]] = -np.inf
                yield other, q, must if code[q] >= 0 else must | {q}
                # from now on it is as in `code`
                value = value.copy()
                value[(left == q) & (np.arange(len(value)) != code[q])] = -np.inf
                must = must | {q} if code[q] >= 0 else must

        everything = scores[span].copy(), 0, frozenset[int]()
        ranked = k_best_by_partition(k, everything, best_of, divide)
        return [(self.partners(i, code), score) for code, score in ranked]

    def keys(self) -> list[bytes] | None:
        """Digests of features, pairs and truths."""
        known = super().keys()
        blocks: Any = self.blocks
        pairs = np.stack([blocks.left, blocks.right], axis=1)
        shape = np.stack([blocks.n_left, blocks.n_right], axis=1)
        others = digests(
            [(pairs, blocks.offset), (shape, np.arange(self.n_blocks + 1))],
            self.n_blocks,
        )
        assert known is not None
        return [one + other for one, other in zip(known, others, strict=True)]


def pack_pairs(
    structure: Matching,
    X: Sequence[CandidatePairs],
    Y: Any,
    formulation: Formulation,
    n_jobs: int,
    scorer: Any,
) -> MatchingProblem:
    """Lay pairs end to end; truths are checked."""
    sizes = [len(x.pairs) for x in X]
    offset = offsets_of(sizes)
    is_true = np.zeros(offset[-1], np.int32)
    n_left = np.array([x.shape[0] for x in X], np.int64)
    left_first = offsets_of(n_left)
    truth = np.full(left_first[-1], -1, np.int32)
    for i, x in enumerate(X if Y is not None else ()):
        try:
            rows = rows_of(x, structure.as_partners(x, Y[i]))
        except SettingsError as error:
            raise SettingsError(f"example {i}: {error.text}") from None
        except ValueError as error:
            raise ValueError(f"example {i}: {error}") from None
        is_true[offset[i] + rows[rows >= 0]] = 1
        truth[left_first[i] : left_first[i + 1]] = rows
    is_sparse = any(sparse.issparse(x.features) for x in X)
    wrap = sparse.csr_array if is_sparse else np.asarray
    with calling_sequences("example"):
        features = as_features([wrap(x.features) for x in X])
    scorer = scorer or LinearScorer()
    rows, number = scorer.ordered(scorer.bind(features, 1))
    pairs = np.concatenate([x.pairs for x in X]).astype(np.int32)
    shape = np.array([x.shape for x in X], np.int64)
    blocks = MatchBlocks(
        rows=rows,
        offset=offset,
        y=is_true,
        truth=truth,
        left_first=left_first,
        left=np.ascontiguousarray(pairs[:, 0]),
        right=np.ascontiguousarray(pairs[:, 1]),
        n_left=n_left,
        n_right=np.ascontiguousarray(shape[:, 1]),
        missed=float(structure.missed),
        invented=float(structure.invented),
        may_be_single=int(structure.unmatched),
        is_prediction=0,
    )
    n, m = shape.max(axis=0).tolist()
    columns = max(n, m) if not structure.unmatched else n + m
    return MatchingProblem(
        blocks, blocks._replace(is_prediction=1), formulation, n_jobs, scorer, number,
        lambda: new_match_work(max(sizes), max(n, m), columns),
    )  # fmt: skip
