"""Orders of pairs as numba blocks, for the area under the ROC curve.

An output says of each pair of a positive row i and a negative row j which goes first,
y_ij ∈ {−1, 0, 1}. With Ψ = (1/(2PN)) Σ y_ij (x_i − x_j) and Δ = (1/PN) Σ (1 − y_ij)/2
both are sums over pairs, so each pair decides for itself: it is swapped when
1 − (s_i − s_j) > 0 (Joachims: A support vector method for multivariate performance
measures, ICML 2005, section 4.4). Rows need only know in how many swapped pairs they
are. Sorting the smaller class and bisecting for each row of the other takes
O(n log min(P, N)).

A code has a number per row: twice the swapped pairs that it is in, a tie counting one.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures import _weighted_rows_compiled as weighted
from partwise.structures._descending import SortWork, new_sort_work, order_descending

# Numba compiles a call of these by their name alone.
one_margin, wipe_one = weighted.one_margin, weighted.wipe_one
push_one, push_many = weighted.push_one, weighted.push_many
score_block, weighted_score = weighted.score_block, weighted.weighted_score
weighted_scores = weighted.weighted_scores


class RocWork(NamedTuple):
    """Buffers of one thread, for blocks of at most n rows."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    limit: np.ndarray  # (n,) scores of the smaller class, sorted
    tally: np.ndarray  # (n + 1,) int64
    sort: SortWork


def new_roc_work(n: int) -> RocWork:
    """Buffers for blocks of n rows."""
    return RocWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(n + 1, np.int64),
        new_sort_work(n),
    )


@uncounted
class RocBlocks(NamedTuple):
    """Packed orders of pairs over rows of any scorer."""

    rows: tuple  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, rows of each block
    y: np.ndarray  # (n_rows,) uint8, 1 where positive
    member: np.ndarray  # (n_rows,) int32, positive rows of a block, then negative ones
    n_positive: np.ndarray  # (n_blocks,) int64
    is_prediction: int  # whether losses are left out

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def row_weight(blocks, i, r, code):
        begin = blocks.offset[i]
        n_positive = blocks.n_positive[i]
        n_negative = blocks.offset[i + 1] - begin - n_positive
        share = 0.5 * code[r] / n_positive / n_negative
        return share if blocks.y[begin + r] else -share

    def output_loss(blocks, i, code):
        begin = blocks.offset[i]
        total = np.int64(0)
        for k in range(blocks.n_positive[i]):
            total += code[blocks.member[begin + k]]
        n_negative = blocks.offset[i + 1] - begin - blocks.n_positive[i]
        return 0.5 * total / blocks.n_positive[i] / n_negative

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_orders(blocks, work, i, code)

    def recall_margin(blocks, work, i, code):
        return weighted_score(blocks, work.score, i, code)

    def recall_margins(blocks, work, i, codes, at, n, out):
        weighted_scores(blocks, work.score, i, codes, at, n, out)

    def margin(blocks, w, i, code):
        return one_margin(blocks, w, i, code)

    def margins(blocks, work, w, i, codes, at, n, out):
        score_block(blocks, w, i, work.spare)
        weighted_scores(blocks, work.spare, i, codes, at, n, out)

    def push(blocks, w, i, code, coef):
        push_one(blocks, w, i, code, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, work, w, i, codes, at, n, coef)

    def wipe(blocks, w, i, code):
        wipe_one(blocks, w, i, code)


@kernel
def search_orders(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    for r in range(code.shape[0]):
        code[r] = 0
    if blocks.is_prediction:
        count_pairs(blocks, work, i, 0.0, False, np.int32(1), code)
        count_pairs(blocks, work, i, 0.0, True, np.int32(1), code)
        lead = -weighted_score(blocks, work.score, i, code)
        return 0.0, 1.0, lead, lead
    count_pairs(blocks, work, i, 1.0, False, np.int32(2), code)
    b = output_loss(blocks, i, code)
    violation = b - weighted_score(blocks, work.score, i, code)
    return b, 1.0, violation, violation


@kernel
def count_pairs(blocks, work, i, shift, with_ties, unit, code):
    """Add `unit` to both rows of each pair with s_j > s_i − shift (≥ with ties)."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    n_positive = blocks.n_positive[i]
    is_first = n_positive <= n - n_positive  # the positive rows are sorted
    first = 0 if is_first else n_positive
    n_sorted = n_positive if is_first else n - n_positive
    # positive rows count by s_i − shift, negative ones by s_j: compare these alone
    moved = shift if is_first else 0.0
    other = 0.0 if is_first else shift
    for k in range(n_sorted):
        row = blocks.member[begin + first + k]
        work.spare[k] = -(work.score[row] - moved)
    order_descending(work.spare, n_sorted, work.sort, work.order)
    for k in range(n_sorted):  # from the smallest up
        work.limit[k] = -work.spare[work.order[k]]
        work.tally[k] = 0
    work.tally[n_sorted] = 0
    # A negative row is swapped with the positive ones below it, a positive row with
    # the negative ones above: with ties, equal numbers are passed by the former only.
    is_passing = with_ties == is_first
    start = n_positive if is_first else 0
    for k in range(n - n_sorted):
        row = blocks.member[begin + start + k]
        score = work.score[row] - other
        low, high = 0, n_sorted
        while low < high:
            middle = (low + high) // 2
            limit = work.limit[middle]
            if limit < score or (is_passing and limit == score):
                low = middle + 1
            else:
                high = middle
        work.tally[low] += 1
        code[row] += unit * np.int32(low if is_first else n_sorted - low)
    total = 0
    if is_first:  # positive k is swapped with those that stopped behind it
        for k in range(n_sorted - 1, -1, -1):
            total += work.tally[k + 1]
            code[blocks.member[begin + work.order[k]]] += unit * np.int32(total)
    else:
        for k in range(n_sorted):
            total += work.tally[k]
            row = blocks.member[begin + first + work.order[k]]
            code[row] += unit * np.int32(total)
