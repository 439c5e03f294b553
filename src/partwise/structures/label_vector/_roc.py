"""Orders of pairs as numba blocks, for the area under the ROC curve.

An output says of each pair of a positive row i and a negative row j which goes first,
y_ij ∈ {−1, 0, 1}. With Ψ = (1/(2PN)) Σ y_ij (x_i − x_j) and Δ = (1/PN) Σ (1 − y_ij)/2
both are sums over pairs, so each pair decides for itself: it is swapped when
1 − (s_i − s_j) > 0 (Joachims: A support vector method for multivariate performance
measures, ICML 2005, section 4.4). Rows need only know in how many swapped pairs they
are. Sorting the smaller class and bisecting for each row of the other takes
O(n log min(P, N)). Bisection begins within a cell of a grid over the sorted scores, so
that a row takes a step or two where scores are spread evenly.

A code has a number per row: twice the swapped pairs that it is in, a tie counting one.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures._radix_sort import SortWork, new_sort_work, order_descending
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)


class RocWork(NamedTuple):
    """Buffers of one thread, for blocks of at most n rows."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    limit: np.ndarray  # (n,) scores of the smaller class, sorted
    tally: np.ndarray  # (n + 1,) int64, see `count_passing`
    cell: np.ndarray  # (n + 2,) int32, limits below each cell of a grid
    grid: np.ndarray  # (2,) where the grid begins, cells per unit
    sort: SortWork


def new_roc_work(n: int) -> RocWork:
    """Buffers for blocks of n rows."""
    return RocWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(n + 1, np.int64),
        np.empty(n + 2, np.int32),
        np.empty(2),
        new_sort_work(n),
    )


