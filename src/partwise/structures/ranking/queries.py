"""Rows of queries: one matrix with query ids, or a list of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from partwise.bounds import check_sparse
from partwise.protocol import Ints


def stacked(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    """Lists with one item per query as one matrix, one array and query numbers."""
    if not isinstance(X, list) or not len(X) or not hasattr(X[0], "shape"):
        return X, y, groups
    if groups is not None:
        raise ValueError("groups: a list has one matrix per query; leave groups out")
    for q, item in enumerate(X):
        check_sparse(item, f"query {q}")
    is_sparse = any(sparse.issparse(item) for item in X)
    rows = sparse.vstack(X, format="csr") if is_sparse else np.vstack(X)
    sizes = [item.shape[0] for item in X]
    if y is not None and [len(item) for item in y] != sizes:
        raise ValueError("y: give as many grades for each query as X has rows")
    grades = None if y is None else np.concatenate([np.asarray(item) for item in y])
    return rows, grades, np.repeat(np.arange(len(X)), sizes)


def by_query(groups: Any, n: int) -> tuple[Ints, Ints]:
    """Rows query by query, in their order within each, and where queries begin.

    Examples
    --------
    >>> by_query(["b", "a", "b"], 3)
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    if groups is None:
        return np.arange(n), np.array([0, n])
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape} where X has {n} rows")
    _, query, size = np.unique(groups, return_inverse=True, return_counts=True)
    return np.argsort(query, kind="stable"), np.append(0, np.cumsum(size))
