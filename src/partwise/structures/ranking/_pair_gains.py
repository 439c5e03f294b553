"""The most violated ranking for NDCG where Ψ is a sum over pairs.

With Ψ = (1/(2P)) Σ y_ij (x_i − x_j) over the P pairs of different levels, the score of
a ranking is Σ (s_first − s_second)/(2P), so equal rows go by score, and so do all rows
behind the k-th place, where the loss ends. What is open is how the levels mix in the
first k places: a state has the number of rows of each level that are placed. Placing
row r there costs

    D(place)·gain_r + Σ_levels Σ (s_u − s_r)/P over unplaced rows u of other levels with
    s_u > s_r,

compared with the order by score and no gain at all. The best way through the states is
exact: C(k + L, L) states for L levels, L² steps each. (For two levels Chakrabarti,
Khanna, Sawant, Bhattacharyya: Structured learning for non-smooth ranking losses, KDD
2008, place the relevant rows one by one.)
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.protocol import Ints

MAX_STATES = 4_000_000


class GainWork(NamedTuple):
    """Buffers of one thread, for queries of n rows, L levels, and so many states."""

    value: np.ndarray  # (n_states,) largest value of Δ + score
    choice: np.ndarray  # (n_states,) int16, level placed last
    first: np.ndarray  # (L + 1,) int64, where the rows of a level begin
    placed: np.ndarray  # (L,) int64, rows of each level placed
    top: np.ndarray  # (L,) int64, rows of each level that may be placed
    stride: np.ndarray  # (L,) int64, of the states
    row: np.ndarray  # (n,) int32, rows level by level, each by score
    sum: np.ndarray  # (n + L,) sums of scores, level by level, from 0 on
    above: np.ndarray  # (n, L) int32, rows of each level that score higher


def new_gain_work(n: int, n_levels: int, n_states: int) -> GainWork:
    """Buffers; zeros where NDCG by pairs is not searched."""
    size = n_levels + 1
    return GainWork(
        np.empty(n_states),
        np.empty(n_states, np.int16),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(n, np.int32),
        np.empty(n + size),
        np.empty((n, n_levels), np.int32),
    )


def count_states(sizes: Ints, k: int) -> int:
    """States of a query with so many rows of each level, in the table of the search."""
    return int(np.prod(np.minimum(sizes, k).astype(float) + 1))


@kernel
def order_levels(level, n_levels, work, gains, n):
    """List the rows of each level by score; count those of others that score higher."""
    first, count, score, order = gains.first, gains.placed, work.score, work.order
    for each in range(n_levels + 1):
        first[each] = 0
    for r in range(n):
        first[level[r] + 1] += 1
    for each in range(n_levels):
        first[each + 1] += first[each]
        gains.sum[first[each] + each] = 0.0
        count[each] = 0
    begin = 0
    while begin < n:  # rows of one score after the other
        end = begin + 1
        while end < n and score[order[end]] == score[order[begin]]:
            end += 1
        for k in range(begin, end):
            for each in range(n_levels):
                gains.above[order[k], each] = count[each]
        for k in range(begin, end):
            row = order[k]
            row_level = np.int64(level[row])
            place = first[row_level] + count[row_level]
            gains.row[place] = row
            gains.sum[place + row_level + 1] = gains.sum[place + row_level] + score[row]
            count[row_level] += 1
        begin = end


@kernel
def cost_of_row(row, row_level, n_levels, n_pairs, work, gains):
    """What the rows of other levels that are not yet placed lose by going behind."""
    total = 0.0
    for each in range(n_levels):
        placed, above = gains.placed[each], np.int64(gains.above[row, each])
        if each != row_level and above > placed:
            at = gains.first[each] + each
            total += gains.sum[at + above] - gains.sum[at + placed]
            total -= (above - placed) * work.score[row]
    return total / n_pairs


@kernel
def next_state(n_levels, n_places, gains):
    """Go on to the next state with at most so many rows placed; False after the last.

    States are passed so that one with a row less comes before.
    """
    count, top, total = gains.placed, gains.top, 0
    for each in range(n_levels):
        total += count[each]
    for each in range(n_levels):
        if count[each] < top[each] and total < n_places:
            count[each] += 1
            return True
        total -= count[each]
        count[each] = 0
    return False


@kernel
def search_gains(level, n_levels, n_pairs, n_places, gain, discount, work, gains, n):
    """Write the most violated ranking for NDCG in ``work.order``."""
    order_levels(level, n_levels, work, gains, n)
    first, count, top, stride = gains.first, gains.placed, gains.top, gains.stride
    size = 1
    for each in range(n_levels):
        top[each] = min(first[each + 1] - first[each], n_places)
        stride[each] = size
        size *= top[each] + 1
        count[each] = 0
    gains.value[0] = 0.0
    best, end = -np.inf, 0
    while next_state(n_levels, n_places, gains):
        place, state = -1, 0
        for each in range(n_levels):
            place += count[each]
            state += count[each] * stride[each]
        value, choice = -np.inf, 0
        for each in range(n_levels):
            if count[each] == 0:
                continue
            count[each] -= 1
            row = np.int64(gains.row[first[each] + count[each]])
            reached = gains.value[state - stride[each]] - discount[place] * gain[row]
            reached -= cost_of_row(row, each, n_levels, n_pairs, work, gains)
            count[each] += 1
            if reached > value:
                value = reached
                choice = each
        gains.value[state] = value
        gains.choice[state] = choice
        if place + 1 == n_places and value > best:
            best = value
            end = state
    # back from the last place; the other rows keep their order
    for each in range(n_levels):
        count[each] = end // stride[each] % (top[each] + 1)
        top[each] = count[each]
    behind = n
    for k in range(n - 1, -1, -1):
        row = work.order[k]
        row_level = np.int64(level[row])
        is_placed = False
        for m in range(top[row_level]):
            is_placed = is_placed or gains.row[first[row_level] + m] == row
        if not is_placed:
            behind -= 1
            work.order[behind] = row
    state = end
    for place in range(n_places - 1, -1, -1):
        last = np.int64(gains.choice[state])
        count[last] -= 1
        work.order[place] = gains.row[first[last] + count[last]]
        state -= stride[last]


@kernel
def write_ranking(level, n_levels, n_places, gain, discount, work, gains, code, n):
    """Code of the ranking in ``work.order``, and its loss."""
    count, first = gains.placed, gains.first
    for each in range(n_levels + 1):
        first[each] = 0
        count[each] = 0
    for r in range(n):
        first[level[r]] += 1
    loss = 1.0
    for k in range(n):
        row = work.order[k]
        row_level = np.int64(level[row])
        swapped = np.int64(0)
        for each in range(n_levels):
            if each < row_level:
                swapped += count[each]
            elif each > row_level:
                swapped -= first[each] - count[each]
        code[row] = 2 * swapped
        count[row_level] += 1
        if k < n_places:
            loss -= discount[k] * gain[row]
    return max(loss, 0.0)
