"""Scores of all arcs of a sentence, with and without labels.

A feature is looked up once per arc and its row of weights serves all variants. Sums
over the features of a head, or of a dependent, are made once per word.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.features._arc_compiled import (
    N_VARIANTS,
    find_label_row,
    find_row,
    is_seen,
    variant,
)

AT_ONCE = 64  # templates whose weights are fetched together


class ArcScores(NamedTuple):
    """Buffers of one thread for the scores of a sentence of n < N words."""

    arc: np.ndarray  # (N, N) from head to dependent, without labels
    total: np.ndarray  # (N, N) with the best label: what decoders read and edit
    label: np.ndarray  # (N, N, width), or (1, 1, 1) without labels
    sums: np.ndarray  # (2N, N_VARIANTS) over features of each head; each dependent
    label_sums: np.ndarray  # (4N + 1, width) to the right and left of each; and a line
    near: np.ndarray  # (2N,) int64 kinds of tokens between, counts; or rows of weights


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
        np.zeros((4 * labelled + 1, width)),
        np.zeros(max(2 * size, AT_ONCE), np.int64),
    )


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
                at = features.single[begin + p, t] * N_VARIANTS
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
    """Add the features of tokens between head and dependent, once or counted."""
    begin = features.offset[i]
    n = features.offset[i + 1] - begin - 1
    shares, n_between = features.shares, features.n_between
    arc, near = scores.arc, scores.near
    first_counted = n_between - features.n_counted
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
                            near[n + k] += 1 if t >= first_counted else 0
                            break
                    if is_new:
                        near[n_near] = kind
                        near[n + n_near] = 1
                        n_near += 1
                    v = variant(h, d)
                    both = shares[begin + h, first] + shares[begin + d, third]
                    total = 0.0
                    for k in range(n_near):
                        at = find_row(features, both + near[k]) * N_VARIANTS
                        if at > 0:
                            total += near[n + k] * (w[at] + w[at + v])
                    arc[h, d] += total
                    d += step


@kernel
def label_columns(features):
    """Where the columns of label features begin in `single` and in `shares`."""
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
                    row = 2 * features.single[begin + p, t] + side
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
