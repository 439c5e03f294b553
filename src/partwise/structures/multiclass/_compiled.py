"""Classes as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width) in one flat array: a column of weights for each
attribute of classes, padded to whole vectors. By default class k has the attribute k
and no other. A code is the number of a class.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import add_row, dot_row, kernel, score_rows, uncounted, wipe_row


class MulticlassWork(NamedTuple):
    """Buffers of one thread."""

    parts: np.ndarray  # (1, width) scores of attributes
    scores: np.ndarray  # (K,) scores of classes, left for `recall_margin`
    spare: np.ndarray  # (K,) the same where `scores` must stay
    alpha: np.ndarray  # (K,) dual variables of a block; zero between visits
    target: np.ndarray  # (K,) what is projected onto their simplex
    chosen: np.ndarray  # (K,) int32 the classes of the targets


@uncounted
class MulticlassBlocks(NamedTuple):
    """Examples with one class each, over rows of any scorer.

    Class k has the attributes ``attribute[first[k]:first[k + 1]]``, each to the degree
    `degree`: the row Λ(k) of a sparse matrix.
    """

    rows: Any  # a tag with the row operations of `partwise.compiled`
    y: np.ndarray  # (n_blocks,) int32 true classes
    cost: np.ndarray  # (K, K) loss of predicting the column's class for the row's
    b: np.ndarray  # (K, K) offsets of the planes
    scale: np.ndarray  # (K, K) scales of the planes
    is_hard: int  # 1 where classes that cost nothing have no plane
    square: np.ndarray  # (n_blocks,) <Φ(x), Φ(x)>, for exact steps
    first: np.ndarray  # (K + 1,) int64
    attribute: np.ndarray  # int32
    degree: np.ndarray  # float64
    is_unit: int  # whether Λ is the identity
    width: int  # columns of a model, padding included

    def code_length(blocks, i):
        return 1

    def output_loss(blocks, i, code):
        return blocks.cost[blocks.y[i], code[0]]

    def find_output(blocks, work, w, i, code):
        scores = work.scores
        score_classes(blocks, work.parts, w, i, scores)
        y = blocks.y[i]
        # Ties go to the first class, not to the truth: predictions have none.
        best, chosen = -np.inf, y
        for k in range(scores.shape[0]):
            b = blocks.b[y, k]
            violation = b - blocks.scale[y, k] * (scores[y] - scores[k])
            if violation > best and not (blocks.is_hard and b == 0.0):
                best, chosen = violation, np.int32(k)
        code[0] = chosen
        return blocks.b[y, chosen], blocks.scale[y, chosen], best, best

    def recall_margin(blocks, work, i, code):
        return work.scores[blocks.y[i]] - work.scores[code[0]]

    def margin(blocks, w, i, code):
        if code[0] == blocks.y[i]:
            return 0.0
        truth = dot_class(blocks, w, i, blocks.y[i])
        return truth - dot_class(blocks, w, i, code[0])

    def margins(blocks, work, w, i, codes, at, n, out):
        if n == 0:
            return
        scores = work.spare
        score_classes(blocks, work.parts, w, i, scores)
        for p in range(n):
            out[p] = scores[blocks.y[i]] - scores[codes[at + p]]

    def push(blocks, w, i, code, coef):
        if code[0] != blocks.y[i]:
            add_class(blocks, w, i, blocks.y[i], coef)
            add_class(blocks, w, i, code[0], -coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        y = blocks.y[i]
        total = 0.0
        for p in range(n):
            if coef[p] != 0.0 and codes[at + p] != y:
                add_class(blocks, w, i, codes[at + p], -coef[p])
                total += coef[p]
        if total != 0.0:
            add_class(blocks, w, i, y, total)

    def wipe(blocks, w, i, code):
        wipe_class(blocks, w, i, blocks.y[i])
        wipe_class(blocks, w, i, code[0])


@kernel
def score_classes(blocks, parts, w, i, scores):
    """Scores of all classes of block i; `parts` (1, width) is room."""
    n_features, width = blocks.rows.n_features, blocks.width
    weights = w[: n_features * width].reshape(n_features, width)
    score_rows(blocks.rows, weights, i, i + 1, parts)
    if blocks.is_unit:
        for k in range(scores.shape[0]):
            scores[k] = parts[0, k]
        return
    for k in range(scores.shape[0]):
        total = 0.0
        for e in range(blocks.first[k], blocks.first[k + 1]):
            total += blocks.degree[e] * parts[0, blocks.attribute[e]]
        scores[k] = total


@kernel
def dot_class(blocks, w, i, k):
    """Score of class k of block i."""
    total = 0.0
    for e in range(blocks.first[k], blocks.first[k + 1]):
        part = dot_row(blocks.rows, w, blocks.width, i, blocks.attribute[e])
        total += blocks.degree[e] * part
    return total


@kernel
def add_class(blocks, w, i, k, coef):
    """Add coef·Φ(x_i) ⊗ Λ(k) to w."""
    for e in range(blocks.first[k], blocks.first[k + 1]):
        share = coef * blocks.degree[e]
        add_row(blocks.rows, w, blocks.width, i, blocks.attribute[e], share)


@kernel
def wipe_class(blocks, w, i, k):
    """Set to zero the coordinates of w that Φ(x_i) ⊗ Λ(k) touches."""
    for e in range(blocks.first[k], blocks.first[k + 1]):
        wipe_row(blocks.rows, w, blocks.width, i, blocks.attribute[e])


# ---------------------------------------------------------------- all rows at once


@kernel
def score_all(blocks, work, w, first, last, out):
    """Scores of all classes of the rows [first, last)."""
    for i in range(first, last):
        score_classes(blocks, work.parts, w, i, work.scores)
        for k in range(out.shape[1]):
            out[i, k] = work.scores[k]


@kernel
def to_attributes(first, attribute, degree, mass, out):
    """Add up the mass of classes (n, K) by their attributes (n, width)."""
    for i in range(mass.shape[0]):
        for k in range(mass.shape[1]):
            for e in range(first[k], first[k + 1]):
                out[i, attribute[e]] += mass[i, k] * degree[e]
