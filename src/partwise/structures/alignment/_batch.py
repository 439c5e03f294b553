"""Loops over pairs: decoding, charts of all cells, sums of planes and gradients."""

import numpy as np

from partwise.compiled import allocating, kernel, margin, output_loss
from partwise.structures._formulations import plane
from partwise.structures.alignment._best import find_best, trace_best
from partwise.structures.alignment._charts import make_chart
from partwise.structures.alignment._pairs import ADD, DOT, fill_row, touch, touch_match
from partwise.structures.alignment._scores import bounds_of, prepare, walk_path


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
        _, n, _, _ = bounds_of(blocks, pair)
        prepare(blocks, work, w, example, pair)
        value[pair], place = find_best(blocks, work, w, example, pair, False, trace)
        if trace:
            here = code[offset[pair] : offset[pair] + n]
            trace_best(blocks, work, w, example, pair, False, place, here)
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
    begin, given_first = blocks.pair_offset[pair], blocks.given_first
    return make_chart(
        scores, symbol, m, blocks.forbid_first[begin : begin + n + 1], blocks.forbid,
        blocks.given[given_first[pair] : given_first[pair + 1]], work.a_open,
        work.a_extend, work.b_open, work.b_extend, work.low, work.high, work.ends,
    )  # fmt: skip


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
def planes_of_rows(
    blocks, w, rows, k, first, last, indptr, code, n_found, b, scale, violation
):
    """Offset, scale and violation of the k outputs of rows [first, last)."""
    for r in range(first, last):
        i = rows[r]
        n = indptr[r + 1] - indptr[r]
        for j in range(n_found[r]):
            at = indptr[r] * k + j * n
            here = code[at : at + n]
            b[r, j], scale[r, j] = plane(blocks.rule, output_loss(blocks, i, here))
            if blocks.base.shape[0] > 0:
                b[r, j] -= scale[r, j] * margin(blocks, blocks.base, i, here)
            violation[r, j] = b[r, j] - scale[r, j] * margin(blocks, w, i, here)


@kernel
def add_truths(blocks, out):
    """Add the features of all true alignments to `out`."""
    for i in range(blocks.offset.shape[0] - 1):
        pair, begin = blocks.pair_first[i], blocks.offset[i]
        walk_path(blocks, out, pair, blocks.y, begin, ADD, 1.0)
