"""Arcs as a numba tag: scores of all arcs of a sentence, and of single arcs.

A model is one flat array: rows of `N_VARIANTS` weights for the features of arcs, then,
for labelled arcs, rows of 2 × `width` weights: one per label, for arcs to the right and
to the left. A feature is looked up once per arc and its row serves all variants.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.features._arc_kernels import (
    N_VARIANTS,
    find_label_row,
    find_row,
    variant,
)

DOT, ADD, WIPE = 0, 1, 2


class ArcScores(NamedTuple):
    """Buffers of one thread for the scores of a sentence of n < N words."""

    arc: np.ndarray  # (N, N) from head to dependent, without labels
    total: np.ndarray  # (N, N) with the best label: what decoders read and edit
    label: np.ndarray  # (N, N, width), or (1, 1, 1) without labels
    sums: np.ndarray  # (2N, N_VARIANTS) over features of each head; each dependent
    label_sums: np.ndarray  # (4N, width) to the right and left of each; likewise
    near: np.ndarray  # (N,) int64 kinds of tokens seen between


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
        np.zeros(size, np.int64),
    )


class ArcRows(NamedTuple):
    """Features of arcs and of labelled arcs."""

    features: tuple  # ArcFeatures
    n_labels: int  # 1 without labels
    width: int  # labels padded to whole vectors; 0 without labels

    def score_arcs(rows, w, i, scores):
        score_pairs(rows.features, w, i, scores)
        if rows.features.n_between > 0:
            score_between(rows.features, w, i, scores)
        if rows.width > 0:
            score_labels(rows, w, i, scores)
        else:
            n = rows.features.offset[i + 1] - rows.features.offset[i] - 1
            for h in range(n + 1):
                for d in range(n + 1):
                    scores.total[h, d] = scores.arc[h, d]

    def dot_arc(rows, w, i, h, d):
        return touch_arc(rows.features, w, i, h, d, DOT, 0.0)

    def add_arc(rows, w, i, h, d, coef):
        touch_arc(rows.features, w, i, h, d, ADD, coef)

    def wipe_arc(rows, w, i, h, d):
        touch_arc(rows.features, w, i, h, d, WIPE, 0.0)

    def dot_label(rows, w, i, h, d, label):
        return touch_label(rows, w, i, h, d, label, DOT, 0.0)

    def add_label(rows, w, i, h, d, label, coef):
        touch_label(rows, w, i, h, d, label, ADD, coef)

    def wipe_label(rows, w, i, h, d, label):
        touch_label(rows, w, i, h, d, label, WIPE, 0.0)


@kernel
def score_pairs(features, w, i, scores):
    """Features of the head, of the dependent and of both, into `arc`."""
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    shares, n_pair = features.shares, features.n_pair
    sums, arc = scores.sums, scores.arc
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
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h == d:
                continue
            v = variant(h, d)
            plain = sums[2 * h, 0] + sums[2 * d + 1, 0]
            varied = sums[2 * h, v] + sums[2 * d + 1, v]
            for t in range(n_pair):
                key = shares[begin + h, t] + shares[begin + d, n_pair + t]
                at = find_row(features, key) * N_VARIANTS
                if at > 0:
                    plain += w[at]
                    varied += w[at + v]
            arc[h, d] = plain + varied


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
def score_labels(rows, w, i, scores):
    """Scores of all labels of all arcs, and `total` with the best of each."""
    features, width = rows.features, rows.width
    start = features.n_rows * N_VARIANTS
    size = features.n_label_rows * 2
    weights = w[start : start + size * width].reshape(size, width)
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    shares, n_pair = features.shares, features.n_label_pair
    singles, pairs = label_columns(features)
    sums, label = scores.label_sums, scores.label
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
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h == d:
                continue
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
            for k in range(1, rows.n_labels):
                best = label[h, d, k] if label[h, d, k] > best else best
            scores.total[h, d] = scores.arc[h, d] + best


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
    n_pair, n_between = features.n_pair, features.n_between
    v = variant(h, d)
    total = 0.0
    for t in range(features.n_head):
        total += touch_row(w, found[begin + h, t], v, mode, coef)
    for t in range(features.n_head, features.n_head + features.n_dep):
        total += touch_row(w, found[begin + d, t], v, mode, coef)
    for t in range(n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        total += touch_row(w, find_row(features, key), v, mode, coef)
    low, high = min(h, d), max(h, d)
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
def touch_label(rows, w, i, h, d, label, mode, coef):
    """`touch_arc` for the features of a label."""
    if rows.width == 0:
        return 0.0
    features = rows.features
    found, shares, n_pair = features.found, features.shares, features.n_label_pair
    begin = features.offset[i]
    first, pairs = label_columns(features)
    start = features.n_rows * N_VARIANTS + label + (0 if d > h else rows.width)
    step = 2 * rows.width
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
