"""The linear scorer: score of (row, label) = <weights[:, label], x_row>."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.compiled import plain_array
from partwise.features.arrays import DenseFeatures, check_features
from partwise.protocol import Floats, Ints, Scorer, offsets_of
from partwise.scorers._rows import (
    DenseRows,
    GramRows,
    SparseRows,
    dense_gram,
    number_by_locality,
    number_locally,
    sparse_gram,
)

__all__ = ["DenseRows", "LinearScorer", "SparseRows"]


class LinearScorer(Scorer):
    """Binds features to the row operations of `partwise.compiled`.

    A `Scorer` whose rows can also be transposed (`columns`), for gradients.

    Examples
    --------
    >>> from partwise.features.arrays import as_features
    >>> rows = LinearScorer().bind(as_features([np.eye(2)]))
    >>> rows.n_features
    2
    """

    is_euclidean = True

    def bind(self, parts: Any, width: int = 0) -> SparseRows | DenseRows:
        """Rows with normalised array types, so that kernels compile once."""
        check_features(parts)
        if isinstance(parts, DenseFeatures):
            x = plain_array(parts.X, np.float64)
            return DenseRows(x, x.shape[1])
        data = plain_array(parts.data, np.float64)
        return SparseRows(
            plain_array(parts.indptr, np.int64),
            plain_array(parts.indices, np.int32),
            data,
            int(len(data) == len(parts.indices)),
            int(parts.n_features),
        )

    def ordered(self, rows: Any) -> tuple[Any, Ints]:
        """Rows with features numbered for speed, and the new number of each feature."""
        number = np.arange(rows.n_features)
        if isinstance(rows, DenseRows):
            return rows, number
        number_by_locality(rows.indices, rows.n_features, number)
        return rows._replace(indices=number[rows.indices].astype(np.int32)), number

    def selected(self, rows: Any, places: Ints) -> Any:
        """Some of the rows, of the same features."""
        if isinstance(rows, DenseRows):
            return rows._replace(x=np.ascontiguousarray(rows.x[places]))
        size = np.diff(rows.indptr)[places]
        indptr = offsets_of(size)
        at = np.arange(indptr[-1]) + np.repeat(rows.indptr[places] - indptr[:-1], size)
        data = rows.data[at] if rows.step else rows.data
        return rows._replace(indptr=indptr, indices=rows.indices[at], data=data)

    def local(self, rows: Any, offset: Ints) -> Any:
        """Rows with the same inner products within each sequence, for a small model.

        Gram matrices of a pool use it. Tokens stand for themselves where a table of
        their inner products takes no more room than their features; otherwise features
        are numbered afresh in each sequence, so that a model stays in the cache.
        """
        n = np.diff(offset)
        n_products = int(np.sum(n * n))
        dense = isinstance(rows, DenseRows)
        if n_products <= (rows.x.size if dense else len(rows.indices)):
            gram = np.empty(n_products)
            if dense:
                dense_gram(offset, rows.x, gram)
            else:
                indptr, indices, data, step, n_features = rows
                sparse_gram(offset, indptr, indices, data, step, n_features, gram)
            length = np.repeat(n, n)
            place = np.arange(len(length)) - np.repeat(offset[:-1], n)
            first = np.repeat(np.cumsum(n * n) - n * n, n) + place * length
            return GramRows(gram, first, place, length, int(n.max()))
        if dense:
            return rows
        indices = np.empty_like(rows.indices)
        n_local = number_locally(
            offset, rows.indptr, rows.indices, rows.n_features, indices
        )
        return rows._replace(indices=indices, n_features=int(n_local))

    def columns(self, rows: Any) -> tuple[Ints, Ints, Floats, int]:
        """(indptr, row numbers, data, step) of the columns, for transposes."""
        if isinstance(rows, DenseRows):
            n_rows, n_features = rows.x.shape
            indptr = np.arange(n_features + 1, dtype=np.int64) * n_rows
            index = np.tile(np.arange(n_rows, dtype=np.int32), n_features)
            return indptr, index, np.ascontiguousarray(rows.x.T).ravel(), 1
        from scipy import sparse  # half a second that predicting can do without

        shape = (len(rows.indptr) - 1, rows.n_features)
        # ones take a byte each: a transpose is as fast as its arrays are small
        data = rows.data if rows.step else np.ones(len(rows.indices), np.int8)
        columns = sparse.csr_array((data, rows.indices, rows.indptr), shape).tocsc()
        return (
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32, copy=False),
            columns.data if rows.step else np.ones(1),
            rows.step,
        )
