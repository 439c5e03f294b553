"""Chains as numba blocks: the structure's side of `compiled.py`.

A model is one flat array: emissions (n_features, L), then transitions (L, L) for order
1 and 2, transitions of three labels (L, L, L) for order 2, and start and end scores
(L,) each when `boundary` is set. A code is the label of each token.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from partwise.compiled import (
    add_row,
    dot_row,
    output_loss,
    recall_margin,
    score_rows,
    wipe_row,
)
from partwise.structures._chain_programs import (
    Edges,
    best_state,
    forward,
    frontier,
    k_best,
    n_states,
    trace,
    trace_frontier,
)
from partwise.structures._semirings import MAX_PLUS

ADDITIVE, TWO_BEST, FRONTIER = 0, 1, 2  # how the most violated output is found


class ChainWork(NamedTuple):
    """Buffers of one thread; `emit` keeps plain scores, `score` edited ones."""

    emit: np.ndarray  # (longest, L)
    score: np.ndarray  # (longest, L)
    edges: Edges  # below order 2 `inner` is `opening` itself
    alpha: np.ndarray  # (longest, n_states)
    beta: np.ndarray  # (longest, n_states)


class ChainBlocks(NamedTuple):
    """Packed label sequences over rows of any scorer."""

    rows: tuple  # a tag with the row operations of `compiled.py`
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sequence
    y: np.ndarray  # (n_tokens,) int32 true labels
    cost: np.ndarray  # (L, L) loss of predicting column for row
    unit: np.ndarray  # (n_blocks,) factor of each sequence's loss
    token_weight: np.ndarray  # (n_tokens,) or (1,)
    weight_step: int  # 0 when all tokens weigh the same
    forbid_edge: np.ndarray  # (L, L) 0 or −inf
    forbid_start: np.ndarray  # (L,)
    forbid_end: np.ndarray  # (L,)
    order: int
    boundary: int
    oracle: int  # ADDITIVE, TWO_BEST or FRONTIER
    slack_scaled: int  # the offset also scales the plane
    square_root: int  # L2 penalties see √Δ
    constant: int  # the offset is 1 whatever the loss (hard margin, 0/1 loss)
    zero_one: int  # the loss is 1 for any wrong output

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        total = 0.0
        for t in range(blocks.offset[i + 1] - blocks.offset[i]):
            total += token_loss(blocks, i, t, code[t])
        return 1.0 if blocks.zero_one and total > 0.0 else total

    def find_output(blocks, work, w, i, code):
        prepare(blocks, work, w)
        return search(blocks, work, w, i, code)

    def recall_margin(blocks, work, i, code):
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        n_labels = work.emit.shape[1]
        total = 0.0
        state = 0
        state_hat = 0
        for t in range(n):
            label = blocks.y[begin + t]
            label_hat = code[t]
            if label != label_hat:
                total += work.emit[t, label] - work.emit[t, label_hat]
            if t > 0:
                if label != label_hat or state != state_hat:
                    table = work.edges.opening if t == 1 else work.edges.inner
                    total += table[state, label] - table[state_hat, label_hat]
            if blocks.order == 2 and t > 0:
                state = state % n_labels * n_labels + label
                state_hat = state_hat % n_labels * n_labels + label_hat
            else:
                state = label
                state_hat = label_hat
        if blocks.boundary:
            total += (
                work.edges.last[blocks.y[begin + n - 1]] - work.edges.last[code[n - 1]]
            )
        return total

    # The three below index the flat model: views of its parts would cost as much as
    # the few tokens in which two outputs differ.

    def margin(blocks, w, i, code):
        size = blocks.cost.shape[0]
        pairs, triples, ends = places(blocks)
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        y = blocks.y
        total = 0.0
        for t in range(n):
            here, hat = y[begin + t], code[t]
            if here != hat:
                total += dot_row(blocks.rows, w, size, begin + t, here)
                total -= dot_row(blocks.rows, w, size, begin + t, hat)
            if t > 0 and blocks.order > 0:
                pair = y[begin + t - 1] * size + here
                pair_hat = code[t - 1] * size + hat
                if pair != pair_hat:
                    total += w[pairs + pair] - w[pairs + pair_hat]
                if t > 1 and blocks.order == 2:
                    triple = y[begin + t - 2] * size * size + pair
                    triple_hat = code[t - 2] * size * size + pair_hat
                    total += w[triples + triple] - w[triples + triple_hat]
        if blocks.boundary:
            total += w[ends + y[begin]] - w[ends + code[0]]
            total += w[ends + size + y[begin + n - 1]] - w[ends + size + code[n - 1]]
        return total

    def push(blocks, w, i, code, coef):
        size = blocks.cost.shape[0]
        pairs, triples, ends = places(blocks)
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        y = blocks.y
        for t in range(n):
            here, hat = y[begin + t], code[t]
            if here != hat:
                add_row(blocks.rows, w, size, begin + t, here, coef)
                add_row(blocks.rows, w, size, begin + t, hat, -coef)
            if t > 0 and blocks.order > 0:
                pair = y[begin + t - 1] * size + here
                pair_hat = code[t - 1] * size + hat
                if pair != pair_hat:
                    w[pairs + pair] += coef
                    w[pairs + pair_hat] -= coef
                if t > 1 and blocks.order == 2:
                    w[triples + y[begin + t - 2] * size * size + pair] += coef
                    w[triples + code[t - 2] * size * size + pair_hat] -= coef
        if blocks.boundary:
            w[ends + y[begin]] += coef
            w[ends + code[0]] -= coef
            w[ends + size + y[begin + n - 1]] += coef
            w[ends + size + code[n - 1]] -= coef

    def wipe(blocks, w, i, code):
        size = blocks.cost.shape[0]
        pairs, triples, ends = places(blocks)
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        y = blocks.y
        for t in range(n):
            here, hat = y[begin + t], code[t]
            if here != hat:
                wipe_row(blocks.rows, w, size, begin + t, here)
                wipe_row(blocks.rows, w, size, begin + t, hat)
            if t > 0 and blocks.order > 0:
                pair = y[begin + t - 1] * size + here
                pair_hat = code[t - 1] * size + hat
                w[pairs + pair] = 0.0
                w[pairs + pair_hat] = 0.0
                if t > 1 and blocks.order == 2:
                    w[triples + y[begin + t - 2] * size * size + pair] = 0.0
                    w[triples + code[t - 2] * size * size + pair_hat] = 0.0
        if blocks.boundary:
            for k in range(2 * size):
                w[ends + k] = 0.0


@njit(cache=True, nogil=True)
def places(blocks):
    """Where pairs, triples and both ends begin in the flat model."""
    size = blocks.cost.shape[0]
    pairs = blocks.rows.n_features * size
    triples = pairs + (size * size if blocks.order > 0 else 0)
    ends = triples + (size * size * size if blocks.order == 2 else 0)
    return pairs, triples, ends


@njit(cache=True, nogil=True)
def views(blocks, w):
    """The parts of a flat model: emission, bigram, trigram, start, end."""
    size = blocks.cost.shape[0]
    pairs, triples, ends = places(blocks)
    first = size if blocks.order > 0 else 0
    second = size if blocks.order == 2 else 0
    emission = w[:pairs].reshape(blocks.rows.n_features, size)
    bigram = w[pairs:triples].reshape(first, size)
    trigram = w[triples:ends].reshape(second, size, size)
    last = size if blocks.boundary else 0
    start, end = w[ends : ends + last], w[ends + last : ends + 2 * last]
    return emission, bigram, trigram, start, end


@njit(cache=True, nogil=True)
def prepare(blocks, work, w):
    """Edge and end scores of a model, masks included; the same for all blocks."""
    _, bigram, trigram, _, end = views(blocks, w)
    n_labels = blocks.cost.shape[0]
    opening = work.edges.opening
    for i in range(n_labels):
        for j in range(n_labels):
            opening[i, j] = blocks.forbid_edge[i, j]
            if blocks.order > 0:
                opening[i, j] += bigram[i, j]
    if blocks.order == 2:
        for h in range(n_labels):
            for i in range(n_labels):
                for j in range(n_labels):
                    step = trigram[h, i, j] + opening[i, j]
                    work.edges.inner[h * n_labels + i, j] = step
    for j in range(n_labels):
        work.edges.last[j] = blocks.forbid_end[j]
        if blocks.boundary:
            work.edges.last[j] += end[j]


@njit(cache=True, nogil=True)
def score_block(blocks, work, w, i):
    """Emission scores of block i, start scores and mask included, into `emit`."""
    emission, _, _, start, _ = views(blocks, w)
    score_rows(blocks.rows, emission, blocks.offset[i], blocks.offset[i + 1], work.emit)
    for label in range(work.emit.shape[1]):
        work.emit[0, label] += blocks.forbid_start[label]
        if blocks.boundary:
            work.emit[0, label] += start[label]


@njit(cache=True, nogil=True)
def token_loss(blocks, i, t, label):
    """Loss of `label` at position t of block i."""
    token = blocks.offset[i] + t
    weight = blocks.token_weight[token * blocks.weight_step]
    return blocks.unit[i] * weight * blocks.cost[blocks.y[token], label]


@njit(cache=True, nogil=True)
def add_losses(blocks, work, i):
    """Loss-augmented scores of block i into `score`."""
    begin = blocks.offset[i]
    for t in range(blocks.offset[i + 1] - begin):
        weight = blocks.token_weight[(begin + t) * blocks.weight_step]
        factor = blocks.unit[i] * weight
        cost = blocks.cost[blocks.y[begin + t]]
        for label in range(cost.shape[0]):
            work.score[t, label] = work.emit[t, label] + factor * cost[label]


@njit(cache=True, nogil=True)
def plane(blocks, loss):
    """Offset and scale of an output with this loss (see `Formulation`)."""
    if loss <= 0.0:
        return 0.0, 1.0
    b = 1.0 if blocks.constant else loss
    if blocks.square_root:
        b = np.sqrt(b)
    return b, (b if blocks.slack_scaled else 1.0)


@njit(cache=True, nogil=True)
def search(blocks, work, w, i, code):
    """Most violated output of block i, given prepared edges: (b, scale, violation)."""
    score_block(blocks, work, w, i)
    n = blocks.offset[i + 1] - blocks.offset[i]
    n_labels = work.emit.shape[1]
    sr = MAX_PLUS
    if blocks.oracle == ADDITIVE:
        add_losses(blocks, work, i)
        forward(sr, blocks.order, n, work.score, work.edges, work.alpha)
        trace(blocks.order, n, n_labels, work.edges, work.alpha, code)
    elif blocks.oracle == TWO_BEST:
        forward(sr, blocks.order, n, work.emit, work.edges, work.alpha)
        codes = np.empty((2, n), np.int32)
        found = k_best(
            blocks.order,
            n,
            2,
            n_labels,
            work.edges,
            work.alpha,
            codes,
            np.empty(2),
        )
        is_truth = True
        for t in range(n):
            is_truth = is_truth and codes[0, t] == blocks.y[blocks.offset[i] + t]
        chosen = 1 if is_truth and found == 2 else 0
        for t in range(n):
            code[t] = codes[chosen, t]
    else:
        search_frontier(blocks, work, i, code)
    b, scale = plane(blocks, output_loss(blocks, i, code))
    return b, scale, b - scale * recall_margin(blocks, work, i, code)


@njit(cache=True, nogil=True)
def search_frontier(blocks, work, i, code):
    """Maximise b(d) − s(d)·margin over the best output of every integer loss d."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    n_labels = work.emit.shape[1]
    cost = np.empty((n, n_labels), np.int64)
    largest = 0
    for t in range(n):
        worst = 0
        for label in range(n_labels):
            cost[t, label] = round(token_loss(blocks, i, t, label) / blocks.unit[i])
            worst = max(worst, cost[t, label])
        largest += worst
    width = n_states(blocks.order, n_labels, n - 1)
    best = np.empty((largest + 1, width))
    back = np.empty((n, largest + 1, width), np.int32)
    frontier(
        blocks.order,
        n,
        work.emit,
        work.edges,
        cost,
        best,
        back,
    )
    for t in range(n):
        code[t] = blocks.y[blocks.offset[i] + t]
    truth = score_code(blocks, work, i, code)
    chosen = 0
    highest = -np.inf
    for d in range(1, largest + 1):
        value = best[d, best_state(best[d])]
        b, scale = plane(blocks, d * blocks.unit[i])
        violation = b - scale * (truth - value)
        if violation > highest:
            highest = violation
            chosen = d
    if chosen > 0:
        trace_frontier(n, n_labels, best, back, cost, chosen, code)


@njit(cache=True, nogil=True)
def score_code(blocks, work, i, code):
    """<w, φ(code)> from the scores in `work`."""
    total = 0.0
    state = 0
    n_labels = work.emit.shape[1]
    n = blocks.offset[i + 1] - blocks.offset[i]
    for t in range(n):
        label = code[t]
        total += work.emit[t, label]
        if t > 0:
            table = work.edges.opening if t == 1 else work.edges.inner
            total += table[state, label]
        if blocks.order == 2 and t > 0:
            state = state % n_labels * n_labels + label
        else:
            state = label
    return total + work.edges.last[code[n - 1]]