@uncounted
@row_operations
class RocBlocks(NamedTuple):
    """Packed orders of pairs over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, rows of each block
    y: np.ndarray  # (n_rows,) uint8, 1 where positive
    member: np.ndarray  # (n_rows,) int32, positive rows of a block, then negative ones
    n_positive: np.ndarray  # (n_blocks,) int64
    unit: np.ndarray  # (n_blocks,) share of half a pair, 1/(2PN)
    is_prediction: int  # whether losses are left out

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def row_weight(blocks, i, r, code):
        share = code[r] * blocks.unit[i]
        return share if blocks.y[blocks.offset[i] + r] else -share

    def output_loss(blocks, i, code):
        begin = blocks.offset[i]
        total = np.int64(0)
        for k in range(blocks.n_positive[i]):
            total += code[blocks.member[begin + k]]
        return total * blocks.unit[i]

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_orders(blocks, work, i, code)


@kernel
def search_orders(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    n_passing = blocks.offset[i + 1] - blocks.offset[i] - n_sorted(blocks, i)
    for with_ties in range(2 if blocks.is_prediction else 1):
        sort_limits(blocks, work, i)
        count_passing(blocks, work, i, with_ties, 0, n_passing, work.tally, code)
        count_sorted(blocks, work, i, with_ties, work.tally, code)
    return plane_of_orders(blocks, work, i, code)


@kernel
def plane_of_orders(blocks, work, i, code):
    """(b, scale, violation, bound) of an output."""
    margin = weighted_score(blocks, work.score, i, code)
    b = 0.0 if blocks.is_prediction else output_loss(blocks, i, code)
    return b, 1.0, b - margin, b - margin


@kernel
def n_sorted(blocks, i):
    """Rows of the smaller class of block i, which are sorted."""
    n_positive = blocks.n_positive[i]
    return min(n_positive, blocks.offset[i + 1] - blocks.offset[i] - n_positive)


# Positive rows are compared by s_i − 1 (in a prediction by s_i), negative ones by s_j:
# one way to round for all comparisons, so that both rows of a pair agree.


@kernel
def sort_limits(blocks, work, i):
    """Sort what the smaller class is compared by, from the smallest up."""
    begin, n_positive = blocks.offset[i], blocks.n_positive[i]
    size = n_sorted(blocks, i)
    is_positive = size == n_positive
    first = begin if is_positive else begin + n_positive
    shift = 1.0 if is_positive and not blocks.is_prediction else 0.0
    for k in range(size):
        work.spare[k] = -(work.score[blocks.member[first + k]] - shift)
    order_descending(work.spare, size, work.sort, work.order)
    for k in range(size):
        work.limit[k] = -work.spare[work.order[k]]
    for k in range(size + 1):
        work.tally[k] = 0
    lay_grid(work, size)


# A cell is a product that is rounded, so it never falls when the score rises: limits in
# lower cells are smaller than a score, those in higher cells larger.


@kernel
def cell_of(grid, n_cells, score):
    """The cell of a score."""
    return np.int64(min(max((score - grid[0]) * grid[1], 0.0), n_cells - 1.0))


@kernel
def lay_grid(work, size):
    """Count the limits below each of 2·size cells between the smallest and largest."""
    limit, cell, grid = work.limit, work.cell, work.grid
    n_cells = 2 * size
    grid[0], grid[1] = 0.0, 0.0  # a single cell
    if size > 1 and limit[size - 1] > limit[0]:
        grid[0] = limit[0]
        per_unit = n_cells / (limit[size - 1] - limit[0])
        if per_unit < np.inf:
            grid[1] = per_unit
    begun = 0  # cells with their first limit
    for k in range(size):
        at = cell_of(grid, n_cells, limit[k])
        while begun <= at:
            cell[begun] = k
            begun += 1
    while begun <= n_cells:
        cell[begun] = size
        begun += 1


@kernel
def count_passing(blocks, work, i, with_ties, first, last, tally, code):
    """Count swapped pairs of the rows [first, last) of the larger class.

    A negative row is swapped with the positive ones below it, a positive row with the
    negative ones above; a tie counts as swapped only with `with_ties`. `tally` counts
    the rows by the number of limits below them. Without a loss, two calls, one with
    ties, count half a pair each.
    """
    n_positive = blocks.n_positive[i]
    size = n_sorted(blocks, i)
    is_positive = size == n_positive  # the sorted class
    begin = blocks.offset[i] + (size if is_positive else 0)
    shift = 0.0 if is_positive or blocks.is_prediction else 1.0
    unit = 1 if blocks.is_prediction else 2
    is_equal_below = (with_ties == 1) == is_positive
    limit = work.limit
    for k in range(first, last):
        row = blocks.member[begin + k]
        score = work.score[row] - shift
        # bisection without branches, which could not be predicted
        at = cell_of(work.grid, 2 * size, score)
        low = np.int64(work.cell[at])
        left = np.int64(work.cell[at + 1]) - low
        if left == 0:
            pass
        elif is_equal_below:
            while left > 1:
                half = left // 2
                low += half * (limit[low + half - 1] <= score)
                left -= half
            low += limit[low] <= score
        else:
            while left > 1:
                half = left // 2
                low += half * (limit[low + half - 1] < score)
                left -= half
            low += limit[low] < score
        tally[low] += 1
        if with_ties == 0:
            code[row] = 0
        code[row] += unit * (low if is_positive else size - low)


@kernel
def count_sorted(blocks, work, i, with_ties, tally, code):
    """Count swapped pairs of the smaller class, from the tally of the larger one."""
    n_positive = blocks.n_positive[i]
    size = n_sorted(blocks, i)
    is_positive = size == n_positive
    begin = blocks.offset[i] + (0 if is_positive else n_positive)
    unit = 1 if blocks.is_prediction else 2
    total = 0
    for step in range(size):
        if is_positive:  # a positive row is swapped with those that passed it
            k = size - 1 - step
            total += tally[k + 1]
        else:
            k = step
            total += tally[k]
        row = blocks.member[begin + work.order[k]]
        if with_ties == 0:
            code[row] = 0
        code[row] += unit * total
