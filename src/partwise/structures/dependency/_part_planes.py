"""Inner products and sums of planes of second-order parts, from parts that differ.

Each word has one part with its next sibling towards its head and, unless its head is
the root, one with the head of its head. As in `_planes.py`, several trees are handled
word by word and each part is looked at once.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.scorers._arc_touching import ADD, DOT, GRANDPARENT, SIBLING, touch_rows
from partwise.structures.dependency._second_order import sibling_of

NONE = np.int64(-1)  # in the place of a third token


@kernel
def third_of(codes, at, size, d, part):
    """The third token of a word's part; none above a child of the root."""
    if part == SIBLING:
        return np.int64(sibling_of(codes, at, size, d))
    h = codes[at + d - 1] // size
    return np.int64(codes[at + h - 1] // size) if h > 0 else NONE


@kernel
def touch_word(blocks, w, i, h, d, part, other, mode, coef):
    """`touch_rows`, where there is such a part."""
    if other == NONE:
        return 0.0
    return touch_rows(blocks.rows, w, i, h, d, part, other, mode, coef)


@kernel
def touch_parts(blocks, w, i, code, mode, coef):
    """Second-order parts of the true tree, minus those of another: see `touch`."""
    y, begin, size = blocks.y, blocks.offset[i], blocks.n_labels
    total = 0.0
    for d in range(1, blocks.offset[i + 1] - begin + 1):
        h, h_hat = y[begin + d - 1] // size, code[d - 1] // size
        for part in (SIBLING, GRANDPARENT):
            other = third_of(y, begin, size, d, part)
            hat = third_of(code, 0, size, d, part)
            if h != h_hat or other != hat:
                total += touch_word(blocks, w, i, h, d, part, other, mode, coef)
                total -= touch_word(blocks, w, i, h_hat, d, part, hat, mode, -coef)
    return total


@kernel
def has_part(codes, at, size, d, part, h, other):
    """Whether a word of a tree has this head and this third token."""
    return codes[at + d - 1] // size == h and (
        third_of(codes, at, size, d, part) == other
    )


@kernel
def is_repeated(codes, at, length, p, size, d, part, h, other):
    """Whether a tree before p has this part."""
    for q in range(p):
        if has_part(codes, at + q * length, size, d, part, h, other):
            return True
    return False


@kernel
def touch_many_parts(blocks, w, i, codes, at, n, mode, share):
    """Second-order parts of several trees.

    DOT adds their part of <w, δ_p> to share[p], ADD adds Σ_p share[p]·δ_p to w.
    """
    y, begin, size = blocks.y, blocks.offset[i], blocks.n_labels
    length = blocks.offset[i + 1] - begin
    for t in range(length):
        d = t + 1
        h = y[begin + t] // size
        for part in (SIBLING, GRANDPARENT):
            other = third_of(y, begin, size, d, part)
            # the score of the true part, unknown until it is asked for; or its weight
            truth = np.nan if mode == DOT else 0.0
            for p in range(n):
                first = at + p * length
                h_hat = codes[first + t] // size
                hat = third_of(codes, first, size, d, part)
                if h == h_hat and other == hat:
                    continue
                if mode == ADD:
                    truth += share[p]
                if is_repeated(codes, at, length, p, size, d, part, h_hat, hat):
                    continue
                value, total = 0.0, 0.0
                if mode == DOT:
                    if np.isnan(truth):
                        truth = touch_word(blocks, w, i, h, d, part, other, DOT, 0.0)
                    value = touch_word(blocks, w, i, h_hat, d, part, hat, DOT, 0.0)
                    value = truth - value
                for q in range(p, n):
                    if has_part(codes, at + q * length, size, d, part, h_hat, hat):
                        total += share[q]
                        if mode == DOT:
                            share[q] += value
                if mode == ADD:
                    touch_word(blocks, w, i, h_hat, d, part, hat, ADD, -total)
            if mode == ADD and truth != 0.0:
                touch_word(blocks, w, i, h, d, part, other, ADD, truth)
