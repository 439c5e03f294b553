"""Scores of the matches, gaps and ends of one pair of sequences, before its program."""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.alignment._pairs import (
    fill_gaps,
    fill_row,
    touch_gap,
    touch_match,
)
from partwise.structures.alignment._programs import (
    LANES,
    Ends,
    Rows,
    end_score,
    start_score,
)

# ends that are free, as bits of `AlignmentBlocks.free`
A_START, A_END, B_START, B_END, ANYWHERE = 1, 2, 4, 8, 16


class AlignmentWork(NamedTuple):
    """Buffers of one thread: the scores of one pair of sequences, rows of cells."""

    scores: np.ndarray  # (n_symbols + 1, width) of matches; the last row is for edits
    stripe: np.ndarray  # (largest group,) see `fill_row`
    weights: np.ndarray  # (n_weights,) the model asked about, or (0,)
    total: np.ndarray  # (n_weights,) the same with the base added, or (0,)
    a_open: np.ndarray  # (longest a,) of a gap that opens at a token
    a_extend: np.ndarray  # (longest a,)
    b_open: np.ndarray  # (longest b,)
    b_extend: np.ndarray  # (longest b,)
    low: np.ndarray  # (longest a,) int32, columns [low, high) of each row
    high: np.ndarray
    ends: Ends
    rows: Rows


@kernel
def prepare(blocks, work, w, i, pair):
    """Score the gaps, ends and, where they are kept, matches of a pair."""
    a, n, b, m = bounds_of(blocks, pair)
    pairs = blocks.pairs
    fill_gaps(pairs.a_open, w, a, n, work.a_open)
    fill_gaps(pairs.a_extend, w, a, n, work.a_extend)
    fill_gaps(pairs.b_open, w, b, m, work.b_open)
    fill_gaps(pairs.b_extend, w, b, m, work.b_extend)
    fill_ends(blocks.free, n, m, work)
    fill_ranges(blocks, pair, n, m, work.low, work.high)
    if blocks.keeps_rows:
        n_symbols = 0
        for t in range(n):
            if pairs.a_symbol[a + t] == n_symbols:
                fill_row(pairs, w, a + t, b, m, work.stripe, work.scores, n_symbols)
                n_symbols += 1


@kernel
def bounds_of(blocks, pair):
    """First token and number of tokens of either sequence of a pair."""
    one, other = blocks.pair_a[pair], blocks.pair_b[pair]
    a, b = blocks.a_offset[one], blocks.b_offset[other]
    return a, blocks.a_offset[one + 1] - a, b, blocks.b_offset[other + 1] - b


@kernel
def fill_ends(free, n, m, work):
    """Scores of unaligned tokens at both ends; see `Ends`."""
    ends = work.ends
    lead_gap(work.a_open, work.a_extend, n, free & A_START, ends.lead_a)
    lead_gap(work.b_open, work.b_extend, m, free & B_START, ends.lead_b)
    tail_gap(work.a_open, work.a_extend, n, free & A_END, ends.tail_a)
    tail_gap(work.b_open, work.b_extend, m, free & B_END, ends.tail_b)
    starts, stops = A_START | B_START, A_END | B_END
    is_both = free & ANYWHERE == 0
    ends.shorter[0] = is_both and free & starts == starts
    ends.shorter[1] = is_both and free & stops == stops
    if ends.shorter[0]:
        lead_gap(work.a_open, work.a_extend, n, 0, ends.lead_a)
        lead_gap(work.b_open, work.b_extend, m, 0, ends.lead_b)
    if ends.shorter[1]:
        tail_gap(work.a_open, work.a_extend, n, 0, ends.tail_a)
        tail_gap(work.b_open, work.b_extend, m, 0, ends.tail_b)


@kernel
def lead_gap(opening, extension, n, is_free, out):
    """out[t] = score of a gap of the first t tokens."""
    out[0] = 0.0
    total = 0.0 if is_free or n == 0 else opening[0]
    for t in range(n):
        if not is_free:
            total += extension[t]
        out[t + 1] = total


@kernel
def tail_gap(opening, extension, n, is_free, out):
    """out[t] = score of a gap of all tokens after t."""
    if n > 0:
        out[n - 1] = 0.0
    total = 0.0
    for t in range(n - 1, 0, -1):
        if not is_free:
            total += extension[t]
            out[t - 1] = total + opening[t]
        else:
            out[t - 1] = 0.0


