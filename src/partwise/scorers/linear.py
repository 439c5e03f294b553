"""The linear scorer: score of (row, label) = <weights[:, label], x_row>."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from partwise.protocol import Floats, Ints
from partwise.scorers._rows import DenseRows, SparseRows


class LinearScorer:
    """Binds features to the row operations of `compiled.py`.

    Examples
    --------
    >>> from partwise.features.arrays import as_features
    >>> rows = LinearScorer().bind(as_features([np.eye(2)]))
    >>> rows.n_features
    2
    """

    def bind(self, features: Any) -> SparseRows | DenseRows:
        """Rows with normalised array types, so that kernels compile once."""
        if hasattr(features, "indptr"):
            data = np.ascontiguousarray(features.data, np.float64)
            return SparseRows(
                np.ascontiguousarray(features.indptr, np.int64),
                np.ascontiguousarray(features.indices, np.int32),
                data,
                int(len(data) == len(features.indices) and len(data) != 1),
                int(features.n_features),
            )
        x = np.ascontiguousarray(features.X, np.float64)
        return DenseRows(x, x.shape[1])


def columns_of(rows: Any) -> tuple[Ints, Ints, Floats, int]:
    """(indptr, row numbers, data, step) of the columns of `rows`, for transposes."""
    if isinstance(rows, DenseRows):
        n_rows, n_features = rows.x.shape
        indptr = np.arange(n_features + 1, dtype=np.int64) * n_rows
        index = np.tile(np.arange(n_rows, dtype=np.int32), n_features)
        return indptr, index, np.ascontiguousarray(rows.x.T).ravel(), 1
    n_rows = len(rows.indptr) - 1
    data = rows.data if rows.step else np.ones(len(rows.indices))
    shape = (n_rows, rows.n_features)
    columns = sparse.csr_array((data, rows.indices, rows.indptr), shape=shape).tocsc()
    return (
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        columns.data if rows.step else np.ones(1),
        rows.step,
    )
