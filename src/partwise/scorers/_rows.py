"""Rows of input features as numba tags: the linear scorer's side of `compiled.py`.

Weights are a matrix (n_features, n_labels), so that the scores of all labels of one
feature lie side by side and a row is scored by adding a few contiguous stripes.
"""

from typing import NamedTuple

import numpy as np


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

    def dot_row(rows, weights, t, label):
        total = 0.0
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            total += rows.data[p * rows.step] * weights[rows.indices[p], label]
        return total

    def add_row(rows, weights, t, label, coef):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            weights[rows.indices[p], label] += coef * rows.data[p * rows.step]

    def wipe_row(rows, weights, t, label):
        for p in range(rows.indptr[t], rows.indptr[t + 1]):
            weights[rows.indices[p], label] = 0.0


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

    def dot_row(rows, weights, t, label):
        total = 0.0
        for f in range(rows.x.shape[1]):
            total += rows.x[t, f] * weights[f, label]
        return total

    def add_row(rows, weights, t, label, coef):
        for f in range(rows.x.shape[1]):
            weights[f, label] += coef * rows.x[t, f]

    def wipe_row(rows, weights, t, label):
        for f in range(rows.x.shape[1]):
            weights[f, label] = 0.0
