"""The best alignment of two sequences: one dynamic program, eight cells at a time.

An alignment is a set of pairs (t, c) of tokens, rising in both. Between two of its
pairs stand first the deletions (tokens of a), then the insertions (tokens of b), so
each alignment is exactly one path, and equal alignments have equal features. With S
the score of a match, o and e those of opening and extending a gap,

    M(t, c) = S(t, c) + max(start(t, c), H(t−1, c−1))
    D(t, c) = e_t + max(M(t−1, c) + o_t, D(t−1, c))
    X(t, c) = max(M, D)
    I(t, c) = e_c + max(X(t, c−1) + o_c, I(t, c−1))
    H(t, c) = max(X, I)

and the best alignment has the value max M(t, c) + end(t, c), or that of no pair at all.
`start` and `end` score what lies before the first and after the last pair (`Ends`):
they are all that differs between global, local and semi-global alignment.

Cells of a row go eight at a time. I depends on its left neighbour, so it is written as
a running maximum, with E the sum of the e up to a token:

    I(t, c) = E_c + max over k < c of X(t, k) + o_{k+1} − E_k

which costs three steps per vector (`_lanes.py`). Sums of E round differently from sums
along a path, by a few units in the last place.

What was largest in each cell is kept as five bits. `_best.py` runs the rows and goes
the way back.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.alignment._lanes import (
    choose,
    last_lane,
    running_largest,
    shift_in,
    store_mask,
)
from partwise.vectors import add, fill8, largest, load8, store

LANES = 8
PLANES = 5  # bits of a trace: which of two values was larger
STARTS, DELETED, EXTENDED_A, INSERTED, EXTENDED_B = range(PLANES)


class Ends(NamedTuple):
    """Scores of unaligned tokens before the first and after the last pair.

    With `shorter` False start(t, c) = lead_a[t] + lead_b[c]: zeros where a sequence may
    begin anywhere for free, else those of a gap. With `shorter` True both sequences may
    begin for free, but not together: of the t and c tokens before the first pair the
    shorter stretch is a gap, the longer one is free. Likewise at the other end.
    """

    lead_a: np.ndarray  # (n + 1,)
    lead_b: np.ndarray  # (m + 1,)
    tail_a: np.ndarray  # (n,) after token t
    tail_b: np.ndarray  # (m,) after token c
    shorter: np.ndarray  # (2,) uint8: at the start, at the end


class Rows(NamedTuple):
    """Buffers of one row of cells, and the traces of all."""

    match: np.ndarray  # (width,) M
    delete: np.ndarray  # (width,) D
    best: np.ndarray  # (2, 8 + width) H of two rows, −inf before their beginning
    sum: np.ndarray  # (width,) E
    base: np.ndarray  # (width,) o_{c+1} − E_c
    lead: np.ndarray  # (width,) start of one row
    tail: np.ndarray  # (width,) end of one row
    top: np.ndarray  # (2, 8) best values, and where they are
    bits: np.ndarray  # uint8, five bits per cell of the rows whose trace is at hand
    saved: np.ndarray  # (n_saved, 3, width) M, D and H of some rows, see `_best.py`


@kernel
def start_score(ends, t, c):
    """Score of the t and c tokens before the first pair."""
    if ends.shorter[0] == 1:
        return ends.lead_b[c] if t >= c else ends.lead_a[t]
    return ends.lead_a[t] + ends.lead_b[c]


@kernel
def end_score(ends, n, m, t, c):
    """Score of the tokens after the last pair (t, c)."""
    if ends.shorter[1] == 1:
        return ends.tail_b[c] if n - t >= m - c else ends.tail_a[t]
    return ends.tail_a[t] + ends.tail_b[c]


@kernel
def open_rows(rows, m, b_open, b_extend, ends):
    """What all rows of a pair of sequences share."""
    width = (m + LANES - 1) // LANES * LANES
    total = 0.0
    for c in range(width):
        rows.match[c] = -np.inf
        rows.delete[c] = -np.inf
        if c < m:
            total += b_extend[c]
        rows.sum[c] = total
        rows.base[c] = (b_open[c + 1] if c + 1 < m else 0.0) - total
        rows.lead[c] = ends.lead_b[c] if c < m else 0.0
        rows.tail[c] = ends.tail_b[c] if c < m else -np.inf
    for c in range(width + LANES):
        rows.best[0, c] = -np.inf
        rows.best[1, c] = -np.inf
    for lane in range(LANES):
        rows.top[0, lane] = -np.inf
        rows.top[1, lane] = -1.0


@kernel
def fill_lead(ends, given_row, given_column, t, first, last, out):
    """Start scores of row t; returns a number to be added to all of them.

    A pair that is given must not be jumped over: no path begins behind it.
    """
    if given_row >= 0 and t > given_row:
        return -np.inf
    if given_row == t:
        for c in range(first, last):
            out[c] = -np.inf
        out[given_column] = start_score(ends, t, given_column)
        return 0.0
    if ends.shorter[0] == 1:
        # up to column t it is that of b, which the row before has not overwritten
        # but for the column t itself
        value = ends.lead_a[t]
        for c in range(max(first, t + 1), last):
            out[c] = value
        if t < min(out.shape[0], ends.lead_b.shape[0]):
            out[t] = ends.lead_b[t]
        return 0.0
    return ends.lead_a[t]


@kernel
def fill_tail(ends, given_row, n, m, t, first, last, out):
    """End scores of row t; returns a number to be added to all of them.

    No path ends before the last pair that is given.
    """
    if t < given_row:
        return -np.inf
    if ends.shorter[1] == 1:  # from column m − n + t on it is that of b
        value = ends.tail_a[t]
        for c in range(first, min(last, m - n + t)):
            out[c] = value
        return 0.0
    return ends.tail_a[t]


@kernel
def advance(rows, t, low, high, m, scores, at, lead, tail, opening, extension, row):
    """One row of cells; `at` is the place of its match scores in `scores`.

    Its trace becomes a row of `bits`; there is none for the row −1. Cells outside
    [low, high) are no cells: the scores there are −inf. Bounds rise with t, so what was
    left behind is not read again.
    """
    first = low // LANES * LANES
    width = rows.best.shape[1]
    here, before = (t % 2) * width + LANES, ((t + 1) % 2) * width + LANES
    for c in range(first, low):
        rows.match[c] = -np.inf
        rows.delete[c] = -np.inf
    n_vectors = (m + LANES - 1) // LANES
    bits = row * PLANES * n_vectors
    open_a, extend_a = fill8(opening), fill8(extension)
    lead8, tail8 = fill8(lead), fill8(tail)
    earlier, carry = fill8(-np.inf), fill8(-np.inf)
    top, place = load8(rows.top, 0), load8(rows.top, LANES)
    for c in range(first, high, LANES):
        start = add(load8(rows.lead, c), lead8)
        diagonal = load8(rows.best, before + c - 1)
        match = add(largest(diagonal, start), load8(scores, at + c))
        opened, extended = add(load8(rows.match, c), open_a), load8(rows.delete, c)
        delete = add(largest(opened, extended), extend_a)
        either = largest(match, delete)
        source = add(either, load8(rows.base, c))
        left = shift_in(earlier, source)
        run = largest(running_largest(left), carry)
        insert = add(run, load8(rows.sum, c))
        store(rows.match, c, match)
        store(rows.delete, c, delete)
        store(rows.best, here + c, largest(either, insert))
        end = add(match, add(load8(rows.tail, c), tail8))
        place = choose(end, top, fill8(np.float64(t * m + c)), place)
        top = largest(end, top)
        if row >= 0:
            k = bits + c // LANES
            store_mask(rows.bits, k, start, diagonal)
            store_mask(rows.bits, k + n_vectors, delete, match)
            store_mask(rows.bits, k + 2 * n_vectors, extended, opened)
            store_mask(rows.bits, k + 3 * n_vectors, insert, either)
            store_mask(rows.bits, k + 4 * n_vectors, run, left)
        earlier, carry = source, last_lane(run)
    store(rows.top, 0, top)
    store(rows.top, LANES, place)
    best, parity = rows.best, t % 2
    best[parity, LANES + first - 1] = -np.inf
    if high < m:
        for c in range(high, (high + LANES - 1) // LANES * LANES):
            best[parity, LANES + c] = -np.inf


@kernel
def best_end(rows, m):
    """Value and place t·m + c of the best last pair; −1 where there is none.

    Of equal values the first counts. Lanes know the column of their vector only.
    """
    value, place = -np.inf, np.int64(-1)
    for lane in range(LANES):
        if rows.top[1, lane] >= 0.0:
            here = np.int64(rows.top[1, lane] + lane)
            one = rows.top[0, lane]
            if one > value or (one == value and here < place):
                value, place = one, here
    return value, place
