"""Rows of queries: one matrix with query ids, or a list of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from partwise.bounds import check_sparse
from partwise.protocol import Ints


def _check_grades(y: Any) -> None:
    """Refuse texts in the place of grades, whose order nobody can know."""
    if y is not None and np.asarray(y).dtype.kind in "US":
        grade = str(np.ravel(y)[0])
        raise ValueError(f"y: {grade!r} is a text; give numbers, the higher the better")


def stacked(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    """Lists with one item per query as one matrix, one array and query numbers."""
    _check_grades(y)
    if not isinstance(X, list) or not len(X) or not hasattr(X[0], "shape"):
        return X, y, groups
    if groups is not None:
        raise ValueError("groups: a list has one matrix per query; leave groups out")
    for q, item in enumerate(X):
        check_sparse(item, f"query {q}")
    is_sparse = any(sparse.issparse(item) for item in X)
    rows = sparse.vstack(X, format="csr") if is_sparse else np.vstack(X)
    sizes = [item.shape[0] for item in X]
    has_grades = y is not None
    if has_grades and [np.size(item) for item in y] != sizes:
        raise ValueError(
            "y: give a list of grades for each query, as many as its matrix has rows"
        )
    grades = np.concatenate([np.ravel(item) for item in y]) if has_grades else None
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
    missing = np.flatnonzero([group is None or group != group for group in groups])
    if len(missing):
        raise ValueError(
            f"groups: row {missing[0]} has no query ({groups[missing[0]]}); leave such "
            "rows out"
        )
    _, query, size = np.unique(groups, return_inverse=True, return_counts=True)
    return np.argsort(query, kind="stable"), np.append(0, np.cumsum(size))


def refuse_equal_grades(grades: Any, offset: Ints) -> None:
    """Refuse queries, one after the other, of which none has different grades."""
    lowest = np.minimum.reduceat(grades, offset[:-1])
    if np.array_equal(lowest, np.maximum.reduceat(grades, offset[:-1])):
        raise ValueError(
            "y: no query has rows of different grades, so there is nothing to learn"
        )
