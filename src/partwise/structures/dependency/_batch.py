"""Batches of dependency trees: decoding, k-best, probabilities, likelihood."""

import numpy as np

from partwise.compiled import jitted, kernel
from partwise.scorers.arcs import add_arc, add_label
from partwise.structures.dependency._oracles import (
    NO_HEAD,
    NO_LABEL,
    cut_of,
    find_heads,
    find_labels,
    find_trees,
    is_hidden,
    name_labels,
    score_sentence,
)
from partwise.structures.dependency._programs import is_tree
from partwise.structures.dependency._searches import (
    BEST_HEADS,
    GIVEN,
    PROJECTIVE,
    rank_labels,
    write_code,
)
from partwise.structures.dependency._sums import projective_sums, spanning_sums

LEAST = 1e-15  # parts less probable than this are left out of a gradient


@kernel
def decode_rows(blocks, work, w, given, labels, first, last, code, value, is_valid):
    """Best tree and score of the sentences [first, last), under the given parts.

    `given` and `labels` are (n_words,) heads and labels, −1 where they are free, or
    (0,). `is_valid` tells whether the heads are a tree, which best heads need not be.
    """
    for i in range(first, last):
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        here = code[begin : begin + n]
        if blocks.construction == GIVEN:
            find_labels(blocks, work, w, i, here)
            continue
        score_sentence(blocks, work, w, i)
        if labels.shape[0] > 0:
            fix_labels(work, labels, begin, n)
        if given.shape[0] > 0:
            fix_heads(work, given, begin, n)
        value[i] = find_heads(blocks, work, i)
        name_labels(blocks, work, i, here)
        for t in range(n if labels.shape[0] > 0 else 0):
            if labels[begin + t] >= 0:
                here[t] = work.heads[t] * blocks.n_labels + labels[begin + t]
        if blocks.construction == BEST_HEADS:
            is_valid[i] = is_tree(n, work.nodes[0], work.heads)


@kernel
def score_row(blocks, work, w, i):
    """Scores of all parts of sentence i into `work`."""
    score_sentence(blocks, work, w, i)


@kernel
def fix_heads(work, given, begin, n):
    """Forbid all heads but the given ones."""
    for t in range(n):
        if given[begin + t] >= 0:
            for h in range(n + 1):
                if h != given[begin + t]:
                    work.scores.total[h, t + 1] = -np.inf


@kernel
def fix_labels(work, labels, begin, n):
    """Score arcs by the given labels of their words instead of the best ones."""
    scores = work.scores
    for t in range(n):
        k = labels[begin + t]
        for h in range(n + 1 if k >= 0 else 0):
            if scores.total[h, t + 1] > -np.inf:
                total = scores.arc[h, t + 1] + scores.label[h, t + 1, k]
                scores.total[h, t + 1] = total


@jitted
def k_best_rows(
    blocks, work, w, rows, k, with_loss, first, last, options, indptr, code, value,
    n_found, b, scale, violation,
):  # fmt: skip
    """The k best trees of rows [first, last), with losses and planes on demand.

    `options` is room for (ranks, N, N); see `BestOutputs` for the arrays that follow.
    """
    scores, size = work.scores, blocks.n_labels
    for r in range(first, last):
        i = rows[r]
        n = blocks.offset[i + 1] - blocks.offset[i]
        score_sentence(blocks, work, w, i)
        if with_loss:
            shift_truth(blocks, work, i, -1.0)
        rank_labels(scores.arc, scores.label, scores.total, size, n, options)
        heads, ranks = np.zeros((k, n), np.int32), np.zeros((k, n), np.int32)
        n_found[r] = find_trees(blocks, work, options, n, k, heads, ranks, value[r])
        for j in range(n_found[r]):
            at = indptr[r] * k + j * n
            write_code(scores.label, size, n, heads, ranks, j, code[at : at + n])
        if with_loss:
            shift_truth(blocks, work, i, 1.0)
            for j in range(n_found[r]):
                at = indptr[r] * k + j * n
                here = code[at : at + n]
                b[r, j], scale[r, j], violation[r, j] = cut_of(blocks, work, i, here)


