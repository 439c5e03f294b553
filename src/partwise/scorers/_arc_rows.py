"""Arcs as a numba tag: scores of all arcs of a sentence, and of single arcs.

A model is one flat array: rows of `N_VARIANTS` weights for the features of arcs, then,
for labelled arcs, rows of 2 × `width` weights: one per label, for arcs to the right and
to the left. A feature is looked up once per arc and its row serves all variants.

The tag reaches its two programs by their address (`FunctionType`): numba optimises all
that a sweep calls once more with every sweep, except what lies behind an address.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, types
from numba.core import config

from partwise.compiled import kernel
from partwise.features._arc_kernels import (
    N_VARIANTS,
    ArcFeatures,
    find_label_row,
    find_row,
    is_seen,
    variant,
)

# numbers with a type: a literal argument would compile a function anew
DOT, ADD, WIPE = np.int64(0), np.int64(1), np.int64(2)
ARC, SIBLING, GRANDPARENT = np.int64(-1), np.int64(-2), np.int64(-3)  # not labels
NOBODY = np.int64(0)  # in the place of a third token
AT_ONCE = 64  # templates whose weights are fetched together


class ArcScores(NamedTuple):
    """Buffers of one thread for the scores of a sentence of n < N words."""

    arc: np.ndarray  # (N, N) from head to dependent, without labels
    total: np.ndarray  # (N, N) with the best label: what decoders read and edit
    label: np.ndarray  # (N, N, width), or (1, 1, 1) without labels
    sums: np.ndarray  # (2N, N_VARIANTS) over features of each head; each dependent
    label_sums: np.ndarray  # (4N, width) to the right and left of each; likewise
    near: np.ndarray  # (N,) int64 kinds of tokens seen between, or rows of weights


def new_arc_scores(longest, width):
    """Buffers for sentences of at most `longest` words."""
    size = longest + 1
    labelled = size if width else 1
    width = max(width, 1)
    return ArcScores(
        np.zeros((size, size)),
        np.zeros((size, size)),
        np.zeros((labelled, labelled, width)),
        np.zeros((2 * size, N_VARIANTS)),
        np.zeros((4 * labelled, width)),
        np.zeros(max(size, AT_ONCE), np.int64),
    )


class ArcRows(NamedTuple):
    """Features of arcs and of labelled arcs."""

    offset: np.ndarray  # the arrays of `ArcFeatures`
    found: np.ndarray
    shares: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    layout: np.ndarray  # (16,) int64: its numbers, then n_labels and width
    n_labels: int  # 1 without labels
    width: int  # labels padded to whole vectors; 0 without labels
    score: Any  # `score_all`
    touch: Any  # `touch_part`

    def score_arcs(rows, w, i, scores):
        rows.score(
            rows.offset, rows.found, rows.shares, rows.slots, rows.keys, rows.layout,
            w, i, scores.arc, scores.total, scores.label, scores.sums,
            scores.label_sums, scores.near,
        )  # fmt: skip

    def dot_arc(rows, w, i, h, d):
        return touch_rows(rows, w, i, h, d, ARC, NOBODY, DOT, 0.0)

    def add_arc(rows, w, i, h, d, coef):
        touch_rows(rows, w, i, h, d, ARC, NOBODY, ADD, coef)

    def wipe_arc(rows, w, i, h, d):
        touch_rows(rows, w, i, h, d, ARC, NOBODY, WIPE, 0.0)

    def dot_label(rows, w, i, h, d, label):
        if rows.width == 0:
            return 0.0
        return touch_rows(rows, w, i, h, d, label, NOBODY, DOT, 0.0)

    def add_label(rows, w, i, h, d, label, coef):
        if rows.width > 0:
            touch_rows(rows, w, i, h, d, label, NOBODY, ADD, coef)

    def wipe_label(rows, w, i, h, d, label):
        if rows.width > 0:
            touch_rows(rows, w, i, h, d, label, NOBODY, WIPE, 0.0)


def bind_rows(features, n_labels):
    """The tag of features; `n_labels` is 0 for arcs without labels."""
    width = -(-n_labels // 4) * 4
    layout = np.array([*features[5:], max(n_labels, 1), width], np.int64)
    return ArcRows(  # type: ignore[call-arg]
        *features[:5], layout, max(n_labels, 1), width, by_address(score_all, SCORE),
        by_address(touch_part, TOUCH),
    )  # fmt: skip


ONE_INT, TWO_INT = types.int64[::1], types.int64[:, ::1]
ONE, TWO, THREE = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
ARRAYS = (
    ONE_INT, types.int32[:, ::1], TWO_INT, types.uint32[::1], ONE_INT, ONE_INT, ONE,
)  # fmt: skip
SCORE = types.void(*ARRAYS, types.int64, TWO, TWO, THREE, TWO, TWO, ONE_INT)
TOUCH = types.float64(*ARRAYS, *(types.int64,) * 6, types.float64)


@functools.cache  # loading from numba's cache takes a tenth of a second
def by_address(function, signature):
    """The function where numba calls it by address."""
    text = getattr(function, "py_func", function)
    return text if vars(config)["DISABLE_JIT"] else cfunc(signature, cache=True)(text)


@kernel
def touch_rows(rows, w, i, h, d, part, other, mode, coef):
    """`touch_part` of a tag."""
    return rows.touch(
        rows.offset, rows.found, rows.shares, rows.slots, rows.keys, rows.layout, w, i,
        h, d, part, other, mode, coef,
    )  # fmt: skip


@kernel
def score_all(
    offset, found, shares, slots, keys, layout, w, i, arc, total, label, sums,
    label_sums, near,
):  # fmt: skip
    """Scores of all arcs of sentence i, with and without labels."""
    features = ArcFeatures(
        offset, found, shares, slots, keys, layout[0], layout[1], layout[2], layout[3],
        layout[4], layout[5], layout[6], layout[7], layout[8], layout[9], layout[10],
        layout[11], layout[12], layout[13],
    )  # fmt: skip
    scores = ArcScores(arc, total, label, sums, label_sums, near)
    score_pairs(features, w, i, scores)
    if features.n_between > 0:
        score_between(features, w, i, scores)
    if layout[15] > 0:
        score_labels(features, layout[14], layout[15], w, i, scores)
    else:
        n = offset[i + 1] - offset[i] - 1
        for h in range(n + 1):
            for d in range(n + 1):
                total[h, d] = arc[h, d]


@kernel
def touch_part(
    offset, found, shares, slots, keys, layout, w, i, h, d, part, other, mode, coef
):  # fmt: skip
    """`touch_arc`, or `touch_label` where `part` is a label, or `touch_third`."""
    features = ArcFeatures(
        offset, found, shares, slots, keys, layout[0], layout[1], layout[2], layout[3],
        layout[4], layout[5], layout[6], layout[7], layout[8], layout[9], layout[10],
        layout[11], layout[12], layout[13],
    )  # fmt: skip
    if part == ARC:
        return touch_arc(features, w, i, h, d, mode, coef)
    if part < ARC:
        return touch_third(features, w, offset[i], h, d, part, other, mode, coef)
    return touch_label(features, layout[15], w, i, h, d, part, mode, coef)


@kernel
def score_pairs(features, w, i, scores):
    """Features of the head, of the dependent and of both, into `arc`."""
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    sum_tokens(features, w, begin, n, scores.sums)
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                scores.arc[h, d] = score_pair(features, w, begin, h, d, scores)


@kernel
def sum_tokens(features, w, begin, n, sums):
    """Sums of the rows of features of each token alone, as head and as dependent."""
    for p in range(n + 1):
        for side in range(2):
            first = features.n_head if side else 0
            last = first + (features.n_dep if side else features.n_head)
            r = 2 * p + side
            for v in range(N_VARIANTS):
                sums[r, v] = 0.0
            for t in range(first, last):
                at = features.found[begin + p, t] * N_VARIANTS
                if at > 0:
                    for v in range(N_VARIANTS):
                        sums[r, v] += w[at + v]


@kernel
def score_pair(features, w, begin, h, d, scores):
    """Score of one arc but for what lies between."""
    shares, n_pair, sums = features.shares, features.n_pair, scores.sums
    if features.is_hashed:
        return score_hashed_pair(features, w, begin, h, d, sums, scores.near)
    v = variant(h, d)
    plain = sums[2 * h, 0] + sums[2 * d + 1, 0]
    varied = sums[2 * h, v] + sums[2 * d + 1, v]
    for t in range(n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        at = find_row(features, key) * N_VARIANTS
        if at > 0:
            plain += w[at]
            varied += w[at + v]
    return plain + varied


@kernel
def score_hashed_pair(features, w, begin, h, d, sums, rows):
    """`score_pair` of hashed features.

    First the rows that are there, then their weights, both without a branch: a third
    faster than one loop, because many weights are under way together.
    """
    shares, n_pair = features.shares, features.n_pair
    slots, mask = features.slots, features.mask
    v = variant(h, d)
    plain = sums[2 * h, 0] + sums[2 * d + 1, 0]
    varied = sums[2 * h, v] + sums[2 * d + 1, v]
    for first in range(0, n_pair, AT_ONCE):
        n = 0
        for t in range(first, min(first + AT_ONCE, n_pair)):
            key = shares[begin + h, t] + shares[begin + d, n_pair + t]
            rows[n] = ((key & mask) + 1) * N_VARIANTS
            n += is_seen(slots, key) & ~(key >> 63)  # 0 for keys below zero
        for k in range(n):
            plain += w[rows[k]]
            varied += w[rows[k] + v]
    return plain + varied


@kernel
def score_between(features, w, i, scores):
    """Add the features of tokens between head and dependent, each kind once."""
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    shares, n_between = features.shares, features.n_between
    arc, near = scores.arc, scores.near
    for t in range(n_between):
        first = 2 * features.n_pair + t
        second, third = first + n_between, first + 2 * n_between
        for h in range(n + 1):
            for step in (1, -1):
                n_near = 0
                d = h + 2 * step
                while 1 <= d <= n:
                    kind = shares[begin + d - step, second]
                    is_new = True
                    for k in range(n_near):
                        if near[k] == kind:
                            is_new = False
                            break
                    if is_new:
                        near[n_near] = kind
                        n_near += 1
                    v = variant(h, d)
                    both = shares[begin + h, first] + shares[begin + d, third]
                    total = 0.0
                    for k in range(n_near):
                        at = find_row(features, both + near[k]) * N_VARIANTS
                        if at > 0:
                            total += w[at] + w[at + v]
                    arc[h, d] += total
                    d += step


@kernel
def label_columns(features):
    """Where the columns of label features begin in `found` and in `shares`."""
    pairs = 2 * features.n_pair + 3 * features.n_between
    pairs += 3 * features.n_sib + 3 * features.n_grand
    return features.n_head + features.n_dep, pairs


@kernel
def score_labels(features, n_labels, width, w, i, scores):
    """Scores of all labels of all arcs, and `total` with the best of each."""
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    sum_label_tokens(features, width, w, begin, n, scores.label_sums)
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                best = score_label(features, n_labels, width, w, begin, h, d, scores)
                scores.total[h, d] = scores.arc[h, d] + best


@kernel
def sum_label_tokens(features, width, w, begin, n, sums):
    """As `sum_tokens`, for labels: to the right and to the left of each token."""
    start = features.n_rows * N_VARIANTS
    size = features.n_label_rows * 2
    weights = w[start : start + size * width].reshape(size, width)
    singles, _ = label_columns(features)
    for p in range(n + 1):
        for end in range(2):
            first = singles + (features.n_label_head if end else 0)
            last = first + (features.n_label_dep if end else features.n_label_head)
            for side in range(2):
                r = 4 * p + 2 * end + side
                for k in range(width):
                    sums[r, k] = 0.0
                for t in range(first, last):
                    row = 2 * features.found[begin + p, t] + side
                    if row > 1:
                        for k in range(width):
                            sums[r, k] += weights[row, k]


@kernel
def score_label(features, n_labels, width, w, begin, h, d, scores):
    """Scores of all labels of one arc into `label`; returns the best."""
    start = features.n_rows * N_VARIANTS
    size = features.n_label_rows * 2
    weights = w[start : start + size * width].reshape(size, width)
    shares, n_pair = features.shares, features.n_label_pair
    _, pairs = label_columns(features)
    sums, label = scores.label_sums, scores.label
    side = 0 if d > h else 1
    p, q = 4 * h + side, 4 * d + 2 + side
    for k in range(width):
        label[h, d, k] = sums[p, k] + sums[q, k]
    for t in range(pairs, pairs + n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        row = find_label_row(features, key)
        if row > 0:
            r = 2 * row + side
            for k in range(width):
                label[h, d, k] += weights[r, k]
    best = label[h, d, 0]
    for k in range(1, n_labels):
        best = label[h, d, k] if label[h, d, k] > best else best
    return best


@kernel
def touch(w, at, mode, coef):
    """Read, change or erase one weight."""
    if mode == DOT:
        return w[at]
    if mode == ADD:
        w[at] += coef
    else:
        w[at] = 0.0
    return 0.0


@kernel
def touch_row(w, row, v, mode, coef):
    """`touch` the weights of a feature without and with its variant."""
    if row == 0:
        return 0.0
    total = touch(w, row * N_VARIANTS, mode, coef)
    return total + touch(w, row * N_VARIANTS + v, mode, coef)


@kernel
def touch_arc(features, w, i, h, d, mode, coef):
    """Sum the weights of an arc's features, add to them, or erase them.

    One text for the three, so that they cannot disagree about what an arc has.
    """
    begin = features.offset[i]
    found, shares = features.found, features.shares
    n_pair = features.n_pair
    v = variant(h, d)
    total = 0.0
    for t in range(features.n_head):
        total += touch_row(w, found[begin + h, t], v, mode, coef)
    for t in range(features.n_head, features.n_head + features.n_dep):
        total += touch_row(w, found[begin + d, t], v, mode, coef)
    for t in range(n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        total += touch_row(w, find_row(features, key), v, mode, coef)
    return total + touch_between(features, w, begin, h, d, mode, coef)


@kernel
def touch_between(features, w, begin, h, d, mode, coef):
    """`touch_arc` for the features of what lies between, each kind once."""
    shares, n_pair, n_between = features.shares, features.n_pair, features.n_between
    v = variant(h, d)
    low, high = min(h, d), max(h, d)
    total = 0.0
    for t in range(2 * n_pair, 2 * n_pair + n_between):
        middle = t + n_between
        both = shares[begin + h, t] + shares[begin + d, middle + n_between]
        for b in range(low + 1, high):
            kind = shares[begin + b, middle]
            is_new = True
            for a in range(low + 1, b):
                if shares[begin + a, middle] == kind:
                    is_new = False
                    break
            if is_new:
                total += touch_row(w, find_row(features, both + kind), v, mode, coef)
    return total


@kernel
def touch_label(features, width, w, i, h, d, label, mode, coef):
    """`touch_arc` for the features of a label."""
    found, shares, n_pair = features.found, features.shares, features.n_label_pair
    begin = features.offset[i]
    first, pairs = label_columns(features)
    start = features.n_rows * N_VARIANTS + label + (0 if d > h else width)
    step = 2 * width
    total = 0.0
    for t in range(first, first + features.n_label_head):
        row = found[begin + h, t]
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    first += features.n_label_head
    for t in range(first, first + features.n_label_dep):
        row = found[begin + d, t]
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    for t in range(pairs, pairs + n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        row = find_label_row(features, key)
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    return total


@kernel
def touch_third(features, w, begin, h, d, part, other, mode, coef):
    """`touch_arc` for an arc with its next sibling towards the head, or grandparent.

    The sibling of the innermost dependent is the head itself; its place is taken by
    the root, which is nobody's sibling.
    """
    shares = features.shares
    first = 2 * features.n_pair + 3 * features.n_between
    if part == SIBLING:
        n = features.n_sib
        v = variant(other, d)
        one, two = h, (0 if other == h else other)
    else:
        first += 3 * features.n_sib
        n = features.n_grand
        v = 1 + (2 if h > other else 0) + (1 if d > h else 0)
        one, two = other, h
    total = 0.0
    for t in range(first, first + n):
        key = shares[begin + one, t] + shares[begin + two, n + t]
        key += shares[begin + d, 2 * n + t]
        total += touch_row(w, find_row(features, key), v, mode, coef)
    return total
