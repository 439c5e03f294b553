"""Operations on blocks whose outputs weigh the rows of a block.

Where Ψ(x, ŷ) = Σ_r c_r(ŷ)·x_r over the rows of a block, δ(ŷ) = Σ_r d_r(ŷ)·x_r, and one
operation, `row_weight`, which returns d_r, yields all others: inner products with a
model are sums of d_r·<w, x_r>. A model is one flat array (n_features,).

Tags with these operations have the fields `rows` (of any scorer) and `offset`; their
buffers have `score` and `spare`, both (most rows of a block,).
"""

import numpy as np

from partwise.compiled import add_row, code_length, dot_row, kernel, operation, wipe_row


@operation
def row_weight(blocks, i, r, code):
    """d_r: the weight of row r of block i in φ(y_i) − φ(ŷ)."""


@kernel
def score_range(rows, w, first, last, begin, out):
    """out[t − begin] = <w, x_t> for the rows t in [first, last)."""
    for t in range(first, last):
        out[t - begin] = dot_row(rows, w, np.int64(1), t, np.int64(0))


@kernel
def score_block(blocks, w, i, out):
    """<w, x_r> of the rows of block i."""
    begin = blocks.offset[i]
    score_range(blocks.rows, w, begin, blocks.offset[i + 1], begin, out)


@kernel
def weighted_score(blocks, score, i, code):
    """Σ_r d_r·score[r]."""
    total = 0.0
    for r in range(blocks.offset[i + 1] - blocks.offset[i]):
        weight = row_weight(blocks, i, r, code)
        if weight != 0.0:
            total += weight * score[r]
    return total


@kernel
def weighted_scores(blocks, score, i, codes, at, n, out):
    """`weighted_score` of n outputs that lie end to end from place `at` on."""
    length = code_length(blocks, i)
    for p in range(n):
        first = at + p * length
        out[p] = weighted_score(blocks, score, i, codes[first : first + length])


@kernel
def one_margin(blocks, w, i, code):
    """<w, δ(code)>."""
    begin = blocks.offset[i]
    total = 0.0
    for r in range(blocks.offset[i + 1] - begin):
        weight = row_weight(blocks, i, r, code)
        if weight != 0.0:
            row = begin + r
            total += weight * dot_row(blocks.rows, w, np.int64(1), row, np.int64(0))
    return total


@kernel
def push_one(blocks, w, i, code, coef):
    """Add coef·δ(code) to w."""
    begin = blocks.offset[i]
    for r in range(blocks.offset[i + 1] - begin):
        weight = coef * row_weight(blocks, i, r, code)
        if weight != 0.0:
            add_row(blocks.rows, w, np.int64(1), begin + r, np.int64(0), weight)


@kernel
def wipe_one(blocks, w, i, code):
    """Set to zero the coordinates of w that δ(code) touches."""
    begin = blocks.offset[i]
    for r in range(blocks.offset[i + 1] - begin):
        if row_weight(blocks, i, r, code) != 0.0:
            wipe_row(blocks.rows, w, np.int64(1), begin + r, np.int64(0))


@kernel
def sum_weights(blocks, i, codes, at, n, coef, out):
    """Add Σ_p coef[p]·d_r of n outputs to out[r]."""
    length = code_length(blocks, i)
    n_rows = blocks.offset[i + 1] - blocks.offset[i]
    for p in range(n):
        if coef[p] != 0.0:
            first = at + p * length
            code = codes[first : first + length]
            for r in range(n_rows):
                out[r] += coef[p] * row_weight(blocks, i, r, code)


@kernel
def push_many(blocks, work, w, i, codes, at, n, coef):
    """Add Σ_p coef[p]·δ_p to w; each row is added once."""
    begin = blocks.offset[i]
    n_rows = blocks.offset[i + 1] - begin
    for r in range(n_rows):
        work.spare[r] = 0.0
    sum_weights(blocks, i, codes, at, n, coef, work.spare)
    for r in range(n_rows):
        if work.spare[r] != 0.0:
            weight = work.spare[r]
            add_row(blocks.rows, w, np.int64(1), begin + r, np.int64(0), weight)


@kernel
def weights_of_cuts(blocks, block, coef, indptr, codes, out):
    """Add coef·d of each cut to the weights of all rows, cut after cut."""
    for k in range(block.shape[0]):
        i = block[k]
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        sum_weights(
            blocks, i, codes, indptr[k], np.int64(1), coef[k : k + 1], out[begin:end]
        )


@kernel
def add_few_rows(rows, weight, out):
    """Add weight[t]·x_t to out for the rows whose weight is not zero."""
    for t in range(weight.shape[0]):
        if weight[t] != 0.0:
            add_row(rows, out, np.int64(1), t, np.int64(0), weight[t])


@kernel
def add_columns(indptr, index, data, step, weight, first, last, out):
    """out[f] = Σ_t weight[t]·x_tf for the sparse columns f in [first, last)."""
    for f in range(first, last):
        begin, end = indptr[f], indptr[f + 1]
        fours = begin + (end - begin) // 4 * 4
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # sums that need not wait for each other
        for p in range(begin, fours, 4):
            a += data[p * step] * weight[index[p]]
            b += data[(p + 1) * step] * weight[index[p + 1]]
            c += data[(p + 2) * step] * weight[index[p + 2]]
            d += data[(p + 3) * step] * weight[index[p + 3]]
        for p in range(fours, end):
            a += data[p * step] * weight[index[p]]
        out[f] = (a + b) + (c + d)


@kernel
def add_dense_rows(x, weight, first, last, out):
    """out[f] += Σ_t weight[t]·x[t, f] for the columns f in [first, last)."""
    for t in range(x.shape[0]):
        coef = weight[t]
        if coef != 0.0:
            for f in range(first, last):
                out[f] += coef * x[t, f]


# ------------------------------------------- operations that all such tags have alike


def recall_margin(blocks, work, i, code):
    """<w, δ> of an output, from the scores in ``work.score``."""
    return weighted_score(blocks, work.score, i, code)


def recall_margins(blocks, work, i, codes, at, n, out):
    """Those of several outputs."""
    weighted_scores(blocks, work.score, i, codes, at, n, out)


def margin(blocks, w, i, code):
    """<w, δ> of an output."""
    return one_margin(blocks, w, i, code)


def margins(blocks, work, w, i, codes, at, n, out):
    """Those of several outputs."""
    score_block(blocks, w, i, work.spare)
    weighted_scores(blocks, work.spare, i, codes, at, n, out)


def push(blocks, w, i, code, coef):
    """Add coef·δ to a model."""
    push_one(blocks, w, i, code, coef)


def push_sum(blocks, work, w, i, codes, at, n, coef):
    """Add the δ of several outputs to a model."""
    push_many(blocks, work, w, i, codes, at, n, coef)


def wipe(blocks, w, i, code):
    """Set to zero what `push` touches."""
    wipe_one(blocks, w, i, code)


def row_operations(tag):
    """Give a tag of weighted rows the operations above; it has its own searches."""
    shared = (recall_margin, recall_margins, margin, margins, push, push_sum, wipe)
    for one in shared:
        setattr(tag, one.__name__, one)
    return tag
