"""δ(ŷ) = φ(y) − φ(ŷ) of label sequences, in a flat model: products and sums.

Only tokens in which two outputs differ count. All functions index the flat model by
place: views of its parts would cost as much as those few tokens. Labels are read from
views of one sequence, whose indices cannot be negative: with ``y[begin + t]`` LLVM
made gathers of them, which took twice as long.
"""

import numpy as np

from partwise.compiled import (
    add_pair,
    add_row,
    dot_pair,
    dot_row,
    has_pairs,
    has_stripes,
    kernel,
    score_rows,
    wipe_pair,
    wipe_row,
)

# Up to here all labels of a token are scored at once: with 24 labels and 14 features
# this takes half the time of the two or three labels that are needed, one by one.
MANY_LABELS = 32


@kernel
def places(order, size, pairs):
    """Where triples and both ends begin in a flat model whose pairs begin there.

    The order is that of `ChainLayout`; emissions come before the pairs.
    """
    triples = pairs + (size * size if order > 0 else 0)
    ends = triples + (size * size * size if order == 2 else 0)
    return triples, ends


@kernel
def plane_margin(
    order, boundary, size, pairs, w, y, begin, n, codes, at, parts, with_tokens
):
    """<w, δ> of the output at place `at`, but for pairs that rows score themselves.

    ``with_tokens``: with the tokens' own scores, which `parts` holds where they count.
    """
    truth, hats = y[begin : begin + n], codes[at : at + n]
    triples, ends = places(order, size, pairs)
    total = 0.0
    before, before_hat = truth[0], hats[0]
    if with_tokens and before != before_hat:
        total += parts[0, before] - parts[0, before_hat]
    for t in range(1, n):
        here, hat = truth[t], hats[t]
        if here != hat or before != before_hat:
            if order > 0:
                total += w[pairs + before * size + here]
                total -= w[pairs + before_hat * size + hat]
            if with_tokens and here != hat:
                total += parts[t, here] - parts[t, hat]
        before, before_hat = here, hat
    if order == 2:
        for t in range(2, n):
            right = (truth[t - 2] * size + truth[t - 1]) * size + truth[t]
            wrong = (hats[t - 2] * size + hats[t - 1]) * size + hats[t]
            if right != wrong:
                total += w[triples + right] - w[triples + wrong]
    if boundary:
        total += w[ends + truth[0]] - w[ends + hats[0]]
        ends += size
        total += w[ends + truth[n - 1]] - w[ends + hats[n - 1]]
    return total


@kernel
def push_plane(
    order, boundary, size, pairs, w, y, begin, n, codes, at, coef, parts, with_tokens
):
    """Add coef·δ to w, but for tokens' features and pairs that rows score themselves.

    ``with_tokens``: coefficients of (token, label) are added to `parts`.
    """
    truth, hats = y[begin : begin + n], codes[at : at + n]
    triples, ends = places(order, size, pairs)
    before, before_hat = truth[0], hats[0]
    if with_tokens and before != before_hat:
        parts[0, before] += coef
        parts[0, before_hat] -= coef
    for t in range(1, n):
        here, hat = truth[t], hats[t]
        if here != hat or before != before_hat:
            if order > 0:
                w[pairs + before * size + here] += coef
                w[pairs + before_hat * size + hat] -= coef
            if with_tokens and here != hat:
                parts[t, here] += coef
                parts[t, hat] -= coef
        before, before_hat = here, hat
    if order == 2:
        for t in range(2, n):
            right = (truth[t - 2] * size + truth[t - 1]) * size + truth[t]
            wrong = (hats[t - 2] * size + hats[t - 1]) * size + hats[t]
            if right != wrong:
                w[triples + right] += coef
                w[triples + wrong] -= coef
    if boundary:
        w[ends + truth[0]] += coef
        w[ends + hats[0]] -= coef
        ends += size
        w[ends + truth[n - 1]] += coef
        w[ends + hats[n - 1]] -= coef


@kernel
def pair_margin(blocks, w, i, codes, at):
    """<w, δ> of pairs of labels that block i scores for itself."""
    total = 0.0
    if has_pairs(blocks.rows):
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        before, before_hat = blocks.y[begin], codes[at]
        for t in range(1, end - begin):
            here, hat = blocks.y[begin + t], codes[at + t]
            if here != hat or before != before_hat:
                total += dot_pair(blocks.rows, w, i, before, here)
                total -= dot_pair(blocks.rows, w, i, before_hat, hat)
            before, before_hat = here, hat
    return total


@kernel
def push_pairs(blocks, w, i, codes, at, coef):
    """Add coef·δ of pairs of labels that block i scores for itself."""
    if has_pairs(blocks.rows):
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        before, before_hat = blocks.y[begin], codes[at]
        for t in range(1, end - begin):
            here, hat = blocks.y[begin + t], codes[at + t]
            if here != hat or before != before_hat:
                add_pair(blocks.rows, w, i, begin, before, here, coef)
                add_pair(blocks.rows, w, i, begin, before_hat, hat, -coef)
            before, before_hat = here, hat


