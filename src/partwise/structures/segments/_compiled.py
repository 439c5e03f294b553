"""Segmentations as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width) with three columns of weights for each label, of
the first tokens of its segments, of their other ones, and of their last ones, padded to
whole vectors; behind it a matrix (n_span_features, S) with weights of features of whole
segments, then weights of lengths (L, D) and of pairs of labels (L, L). A code names the
label of each token and whether a segment begins there.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import add_row, kernel, score_rows, uncounted
from partwise.structures.segments import segment_losses
from partwise.structures.segments._planes import ADD, DOT, READ, SUM, WIPE, walk
from partwise.structures.segments._programs import best_forward, trace
from partwise.vectors import add, fill4, load4, multiply, spread4, store

segment_cost = kernel(segment_losses.segment_cost)
count_segments = kernel(segment_losses.count_segments)
HAMMING, OVERLAP = segment_losses.HAMMING, segment_losses.OVERLAP


class SegmentWork(NamedTuple):
    """Buffers of one thread, for sequences of up to n tokens; S labels with padding.

    `recall_margin` reads `parts`, `tail` and `spans` after a search.
    """

    parts: np.ndarray  # (n, width) scores of tokens
    tail: np.ndarray  # (L·D + L·L,) weights of lengths and pairs of labels
    first: np.ndarray  # (n, S) scores by column, edited by losses
    rest: np.ndarray  # (n, S)
    last: np.ndarray  # (n, S)
    length: np.ndarray  # (D, S)
    edge: np.ndarray  # (S, S)
    segment: np.ndarray  # (n, D, S), −inf where no label has segments so long
    ended: np.ndarray  # (n + 1, S)
    ahead: np.ndarray  # (n + 1, S)
    spare: np.ndarray  # (n, width)
    spans: np.ndarray  # (n·D, S) scores of segments by features of their own, if any
    nothing: np.ndarray  # (0, 0)


def new_segment_work(
    n: int, width: int, size: int, depth: int, has_spans: bool
) -> SegmentWork:
    """Buffers."""
    wide = -(-size // 4) * 4
    shapes = (
        (n, width), (size * (depth + size),), (n, wide), (n, wide), (n, wide),
        (depth, wide), (wide, wide), (n, depth, wide), (n + 1, wide), (n + 1, wide),
        (n, width), (n * depth if has_spans else 0, wide), (0, 0),
    )  # fmt: skip
    work = SegmentWork(*(np.zeros(shape) for shape in shapes))
    work.segment[:] = -np.inf
    return work


@uncounted
class SegmentBlocks(NamedTuple):
    """Packed sequences with a segmentation each, over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    span_rows: Any  # of segments: row t·D + d − 1 of d tokens from token t on; or none
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sequence
    y: np.ndarray  # (n_tokens,) int32 codes of the truths
    longest: np.ndarray  # (L,) int64 tokens of the segments of a label at most
    label_of: np.ndarray  # (n_codes,) int32
    begins: np.ndarray  # (n_codes,) uint8, whether a segment begins
    begin_code: np.ndarray  # (L,) int32 code of a first token
    inside_code: np.ndarray  # (L,) int32 of the others
    depth: int  # D, the largest of `longest`
    kind: int  # of the loss
    outside: int  # label whose segments do not count, −1 for none
    has_loss: int  # 0 for predictions
    width: int  # columns of weights, padding included
    span_width: int  # S, labels with padding

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        return loss_of(blocks, i, code)

    def find_output(blocks, work, w, i, code):
        n = score_parts(blocks, work, w, i)
        if blocks.has_loss:
            add_losses(blocks, work, i)
        fill_segments(blocks, work, i, n)
        if blocks.has_loss and blocks.kind != HAMMING:
            subtract_overlaps(blocks, i, work.segment)
        search(blocks, work, n, code)
        loss = loss_of(blocks, i, code) if blocks.has_loss else 0.0
        margin = recalled(blocks, work, i, code)
        return loss, 1.0, loss - margin, loss - margin

    def recall_margin(blocks, work, i, code):
        return recalled(blocks, work, i, code)

    def margin(blocks, w, i, code):
        none, tail = w[:0].reshape(0, 0), tail_of(blocks)
        return walk(blocks, w, tail, none, none, i, code, np.int64(0), DOT, 1.0)

    def margins(blocks, work, w, i, codes, at, n, out):
        if n == 0:
            return
        score_tokens(blocks, w, i, work.spare)
        length = blocks.offset[i + 1] - blocks.offset[i]
        tail = tail_of(blocks)
        for p in range(n):
            out[p] = walk(
                blocks, w, tail, work.spare, work.nothing, i, codes, at + p * length,
                READ, 1.0,
            )  # fmt: skip

    def push(blocks, w, i, code, coef):
        none, tail = w[:0].reshape(0, 0), tail_of(blocks)
        walk(blocks, w, tail, none, none, i, code, np.int64(0), ADD, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, work, w, i, codes, at, n, coef)

    def wipe(blocks, w, i, code):
        none, tail = w[:0].reshape(0, 0), tail_of(blocks)
        walk(blocks, w, tail, none, none, i, code, np.int64(0), WIPE, 0.0)


