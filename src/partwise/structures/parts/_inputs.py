"""Inputs of part selections: rows of features, shapes, part numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.bounds import check_sparse
from partwise.protocol import Ints, offsets_of

if TYPE_CHECKING:
    from partwise.features import DenseFeatures, Features


def part_features(x: Any) -> Any:
    """The (n_parts, n_features) matrix of an input, dense or CSR."""
    features = x[0] if isinstance(x, tuple) else x
    check_sparse(features, "features of parts")
    if sparse.issparse(features):
        return features.tocsr()
    features = np.asarray(features, np.float64)
    if features.ndim != 2:
        raise ValueError(
            f"features of parts have shape {features.shape}: give a matrix "
            "(n_parts, n_features), or a tuple (matrix, extra)"
        )
    return features


def part_shape(x: Any) -> Ints:
    """The integers that describe an input to a compiled decoder."""
    if not isinstance(x, tuple) or len(x) != 2:
        raise ValueError("with a decoder, give inputs as (features, shape integers)")
    return np.array(x[1], np.int64).ravel()


def as_parts(y: Any) -> Ints:
    """Part numbers in increasing order, each once."""
    return np.unique(np.asarray(list(y), np.int64))


def true_parts(i: int, y: Any, n_parts: int) -> Ints:
    """Part numbers of the true output of example i, checked."""
    parts = as_parts(y)
    if len(parts) and (parts[0] < 0 or parts[-1] >= n_parts):
        raise ValueError(
            f"example {i}: part numbers must lie in 0…{n_parts - 1}; the true output "
            f"has {parts[0]} and {parts[-1]}"
        )
    return parts


def stack_parts(X: Sequence[Any]) -> Features | DenseFeatures:
    """The parts of all inputs as the rows of sequences."""
    from partwise.features import DenseFeatures, Features  # these load numba

    features = [part_features(x) for x in X]
    sizes = [matrix.shape[0] for matrix in features]
    offset = offsets_of(sizes)
    if all(isinstance(matrix, np.ndarray) for matrix in features):
        return DenseFeatures(np.concatenate(features), offset)
    rows = sparse.vstack([sparse.csr_array(m) for m in features], format="csr")
    data = rows.data.astype(np.float64)
    indices = rows.indices.astype(np.int32)
    return Features(rows.indptr.astype(np.int64), indices, data, offset, rows.shape[1])
