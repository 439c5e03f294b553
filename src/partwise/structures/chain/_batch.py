"""Batches of chains: decoding, k-best, marginals and the conditional likelihood."""

from typing import NamedTuple

import numpy as np

from partwise.compiled import allocating, has_pairs, kernel, output_loss, recall_margin
from partwise.structures._formulations import cut
from partwise.structures._semirings import MAX_PLUS, SUM_TIMES
from partwise.structures.chain._compiled import fill_losses, prepare, score_block
from partwise.structures.chain._programs import (
    Edges,
    backward,
    forward,
    k_best,
    n_states,
    trace,
)
from partwise.structures.chain._searches import score_code


@kernel
def fix_labels(work, given, begin, n):
    """Forbid all labels but the given ones; −1 leaves a token free."""
    for t in range(n):
        if given[begin + t] >= 0:
            for label in range(work.emit.shape[1]):
                if label != given[begin + t]:
                    work.emit[t, label] = -np.inf


@kernel
def decode_rows(blocks, work, w, given, first, last, code, value):
    """Best output and score of the rows [first, last), under the given labels."""
    for i in range(first, last):
        if i == first or has_pairs(blocks.rows):
            prepare(blocks, work.edges, w, i)
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        score_block(blocks, work, w, i)
        if given.shape[0] > 0:
            fix_labels(work, given, begin, n)
        forward(MAX_PLUS, blocks.order, n, work.emit, work.edges, work.alpha)
        here = code[begin : begin + n]
        value[i] = trace(blocks.order, n, work.emit, work.edges, work.alpha, here)


@allocating
def k_best_rows(
    blocks, work, w, rows, k, with_loss, first, last, indptr, code, value, n_found, b,
    scale, violation,
):  # fmt: skip
    """The k best outputs of rows [first, last), with losses and planes on demand.

    See `BestOutputs` for the arrays.
    """
    for r in range(first, last):
        i = rows[r]
        if r == first or has_pairs(blocks.rows):
            prepare(blocks, work.edges, w, i)
        n = blocks.offset[i + 1] - blocks.offset[i]
        score_block(blocks, work, w, i)
        score = work.emit
        if with_loss:
            fill_losses(blocks, work, i, True)
            score = work.score
        forward(MAX_PLUS, blocks.order, n, score, work.edges, work.alpha)
        codes = code[indptr[r] * k : indptr[r + 1] * k].reshape(k, n)
        n_labels = score.shape[1]
        n_found[r] = k_best(
            blocks.order, n, k, n_labels, work.edges, work.alpha, codes, value[r]
        )
        for j in range(n_found[r] if with_loss else 0):
            b[r, j], scale[r, j], violation[r, j] = cut(
                blocks.rule,
                output_loss(blocks, i, codes[j]),
                recall_margin(blocks, work, i, codes[j]),
            )


@allocating
def _exponentials(table, out):
    """exp(table − its maximum) into `out`, both flat; returns the maximum."""
    top = -np.inf
    for k in range(table.shape[0]):
        top = max(top, table[k])
    if top == -np.inf:
        top = 0.0
    for k in range(table.shape[0]):
        out[k] = np.exp(table[k] - top)
    return top


class Sums(NamedTuple):
    """What forward and backward sums over sequences share."""

    edges: Edges  # exponentials of the scores less their maxima
    turned: Edges  # see `backward`
    tops: np.ndarray  # (3,) the maxima: of opening, inner and last
    after: np.ndarray  # (longest, n_states) see `backward`
    log_scale: np.ndarray  # (longest,)


@allocating
def prepare_sums(order, work):
    """Exponentials of the edges that `prepare` has filled, and buffers."""
    plain = work.edges
    edges = Edges(
        np.empty(plain.opening.shape),
        np.empty(plain.inner.shape),
        np.empty(plain.last.shape),
    )
    tops = np.empty(3)
    tops[0] = _exponentials(plain.opening.ravel(), edges.opening.ravel())
    tops[1] = _exponentials(plain.inner.ravel(), edges.inner.ravel())
    tops[2] = _exponentials(plain.last, edges.last)
    after, log_scale = np.empty(work.beta.shape), np.empty(work.beta.shape[0])
    return Sums(edges, turn(order, edges), tops, after, log_scale)


@allocating
def sum_block(blocks, work, w, i, given, sums):
    """Forward and backward sums of sequence i in `work` and `sums`; returns log Z.

    Over labellings with the given labels, where there are any: see `fix_labels`.
    """
    order, score = blocks.order, work.score
    n = blocks.offset[i + 1] - blocks.offset[i]
    score_block(blocks, work, w, i)
    if given.shape[0] > 0:
        fix_labels(work, given, blocks.offset[i], n)
    total = sums.tops[2]
    for t in range(n):
        total += _exponentials(work.emit[t], score[t])
    if n > 1:
        total += sums.tops[0] + (n - 2) * sums.tops[1]
    total += forward(SUM_TIMES, order, n, score, sums.edges, work.alpha)
    backward(
        SUM_TIMES, order, n, score, sums.edges, sums.turned, work.beta, sums.after,
        sums.log_scale,
    )  # fmt: skip
    return total