@kernel
def one_margin(blocks, w, i, code):
    """<w, δ(code)>."""
    size = blocks.cost.shape[1]
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    pairs = blocks.rows.n_features * size
    total = plane_margin(
        blocks.order, blocks.boundary, size, pairs, w, blocks.y, begin, n, code,
        np.int64(0), w[:0].reshape(0, size), False,
    )  # fmt: skip
    total += pair_margin(blocks, w, i, code, np.int64(0))
    for t in range(n):
        here, hat = blocks.y[begin + t], code[t]
        if here != hat:
            total += dot_row(blocks.rows, w, size, begin + t, here)
            total -= dot_row(blocks.rows, w, size, begin + t, hat)
    return total


@kernel
def mark_wrong(blocks, i, codes, at, n, known):
    """Mark the tokens of block i in which one of n outputs is wrong."""
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    truth = blocks.y[begin : begin + length]
    for t in range(length):
        known[t] = 0
    for p in range(n):
        hats = codes[at + p * length : at + (p + 1) * length]
        for t in range(length):
            if truth[t] != hats[t]:
                known[t] = 1


@kernel
def many_margins(blocks, work, w, i, codes, at, n, out):
    """<w, δ> of n outputs; tokens in which some of them are wrong are scored once."""
    size = blocks.cost.shape[1]
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    pairs = blocks.rows.n_features * size
    parts, known = work.parts, work.known
    mark_wrong(blocks, i, codes, at, n, known)
    if has_stripes(blocks.rows) and size <= MANY_LABELS:
        emission = w[:pairs].reshape(blocks.rows.n_features, size)
        for t in range(length):
            if known[t] == 1:
                row = begin + t
                score_rows(blocks.rows, emission, row, row + 1, parts[t : t + 1])
    else:
        score_labels(blocks, w, i, codes, at, n, parts, known)
    for p in range(n):
        first = at + p * length
        out[p] = plane_margin(
            blocks.order, blocks.boundary, size, pairs, w, blocks.y, begin, length,
            codes, first, parts, True,
        ) + pair_margin(blocks, w, i, codes, first)  # fmt: skip


@kernel
def score_labels(blocks, w, i, codes, at, n, parts, known):
    """Scores of those labels alone that the truth or one of n outputs has."""
    size = blocks.cost.shape[1]
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    for t in range(length):
        if known[t] == 1:
            for label in range(size):
                parts[t, label] = np.nan
            here = blocks.y[begin + t]
            parts[t, here] = dot_row(blocks.rows, w, size, begin + t, here)
            for p in range(n):
                hat = codes[at + p * length + t]
                if np.isnan(parts[t, hat]):
                    parts[t, hat] = dot_row(blocks.rows, w, size, begin + t, hat)


@kernel
def push_one(blocks, w, i, code, coef):
    """Add coef·δ(code) to w."""
    size = blocks.cost.shape[1]
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    pairs = blocks.rows.n_features * size
    push_plane(
        blocks.order, blocks.boundary, size, pairs, w, blocks.y, begin, n, code,
        np.int64(0), coef, w[:0].reshape(0, size), False,
    )  # fmt: skip
    push_pairs(blocks, w, i, code, np.int64(0), coef)
    for t in range(n):
        here, hat = blocks.y[begin + t], code[t]
        if here != hat:
            add_row(blocks.rows, w, size, begin + t, here, coef)
            add_row(blocks.rows, w, size, begin + t, hat, -coef)


@kernel
def push_many(blocks, work, w, i, codes, at, n, coef):
    """Add Σ_p coef[p]·δ_p to w: first summed per (token, label), then per feature.

    Mass that moves between outputs with the same label at a token cancels there; what
    rounding leaves of it is not worth a pass over the token's features.
    """
    size = blocks.cost.shape[1]
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    pairs = blocks.rows.n_features * size
    parts, known = work.parts, work.known
    mark_wrong(blocks, i, codes, at, n, known)
    for t in range(length):
        if known[t] == 1:
            for label in range(size):
                parts[t, label] = 0.0
    largest = 0.0
    for p in range(n):
        if coef[p] == 0.0:
            continue
        largest = max(largest, abs(coef[p]))
        first = at + p * length
        push_plane(
            blocks.order, blocks.boundary, size, pairs, w, blocks.y, begin, length,
            codes, first, coef[p], parts, True,
        )  # fmt: skip
        push_pairs(blocks, w, i, codes, first, coef[p])
    for t in range(length):
        if known[t] == 1:
            for label in range(size):
                change = parts[t, label]
                if abs(change) > 1e-15 * largest:
                    add_row(blocks.rows, w, size, begin + t, label, change)


@kernel
def wipe_one(blocks, w, i, code):
    """Set to zero the coordinates of w that δ(code) touches."""
    size = blocks.cost.shape[1]
    pairs = blocks.rows.n_features * size
    triples, ends = places(blocks.order, size, pairs)
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    y = blocks.y
    for t in range(n):
        here, hat = y[begin + t], code[t]
        if here != hat:
            wipe_row(blocks.rows, w, size, begin + t, here)
            wipe_row(blocks.rows, w, size, begin + t, hat)
        if t > 0 and has_pairs(blocks.rows):
            wipe_pair(blocks.rows, w, i, y[begin + t - 1], here)
            wipe_pair(blocks.rows, w, i, code[t - 1], hat)
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