# ------------------------------------------------------------------------- scores


@kernel
def tail_of(blocks):
    """Where the weights of lengths begin, behind those of features."""
    spans = blocks.span_rows.n_features * blocks.span_width
    return blocks.rows.n_features * blocks.width + spans


@kernel
def recalled(blocks, work, i, code):
    """<w, δ(code)> from the scores in `work`."""
    start = np.int64(0)
    return walk(
        blocks, work.tail, start, work.parts, work.spans, i, code, start, READ, 1.0
    )


@kernel
def score_spans(blocks, w, i, spans):
    """Scores of the segments of block i that have features; other rows stay."""
    rows, width = blocks.span_rows, blocks.span_width
    if rows.n_features == 0:
        return
    indices, data, step = rows.indices, rows.data, rows.step
    at, begin = blocks.rows.n_features * blocks.width, blocks.offset[i] * blocks.depth
    for row in range(begin, blocks.offset[i + 1] * blocks.depth):
        first, last = rows.indptr[row], rows.indptr[row + 1]
        for k in range(0, width if last > first else 0, 4):
            total = fill4(0.0)
            for p in range(first, last):
                stripe = load4(w, at + indices[p] * width + k)
                total = add(total, multiply(spread4(data, p * step), stripe))
            store(spans, (row - begin) * width + k, total)


@kernel
def score_tokens(blocks, w, i, parts):
    """Scores of the tokens of block i in all columns."""
    n_features, width = blocks.rows.n_features, blocks.width
    weights = w[: n_features * width].reshape(n_features, width)
    score_rows(blocks.rows, weights, blocks.offset[i], blocks.offset[i + 1], parts)


@kernel
def score_parts(blocks, work, w, i):
    """Scores of tokens by column, of spans, lengths and pairs of labels; tokens."""
    score_tokens(blocks, w, i, work.parts)
    score_spans(blocks, w, i, work.spans)
    fill_tables(blocks, work, w)
    n = blocks.offset[i + 1] - blocks.offset[i]
    split_columns(n, blocks.longest, work)
    return n


@kernel
def fill_tables(blocks, work, w):
    """Weights of lengths and pairs of labels, plain and padded."""
    size, depth, length, edge = (
        blocks.longest.shape[0],
        blocks.depth,
        work.length,
        work.edge,
    )
    tail, start = work.tail, tail_of(blocks)
    for k in range(tail.shape[0]):
        tail[k] = w[start + k]
    for k in range(length.shape[1]):
        for d in range(depth):
            known = k < size and d < blocks.longest[min(k, size - 1)]
            length[d, k] = tail[k * depth + d] if known else -np.inf
        for j in range(length.shape[1]):
            both = k < size and j < size
            edge[k, j] = tail[size * depth + k * size + j] if both else 0.0


@kernel
def split_columns(n, longest, work):
    """Scores of first, other and last tokens from the columns of `parts`."""
    size, parts = longest.shape[0], work.parts
    first, rest, last = work.first, work.rest, work.last
    for t in range(n):
        for k in range(size):
            first[t, k] = parts[t, k]
            rest[t, k] = parts[t, size + k]
            last[t, k] = parts[t, 2 * size + k] if longest[k] > 1 else 0.0


