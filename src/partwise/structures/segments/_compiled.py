"""Segmentations as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width) with three columns of weights for each label, of
the tokens in its segments, of their first and of their last ones, padded to whole
vectors; behind it weights of lengths (L, D) and of pairs of labels (L, L). A code has
the label of each token, plus L where a segment begins.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import add_row, dot_row, kernel, score_rows, uncounted, wipe_row
from partwise.structures._semirings import LOG_PLUS, MAX_PLUS
from partwise.structures.segments import segment_losses
from partwise.structures.segments._programs import (
    backward,
    forward,
    k_forward,
    k_trace,
    trace,
)

segment_cost = kernel(segment_losses.segment_cost)
count_segments = kernel(segment_losses.count_segments)
HAMMING = segment_losses.HAMMING


class SegmentWork(NamedTuple):
    """Buffers of one thread, for sequences of up to n tokens."""

    parts: np.ndarray  # (n, width) scores of tokens
    inside: np.ndarray  # (n + 1, L) sums of them from the beginning on
    segment: np.ndarray  # (n, D, L) scores of segments, left for `recall_margin`
    edge: np.ndarray  # (L, L)
    augmented: np.ndarray  # (n, D, L) with what the loss adds
    ended: np.ndarray  # (n + 1, L)
    ahead: np.ndarray  # (n + 1, L)
    spare: np.ndarray  # (n, D, L)
    spare_edge: np.ndarray  # (L, L)


def new_segment_work(n: int, width: int, size: int, depth: int) -> SegmentWork:
    """Buffers."""
    return SegmentWork(
        np.zeros((n, width)), np.zeros((n + 1, size)), np.zeros((n, depth, size)),
        np.zeros((size, size)), np.zeros((n, depth, size)), np.zeros((n + 1, size)),
        np.zeros((n + 1, size)), np.zeros((n, depth, size)), np.zeros((size, size)),
    )  # fmt: skip


@uncounted
class SegmentBlocks(NamedTuple):
    """Packed sequences with a segmentation each, over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sequence
    y: np.ndarray  # (n_tokens,) int32 codes of the truths
    longest: np.ndarray  # (L,) int64 tokens of the segments of a label at most
    depth: int  # D, the largest of them
    kind: int  # of the loss
    outside: int  # label whose segments do not count, −1 for none
    has_loss: int  # 0 for predictions
    width: int  # columns of weights, padding included

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        return loss_of(blocks, i, code)

    def find_output(blocks, work, w, i, code):
        score_segments(blocks, work, w, i, work.segment, work.edge)
        n, size = blocks.offset[i + 1] - blocks.offset[i], blocks.longest.shape[0]
        segment = work.segment
        if blocks.has_loss:
            segment = work.augmented
            begin = blocks.offset[i]
            for e in range(1, n + 1):
                for k in range(size):
                    for d in range(1, min(blocks.longest[k], e) + 1):
                        cost = segment_cost(
                            blocks.kind, e - d, e, k, blocks.outside, blocks.y, begin,
                            size,
                        )  # fmt: skip
                        segment[e - 1, d - 1, k] = work.segment[e - 1, d - 1, k] + cost
        forward(MAX_PLUS, n, blocks.longest, segment, work.edge, work.ended, work.ahead)
        trace(n, blocks.longest, segment, work.edge, work.ended, work.ahead, code)
        loss = loss_of(blocks, i, code) if blocks.has_loss else 0.0
        margin = recalled(blocks, work.segment, work.edge, i, code)
        return loss, 1.0, loss - margin, loss - margin

    def recall_margin(blocks, work, i, code):
        return recalled(blocks, work.segment, work.edge, i, code)

    def margin(blocks, w, i, code):
        begin = blocks.offset[i]
        truth = blocks.y[begin : blocks.offset[i + 1]]
        score = dot_code(blocks, w, begin, truth.shape[0], truth)
        return score - dot_code(blocks, w, begin, truth.shape[0], code)

    def margins(blocks, work, w, i, codes, at, n, out):
        if n == 0:
            return
        score_segments(blocks, work, w, i, work.spare, work.spare_edge)
        length = blocks.offset[i + 1] - blocks.offset[i]
        for p in range(n):
            code = codes[at + p * length : at + (p + 1) * length]
            out[p] = recalled(blocks, work.spare, work.spare_edge, i, code)

    def push(blocks, w, i, code, coef):
        begin = blocks.offset[i]
        truth = blocks.y[begin : blocks.offset[i + 1]]
        add_code(blocks, w, begin, truth.shape[0], truth, coef)
        add_code(blocks, w, begin, truth.shape[0], code, -coef)

    def wipe(blocks, w, i, code):
        begin = blocks.offset[i]
        truth = blocks.y[begin : blocks.offset[i + 1]]
        wipe_code(blocks, w, begin, truth.shape[0], truth)
        wipe_code(blocks, w, begin, truth.shape[0], code)


@kernel
def score_segments(blocks, work, w, i, segment, edge):
    """Scores of all segments of block i, and of pairs of labels."""
    n_features, width, size = blocks.rows.n_features, blocks.width, edge.shape[0]
    begin, n = blocks.offset[i], blocks.offset[i + 1] - blocks.offset[i]
    table = n_features * width
    weights = w[:table].reshape(n_features, width)
    score_rows(blocks.rows, weights, begin, begin + n, work.parts)
    parts, inside = work.parts, work.inside
    for k in range(size):
        inside[0, k] = 0.0
        for t in range(n):
            inside[t + 1, k] = inside[t, k] + parts[t, k]
        for j in range(size):
            edge[k, j] = w[table + size * blocks.depth + k * size + j]
    for e in range(1, n + 1):
        for k in range(size):
            for d in range(1, min(blocks.longest[k], e) + 1):
                ends = parts[e - d, size + k] + parts[e - 1, 2 * size + k]
                length = w[table + k * blocks.depth + d - 1]
                segment[e - 1, d - 1, k] = (
                    inside[e, k] - inside[e - d, k] + (ends + length)
                )


