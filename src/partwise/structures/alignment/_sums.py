"""Sums over all alignments: log Z and expected counts of parts.

Sums of exp(score) leave the range of numbers within a few hundred tokens, and cells of
one row may differ by more than that range. So each cell has a scale of its own: its
values stand for exp(g)·value, where g is the largest g of a source plus the score of
the step. Steps become factors exp(g_source + score − g) ≤ 1, the values stay near one,
and those few that do not are scaled again. The way back uses the same factors on
B·exp(g)/Z, so that value times value is a probability. Ten times as fast as sums of
logarithms (`counts_by_logarithms`), which remain for extreme scores.
"""

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures._semirings import LOG_PLUS
from partwise.structures.alignment._charts import (
    fill_backward,
    fill_forward,
    log_partition,
)
from partwise.structures.alignment._scores import (
    A_END,
    A_START,
    ANYWHERE,
    B_END,
    B_START,
)

MAX_OPENING = 300.0  # beyond, exp(opening) is not safe
LARGEST = 1e100  # values beyond it, or below its inverse, are scaled again


@allocating
def expected_counts(chart, free):
    """Expected counts under exp(score), and log Z.

    Returns log Z, P(t matched with c) (n, m), and how often a gap is expected to open
    and to extend at each token of a and of b.
    """
    n, m = chart.score.shape
    is_safe = True
    for t in range(n):
        is_safe = is_safe and abs(chart.a_open[t]) <= MAX_OPENING
    for c in range(m):
        is_safe = is_safe and abs(chart.b_open[c]) <= MAX_OPENING
    if not is_safe:
        return counts_by_logarithms(chart, free)
    scale = np.full((n + 1, m + 1), -np.inf)  # g; the first row and column are none
    cells = np.zeros((3, n + 1, m + 1))  # M, D, I
    factors = np.zeros((4, n + 2, m + 2))  # of start, match, deletion, insertion
    a_open, b_open = np.exp(chart.a_open), np.exp(chart.b_open)
    scaled_forward(chart, a_open, b_open, scale, cells, factors)
    top = chart.empty
    for t in range(n):
        for c in range(chart.low[t], chart.high[t]):
            if cells[0, t + 1, c + 1] > 0.0:
                top = max(top, scale[t + 1, c + 1] + chart.end[t, c])
    total = np.exp(chart.empty - top)
    for t in range(n):
        for c in range(chart.low[t], chart.high[t]):
            value = cells[0, t + 1, c + 1]
            if value > 0.0:
                total += value * np.exp(scale[t + 1, c + 1] + chart.end[t, c] - top)
    log_z = top + np.log(total)
    return scaled_counts(chart, free, log_z, a_open, b_open, scale, cells, factors)


@kernel
def scaled_forward(chart, a_open, b_open, scale, cells, factors):
    """Fill cells, their scales, and the factors of the steps into them.

    The cell of tokens t and c is at (t + 1, c + 1) of all tables.
    """
    n = chart.score.shape[0]
    match, delete, insert = cells[0], cells[1], cells[2]
    for t in range(n):
        opening, extension = a_open[t], chart.a_extend[t]
        for c in range(chart.low[t], chart.high[t]):
            score = chart.score[t, c]
            starts, pairs = chart.start[t, c] + score, scale[t, c] + score
            deletes = scale[t, c + 1] + extension
            inserts = scale[t + 1, c] + chart.b_extend[c]
            top = max(max(starts, pairs), max(deletes, inserts))
            if top == -np.inf:
                continue
            start, pair = np.exp(starts - top), np.exp(pairs - top)
            longer_a, longer_b = np.exp(deletes - top), np.exp(inserts - top)
            before = match[t, c] + delete[t, c] + insert[t, c]
            one = start + pair * before
            two = longer_a * (match[t, c + 1] * opening + delete[t, c + 1])
            either = match[t + 1, c] + delete[t + 1, c]
            three = longer_b * (either * b_open[c] + insert[t + 1, c])
            total = one + two + three
            if total == 0.0:  # no state can come here
                continue
            if not 1.0 / LARGEST < total < LARGEST:
                inverse = 1.0 / total
                one, two, three = one * inverse, two * inverse, three * inverse
                start, pair = start * inverse, pair * inverse
                longer_a, longer_b = longer_a * inverse, longer_b * inverse
                top += np.log(total)
            scale[t + 1, c + 1] = top
            match[t + 1, c + 1], delete[t + 1, c + 1] = one, two
            insert[t + 1, c + 1] = three
            factors[0, t + 1, c + 1], factors[1, t + 1, c + 1] = start, pair
            factors[2, t + 1, c + 1], factors[3, t + 1, c + 1] = longer_a, longer_b


