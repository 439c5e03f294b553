"""Rankings by pairs as numba blocks: swapped pairs, average precision, NDCG and others.

Ψ = (1/(2n)) Σ y_ij (x_i − x_j) over the n pairs of a better row i and a worse row j, so
δ = (1/n) Σ (x_i − x_j) over the swapped pairs.

A code has a number per row, twice the swapped pairs in which the row is the better one
less those in which it is the worse one (a tie counts half a pair), and two more with
the loss in units of 2⁻⁶⁰, 30 bits each.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures._formulations import plane, violation_of
from partwise.structures._radix_sort import SortWork, new_sort_work, order_descending
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)
from partwise.structures.ranking._pair_gains import (
    GainWork,
    new_gain_work,
    search_gains,
    write_ranking,
)
from partwise.structures.ranking._pair_searches import (
    precision_of_order,
    rank_of_order,
    search_first,
    search_precision,
    search_swapped,
)

# measures, see `measures.PAIR_MEASURES`
SWAPPED, PRECISION, FIRST, GAINS = range(4)
HALF_WORD = 1 << 30


class PairWork(NamedTuple):
    """Buffers of one thread, for queries of at most n rows."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    better: np.ndarray  # (n,) int32, relevant rows by score
    worse: np.ndarray  # (n,) int32, the others by score
    tally: np.ndarray  # (n + 2,) int64
    place: np.ndarray  # (n + 2,) int64
    total: np.ndarray  # (n + 2,)
    sort: SortWork
    gains: GainWork


def new_pair_work(n: int, n_levels: int = 0, n_states: int = 0) -> PairWork:
    """Buffers for queries of n rows; levels and states as `search_gains` needs them."""
    return PairWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n + 2, np.int64),
        np.empty(n + 2, np.int64),
        np.empty(n + 2),
        new_sort_work(n),
        new_gain_work(n if n_levels else 0, n_levels, n_states),
    )


@uncounted
@row_operations
class PairBlocks(NamedTuple):
    """Packed queries over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, rows of each query
    y: np.ndarray  # (n_rows,) grades
    level: np.ndarray  # (n_rows,) int32, 0, 1, … by grade within a query
    n_levels: np.ndarray  # (n_blocks,) int64
    n_pairs: np.ndarray  # (n_blocks,) pairs with different levels
    gain: np.ndarray  # (n_rows,) of GAINS, as a share of the largest DCG; else (0,)
    discount: np.ndarray  # (k,) of the first places; else (0,)
    measure: int  # SWAPPED, PRECISION, FIRST or GAINS
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    is_prediction: int  # whether losses are left out

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i] + 2

    def row_weight(blocks, i, r, code):
        if code[r] == 0:
            return 0.0
        return 0.5 * code[r] / blocks.n_pairs[i]

    def output_loss(blocks, i, code):
        n = blocks.offset[i + 1] - blocks.offset[i]
        return (code[n] + code[n + 1] / HALF_WORD) / HALF_WORD

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_pairs(blocks, work, i, code)


@kernel
def write_loss(code, n, loss):
    """Put a loss in [0, 1] behind the code of n rows."""
    scaled = loss * HALF_WORD
    whole = np.floor(scaled)
    code[n] = np.int32(whole)
    code[n + 1] = np.int32((scaled - whole) * HALF_WORD)


@kernel
def search_pairs(blocks, work, i, code):
    """`find_output` of query i, whose scores are in ``work.score``."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    for r in range(n + 2):
        code[r] = 0
    rule, n_pairs = blocks.rule, blocks.n_pairs[i]
    if n_pairs == 0:
        b, scale = plane(rule, 0.0)
        violation = violation_of(rule, b, scale, 0.0)
        return b, scale, violation, violation
    level = blocks.level[begin : begin + n]
    order_descending(work.score, n, work.sort, work.order)
    if blocks.measure == SWAPPED:
        loss = search_swapped(
            level, blocks.n_levels[i], n_pairs, blocks.is_prediction, work, code, n
        )
    elif blocks.measure == GAINS:
        n_levels, n_places = blocks.n_levels[i], min(n, blocks.discount.shape[0])
        gain, discount, gains = (
            blocks.gain[begin : begin + n],
            blocks.discount,
            work.gains,
        )
        if not blocks.is_prediction:
            search_gains(
                level, n_levels, n_pairs, n_places, gain, discount, work, gains, n
            )
        loss = write_ranking(
            level, n_levels, n_places, gain, discount, work, gains, code, n
        )
    elif blocks.is_prediction:
        if blocks.measure == PRECISION:
            loss = precision_of_order(level, work, code, n)
        else:
            loss = rank_of_order(level, work, code, n)
    elif blocks.measure == PRECISION:
        loss = search_precision(level, n_pairs, work, code, n)
    else:
        loss = search_first(level, n_pairs, rule, work, code, n)
    write_loss(code, n, loss)
    margin = weighted_score(blocks, work.score, i, code)
    if blocks.is_prediction:
        return 0.0, 1.0, -margin, -margin
    b, scale = plane(rule, output_loss(blocks, i, code))
    violation = violation_of(rule, b, scale, margin)
    return b, scale, violation, violation
