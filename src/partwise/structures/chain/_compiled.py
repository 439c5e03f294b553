"""Chains as numba blocks: the structure's side of `partwise.compiled`.

A model is one flat array, see `ChainLayout`. A code is the label of each token.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import (
    kernel,
    output_loss,
    recall_margin,
    score_pairs,
    score_rows,
    uncounted,
)
from partwise.structures._formulations import cut
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.chain._planes import (
    many_margins,
    one_margin,
    places,
    push_many,
    push_one,
    wipe_one,
)
from partwise.structures.chain._programs import Edges, forward, trace
from partwise.structures.chain._searches import call_search
from partwise.structures.losses import ADDITIVE


@uncounted
class ChainBlocks(NamedTuple):
    """Packed label sequences over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sequence
    y: np.ndarray  # (n_tokens,) int32 true labels
    cost: np.ndarray  # (rows, L) costs of labels, see `TokenCosts`
    cost_row: np.ndarray  # (n_tokens,) int32 the row of each token
    unit: np.ndarray  # (n_blocks,) factor of each sequence's costs
    token_weight: np.ndarray  # (n_tokens,) or (1,)
    weight_step: int  # 0 when all tokens weigh the same
    forbid_edge: np.ndarray  # (L, L) 0 or −inf
    forbid_start: np.ndarray  # (L,)
    forbid_end: np.ndarray  # (L,)
    order: int
    boundary: int
    oracle: int  # ADDITIVE, TWO_BEST or FRONTIER
    search: Any  # its address, for the other two: see `_searches.py`
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    zero_one: int  # the loss is 1 for any wrong output

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        total = 0.0
        for t in range(blocks.offset[i + 1] - blocks.offset[i]):
            total += token_loss(blocks, i, t, code[t])
        return 1.0 if blocks.zero_one and total > 0.0 else total

    def find_output(blocks, work, w, i, code):
        prepare(blocks, work.edges, w, i)
        score_block(blocks, work, w, i)
        additive = blocks.oracle == ADDITIVE
        fill_losses(blocks, work, i, additive)
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        n = end - begin
        if additive:
            forward(MAX_PLUS, blocks.order, n, work.score, work.edges, work.alpha)
            trace(blocks.order, n, work.score, work.edges, work.alpha, code)
        else:
            edges = work.edges
            call_search(blocks.search, (
                blocks.order, work.emit, work.score, blocks.unit[i], edges.opening,
                edges.inner, edges.last, blocks.rule, blocks.zero_one,
                blocks.y[begin:end], code[:n],
            ))  # fmt: skip
        loss = output_loss(blocks, i, code)
        margin = recall_margin(blocks, work, i, code)
        b, scale, violation = cut(blocks.rule, loss, margin)
        return b, scale, violation, violation

    def recall_margin(blocks, work, i, code):
        begin = blocks.offset[i]
        return recalled(
            blocks.order, blocks.boundary, work.emit, work.edges, blocks.y, begin,
            blocks.offset[i + 1] - begin, code, np.int64(0),
        )  # fmt: skip

    def recall_margins(blocks, work, i, codes, at, n, out):
        begin = blocks.offset[i]
        length = blocks.offset[i + 1] - begin
        for p in range(n):
            out[p] = recalled(
                blocks.order, blocks.boundary, work.emit, work.edges, blocks.y, begin,
                length, codes, at + p * length,
            )  # fmt: skip

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


# Functions below take what they need, not the whole tag, where they can: then one
# compilation serves the rows of every scorer. A plain 0 as an argument would be a type
# of its own and compile again: hence np.int64(0).


class ChainWork(NamedTuple):
    """Buffers of one thread; `emit` keeps plain scores, `score` edited ones."""

    emit: np.ndarray  # (longest, L)
    score: np.ndarray  # (longest, L)
    edges: Edges  # below order 2 `inner` is `opening` itself
    alpha: np.ndarray  # (longest, n_states)
    beta: np.ndarray  # (longest, n_states)
    parts: np.ndarray  # (longest, L) of the tokens that `known` marks
    known: np.ndarray  # (longest,) uint8


