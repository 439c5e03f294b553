"""Rows of numbers in the two layouts that kernels compute on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    check_magnitude,
    check_rows,
    read_array,
    read_numbers,
)
from partwise.features.arrays import (
    DenseFeatures,
    Features,
    as_features,
    check_features,
)


class DenseMatrix(NamedTuple):
    """Dense rows."""

    x: np.ndarray  # (n_rows, n_features) float64, C order

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.x.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.x.shape[1]

    def squares(self) -> np.ndarray:
        """‖x‖² of each row, shape (n_rows,)."""
        return np.einsum("rf,rf->r", self.x, self.x)

    def select(self, rows: np.ndarray) -> DenseMatrix:
        """Some rows."""
        return DenseMatrix(np.ascontiguousarray(self.x[rows]))

    def content(self) -> Iterator[Any]:
        """What decides every inner product."""
        yield from ("dense", repr(self.x.shape), self.x)


class SparseMatrix(NamedTuple):
    """CSR rows; columns rise within a row and stand once."""

    indptr: np.ndarray  # (n_rows + 1,) int64
    indices: np.ndarray  # (nnz,) int32
    data: np.ndarray  # (nnz,) float64
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def squares(self) -> np.ndarray:
        """‖x‖² of each row, shape (n_rows,)."""
        row = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        squares = np.bincount(row, self.data * self.data, minlength=self.n_rows)
        return squares.astype(np.float64)  # of no numbers at all, numpy counts integers

    def select(self, rows: np.ndarray) -> SparseMatrix:
        """Some rows."""
        begin = self.indptr[rows]
        indptr = np.append(0, np.cumsum(self.indptr[rows + 1] - begin))
        at = np.repeat(begin - indptr[:-1], np.diff(indptr)) + np.arange(indptr[-1])
        return SparseMatrix(indptr, self.indices[at], self.data[at], self.n_features)

    def content(self) -> Iterator[Any]:
        """What decides every inner product."""
        yield from ("sparse", repr(self.n_features))
        yield from (self.indptr, self.indices, self.data)


Matrix = DenseMatrix | SparseMatrix


def as_matrix(X: Any) -> Matrix:
    """Bring rows of numbers into one of the two layouts.

    Parameters
    ----------
    X : array or scipy sparse matrix (n_rows, n_features), list of rows, list of
        matrices (one per sequence: their rows are stacked), Features, DenseFeatures
        Finite numbers.
    """
    if isinstance(X, DenseMatrix | SparseMatrix):
        return X
    if isinstance(X, Features | DenseFeatures):
        return _of_features(X)
    if hasattr(X, "tocsr"):
        return _of_features(as_features([X])) if X.shape[0] else _empty(X.shape[1])
    if isinstance(X, list | tuple) and len(X) and is_matrix(X[0]):
        return _of_features(as_features(X))
    try:
        x = np.require(X, np.float64, ["C", "W"])
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X is no matrix of numbers: {error}") from error
    if x.ndim != 2:
        raise ValueError(f"X has shape {x.shape}; it needs (rows, features)")
    check_magnitude(x, MAX_FEATURE, "X")
    return DenseMatrix(x)


def same_rows(one: Matrix, other: Matrix) -> np.ndarray:
    """Which rows of two matrices are the same, bit for bit, bool (n_rows,)."""
    if isinstance(one, DenseMatrix) and isinstance(other, DenseMatrix):
        if one.x.shape != other.x.shape:
            return np.zeros(one.n_rows, bool)
        return (one.x == other.x).all(axis=1)
    if not isinstance(one, SparseMatrix) or not isinstance(other, SparseMatrix):
        return np.zeros(one.n_rows, bool)
    same = np.diff(one.indptr) == np.diff(other.indptr)
    for k in np.flatnonzero(same):
        here = slice(one.indptr[k], one.indptr[k + 1])
        there = slice(other.indptr[k], other.indptr[k + 1])
        same[k] = np.array_equal(
            one.indices[here], other.indices[there]
        ) and np.array_equal(one.data[here], other.data[there])
    return same


def as_pair(X: Any, Y: Any) -> tuple[Matrix, Matrix]:
    """Rows and columns in the same layout; ``Y=None`` means X."""
    x = as_matrix(X)
    if Y is None:
        return x, x
    y = as_matrix(Y)
    if x.n_features != y.n_features:
        raise ValueError(
            f"X has {x.n_features} features and Y {y.n_features}; make both with one "
            "featurizer"
        )
    if type(x) is not type(y):
        x, y = as_sparse(x), as_sparse(y)
    return x, y


def renumber(x: SparseMatrix, y: SparseMatrix) -> tuple[SparseMatrix, SparseMatrix]:
    """The same rows over the features that occur, when these are few of many.

    Inner products do not change; kernels hold an array as long as the features.
    """
    n_entries = len(x.indices) + (0 if x is y else len(y.indices))
    if x.n_features <= 4 * n_entries + 1000:
        return x, y
    used = np.unique(np.concatenate([x.indices, y.indices]))
    new = [
        m._replace(
            indices=np.searchsorted(used, m.indices).astype(np.int32),
            n_features=len(used),
        )
        for m in (x, y)
    ]
    return new[0], new[0] if x is y else new[1]


def as_sparse(matrix: Matrix) -> SparseMatrix:
    """The matrix in CSR."""
    if isinstance(matrix, SparseMatrix):
        return matrix
    row, indices = np.nonzero(matrix.x)
    counts = np.bincount(row, minlength=matrix.n_rows)
    return SparseMatrix(
        np.append(0, np.cumsum(counts)),
        indices.astype(np.int32),
        matrix.x[row, indices],
        matrix.n_features,
    )


def pack_matrix(matrix: Matrix) -> dict[str, np.ndarray]:
    """Flat arrays for a model file."""
    shape = np.array([matrix.n_rows, matrix.n_features], np.int64)
    if isinstance(matrix, DenseMatrix):
        return {"shape": shape, "data": matrix.x.ravel()}
    return {
        "shape": shape,
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "data": matrix.data,
    }


def unpack_matrix(arrays: Mapping[str, np.ndarray]) -> Matrix:
    """A matrix from `pack_matrix`; invalid input raises ValueError."""
    shape = read_array(arrays, "shape", np.int64)
    data = read_numbers(arrays, "data", MAX_FEATURE)
    if len(shape) != 2 or shape.min() < 0 or shape[1] > np.iinfo(np.int32).max:
        raise ValueError("damaged matrix: its shape")
    n_rows, n_features = map(int, shape)
    if "indptr" not in arrays:
        if len(data) != n_rows * n_features:
            raise ValueError("damaged matrix: its shape does not fit its values")
        return DenseMatrix(data.reshape(n_rows, n_features))
    indptr = read_array(arrays, "indptr", np.int64)
    indices = read_array(arrays, "indices", np.int32)
    if len(indices) != len(data):
        raise ValueError("damaged matrix: columns without values")
    check_rows(indptr, indices, (n_rows, n_features), "a matrix")
    return _in_order(indptr, indices, data, n_features)


def is_matrix(item: Any) -> bool:
    """Whether an item of a list is a matrix, dense or sparse, not a row."""
    return hasattr(item, "tocsr") or getattr(item, "ndim", 0) == 2


def _of_features(features: Features | DenseFeatures) -> Matrix:
    check_features(features)
    if isinstance(features, DenseFeatures):
        return DenseMatrix(np.require(features.X, np.float64, ["C", "W"]))
    data = features.data
    if len(data) != len(features.indices):  # binary features keep their one value
        data = np.full(len(features.indices), data[0])
    return _in_order(features.indptr, features.indices, data, features.n_features)


def _empty(n_features: int) -> SparseMatrix:
    nothing = np.empty(0)
    return SparseMatrix(
        np.zeros(1, np.int64), nothing.astype(np.int32), nothing, n_features
    )


def _in_order(indptr: Any, indices: Any, data: Any, n_features: int) -> SparseMatrix:
    """Sort the columns of each row and add those that stand twice."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    key = row * np.int64(n_features) + indices
    if len(key) and not np.all(key[1:] > key[:-1]):
        key, at = np.unique(key, return_inverse=True)
        data = np.bincount(at, data, minlength=len(key)).astype(np.float64)
        row, indices = np.divmod(key, n_features)
        indptr = np.append(0, np.cumsum(np.bincount(row, minlength=len(indptr) - 1)))
    return SparseMatrix(
        np.require(indptr, np.int64, ["C", "W"]),
        np.require(indices, np.int32, ["C", "W"]),
        np.require(data, np.float64, ["C", "W"]),
        int(n_features),
    )
