"""Decoding and sums over whole blocks of segmentations, outside of sweeps."""

import numpy as np

from partwise.compiled import add_row, kernel
from partwise.structures._semirings import LOG_PLUS
from partwise.structures.segments._compiled import (
    fill_segments,
    score_parts,
    search,
    tail_of,
)
from partwise.structures.segments._programs import (
    backward,
    forward,
    k_forward,
    k_trace,
)


@kernel
def score_segments(blocks, work, w, i):
    """Scores of all segments of block i, and of pairs of labels, into `work`."""
    n = score_parts(blocks, work, w, i)
    fill_segments(blocks, work, i, n)
    return n


@kernel
def decode_rows(blocks, work, w, given, first, last, code, value):
    """The best output of each block in [first, last), and its score.

    Codes are those of `given`, (n_tokens,) or empty, where these are not negative.
    """
    for i in range(first, last):
        n, begin = score_parts(blocks, work, w, i), blocks.offset[i]
        for t in range(n if given.shape[0] > 0 else 0):
            known = given[begin + t]
            for k in range(blocks.longest.shape[0] if known >= 0 else 0):
                if known != blocks.begin_code[k]:
                    work.first[t, k] = -np.inf
                if known != blocks.inside_code[k]:
                    work.rest[t, k] = -np.inf
        fill_segments(blocks, work, i, n)
        search(blocks, work, n, code[begin : begin + n])
        value[i] = -np.inf
        for k in range(work.ended.shape[1]):
            value[i] = max(value[i], work.ended[n, k])


@kernel
def best_of_block(
    blocks, work, w, i, k, ended, ended_at, ahead, ahead_at, codes, value
):
    """The k best outputs of block i: codes (k, n) and falling scores (k,)."""
    n, size = score_segments(blocks, work, w, i), work.edge.shape[0]
    k_forward(n, work.segment, work.edge, k, ended, ended_at, ahead, ahead_at)
    for rank in range(k):
        value[rank] = ahead[n * size, rank]
        if value[rank] > -np.inf:
            k_trace(
                n, size, rank, ended_at, ahead_at, blocks.begin_code,
                blocks.inside_code, codes[rank],
            )  # fmt: skip


@kernel
def marginals_of_block(blocks, work, w, i, behind, begun, out):
    """P(segment) under exp(score) into `out`, (n, D, L), by its first token; log Z."""
    n = score_segments(blocks, work, w, i)
    total = forward(LOG_PLUS, n, work.segment, work.edge, work.ended, work.ahead)
    backward(LOG_PLUS, n, work.segment, work.edge, behind, begun)
    for b in range(n):
        for d in range(out.shape[1]):
            for k in range(out.shape[2]):
                out[b, d, k] = 0.0
        for d in range(min(out.shape[1], n - b)):
            for k in range(out.shape[2]):
                value = work.ahead[b, k] + work.segment[b, d, k]
                out[b, d, k] = np.exp(value + behind[b + d + 1, k] - total)
    return total


@kernel
def sum_by_code(blocks, i, shares, out):
    """P(code at token) into the rows of block i of `out`, from those of segments."""
    begin = blocks.offset[i]
    n, depth, size = shares.shape
    for b in range(n):
        for d in range(min(depth, n - b)):
            for k in range(size):
                share = shares[b, d, k]
                out[begin + b, blocks.begin_code[k]] += share
                for t in range(b + 1, b + d + 1 if share > 0.0 else 0):
                    out[begin + t, blocks.inside_code[k]] += share


@kernel
def add_gradient(blocks, work, w, i, weight, behind, begun, shares, gradient):
    """Add weight·(E[φ] − φ(y)) to `gradient`; returns log Z − <w, φ(y)> of block i."""
    total = marginals_of_block(blocks, work, w, i, behind, begun, shares)
    begin, depth, size = blocks.offset[i], blocks.depth, blocks.longest.shape[0]
    n, tail = shares.shape[0], tail_of(blocks)
    edges = tail + size * depth
    truth, first, before, score = blocks.y[begin : begin + n], 0, -1, 0.0
    for t in range(n):
        if t + 1 < n and blocks.begins[truth[t + 1]] == 0:
            continue
        label = blocks.label_of[truth[first]]
        shares[first, t - first, label] -= 1.0
        score += work.segment[first, t - first, label]
        if before >= 0:
            score += work.edge[before, label]
            gradient[edges + before * size + label] -= weight
        first, before = t + 1, label
    for b in range(1, n):
        for j in range(size):
            for k in range(size):
                value = work.ended[b, j] + work.edge[j, k] + begun[b, k]
                gradient[edges + j * size + k] += weight * np.exp(value - total)
    parts, table = work.spare, gradient[blocks.rows.n_features * blocks.width :]
    for t in range(n):
        for k in range(3 * size):
            parts[t, k] = 0.0
    for b in range(n):
        for d in range(min(depth, n - b)):
            for k in range(size):
                share = shares[b, d, k]
                if share == 0.0:
                    continue
                parts[b, k] += share
                if blocks.longest[k] > 1:
                    parts[b + d, 2 * size + k] += share
                for t in range(b + 1, b + d + 1):
                    parts[t, size + k] += share
                gradient[tail + k * depth + d] += weight * share
                if blocks.span_rows.n_features > 0:
                    row = (begin + b) * depth + d
                    width = blocks.span_width
                    add_row(blocks.span_rows, table, width, row, k, weight * share)
    for t in range(n):
        for k in range(3 * size):
            coef = weight * parts[t, k]
            if coef != 0.0:
                add_row(blocks.rows, gradient, blocks.width, begin + t, k, coef)
    return total - score