@kernel
def shift_truth(blocks, work, i, sign):
    """Add sign·loss to true parts in `arc`, `label` and `total`.

    A true arc lacks 1 − label_cost of a wrong head's loss, and a true label the rest.
    What is not known of the truth costs nothing.
    """
    begin = blocks.offset[i]
    unit = sign * blocks.unit[i]
    scores = work.scores
    for t in range(blocks.offset[i + 1] - begin):
        y = blocks.y[begin + t]
        h, d = y // blocks.n_labels, t + 1
        has_label = blocks.n_labels > 1 and not is_hidden(blocks, begin + t, NO_LABEL)
        if is_hidden(blocks, begin + t, NO_HEAD):
            k = y % blocks.n_labels
            for g in range(blocks.offset[i + 1] - begin + 1 if has_label else 0):
                scores.label[g, d, k] += unit * blocks.label_cost
        elif not has_label:
            scores.arc[h, d] += unit
            if blocks.n_labels == 1:
                scores.total[h, d] = scores.arc[h, d]
        else:
            scores.arc[h, d] += unit * (1.0 - blocks.label_cost)
            scores.label[h, d, y % blocks.n_labels] += unit * blocks.label_cost


@kernel
def sum_labels(blocks, work, i):
    """`total` becomes arc + log Σ exp(label)."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    if blocks.n_labels == 1:
        return
    scores = work.scores
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h == d:
                continue
            top = scores.total[h, d] - scores.arc[h, d]
            total = 0.0
            for k in range(blocks.n_labels):
                total += np.exp(scores.label[h, d, k] - top)
            scores.total[h, d] += np.log(total)


@jitted
def sum_trees(blocks, work, sums, i, marginal):
    """Log Z of a sentence and the probability of each arc, into `marginal`."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    total = work.scores.total
    single_root = blocks.single_root == 1
    if blocks.construction == PROJECTIVE:
        return projective_sums(total, n, single_root, sums, marginal)
    if blocks.construction == BEST_HEADS:
        return sum_heads(total, n, marginal)
    return spanning_sums(total, n, single_root, sums, marginal)


@kernel
def sum_heads(total, n, marginal):
    """Words on their own: each head in proportion to exp(score)."""
    value = 0.0
    for d in range(1, n + 1):
        top = -np.inf
        for h in range(n + 1):
            if h != d and total[h, d] > top:
                top = total[h, d]
        norm = 0.0
        for h in range(n + 1):
            marginal[h, d] = np.exp(total[h, d] - top) if h != d else 0.0
            norm += marginal[h, d]
        for h in range(n + 1):
            marginal[h, d] /= norm
        value += top + np.log(norm)
    return value


@jitted
def marginal_rows(blocks, work, sums, w, table, first, last, indptr, out, log_z):
    """P(arc) of the sentences [first, last), (n + 1)·(n + 1) each, end to end."""
    for i in range(first, last):
        score_sentence(blocks, work, w, i)
        sum_labels(blocks, work, i)
        log_z[i] = sum_trees(blocks, work, sums, i, table)
        size = blocks.offset[i + 1] - blocks.offset[i] + 1
        for h in range(size):
            for d in range(size):
                is_arc = d > 0 and h != d
                out[indptr[i] + h * size + d] = table[h, d] if is_arc else 0.0


@jitted
def likelihood_rows(
    blocks, work, sums, w, table, weight, first, last, loss, gradient
):  # fmt: skip
    """Loss log Z − <w, φ(y)> of rows [first, last); gradient += c·(E[φ] − φ(y))."""
    for i in range(first, last):
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        score_sentence(blocks, work, w, i)
        sum_labels(blocks, work, i)
        loss[i] = sum_trees(blocks, work, sums, i, table)
        for t in range(n):
            y = blocks.y[begin + t]
            h, label = y // blocks.n_labels, y % blocks.n_labels
            loss[i] -= work.scores.arc[h, t + 1]
            if blocks.n_labels > 1:
                loss[i] -= work.scores.label[h, t + 1, label]
        for d in range(1, n + 1):
            for h in range(n + 1):
                if h != d:
                    add_expected(
                        blocks, work, i, h, d, table[h, d], weight[i], gradient
                    )


@kernel
def add_expected(blocks, work, i, h, d, probability, weight, gradient):
    """Add c·(P(part) − [part is true]) times the features of an arc and its labels."""
    y = blocks.y[blocks.offset[i] + d - 1]
    is_true = h == y // blocks.n_labels
    mass = probability - (1.0 if is_true else 0.0)
    if abs(mass) > LEAST:
        add_arc(blocks.rows, gradient, i, h, d, weight * mass)
    if blocks.n_labels == 1:
        return
    norm = work.scores.total[h, d] - work.scores.arc[h, d]
    for k in range(blocks.n_labels):
        share = probability * np.exp(work.scores.label[h, d, k] - norm)
        if is_true and k == y % blocks.n_labels:
            share -= 1.0
        if abs(share) > LEAST:
            add_label(blocks.rows, gradient, i, h, d, k, weight * share)