@kernel
def n_several(longest):
    """Labels up to the last that has segments of several tokens, in whole vectors."""
    n = 0
    for k in range(longest.shape[0]):
        if longest[k] > 1:
            n = k + 1
    return -(-n // 4) * 4


@kernel
def fill_segments(blocks, work, i, n):
    """Scores of all segments of block i, which has n tokens."""
    depth, size = work.segment.shape[1], work.segment.shape[2]
    has_spans, several = work.spans.shape[0] > 0, n_several(blocks.longest)
    indptr, row = blocks.span_rows.indptr, blocks.offset[i] * depth
    for b in range(n):
        for k in range(0, size, 4):
            inside = load4(work.first, b * size + k)
            for d in range(min(depth, n - b) if k < several else 1):
                if d > 0:
                    inside = add(inside, load4(work.rest, (b + d) * size + k))
                tail = load4(work.last, (b + d) * size + k)
                tail = add(tail, load4(work.length, d * size + k))
                total, at = add(inside, tail), b * depth + d
                if has_spans and indptr[row + at] < indptr[row + at + 1]:
                    total = add(total, load4(work.spans, at * size + k))
                store(work.segment, at * size + k, total)


@kernel
def search(blocks, work, n, code):
    """The best output by the scores of segments."""
    segment, edge, ended, ahead = work.segment, work.edge, work.ended, work.ahead
    best_forward(n, n_several(blocks.longest), segment, edge, ended, ahead)
    trace(
        n, blocks.longest, segment, edge, ended, ahead, blocks.begin_code,
        blocks.inside_code, code,
    )  # fmt: skip


@kernel
def push_many(blocks, work, w, i, codes, at, n, coef):
    """Add Σ_p coef[p]·δ_p to w: first summed per (token, column), then per feature."""
    begin, parts = blocks.offset[i], work.spare
    length = blocks.offset[i + 1] - begin
    tail = tail_of(blocks)
    for t in range(length):
        for k in range(blocks.width):
            parts[t, k] = 0.0
    largest = 0.0
    for p in range(n):
        if coef[p] != 0.0:
            largest = max(largest, abs(coef[p]))
            walk(
                blocks, w, tail, parts, work.nothing, i, codes, at + p * length, SUM,
                coef[p],
            )  # fmt: skip
    for t in range(length):
        for k in range(3 * blocks.longest.shape[0]):
            # what rounding leaves of mass that cancels is not worth a pass over a row
            if abs(parts[t, k]) > 1e-15 * largest:
                add_row(blocks.rows, w, blocks.width, begin + t, k, parts[t, k])


# ------------------------------------------------------------------------- losses


@kernel
def add_losses(blocks, work, i):
    """What the loss adds to tokens: wrong codes, or 1 for any segment that counts."""
    begin, size = blocks.offset[i], blocks.longest.shape[0]
    first, rest = work.first, work.rest
    for t in range(blocks.offset[i + 1] - begin):
        here = blocks.y[begin + t]
        for k in range(size):
            if blocks.kind != HAMMING:
                first[t, k] += 0.0 if k == blocks.outside else 1.0
            else:
                first[t, k] += 0.0 if here == blocks.begin_code[k] else 1.0
                rest[t, k] += 0.0 if here == blocks.inside_code[k] else 1.0


@kernel
def subtract_overlaps(blocks, i, segment):
    """Lower the loss of segments by twice their overlap with true ones."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    truth = blocks.y[begin : begin + n]
    label_of, begins = blocks.label_of, blocks.begins
    start = 0
    for t in range(1, n + 1):
        if t < n and begins[truth[t]] == 0:
            continue
        s, label = start, label_of[truth[start]]
        start = t
        if label == blocks.outside:
            continue
        if blocks.kind != OVERLAP:
            segment[s, t - s - 1, label] -= 2.0
            continue
        most = blocks.longest[label]
        left, right = s, t  # up to the next tokens of this label on both sides
        while left > max(0, s - most) and label_of[truth[left - 1]] != label:
            left -= 1
        while right < min(n, t + most) and label_of[truth[right]] != label:
            right += 1
        # two true segments of one label: the first of them counts both
        for b in range(max(left, max(0, s - most + 1)), t):
            for e in range(max(b, s) + 1, min(n, b + most) + 1):
                if e <= right:
                    gain = -2.0 * (min(t, e) - max(s, b)) / (max(t, e) - min(s, b))
                else:
                    gain = -1.0 + segment_cost(
                        blocks.kind, b, e, label, blocks.outside, blocks.y, begin, n,
                        label_of, begins,
                    )  # fmt: skip
                segment[b, e - b - 1, label] += gain


@kernel
def loss_of(blocks, i, code):
    """Δ of an output."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin  # `code` may be longer
    total = 0.0
    if blocks.kind == HAMMING:
        for t in range(n):
            total += 0.0 if code[t] == blocks.y[begin + t] else 1.0
        return total
    total += count_segments(
        blocks.y, begin, begin + n, blocks.outside, blocks.label_of, blocks.begins
    )
    first = 0
    for t in range(1, n + 1):
        if t == n or blocks.begins[code[t]] != 0:
            total += segment_cost(
                blocks.kind, first, t, blocks.label_of[code[first]], blocks.outside,
                blocks.y, begin, n, blocks.label_of, blocks.begins,
            )  # fmt: skip
            first = t
    return total
