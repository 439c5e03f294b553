"""Features as arrays, and the featurizer of arrays."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    check_magnitude,
    check_offsets,
    check_rows,
    check_sparse,
)

MAX_FEATURES = int(np.iinfo(np.int32).max)  # indices have 32 bits


class Features(NamedTuple):
    """Sparse feature vectors of the tokens of all sequences (CSR).

    Attributes
    ----------
    indptr : int64 array of shape (n_tokens + 1,)
    indices : int32 array of shape (nnz,)
        A column that stands twice in a row counts twice.
    data : float64 array of shape (nnz,), or (1,) holding 1.0 when all values are one
    offset : int64 array of shape (n_sequences + 1,)
        Sequence s holds the rows ``offset[s]:offset[s + 1]``.
    n_features : int
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    offset: np.ndarray
    n_features: int


class DenseFeatures(NamedTuple):
    """Dense feature vectors of the tokens of all sequences.

    Attributes
    ----------
    X : float64 array of shape (n_tokens, n_features)
    offset : int64 array of shape (n_sequences + 1,)
    """

    X: np.ndarray
    offset: np.ndarray

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]


def as_features(X: Sequence[Any]) -> Features | DenseFeatures:
    """Stack one matrix (tokens × features) per sequence.

    Parameters
    ----------
    X : sequence of scipy sparse matrices, or of dense arrays
        All of one kind and width; finite.

    Raises
    ------
    ValueError
        The text names the sequence.

    Examples
    --------
    >>> as_features([[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]]).offset
    array([0, 1, 3])
    """
    if not len(X):
        raise ValueError("X has no sequences; give at least one")
    if hasattr(X[0], "tocsr"):
        return _stack_sparse(X)
    return _stack_dense(X)


def _stack_dense(X: Sequence[Any]) -> DenseFeatures:
    blocks = []
    for s, block in enumerate(X):
        if hasattr(block, "tocsr"):
            raise ValueError(f"sequence {s} is sparse, sequence 0 dense; use one kind")
        try:
            block = np.asarray(block, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"sequence {s} is no matrix: {error}") from error
        if block.ndim != 2:
            raise ValueError(
                f"sequence {s} has shape {block.shape}; it needs (tokens, features)"
            )
        blocks.append(block)
    offset = _offset(blocks)
    for s, block in enumerate(blocks):
        _check_numbers(s, block)
    return DenseFeatures(np.concatenate(blocks), offset)


def _stack_sparse(X: Sequence[Any]) -> Features:
    blocks = []
    for s, block in enumerate(X):
        if not hasattr(block, "tocsr"):
            raise ValueError(f"sequence {s} is dense, sequence 0 sparse; use one kind")
        if len(block.shape) != 2:
            raise ValueError(
                f"sequence {s} has shape {block.shape}; it needs (tokens, features)"
            )
        check_sparse(block, f"sequence {s}")  # before scipy follows its arrays
        rows = block.tocsr()
        if rows is not block:
            check_sparse(rows, f"sequence {s}")
        blocks.append(rows)
    offset = _offset(blocks)
    n_features = blocks[0].shape[1]
    for s, block in enumerate(blocks):
        _check_numbers(s, block.data)
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    return make_features(
        np.append(0, np.cumsum(counts, dtype=np.int64)),
        np.concatenate([block.indices[: block.indptr[-1]] for block in blocks]),
        np.concatenate([block.data[: block.indptr[-1]] for block in blocks]),
        offset,
        n_features,
    )


def make_features(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray | None,
    offset: np.ndarray,
    n_features: int,
) -> Features:
    """Normalise the arrays: each other dtype or layout would compile kernels anew."""
    if n_features > MAX_FEATURES:
        raise ValueError(f"{n_features} features; at most 2**31 - 1 fit the indices")
    if data is None or bool(np.all(data == 1.0)):
        data = np.ones(1)
    return Features(
        np.require(indptr, np.int64, ["C", "W"]),
        np.require(indices, np.int32, ["C", "W"]),
        np.require(data, np.float64, ["C", "W"]),
        np.require(offset, np.int64, ["C", "W"]),
        int(n_features),
    )


def check_features(features: Features | DenseFeatures) -> None:
    """Refuse rows that would lead kernels outside their arrays, or to infinity."""
    if isinstance(features, DenseFeatures):
        check_offsets(features.offset, len(features.X), "sequences")
        check_magnitude(features.X, MAX_FEATURE, "features")
        return
    indptr, indices, data = features.indptr, features.indices, features.data
    shape = (len(indptr) - 1, features.n_features)
    if len(data) not in (1, len(indices)):
        raise ValueError(f"{len(data)} values of {len(indices)} features")
    check_offsets(features.offset, shape[0], "sequences")
    check_rows(indptr, indices, shape, "features")
    check_magnitude(data, MAX_FEATURE, "features")


def _offset(blocks: Sequence[Any]) -> np.ndarray:
    for s, block in enumerate(blocks):
        if not block.shape[0]:
            raise ValueError(f"sequence {s} has no tokens; leave it out")
        if block.shape[1] != blocks[0].shape[1]:
            raise ValueError(
                f"sequence {s} has {block.shape[1]} features where sequence 0 has "
                f"{blocks[0].shape[1]}"
            )
    return np.append(0, np.cumsum([block.shape[0] for block in blocks]))


def _check_numbers(s: int, values: np.ndarray) -> None:
    if values.dtype.kind not in "fiub":
        raise ValueError(f"sequence {s} holds {values.dtype}; it needs real numbers")
    check_magnitude(values, MAX_FEATURE, f"sequence {s}")


class ArrayFeaturizer:
    """The featurizer of arrays: checks and stacks, learns only the width.

    Examples
    --------
    >>> featurizer = ArrayFeaturizer()
    >>> featurizer.fit_transform([[[0.0, 1.0]], [[2.0, 3.0]]]).X
    array([[0., 1.],
           [2., 3.]])
    >>> featurizer.feature_names_
    ['x0', 'x1']
    """

    kind = "arrays.v1"

    n_features_: int

    def fit(self, X: Sequence[Any], y: Any = None) -> "ArrayFeaturizer":
        """Learn the number of features."""
        self.fit_transform(X)
        return self

    def fit_transform(
        self, X: Sequence[Any], y: Any = None
    ) -> Features | DenseFeatures:
        """Learn the number of features and stack."""
        features = as_features(X)
        self.n_features_ = features.n_features
        return features

    def transform(self, X: Sequence[Any]) -> Features | DenseFeatures:
        """Stack, after a check of the width."""
        features = as_features(X)
        if features.n_features != self.n_features_:
            raise ValueError(
                f"{features.n_features} features where the featurizer was fitted on "
                f"{self.n_features_}"
            )
        return features

    @property
    def feature_names_(self) -> list[str]:
        """Names of the columns: x0, x1 and so on."""
        return [f"x{i}" for i in range(self.n_features_)]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        return {"kind": self.kind, "n_features": self.n_features_}, {}

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> "ArrayFeaturizer":
        """Rebuild from `state`; invalid input raises ValueError."""
        n_features = meta.get("n_features")
        if meta.get("kind") != cls.kind or type(n_features) is not int:
            raise ValueError("not the state of a featurizer of arrays")
        if not 0 <= n_features <= MAX_FEATURES:
            raise ValueError(f"{n_features} features of arrays")
        featurizer = cls()
        featurizer.n_features_ = n_features
        return featurizer
