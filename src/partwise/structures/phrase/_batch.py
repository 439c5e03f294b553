"""Batches of sentences: k-best, sums over all trees."""

import numpy as np

from partwise.compiled import allocating, inlined, inner
from partwise.structures._semirings import MAX_PLUS, SUM_TIMES
from partwise.structures.phrase._cky_best import k_best
from partwise.structures.phrase._cky_outside import Outside, outside
from partwise.structures.phrase._cky_programs import Scores, inside
from partwise.structures.phrase._parts import (
    add_parts,
    dot_parts,
    joint_rows,
    prepare,
    score_spans,
)


@allocating
def k_best_rows(blocks, work, w, rows, k, first, last, indptr, code, value, n_found):
    """The k best trees of rows [first, last).

    Row r writes k codes end to end from ``indptr[r]·k``; `value` is (rows, k).
    """
    prepare(blocks, work, w)
    scores = Scores(
        work.weight, work.chain, work.plain, blocks.leaf_ptr, blocks.leaf_tag,
        blocks.leaf_weight,
    )  # fmt: skip
    for r in range(first, last):
        i = rows[r]
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        score_spans(blocks, work, w, i)
        items = inside(MAX_PLUS, blocks.tables, scores, work.chart, begin, n)
        codes = code[indptr[r] * k : indptr[r + 1] * k].reshape(k, -1)
        n_found[r] = k_best(
            blocks.tables, scores, work.chart, items, begin, n, k, codes, value[r]
        )


@allocating
def sum_row(blocks, work, w, block, lead, coef, gradient, brackets):
    """Inside-outside of one sentence: log Z and the score of the truth.

    `lead` is what the best tree scores above the truth, −inf without one. `gradient`
    (n_weights,), if any, receives coef·(E[φ] − φ(y)); `brackets` (cells, n_labels), if
    any, coef·P(bracket). Scores are multiplied as exp(score − μ) per word, μ being the
    share of a word in the best tree's score: sums over whole sentences then stay near
    one, far from the limits of floating point.
    """
    tables = blocks.tables
    prepare(blocks, work, w)
    score_spans(blocks, work, w, block)
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    begin, end = blocks.truth_ptr[block], blocks.truth_ptr[block + 1]
    truth = dot_parts(blocks, w, block, blocks.truth[begin:end])
    best = lead + truth
    if best == -np.inf:
        return -np.inf, 0.0
    share = best / n
    weight = np.empty(work.weight.shape[0])
    for k in range(weight.shape[0]):
        weight[k] = np.exp(work.weight[k])
    weight[tables.n_weights + 1] = np.exp(-share)
    is_word = np.zeros(weight.shape[0], np.uint8)
    for leaf in range(blocks.leaf_ptr[first], blocks.leaf_ptr[first + n]):
        k = blocks.leaf_weight[leaf]
        if k < tables.n_weights and not is_word[k]:
            is_word[k] = 1
            weight[k] *= np.exp(-share)
    chain = np.empty(work.chain.shape[0])
    for c in range(chain.shape[0]):
        chain[c] = np.exp(work.chain[c])
    span = np.empty(work.plain.shape)
    for i in range(n):
        for cell in range(i * (n + 1) + i + 1, i * (n + 1) + n + 1):
            for label in range(tables.n_labels):
                span[cell, label] = np.exp(work.plain[cell, label])
    scores = Scores(
        weight, chain, span, blocks.leaf_ptr, blocks.leaf_tag, blocks.leaf_weight
    )
    chart = work.sums
    items = inside(SUM_TIMES, tables, scores, chart, first, n)
    total = 0.0
    for a in range(tables.n_symbols):
        if tables.root_weight[a] >= 0:
            total += chart.symbol[n, a] * weight[tables.root_weight[a]]
    log_z = np.log(total) + best
    if gradient.shape[0] + brackets.shape[0] == 0:
        return log_z, truth
    out = Outside(
        np.empty((chart.symbol.shape[0], tables.n_symbols)),
        np.empty(items.state.shape[0]),
        np.zeros(chart.base.shape[0]),
        np.zeros(chart.sum.shape[0]),
        np.zeros(weight.shape[0]),
        np.zeros((chart.symbol.shape[0], tables.n_labels)),
    )
    outside(SUM_TIMES, tables, scores, chart, items, first, n, out)
    if brackets.shape[0] > 0:
        for cell in range((n + 1) * (n + 1)):
            for label in range(tables.n_labels):
                brackets[cell, label] = coef * out.span[cell, label] / total
    if gradient.shape[0] > 0:
        for k in range(tables.n_weights):
            gradient[k] += coef * out.weight[k] / total
        add_expected(blocks, gradient, block, coef / total, out.span)
        add_parts(blocks, gradient, block, blocks.truth[begin:end], -coef)
    return log_z, truth


@inlined
def add_expected(blocks, w, block, coef, span):
    """W += coef · features of all brackets, each times its entry in `span`."""
    if not blocks.has_spans:
        return
    base, size = blocks.tables.n_weights, blocks.tables.n_labels
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    for i in range(n):
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            for f in range(blocks.begin.shape[1]):
                add_row_of(w, base, size, blocks.begin[first + i, f], coef, span, cell)
            for f in range(blocks.end.shape[1]):
                add_row_of(
                    w, base, size, blocks.end[first + j - 1, f], coef, span, cell
                )
            length, inner, outer = joint_rows(blocks, first, i, j, n)
            add_row_of(w, base, size, length, coef, span, cell)
            if blocks.n_paired > 0:
                add_row_of(w, base, size, inner, coef, span, cell)
                add_row_of(w, base, size, outer, coef, span, cell)


@inner
def add_row_of(w, base, size, row, coef, span, cell):
    """A row of weights += coef · a row of the table of brackets."""
    if row >= 0:
        at = base + row * size
        for label in range(size):
            w[at + label] += coef * span[cell, label]