@allocating
def scaled_counts(chart, free, log_z, a_opening, b_opening, scale, cells, factors):
    """The way back: probabilities of all parts."""
    n, m = chart.score.shape
    match = np.zeros((n, m))
    a_open, a_extend, b_open, b_extend = (
        np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m),
    )  # fmt: skip
    starts, ends = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    starts[n, m] = np.exp(chart.empty - log_z)
    # what follows M, D and I, times exp(g)/Z: of this row and of the next
    here, after = np.zeros((3, m + 2)), np.zeros((3, m + 2))
    for t in range(n - 1, -1, -1):
        here[:] = 0.0
        for c in range(chart.high[t] - 1, chart.low[t] - 1, -1):
            r, k = t + 1, c + 1
            one, two, three = cells[0, r, k], cells[1, r, k], cells[2, r, k]
            ended = 0.0
            if one > 0.0:
                ended = np.exp(scale[r, k] + chart.end[t, c] - log_z)
            paired = factors[1, r + 1, k + 1] * after[0, k + 1]
            longer_a = factors[2, r + 1, k] * after[1, k]
            longer_b = factors[3, r, k + 1] * here[2, k + 1]
            opened_a = longer_a * a_opening[t + 1] if t + 1 < n else 0.0
            opened_b = longer_b * b_opening[c + 1] if c + 1 < m else 0.0
            here[0, k] = ended + paired + opened_a + opened_b
            here[1, k] = paired + longer_a + opened_b
            here[2, k] = paired + longer_b
            match[t, c] = one * here[0, k]
            starts[t, c] = factors[0, r, k] * here[0, k]
            ends[n - 1 - t, m - 1 - c] = one * ended
            a_extend[t] += two * here[1, k]
            b_extend[c] += three * here[2, k]
            if t + 1 < n:
                a_open[t + 1] += one * opened_a
            if c + 1 < m:
                b_open[c + 1] += (one + two) * opened_b
        here, after = after, here
    count_ends(free, starts, ends, a_open, a_extend, b_open, b_extend)
    return log_z, match, a_open, a_extend, b_open, b_extend


@allocating
def count_ends(free, starts, ends, a_open, a_extend, b_open, b_extend):
    """Add the gaps at both ends to the expected counts of opening and extending.

    starts and ends (n + 1, m + 1) are the probabilities that so many tokens lie before
    the first and behind the last pair.
    """
    count_end(free, A_START, B_START, starts, True, a_open, a_extend, b_open, b_extend)
    count_end(free, A_END, B_END, ends, False, a_open, a_extend, b_open, b_extend)


@allocating
def count_end(free, of_a, of_b, mass, is_start, a_open, a_extend, b_open, b_extend):
    """As `count_ends`, at one end."""
    is_free_a, is_free_b = free & of_a != 0, free & of_b != 0
    is_shorter = is_free_a and is_free_b and free & ANYWHERE == 0
    size_a, size_b = mass.shape
    of_length_a, of_length_b = np.zeros(size_a), np.zeros(size_b)
    for p in range(size_a):
        for q in range(size_b):
            if is_shorter:
                if p >= q:
                    of_length_b[q] += mass[p, q]
                else:
                    of_length_a[p] += mass[p, q]
            else:
                if not is_free_a:
                    of_length_a[p] += mass[p, q]
                if not is_free_b:
                    of_length_b[q] += mass[p, q]
    spread_lengths(of_length_a, is_start, a_open, a_extend)
    spread_lengths(of_length_b, is_start, b_open, b_extend)


@kernel
def spread_lengths(of_length, is_start, opening, extension):
    """Counts of the tokens of gaps at an end, from how likely each length is."""
    n = opening.shape[0]
    total = 0.0
    for length in range(n, 0, -1):
        total += of_length[length]
        if is_start:
            extension[length - 1] += total
        else:
            extension[n - length] += total
            opening[n - length] += of_length[length]
    if is_start:
        opening[0] += total


@allocating
def counts_by_logarithms(chart, free):
    """The same as `expected_counts`, by sums of logarithms: slow, and always safe."""
    n, m = chart.score.shape
    forward = fill_forward(LOG_PLUS, chart)
    backward = fill_backward(LOG_PLUS, chart)
    log_z = log_partition(chart, forward)
    match = np.zeros((n, m))
    a_open, a_extend, b_open, b_extend = (
        np.zeros(n), np.zeros(n), np.zeros(m), np.zeros(m),
    )  # fmt: skip
    starts, ends = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
    starts[n, m] = np.exp(chart.empty - log_z)
    for t in range(n):
        for c in range(chart.low[t], chart.high[t]):
            after = backward.match[t, c] - log_z
            match[t, c] = np.exp(forward.match[t, c] + after)
            starts[t, c] += np.exp(chart.start[t, c] + chart.score[t, c] + after)
            last = forward.match[t, c] + chart.end[t, c] - log_z
            ends[n - 1 - t, m - 1 - c] += np.exp(last)
            after = backward.delete[t, c] - log_z
            a_extend[t] += np.exp(forward.delete[t, c] + after)
            if t > 0:
                opened = forward.match[t - 1, c] + chart.a_open[t] + chart.a_extend[t]
                a_open[t] += np.exp(opened + after)
            after = backward.insert[t, c] - log_z
            b_extend[c] += np.exp(forward.insert[t, c] + after)
            if c > 0:
                opened = chart.b_open[c] + chart.b_extend[c] + after
                b_open[c] += np.exp(forward.match[t, c - 1] + opened)
                b_open[c] += np.exp(forward.delete[t, c - 1] + opened)
    count_ends(free, starts, ends, a_open, a_extend, b_open, b_extend)
    return log_z, match, a_open, a_extend, b_open, b_extend
