"""Batches of pairs: decoding, k best, posterior alignments and the likelihood."""

import numpy as np

from partwise.compiled import allocating, kernel, margin, output_loss
from partwise.structures._formulations import plane
from partwise.structures._semirings import LOG_PLUS
from partwise.structures.alignment._charts import (
    fill_backward,
    fill_forward,
    log_partition,
    make_chart,
)
from partwise.structures.alignment._pairs import ADD, DOT, fill_row, touch, touch_match
from partwise.structures.alignment._programs import trace_path
from partwise.structures.alignment._scores import (
    A_END,
    A_START,
    ANYWHERE,
    B_END,
    B_START,
    bounds_of,
    find_best,
    prepare,
    walk_path,
)


@kernel
def decode_rows(blocks, work, w, first, last, offset, code, value, trace):
    """Best alignments and scores of the pairs [first, last); without trace no codes.

    All candidates of an example are aligned, each as a pair of its own; the code of
    pair p begins at ``offset[p]``. For these scores the paths are walked again: those
    of the program round differently.
    """
    example = 0
    for pair in range(first, last):
        while blocks.pair_first[example + 1] <= pair:
            example += 1
        _, n, _, m = bounds_of(blocks, pair)
        prepare(blocks, work, w, example, pair)
        value[pair], place = find_best(blocks, work, w, example, pair, False, trace)
        if trace:
            here = code[offset[pair] : offset[pair] + n]
            trace_path(work.rows.bits, n, m, place, here)
            value[pair] = walk_path(blocks, w, pair, here, np.int64(0), DOT, 1.0)


@allocating
def chart_of(blocks, work, w, i):
    """Scores of all cells of example i."""
    pair = blocks.pair_first[i]
    a, n, b, m = bounds_of(blocks, pair)
    prepare(blocks, work, w, i, pair)
    scores, symbol = work.scores, blocks.pairs.a_symbol[a : a + n]
    if not blocks.keeps_rows:
        scores, symbol = np.empty((n, m)), np.arange(n).astype(np.int32)
        for t in range(n):
            fill_row(blocks.pairs, w, a + t, b, m, work.stripe, scores, t)
    begin = blocks.offset[i]
    return make_chart(
        scores, symbol, m, blocks.forbid_first[begin : begin + n + 1], blocks.forbid,
        blocks.given[blocks.given_first[i] : blocks.given_first[i + 1]], work.a_open,
        work.a_extend, work.b_open, work.b_extend, work.low, work.high, work.ends,
    )  # fmt: skip


@allocating
def end_counts(free, of_a, of_b, mass, is_start, n, m, a_open, a_extend, b_open, b_ext):
    """Add the gaps at one end to the expected counts of opening and extending.

    mass (n + 1, m + 1) is the probability that so many tokens lie before the first, or
    behind the last pair.
    """
    is_free_a, is_free_b = free & of_a != 0, free & of_b != 0
    is_shorter = is_free_a and is_free_b and free & ANYWHERE == 0
    of_length_a, of_length_b = np.zeros(n + 1), np.zeros(m + 1)
    for p in range(n + 1):
        for q in range(m + 1):
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
    spread_lengths(of_length_b, is_start, b_open, b_ext)


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
def expected_counts(chart, free):
    """Expected counts under exp(score), and log Z.

    Returns log Z, P(t matched with c) (n, m), and how often a gap is expected to open
    and to extend at each token of a and of b.
    """
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
    end_counts(
        free, A_START, B_START, starts, True, n, m, a_open, a_extend, b_open, b_extend
    )
    end_counts(
        free, A_END, B_END, ends, False, n, m, a_open, a_extend, b_open, b_extend
    )
    return log_z, match, a_open, a_extend, b_open, b_extend


@kernel
def add_counts(features, first, counts, weight, gradient):
    """Add expected counts of gap features."""
    for f in range(features.shape[0]):
        for t in range(counts.shape[0]):
            touch(gradient, features[f, first + t], ADD, weight * counts[t])


@kernel
def add_expected(blocks, w, i, match, a_open, a_extend, b_open, b_extend, weight, out):
    """Add c_i (E[φ] − φ(y_i)) to `out`; returns <w, φ(y_i)>."""
    pairs = blocks.pairs
    pair, begin = blocks.pair_first[i], blocks.offset[i]
    a, n, b, m = bounds_of(blocks, pair)
    for t in range(n):
        for c in range(m):
            if match[t, c] > 0.0:
                touch_match(pairs, out, a + t, b + c, ADD, weight * match[t, c])
    add_counts(pairs.a_open, a, a_open, weight, out)
    add_counts(pairs.a_extend, a, a_extend, weight, out)
    add_counts(pairs.b_open, b, b_open, weight, out)
    add_counts(pairs.b_extend, b, b_extend, weight, out)
    walk_path(blocks, out, pair, blocks.y, begin, ADD, -weight)
    return walk_path(blocks, w, pair, blocks.y, begin, DOT, 1.0)


@kernel
def planes_of_rows(blocks, w, rows, k, indptr, code, found, b, scale, violation):
    """Offset, scale and violation of the k outputs of each row."""
    for r in range(rows.shape[0]):
        i = rows[r]
        n = indptr[r + 1] - indptr[r]
        for j in range(found[r]):
            at = indptr[r] * k + j * n
            here = code[at : at + n]
            b[r, j], scale[r, j] = plane(blocks.rule, output_loss(blocks, i, here))
            violation[r, j] = b[r, j] - scale[r, j] * margin(blocks, w, i, here)
