"""The best alignment of a pair: rows of cells forward, and the way back.

The way back needs the trace of every row, five bits per cell: 16 MB for two sequences
of 5,000 tokens, 250 MB for 20,000. Traces beyond `MAX_BITS` bytes are not stored. Rows
are divided into stretches, and the forward pass stores the values of the row before
each stretch, and the trace of the last stretch alone. Where the way back enters an
earlier stretch, its rows are computed again from the stored values, up to the column of
the path: the same operations on the same numbers, hence the same bits, and the same
choice among equal alignments.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.protocol import Ints
from partwise.structures.alignment._programs import (
    DELETED,
    EXTENDED_A,
    EXTENDED_B,
    INSERTED,
    LANES,
    PLANES,
    STARTS,
    advance,
    best_end,
    fill_lead,
    fill_tail,
    open_rows,
    start_score,
)
from partwise.structures.alignment._scores import bounds_of, row_of_scores

MAX_BITS = 1 << 22
BALANCE = 24.0 * 8 / PLANES  # bytes of a row of values, per byte of its trace
# where the way back stands: in one of three states, or in the best of some of them
MATCH, DELETE, INSERT, BEST, UNINSERTED = range(5)


def trace_sizes(n: Ints, m: Ints) -> tuple[int, int]:
    """Bytes of traces, and rows of values, that the longest of some pairs needs.

    Where sequences are so long that `MAX_BITS` makes many stretches, both take about
    the same: the traces of k rows 5·k·m/8 bytes, n/k rows of values 24·m·n/k.
    """
    row = PLANES * np.maximum(1, -(-m // LANES))
    n_rows = np.maximum(MAX_BITS // row, np.sqrt(BALANCE * n).astype(np.int64))
    n_rows = np.maximum(1, np.minimum(n_rows, n))
    # a shorter pair may have room for more rows than it needs, never for fewer
    return int((row * n_rows).max()), int((-(-n // n_rows) - 1).max(initial=0))


@kernel
def rows_of_stretch(rows, n, m):
    """Rows of a stretch: as many as `bits` has room for."""
    row = PLANES * ((m + LANES - 1) // LANES)
    if row == 0 or n == 0:
        return np.int64(1)
    return np.int64(max(1, min(n, rows.bits.shape[0] // row)))


@kernel
def find_best(blocks, work, w, i, pair, with_loss, trace):
    """Value and last pair (its place) of the best alignment, after `prepare`."""
    _, n, _, m = bounds_of(blocks, pair)
    rows, ends = work.rows, work.ends
    open_rows(rows, m, work.b_open, work.b_extend, ends)
    stretch = rows_of_stretch(rows, n, m)
    for first in range(0, n, stretch):
        last = min(first + stretch, n)
        if trace and first > 0:
            save_row(rows, first - 1, first // stretch - 1, m)
        is_traced = trace and last == n
        fill_rows(blocks, work, w, i, pair, with_loss, first, last, m, is_traced)
    value, place = best_end(rows, m)
    if blocks.given_first[pair] == blocks.given_first[pair + 1]:
        # no pair at all: every token stands before the first one
        empty = start_score(ends, n, m)
        if empty > value:
            value, place = empty, np.int64(-1)
    return value, place


@kernel
def fill_rows(blocks, work, w, i, pair, with_loss, first, last, n_columns, is_traced):
    """The rows [first, last) of cells, of the first `n_columns` columns."""
    _, n, _, m = bounds_of(blocks, pair)
    rows, ends, scores = work.rows, work.ends, work.scores
    first_given, last_given = blocks.given_first[pair], blocks.given_first[pair + 1]
    row_first, column_first, row_last = -1, -1, -1
    if first_given < last_given:
        row_first = blocks.given[first_given, 0]
        column_first = blocks.given[first_given, 1]
        row_last = blocks.given[last_given - 1, 0]
    for t in range(first, last):
        low, high = work.low[t], work.high[t]
        r = row_of_scores(blocks, work, w, i, pair, t, with_loss)
        begin, end = low // LANES * LANES, (high + LANES - 1) // LANES * LANES
        lead = fill_lead(ends, row_first, column_first, t, begin, end, rows.lead)
        tail = fill_tail(ends, row_last, n, m, t, begin, end, rows.tail)
        advance(
            rows, t, low, min(high, n_columns), m, scores, r * scores.shape[1], lead,
            tail, work.a_open[t], work.a_extend[t], t - first if is_traced else -1,
        )  # fmt: skip


@kernel
def save_row(rows, t, k, m):
    """Store the values of row t."""
    saved, width = rows.saved, (m + LANES - 1) // LANES * LANES
    for c in range(width):
        saved[k, 0, c] = rows.match[c]
        saved[k, 1, c] = rows.delete[c]
        saved[k, 2, c] = rows.best[t % 2, LANES + c]


@kernel
def restore_row(rows, t, k, m):
    """Load the values of row t."""
    saved, width = rows.saved, (m + LANES - 1) // LANES * LANES
    for c in range(width):
        rows.match[c] = saved[k, 0, c]
        rows.delete[c] = saved[k, 1, c]
        rows.best[t % 2, LANES + c] = saved[k, 2, c]


@kernel
def trace_best(blocks, work, w, i, pair, with_loss, place, code):
    """The alignment whose last pair is at `place`, as the partner of each token of a.

    A token without a partner has −1. To be called after `find_best`.
    """
    _, n, _, m = bounds_of(blocks, pair)
    for t in range(n):
        code[t] = -1
    if place < 0:
        return
    rows = work.rows
    n_vectors = (m + LANES - 1) // LANES
    stretch = rows_of_stretch(rows, n, m)
    first = (n - 1) // stretch * stretch
    t, c = place // m, place % m
    state = MATCH
    while True:
        if t < first:
            first = t // stretch * stretch
            open_rows(rows, m, work.b_open, work.b_extend, work.ends)
            if first > 0:
                restore_row(rows, first - 1, first // stretch - 1, m)
            n_columns = (c // LANES + 1) * LANES
            fill_rows(
                blocks, work, w, i, pair, with_loss, first, t + 1, n_columns, True
            )
        row = t - first
        if state == BEST:
            is_insertion = bit_at(rows.bits, row, INSERTED, n_vectors, c)
            state = INSERT if is_insertion else UNINSERTED
        if state == UNINSERTED:
            is_deletion = bit_at(rows.bits, row, DELETED, n_vectors, c)
            state = DELETE if is_deletion else MATCH
        if state == MATCH:
            code[t] = c
            if bit_at(rows.bits, row, STARTS, n_vectors, c):
                return
            state = BEST
            t -= 1
            c -= 1
        elif state == DELETE:
            is_longer = bit_at(rows.bits, row, EXTENDED_A, n_vectors, c)
            state = DELETE if is_longer else MATCH
            t -= 1
        else:
            is_longer = bit_at(rows.bits, row, EXTENDED_B, n_vectors, c)
            state = INSERT if is_longer else UNINSERTED
            c -= 1


@kernel
def bit_at(bits, row, plane, n_vectors, c):
    """One bit of the trace."""
    byte = bits[(row * PLANES + plane) * n_vectors + c // LANES]
    return (byte >> np.uint8(c % LANES)) & 1
