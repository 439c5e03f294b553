"""Rows of input features as numba tags: the linear scorer's side of `compiled`.

Weights are a matrix (n_features, n_labels), so that the scores of all labels of one
feature lie side by side and a row is scored by adding a few contiguous stripes.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted
from partwise.vectors import (
    add,
    fill4,
    fill8,
    load4,
    load8,
    multiply,
    spread4,
    spread8,
    store,
)


class SparseRows(NamedTuple):
    """Rows in CSR form; `step` is 0 when all values are one and `data` is ``[1.]``.

    The zero step reads the same element again and again, so binary features need
    neither memory nor a second kernel.
    """

    indptr: np.ndarray  # (n_rows + 1,) int64
    indices: np.ndarray  # (nnz,) int32
    data: np.ndarray  # (nnz,) or (1,) float64
    step: int
    n_features: int

    def score_rows(rows, weights, first, last, out):
        # In pieces of 24, 8, 4 and single labels, each summed in registers.
        width = weights.shape[1]
        in_24s, in_8s, in_4s = width // 24 * 24, width // 8 * 8, width // 4 * 4
        indices, data, step = rows.indices, rows.data, rows.step
        for t in range(first, last):
            begin, end = rows.indptr[t], rows.indptr[t + 1]
            at = (t - first) * width
            for k in range(0, in_24s, 24):
                a, b, c = fill8(0.0), fill8(0.0), fill8(0.0)
                for p in range(begin, end):
                    value, place = spread8(data, p * step), indices[p] * width + k
                    a = add(a, multiply(value, load8(weights, place)))
                    b = add(b, multiply(value, load8(weights, place + 8)))
                    c = add(c, multiply(value, load8(weights, place + 16)))
                store(out, at + k, a)
                store(out, at + k + 8, b)
                store(out, at + k + 16, c)
            for k in range(in_24s, in_8s, 8):
                a = fill8(0.0)
                for p in range(begin, end):
                    stripe = load8(weights, indices[p] * width + k)
                    a = add(a, multiply(spread8(data, p * step), stripe))
                store(out, at + k, a)
            for k in range(in_8s, in_4s, 4):
                d = fill4(0.0)
                for p in range(begin, end):
                    stripe4 = load4(weights, indices[p] * width + k)
                    d = add(d, multiply(spread4(data, p * step), stripe4))
                store(out, at + k, d)
            for k in range(in_4s, width):
                total = 0.0
                for p in range(begin, end):
                    total += data[p * step] * weights[indices[p], k]
                out[t - first, k] = total

    def has_stripes(rows):
        return True

    def dot_row(rows, w, width, t, label):
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        fours = begin + (end - begin) // 4 * 4
        indices, data, step = rows.indices, rows.data, rows.step
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # sums that need not wait for each other
        for p in range(begin, fours, 4):
            a += data[p * step] * w[indices[p] * width + label]
            b += data[(p + 1) * step] * w[indices[p + 1] * width + label]
            c += data[(p + 2) * step] * w[indices[p + 2] * width + label]
            d += data[(p + 3) * step] * w[indices[p + 3] * width + label]
        for p in range(fours, end):
            a += data[p * step] * w[indices[p] * width + label]
        return (a + b) + (c + d)

    def add_row(rows, w, width, t, label, coef):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            w[rows.indices[p] * width + label] += coef * rows.data[p * rows.step]

    def wipe_row(rows, w, width, t, label):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            w[rows.indices[p] * width + label] = 0.0


class DenseRows(NamedTuple):
    """Rows of a dense matrix: embeddings, pixels."""

    x: np.ndarray  # (n_rows, n_features) float64
    n_features: int

    def score_rows(rows, weights, first, last, out):
        n_features, n_labels = weights.shape
        x = rows.x
        for t in range(first, last):
            r = t - first
            for label in range(n_labels):
                out[r, label] = 0.0
            fours = n_features // 4 * 4
            for f in range(0, fours, 4):  # the row is loaded and stored less often
                a, b, c, d = x[t, f], x[t, f + 1], x[t, f + 2], x[t, f + 3]
                for label in range(n_labels):
                    out[r, label] += (
                        a * weights[f, label] + b * weights[f + 1, label]
                    ) + (c * weights[f + 2, label] + d * weights[f + 3, label])
            for f in range(fours, n_features):
                for label in range(n_labels):
                    out[r, label] += x[t, f] * weights[f, label]

    def has_stripes(rows):
        return True

    def dot_row(rows, w, width, t, label):
        total = 0.0
        for f in range(rows.x.shape[1]):
            total += rows.x[t, f] * w[f * width + label]
        return total

    def add_row(rows, w, width, t, label, coef):
        for f in range(rows.x.shape[1]):
            w[f * width + label] += coef * rows.x[t, f]

    def wipe_row(rows, w, width, t, label):
        for f in range(rows.x.shape[1]):
            w[f * width + label] = 0.0


class GramRows(NamedTuple):
    """Tokens of a sequence by their inner products with each other.

    A model holds a coefficient per label for each token of one sequence at a time. The
    inner products that a pool of planes needs are then sums over tokens, not features.
    """

    gram: np.ndarray  # (Σ n²,) the table (n, n) of each sequence
    first: np.ndarray  # (n_rows,) int64 where the token's row of the table begins
    place: np.ndarray  # (n_rows,) int64 the token's number in its sequence
    length: np.ndarray  # (n_rows,) int64 of its sequence
    n_features: int  # tokens of the longest sequence

    def score_rows(rows, weights, first, last, out):
        for t in range(first, last):
            r = t - first
            for label in range(weights.shape[1]):
                out[r, label] = 0.0
            for u in range(rows.length[t]):
                value = rows.gram[rows.first[t] + u]
                for label in range(weights.shape[1]):
                    out[r, label] += value * weights[u, label]

    def has_stripes(rows):
        return True

    def dot_row(rows, w, width, t, label):
        total = 0.0
        first = rows.first[t]
        for u in range(rows.length[t]):
            total += rows.gram[first + u] * w[u * width + label]
        return total

    def add_row(rows, w, width, t, label, coef):
        w[rows.place[t] * width + label] += coef

    def wipe_row(rows, w, width, t, label):
        w[rows.place[t] * width + label] = 0.0


@jitted
def sparse_gram(offset, indptr, indices, data, step, n_features, gram):
    """Inner products of the sparse rows of each sequence, end to end."""
    vector = np.zeros(n_features)
    at = 0
    for i in range(offset.shape[0] - 1):
        n = offset[i + 1] - offset[i]
        for t in range(n):
            begin, end = indptr[offset[i] + t], indptr[offset[i] + t + 1]
            for p in range(begin, end):
                vector[indices[p]] += data[p * step]
            for u in range(t + 1):
                total = 0.0
                row = offset[i] + u
                for p in range(indptr[row], indptr[row + 1]):
                    total += data[p * step] * vector[indices[p]]
                gram[at + t * n + u] = total
                gram[at + u * n + t] = total
            for p in range(begin, end):
                vector[indices[p]] = 0.0
        at += n * n


@jitted
def dense_gram(offset, x, gram):
    """Inner products of the dense rows of each sequence, end to end."""
    at = 0
    for i in range(offset.shape[0] - 1):
        begin = offset[i]
        n = offset[i + 1] - begin
        for t in range(n):
            for u in range(t + 1):
                total = 0.0
                for f in range(x.shape[1]):
                    total += x[begin + t, f] * x[begin + u, f]
                gram[at + t * n + u] = total
                gram[at + u * n + t] = total
        at += n * n


@jitted
def number_locally(offset, indptr, indices, n_features, out):
    """Number the features of each sequence 0, 1, … by first appearance.

    Returns the largest number of distinct features in a sequence.
    """
    seen_in = np.full(n_features, -1, np.int64)
    number = np.zeros(n_features, np.int32)
    largest = 0
    for i in range(offset.shape[0] - 1):
        count = 0
        for p in range(indptr[offset[i]], indptr[offset[i + 1]]):
            f = indices[p]
            if seen_in[f] != i:
                seen_in[f] = i
                number[f] = count
                count += 1
            out[p] = number[f]
        largest = max(largest, count)
    return largest


@jitted
def number_by_locality(indices, n_features, out):
    """Renumber features: by frequency to a power of two, then by first appearance.

    Weights of frequent features share a few cache lines, and rare features of one
    sequence lie side by side; scoring rows in random order takes 0.7 of the time that
    it takes with features ordered by frequency alone.
    """
    count = np.zeros(n_features, np.int64)
    for p in range(indices.shape[0]):
        count[indices[p]] += 1
    begin = np.zeros(66, np.int64)  # begin[b]: features more frequent than bucket b
    bucket = np.zeros(n_features, np.uint8)
    for f in range(n_features):
        b = 64
        while count[f] > 0:
            count[f] >>= 1
            b -= 1
        bucket[f] = b
        begin[b + 1] += 1
    for b in range(1, 66):
        begin[b] += begin[b - 1]
    for f in range(n_features):
        out[f] = -1
    for p in range(indices.shape[0]):
        f = indices[p]
        if out[f] < 0:
            out[f] = begin[bucket[f]]
            begin[bucket[f]] += 1
    for f in range(n_features):  # features that no row has
        if out[f] < 0:
            out[f] = begin[bucket[f]]
            begin[bucket[f]] += 1