@allocating
def steps_of_row(blocks, work, w, i, steps):
    """P(state at t, label at t + 1) of sequence i into steps (n − 1, n_states, L)."""
    prepare(blocks, work.edges, w, i)
    order, n_labels, alpha = blocks.order, work.emit.shape[1], work.alpha
    sums = prepare_sums(order, work)
    sum_block(blocks, work, w, i, np.empty(0, np.int32), sums)
    for t in range(steps.shape[0]):
        table = sums.edges.opening if t == 0 else sums.edges.inner
        total = 0.0
        for s in range(n_states(order, n_labels, t)):
            to = s % n_labels * n_labels if order == 2 else 0
            for label in range(n_labels):
                share = alpha[t, s] * table[s, label] * sums.after[t + 1, to + label]
                steps[t, s, label] = share
                total += share
        steps[t] /= total


@allocating
def sum_rows(
    blocks, work, w, rows, first, last, given, weight, node, pair, triple, begin_end,
    log_z, truth,
):  # fmt: skip
    """Forward-backward on rows [first, last): log Z, truth scores and marginals.

    node (n_tokens, L) receives c_i·P(label at token); pair (L, L), triple (L, L, L)
    and begin_end (2, L) accumulate c_i times expected counts of transitions, and of
    labels at both ends. Empty `pair` means node marginals only. Rows that have pairs
    of their own are computed one by one. `given` are as for `sum_block`; truth scores
    are those of true labels that agree with them.
    """
    prepare(blocks, work.edges, w, rows[first])
    order, n_labels = blocks.order, work.emit.shape[1]
    sums = prepare_sums(order, work)
    edges, alpha, beta = sums.edges, work.alpha, work.beta
    after, log_scale = sums.after, sums.log_scale
    # Expected counts of edges without their own factor, which is the same at every
    # position and is multiplied in at the end: first step, and later ones.
    opening_mass = np.zeros((n_labels, n_labels))
    inner_mass = np.zeros(edges.inner.shape)
    for r in range(first, last):
        i = rows[r]
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        log_z[r] = sum_block(blocks, work, w, i, given, sums)
        truth[r] = score_code(
            order, work.emit, work.edges, blocks.y[begin : begin + n], n
        )
        for t in range(n):
            row = node[begin + t]
            for label in range(n_labels):
                row[label] = 0.0
            width = n_states(order, n_labels, t)
            for s in range(width):
                # the last forward row has the end scores already
                rest = 1.0 if t == n - 1 else beta[t, s]
                row[s % n_labels] += alpha[t, s] * rest
            norm = 0.0
            for label in range(n_labels):
                norm += row[label]
            for label in range(n_labels):
                row[label] *= weight[r] / norm
            if t == n - 1 or pair.shape[0] == 0:
                continue
            mass = opening_mass if t == 0 else inner_mass
            factor = weight[r] / (norm * np.exp(log_scale[t]))
            for s in range(width):
                to = s % n_labels * n_labels if order == 2 else 0
                share = factor * alpha[t, s]
                into = mass[s]
                follow = after[t + 1, to : to + n_labels]
                for label in range(n_labels):
                    into[label] += share * follow[label]
        if begin_end.shape[0] > 0:
            begin_end[0] += node[begin]
            begin_end[1] += node[begin + n - 1]
    if pair.shape[0] > 0:
        pair += opening_mass * edges.opening
        inner_mass *= edges.inner
        if order == 2:
            cube = inner_mass.reshape(n_labels, n_labels, n_labels)
            triple += cube
            for h in range(n_labels):
                pair += cube[h]
        else:
            pair += inner_mass


@allocating
def turn(order, edges):
    """Edges from label to state, for `backward`."""
    n_labels = edges.last.shape[0]
    opening = np.ascontiguousarray(edges.opening.T)
    if order < 2:
        return Edges(opening, opening, edges.last)
    cube = edges.inner.reshape(n_labels, n_labels, n_labels)
    inner = np.ascontiguousarray(cube.transpose(1, 2, 0))
    return Edges(opening, inner.reshape(n_labels * n_labels, n_labels), edges.last)


@allocating
def subtract_truth(blocks, first, last, weight, node, pair, triple, begin_end):
    """Take c_i times the counts of the true labels of rows [first, last)."""
    for i in range(first, last):
        begin = blocks.offset[i]
        end = blocks.offset[i + 1]
        for token in range(begin, end):
            here = blocks.y[token]
            node[token, here] -= weight[i]
            if token > begin and pair.shape[0] > 0:
                pair[blocks.y[token - 1], here] -= weight[i]
                if token > begin + 1 and triple.shape[0] > 0:
                    triple[blocks.y[token - 2], blocks.y[token - 1], here] -= weight[i]
        if begin_end.shape[0] > 0:
            begin_end[0, blocks.y[begin]] -= weight[i]
            begin_end[1, blocks.y[end - 1]] -= weight[i]