@kernel
def recalled(order, boundary, emit, edges, y, begin, n, codes, at):
    """<w, δ> of the output at place `at`, from part scores."""
    truth, hats = y[begin : begin + n], codes[at : at + n]
    before, before_hat = truth[0], hats[0]
    total = 0.0
    if before != before_hat:
        total += emit[0, before] - emit[0, before_hat]
    opening = edges.opening
    for t in range(1, n):
        here, hat = truth[t], hats[t]
        if here != hat:
            total += emit[t, here] - emit[t, hat]
        if (here != hat or before != before_hat) and (order < 2 or t == 1):
            total += opening[before, here] - opening[before_hat, hat]
        before, before_hat = here, hat
    if order == 2:
        inner, size = edges.inner, emit.shape[1]
        for t in range(2, n):
            state = truth[t - 2] * size + truth[t - 1]
            state_hat = hats[t - 2] * size + hats[t - 1]
            here, hat = truth[t], hats[t]
            if here != hat or state != state_hat:
                total += inner[state, here] - inner[state_hat, hat]
    if boundary:
        total += edges.last[before] - edges.last[before_hat]
    return total


@kernel
def prepare(blocks, edges, w, i):
    """Edge and end scores of a model for block i, masks included.

    They are the same for all blocks unless the rows have pairs of their own.
    """
    size = blocks.cost.shape[1]
    pairs = blocks.rows.n_features * size
    triples, ends = places(blocks.order, size, pairs)
    fill_opening(blocks.order, blocks.forbid_edge, w, pairs, edges.opening)
    score_pairs(blocks.rows, w, i, edges.opening)
    fill_rest(blocks.order, blocks.boundary, blocks.forbid_end, w, triples, ends, edges)


@kernel
def fill_opening(order, forbid, w, pairs, opening):
    """Edges of two labels from the weights that begin at place `pairs` of a model."""
    size = forbid.shape[0]
    for i in range(size):
        for j in range(size):
            opening[i, j] = forbid[i, j]
    if order > 0:
        bigram = w[pairs : pairs + size * size].reshape(size, size)
        for i in range(size):
            for j in range(size):
                opening[i, j] += bigram[i, j]


@kernel
def fill_rest(order, boundary, forbid_end, w, triples, ends, edges):
    """Edges of three labels, which contain those of two, and end scores."""
    size = forbid_end.shape[0]
    opening, inner, last = edges.opening, edges.inner, edges.last
    if order == 2:
        trigram = w[triples : triples + size * size * size].reshape(size, size, size)
        for h in range(size):
            for i in range(size):
                for j in range(size):
                    inner[h * size + i, j] = trigram[h, i, j] + opening[i, j]
    for j in range(size):
        last[j] = forbid_end[j]
        if boundary:
            last[j] += w[ends + size + j]


@kernel
def score_block(blocks, work, w, i):
    """Emission scores of block i, start scores and mask included, into `emit`."""
    n_features, n_labels = blocks.rows.n_features, blocks.cost.shape[1]
    pairs = n_features * n_labels
    emission = w[:pairs].reshape(n_features, n_labels)
    score_rows(blocks.rows, emission, blocks.offset[i], blocks.offset[i + 1], work.emit)
    _, ends = places(blocks.order, n_labels, pairs)
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
    return blocks.unit[i] * weight * blocks.cost[blocks.cost_row[token], label]


@kernel
def fill_losses(blocks, work, i, with_scores):
    """Losses of the labels of block i into `score`, on top of their scores or alone."""
    begin = blocks.offset[i]
    cost, emit, score = blocks.cost, work.emit, work.score
    for t in range(blocks.offset[i + 1] - begin):
        weight = blocks.token_weight[(begin + t) * blocks.weight_step]
        factor = blocks.unit[i] * weight
        row = blocks.cost_row[begin + t]
        if with_scores:
            for label in range(cost.shape[1]):
                score[t, label] = emit[t, label] + factor * cost[row, label]
        else:
            for label in range(cost.shape[1]):
                score[t, label] = factor * cost[row, label]
