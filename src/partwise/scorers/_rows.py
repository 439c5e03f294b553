"""Rows of input features as numba tags: the linear scorer's side of `compiled.py`.

Weights are a matrix (n_features, n_labels), so that the scores of all labels of one
feature lie side by side and a row is scored by adding a few contiguous stripes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


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
        n_labels = weights.shape[1]
        for t in range(first, last):
            r = t - first
            for label in range(n_labels):
                out[r, label] = 0.0
            for p in range(rows.indptr[t], rows.indptr[t + 1]):
                f = rows.indices[p]
                value = rows.data[p * rows.step]
                for label in range(n_labels):
                    out[r, label] += value * weights[f, label]

    def dot_row(rows, w, width, t, label):
        total = 0.0
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            total += rows.data[p * rows.step] * w[rows.indices[p] * width + label]
        return total

    def add_row(rows, w, width, t, label, coef):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            w[rows.indices[p] * width + label] += coef * rows.data[p * rows.step]

    def wipe_row(rows, w, width, t, label):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            w[rows.indices[p] * width + label] = 0.0


class DenseRows(NamedTuple):
    """Rows of a dense matrix (embeddings, pixels)."""

    x: np.ndarray  # (n_rows, n_features) float64
    n_features: int

    def score_rows(rows, weights, first, last, out):
        n_features, n_labels = weights.shape
        for t in range(first, last):
            r = t - first
            for label in range(n_labels):
                out[r, label] = 0.0
            for f in range(n_features):
                value = rows.x[t, f]
                for label in range(n_labels):
                    out[r, label] += value * weights[f, label]

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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