@kernel
def fill_ranges(blocks, pair, n, m, low, high):
    """Columns of each row that the band and the given pairs leave."""
    band = blocks.band
    for t in range(n):
        low[t], high[t] = 0, m
        if band >= 0:
            low[t] = max(0, t * m // n - band)
            high[t] = min(m, t * m // n + band + 1)
    for t in range(n - 1):  # neighbouring rows touch
        high[t] = max(high[t], low[t + 1])
    for g in range(blocks.given_first[pair], blocks.given_first[pair + 1]):
        row, column = blocks.given[g, 0], blocks.given[g, 1]
        for t in range(row):
            high[t] = min(high[t], column)
        for t in range(row, n):
            low[t] = max(low[t], column)


@kernel
def row_of_scores(blocks, work, w, i, pair, t, with_loss):
    """The row of `scores` with those of token t: a copy if some are edited."""
    a, _, b, m = bounds_of(blocks, pair)
    scores = work.scores
    edited = scores.shape[0] - 1
    r = blocks.pairs.a_symbol[a + t]
    if not blocks.keeps_rows:
        r = edited
        fill_row(blocks.pairs, w, a + t, b, m, work.stripe, scores, r)
    token = blocks.offset[i] + t
    low, high = work.low[t], work.high[t]
    is_counted = with_loss and blocks.counted[token]
    has_mask = blocks.forbid.shape[0] > 0
    is_ragged = low > 0 or high < m
    if not (is_counted or has_mask or is_ragged):
        return np.int64(r)
    if r != edited:
        for c in range(low // LANES * LANES, min(m, high + LANES)):
            scores[edited, c] = scores[r, c]
    if is_counted:
        y = blocks.y[token]
        for c in range(max(0, y - blocks.tolerance), min(m, y + blocks.tolerance + 1)):
            scores[edited, c] -= blocks.unit[i]
    if has_mask:
        place = blocks.pair_offset[pair] + t
        for p in range(blocks.forbid_first[place], blocks.forbid_first[place + 1]):
            scores[edited, blocks.forbid[p]] = -np.inf
    for c in range(low // LANES * LANES, low):
        scores[edited, c] = -np.inf
    for c in range(high, (high + LANES - 1) // LANES * LANES):
        scores[edited, c] = -np.inf
    return np.int64(edited)


@kernel
def score_path(blocks, work, pair, codes, at):
    """<w, φ> of the alignment at place `at` of `codes`, from the scores at hand."""
    a, n, _, m = bounds_of(blocks, pair)
    total = 0.0
    row, column = -1, -1
    for t in range(n):
        c = codes[at + t]
        if c < 0:
            continue
        if row < 0:
            total += start_score(work.ends, t, c)
        else:
            if row + 1 < t:
                total += work.a_open[row + 1]
            for k in range(row + 1, t):
                total += work.a_extend[k]
            if column + 1 < c:
                total += work.b_open[column + 1]
            for k in range(column + 1, c):
                total += work.b_extend[k]
        total += work.scores[blocks.pairs.a_symbol[a + t], c]
        row, column = t, c
    if row < 0:
        return total + start_score(work.ends, n, m)
    return total + end_score(work.ends, n, m, row, column)


@kernel
def walk_path(blocks, w, pair, codes, at, kind, coef):
    """<w, coef·φ> of an alignment, or add coef·φ to w, or wipe its coordinates."""
    a, n, b, m = bounds_of(blocks, pair)
    pairs = blocks.pairs
    total = 0.0
    row, column = -1, -1
    for t in range(n):
        c = codes[at + t]
        if c < 0:
            continue
        if row < 0:
            total += walk_end(blocks, w, a, t, b, c, A_START, B_START, kind, coef)
        else:
            total += touch_gap(
                pairs.a_open, pairs.a_extend, w, a + row + 1, a + t, kind, coef
            )
            total += touch_gap(
                pairs.b_open, pairs.b_extend, w, b + column + 1, b + c, kind, coef
            )
        total += touch_match(pairs, w, a + t, b + c, kind, coef)
        row, column = t, c
    if row < 0:
        return walk_end(blocks, w, a, n, b, m, A_START, B_START, kind, coef)
    return total + walk_end(
        blocks, w, a + row + 1, n - row - 1, b + column + 1, m - column - 1,
        A_END, B_END, kind, coef,
    )  # fmt: skip


@kernel
def walk_end(blocks, w, a, p, b, q, of_a, of_b, kind, coef):
    """The same for p and q tokens from a and b on, at an end; see `Ends`."""
    pairs = blocks.pairs
    is_free_a, is_free_b = blocks.free & of_a != 0, blocks.free & of_b != 0
    if is_free_a and is_free_b and blocks.free & ANYWHERE == 0:
        is_free_a = p >= q
        is_free_b = not is_free_a
    total = 0.0
    if not is_free_a:
        total += touch_gap(pairs.a_open, pairs.a_extend, w, a, a + p, kind, coef)
    if not is_free_b:
        total += touch_gap(pairs.b_open, pairs.b_extend, w, b, b + q, kind, coef)
    return total