@kernel
def total_score(n, size, segment, edge, code):
    """Score of an output of n tokens from those of its segments."""
    total, before, first = 0.0, -1, 0
    for t in range(1, n + 1):
        if t == n or code[t] >= size:
            label = code[first] - size
            total += segment[t - 1, t - first - 1, label]
            if before >= 0:
                total += edge[before, label]
            before, first = label, t
    return total


@kernel
def recalled(blocks, segment, edge, i, code):
    """<w, δ> from the scores of segments."""
    truth = blocks.y[blocks.offset[i] : blocks.offset[i + 1]]
    n, size = truth.shape[0], blocks.longest.shape[0]
    score = total_score(n, size, segment, edge, truth)
    return score - total_score(n, size, segment, edge, code)


@kernel
def loss_of(blocks, i, code):
    """Δ of an output."""
    size, begin = blocks.longest.shape[0], blocks.offset[i]
    total = 0.0
    if blocks.kind != HAMMING:
        total += count_segments(
            blocks.y, begin, blocks.offset[i + 1], blocks.outside, size
        )
    first, n = 0, blocks.offset[i + 1] - begin  # `code` may be longer
    for t in range(1, n + 1):
        if t == n or code[t] >= size:
            total += segment_cost(
                blocks.kind, first, t, code[first] - size, blocks.outside, blocks.y,
                begin, size,
            )  # fmt: skip
            first = t
    return total


@kernel
def dot_code(blocks, w, begin, n, code):
    """<w, Ψ> of an output."""
    size, width, rows = blocks.longest.shape[0], blocks.width, blocks.rows
    table = rows.n_features * width
    edges = table + size * blocks.depth
    total, before, first = 0.0, -1, 0
    for t in range(n):
        total += dot_row(rows, w, width, begin + t, code[t] % size)
        if t + 1 == n or code[t + 1] >= size:
            label = code[first] - size
            total += dot_row(rows, w, width, begin + first, size + label)
            total += dot_row(rows, w, width, begin + t, 2 * size + label)
            total += w[table + label * blocks.depth + t - first]
            if before >= 0:
                total += w[edges + before * size + label]
            before, first = label, t + 1
    return total


@kernel
def add_code(blocks, w, begin, n, code, coef):
    """Add coef·Ψ of an output to w."""
    size, width, rows = blocks.longest.shape[0], blocks.width, blocks.rows
    table = rows.n_features * width
    edges = table + size * blocks.depth
    before, first = -1, 0
    for t in range(n):
        add_row(rows, w, width, begin + t, code[t] % size, coef)
        if t + 1 == n or code[t + 1] >= size:
            label = code[first] - size
            add_row(rows, w, width, begin + first, size + label, coef)
            add_row(rows, w, width, begin + t, 2 * size + label, coef)
            w[table + label * blocks.depth + t - first] += coef
            if before >= 0:
                w[edges + before * size + label] += coef
            before, first = label, t + 1


@kernel
def wipe_code(blocks, w, begin, n, code):
    """Set to zero the coordinates of w that Ψ of an output touches."""
    size, width, rows = blocks.longest.shape[0], blocks.width, blocks.rows
    table = rows.n_features * width
    edges = table + size * blocks.depth
    before, first = -1, 0
    for t in range(n):
        wipe_row(rows, w, width, begin + t, code[t] % size)
        if t + 1 == n or code[t + 1] >= size:
            label = code[first] - size
            wipe_row(rows, w, width, begin + first, size + label)
            wipe_row(rows, w, width, begin + t, 2 * size + label)
            w[table + label * blocks.depth + t - first] = 0.0
            if before >= 0:
                w[edges + before * size + label] = 0.0
            before, first = label, t + 1


# ------------------------------------------------------------- several outputs at once


@kernel
def best_of_block(
    blocks, work, w, i, k, ended, ended_at, ahead, ahead_at, codes, value
):
    """The k best outputs of block i: codes (k, n) and falling scores (k,)."""
    score_segments(blocks, work, w, i, work.segment, work.edge)
    n, size = blocks.offset[i + 1] - blocks.offset[i], blocks.longest.shape[0]
    k_forward(
        n, blocks.longest, work.segment, work.edge, k, ended, ended_at, ahead, ahead_at
    )
    for rank in range(k):
        value[rank] = ahead[n * size, rank]
        if value[rank] > -np.inf:
            k_trace(n, size, rank, ended_at, ahead_at, codes[rank])


@kernel
def marginals_of_block(blocks, work, w, i, behind, begun, out):
    """P(segment) under exp(score) into `out`, (n, D, L); returns log Z."""
    score_segments(blocks, work, w, i, work.segment, work.edge)
    n, longest = blocks.offset[i + 1] - blocks.offset[i], blocks.longest
    total = forward(
        LOG_PLUS, n, longest, work.segment, work.edge, work.ended, work.ahead
    )
    backward(LOG_PLUS, n, longest, work.segment, work.edge, behind, begun)
    for e in range(1, n + 1):
        for k in range(longest.shape[0]):
            for d in range(out.shape[1]):
                out[e - 1, d, k] = 0.0
            for d in range(1, min(longest[k], e) + 1):
                value = work.ahead[e - d, k] + work.segment[e - 1, d - 1, k]
                out[e - 1, d - 1, k] = np.exp(value + behind[e, k] - total)
    return total
