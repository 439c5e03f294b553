"""Chains as numba blocks: the structure's side of `compiled.py`.

A model is one flat array: emissions (n_features, L), then transitions (L, L) for order
1 and 2, transitions of three labels (L, L, L) for order 2, and start and end scores
(L,) each when `boundary` is set. A code is the label of each token.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import allocating, kernel, output_loss, score_rows
from partwise.structures._chain_planes import (
    many_margins,
    one_margin,
    places,
    push_many,
    push_one,
    wipe_one,
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
    parts: np.ndarray  # (longest, L) of the tokens that `known` marks
    known: np.ndarray  # (longest,) uint8


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

    uncounted = True

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
        return recalled(blocks, work, i, code, 0)

    def recall_margins(blocks, work, i, codes, at, n, out):
        length = blocks.offset[i + 1] - blocks.offset[i]
        for p in range(n):
            out[p] = recalled(blocks, work, i, codes, at + p * length)

    def margin(blocks, w, i, code):
        return one_margin(blocks, w, i, code)

    def margins(blocks, work, w, i, codes, at, n, out):
        many_margins(blocks, work, w, i, codes, at, n, out)

    def push(blocks, w, i, code, coef):
        push_one(blocks, w, i, code, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, work, w, i, codes, at, n, coef)

    def wipe(blocks, w, i, code):
        wipe_one(blocks, w, i, code)


@allocating
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


@kernel
def recalled(blocks, work, i, codes, at):
    """<w, δ> of the output at place `at`, from the scores in `work`."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    y = blocks.y
    before, before_hat = y[begin], codes[at]
    total = 0.0
    if before != before_hat:
        total += work.emit[0, before] - work.emit[0, before_hat]
    opening = work.edges.opening
    for t in range(1, n):
        here, hat = y[begin + t], codes[at + t]
        if here != hat:
            total += work.emit[t, here] - work.emit[t, hat]
        if (here != hat or before != before_hat) and (blocks.order < 2 or t == 1):
            total += opening[before, here] - opening[before_hat, hat]
        before, before_hat = here, hat
    if blocks.order == 2:
        inner = work.edges.inner
        size = work.emit.shape[1]
        for t in range(2, n):
            state = y[begin + t - 2] * size + y[begin + t - 1]
            state_hat = codes[at + t - 2] * size + codes[at + t - 1]
            here, hat = y[begin + t], codes[at + t]
            if here != hat or state != state_hat:
                total += inner[state, here] - inner[state_hat, hat]
    if blocks.boundary:
        total += work.edges.last[before] - work.edges.last[before_hat]
    return total


@kernel
def prepare(blocks, work, w):
    """Edge and end scores of a model, masks included; the same for all blocks."""
    n_labels = blocks.cost.shape[0]
    pairs, triples, ends = places(blocks)
    opening = work.edges.opening
    forbid = blocks.forbid_edge
    if blocks.order > 0:
        bigram = w[pairs : pairs + n_labels * n_labels].reshape(n_labels, n_labels)
        for i in range(n_labels):
            for j in range(n_labels):
                opening[i, j] = forbid[i, j] + bigram[i, j]
    else:
        for i in range(n_labels):
            for j in range(n_labels):
                opening[i, j] = forbid[i, j]
    if blocks.order == 2:
        inner = work.edges.inner
        trigram = w[triples:ends].reshape(n_labels, n_labels, n_labels)
        for h in range(n_labels):
            for i in range(n_labels):
                for j in range(n_labels):
                    step = trigram[h, i, j] + opening[i, j]
                    inner[h * n_labels + i, j] = step
    for j in range(n_labels):
        work.edges.last[j] = blocks.forbid_end[j]
        if blocks.boundary:
            work.edges.last[j] += w[ends + n_labels + j]


@kernel
def score_block(blocks, work, w, i):
    """Emission scores of block i, start scores and mask included, into `emit`."""
    n_features, n_labels = blocks.rows.n_features, blocks.cost.shape[0]
    emission = w[: n_features * n_labels].reshape(n_features, n_labels)
    score_rows(blocks.rows, emission, blocks.offset[i], blocks.offset[i + 1], work.emit)
    _, _, ends = places(blocks)
    emit = work.emit
    for label in range(n_labels):
        emit[0, label] += blocks.forbid_start[label]
        if blocks.boundary:
            emit[0, label] += w[ends + label]


@kernel
def token_loss(blocks, i, t, label):
    """Loss of `label` at position t of block i."""
    token = blocks.offset[i] + t
    weight = blocks.token_weight[token * blocks.weight_step]
    return blocks.unit[i] * weight * blocks.cost[blocks.y[token], label]


@kernel
def add_losses(blocks, work, i):
    """Loss-augmented scores of block i into `score`."""
    begin = blocks.offset[i]
    cost, emit, score = blocks.cost, work.emit, work.score
    for t in range(blocks.offset[i + 1] - begin):
        weight = blocks.token_weight[(begin + t) * blocks.weight_step]
        factor = blocks.unit[i] * weight
        y = blocks.y[begin + t]
        for label in range(cost.shape[1]):
            score[t, label] = emit[t, label] + factor * cost[y, label]


@kernel
def plane(blocks, loss):
    """Offset and scale of an output with this loss (see `Formulation`)."""
    if loss <= 0.0:
        return 0.0, 1.0
    b = 1.0 if blocks.constant else loss
    if blocks.square_root:
        b = np.sqrt(b)
    return b, (b if blocks.slack_scaled else 1.0)


@kernel
def search(blocks, work, w, i, code):
    """Most violated output of block i, given prepared edges: (b, scale, violation)."""
    score_block(blocks, work, w, i)
    n = blocks.offset[i + 1] - blocks.offset[i]
    n_labels = work.emit.shape[1]
    if blocks.oracle == ADDITIVE:
        add_losses(blocks, work, i)
        forward(MAX_PLUS, blocks.order, n, work.score, work.edges, work.alpha)
        trace(blocks.order, n, n_labels, work.edges, work.alpha, code)
    elif blocks.oracle == TWO_BEST:
        search_two_best(blocks, work, i, code)
    else:
        search_frontier(blocks, work, i, code)
    b, scale = plane(blocks, output_loss(blocks, i, code))
    return b, scale, b - scale * recalled(blocks, work, i, code, 0)


@allocating
def search_two_best(blocks, work, i, code):
    """The best output that is not the truth."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    n_labels = work.emit.shape[1]
    forward(MAX_PLUS, blocks.order, n, work.emit, work.edges, work.alpha)
    codes = np.empty((2, n), np.int32)
    values = np.empty(2)
    found = k_best(blocks.order, n, 2, n_labels, work.edges, work.alpha, codes, values)
    is_truth = True
    for t in range(n):
        is_truth = is_truth and codes[0, t] == blocks.y[blocks.offset[i] + t]
    chosen = 1 if is_truth and found == 2 else 0
    for t in range(n):
        code[t] = codes[chosen, t]


@allocating
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


@kernel
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
