"""Rankings by places as numba blocks: NDCG and precision at k.

With Ψ(x, π) = Σ_r c(π(r))·x_r and Δ = best − Σ_r D(π(r))·gain_r, both over the first k
places, the most violated ranking is a linear assignment of places to rows with values
c(p)·s_r − D(p)·gain_r (Chapelle, Le, Smola: Large margin optimization of ranking
measures, NIPS workshop 2007). Where c is D it is the order by s_r − gain_r, because
the larger number should have the larger factor.

A code has the place of each row, 1, 2, …, 0 behind the k-th; −1 in all rows is the
mean of all rankings that agree with the grades.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures._assignment import (
    AssignmentWork,
    assign_places,
    new_assignment_work,
)
from partwise.structures._radix_sort import SortWork, new_sort_work, order_descending
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)

SORT, ASSIGN, PREDICT = range(3)  # ways to search


class PlaceValues(NamedTuple):
    """What rows are worth at places: weight[p]·score[r] − discount[p]·gain[r]."""

    weight: np.ndarray  # (m,)
    discount: np.ndarray  # (m,)
    score: np.ndarray  # (n,)
    gain: np.ndarray  # (n,)

    def pair_value(values, p, r):
        gain = values.discount[p] * values.gain[r]
        return values.weight[p] * values.score[r] - gain


class PlaceWork(NamedTuple):
    """Buffers of one thread, for queries of at most n rows."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    sort: SortWork
    assignment: AssignmentWork


def new_place_work(m: int, n: int) -> PlaceWork:
    """Buffers for m places and n rows; m = 0 where there is nothing to assign."""
    return PlaceWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        new_sort_work(n),
        new_assignment_work(m, n if m else 0),
    )


@uncounted
@row_operations
class PlaceBlocks(NamedTuple):
    """Packed queries over rows of any scorer; see `measures.Places`."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, rows of each query
    y: np.ndarray  # (n_rows,) grades
    place_first: np.ndarray  # (n_blocks + 1,) int64, places of each query
    weight: np.ndarray  # (n_places,)
    discount: np.ndarray  # (n_places,)
    gain: np.ndarray  # (n_rows,)
    truth: np.ndarray  # (n_rows,) weight in Ψ of the truth
    mean: np.ndarray  # (n_rows,) the same for the mean of all true rankings
    best: np.ndarray  # (n_blocks,)
    is_free: np.ndarray  # (n_blocks,) uint8
    way: int

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def row_weight(blocks, i, r, code):
        truth = blocks.truth[blocks.offset[i] + r]
        place = np.int64(code[r])
        if place < 0:
            return truth - blocks.mean[blocks.offset[i] + r]
        if place == 0:
            return truth
        return truth - blocks.weight[blocks.place_first[i] + place - 1]

    def output_loss(blocks, i, code):
        begin, first = blocks.offset[i], blocks.place_first[i]
        total = blocks.best[i]
        for r in range(blocks.offset[i + 1] - begin):
            place = np.int64(code[r])
            if place < 0:
                return 0.0
            if place > 0:
                total -= blocks.discount[first + place - 1] * blocks.gain[begin + r]
        return 0.0 if blocks.is_free[i] else max(total, 0.0)

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_places(blocks, work, i, code)


@kernel
def search_places(blocks, work, i, code):
    """`find_output` of query i, whose scores are in ``work.score``."""
    begin, first = blocks.offset[i], blocks.place_first[i]
    n = blocks.offset[i + 1] - begin
    m = blocks.place_first[i + 1] - first
    if blocks.way != PREDICT and blocks.is_free[i]:
        for r in range(n):
            code[r] = -1
        return 0.0, 1.0, 0.0, 0.0
    if blocks.way == ASSIGN:
        values = PlaceValues(
            blocks.weight[first : first + m], blocks.discount[first : first + m],
            work.score, blocks.gain[begin : begin + n],
        )  # fmt: skip
        assign_places(values, m, n, work.assignment)
        for r in range(n):
            code[r] = work.assignment.place_of[r + 1]
    else:
        for r in range(n):
            code[r] = 0
            gain = 0.0 if blocks.way == PREDICT else blocks.gain[begin + r]
            work.spare[r] = work.score[r] - gain
        order_descending(work.spare, n, work.sort, work.order)
        for p in range(m):
            code[work.order[p]] = p + 1
    margin = weighted_score(blocks, work.score, i, code)
    if blocks.way == PREDICT:
        return 0.0, 1.0, -margin, -margin
    b = output_loss(blocks, i, code)
    return b, 1.0, b - margin, b - margin
