"""Packed candidate sets: a `Problem` in numba, with threads over sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.features.arrays import DenseFeatures
from partwise.features.covering import CoveringSet
from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.coverage._compiled import (
    CoverBlocks,
    new_cover_work,
    search_block,
)
from partwise.structures.coverage._searches import branch_and_bound, choose_greedily
from partwise.structures.digests import digests
from partwise.structures.weighted_rows import WeightedRowsProblem

if TYPE_CHECKING:
    from partwise.structures.coverage.structure import Coverage, Subtopics

TARGET_NODES = 100_000  # branches of the search for targets


class CoverageProblem(WeightedRowsProblem):
    """Packed candidate sets; a model has one weight per feature of elements."""

    coverage: Coverage

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        return search_block(blocks, work, i, code)

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Chosen documents, in their order."""
        sizes = np.minimum(np.diff(self.blocks.document), self.coverage.k)
        ends = cuts.indptr[1:]
        return [
            cuts.code[end - sizes[i] : end].copy()
            for i, end in zip(cuts.block, ends, strict=True)
        ]

    def keys(self) -> list[bytes] | None:
        """Digests of features, covers and subtopics."""
        blocks: Any = self.blocks
        first = blocks.indptr[blocks.document]
        pieces = [
            (blocks.y, blocks.offset),
            (blocks.rows.x, blocks.offset),
            (blocks.element, first),
            (np.diff(blocks.indptr), blocks.document),
            (blocks.weight, blocks.topic),
        ]
        return digests(pieces, self.n_blocks)


def pack_sets(
    coverage: Coverage,
    X: Sequence[CoveringSet],
    topics: Sequence[Subtopics] | None,
    formulation: Formulation,
    n_jobs: int,
    scorer: Any,
) -> CoverageProblem:
    """Lay elements, documents and subtopics end to end; find the targets."""
    offset, document, topic, size = [0], [0], [0], [0]
    element: list[np.ndarray] = []
    y: list[Ints] = []
    weight, least, excess = [], [], []
    for i, x in enumerate(X):
        n, m = x.covers.shape
        table = x.covers
        target: Ints = np.zeros(m, np.int32)
        n_topics = 0
        if topics is not None:
            has = topics[i].has
            chosen, bound = best_cover(has, topics[i].weight, coverage.k)
            target = np.asarray(table[chosen].any(axis=0), np.int32)
            least.append(topics[i].loss(chosen))
            excess.append(max(least[-1] - (1.0 - bound), 0.0) if has.size else 0.0)
            weight.append(topics[i].weight)
            table, n_topics = np.hstack([table, has]), has.shape[1]
        rows, columns = np.nonzero(table)
        element.append(columns)
        size += np.bincount(rows, minlength=n).tolist()
        y.append(target)
        offset.append(offset[-1] + m)
        document.append(document[-1] + n)
        topic.append(topic[-1] + n_topics)
    scorer = scorer or LinearScorer()
    features = np.vstack([x.features for x in X])
    dense = DenseFeatures(features, np.array(offset, np.int64))
    rows, number = scorer.ordered(scorer.bind(dense, 1))
    blocks = CoverBlocks(
        rows=rows,
        offset=np.array(offset, np.int64),
        y=np.concatenate(y),
        document=np.array(document, np.int64),
        indptr=np.cumsum(size, dtype=np.int64),
        element=np.concatenate(element).astype(np.int32),
        topic=np.array(topic, np.int64),
        weight=np.concatenate(weight) if weight else np.zeros(0),
        least=np.array(least) if least else np.zeros(len(X)),
        excess=np.array(excess) if excess else np.zeros(len(X)),
        k=int(coverage.k),
        limit=int(coverage.search_nodes),
        is_prediction=0,
    )
    most = int(np.diff(document).max())
    widest = int((np.diff(offset) + np.diff(topic)).max())
    problem = CoverageProblem(
        blocks, blocks._replace(is_prediction=1), formulation, n_jobs, scorer, number,
        lambda: new_cover_work(most, max(widest, 1), int(coverage.k)),
    )  # fmt: skip
    problem.coverage = coverage
    return problem


def best_cover(has: np.ndarray, weight: Floats, k: int) -> tuple[Ints, float]:
    """
    The k rows of a 0/1 matrix that cover most weight of columns.

    Returns
    -------
    chosen : int array (k,)
        In the order of greedy choice, where that is the best.
    bound : float
        No k rows cover more. If the search came to its end, the chosen ones cover it.
    """
    n, m = has.shape
    k = min(int(k), n)
    rows, columns = np.nonzero(has)
    indptr = offsets_of(np.bincount(rows, minlength=n))
    index = columns.astype(np.int32)
    work = new_cover_work(max(n, 1), max(m, 1), max(k, 1))
    benefit, count = np.array(weight, np.float64), work.tally[:m]
    chosen = work.chosen[:k]
    zero = np.int64(0)
    value = choose_greedily(
        indptr, index, zero, n, k, benefit, count, work.gain, work.fresh, chosen
    )
    count[:] = 0
    if k == 0:
        return chosen, 0.0
    _, bound = branch_and_bound(
        indptr, index, zero, n, k, benefit, TARGET_NODES, value, count, work.gain,
        work.room, work.order, work.place, work.stack, work.trial, chosen,
    )  # fmt: skip
    return chosen, float(bound)
