"""Common words of two sequences, whatever their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.kernels.base import Bound
from partwise.kernels.checks import check_names, check_real, check_weights, check_whole
from partwise.kernels.matrices import SparseMatrix
from partwise.kernels.strings import ColumnKernel, table_pair
from partwise.kernels.vectors import MAX_DEGREE, BoundRows, polynomial
from partwise.readers.table import Table


class BagOfWords(ColumnKernel):
    """
    (Σ_c v_c Σ_w n_c(w)·n'_c(w) + coef0)^degree: counts of the strings of each column.

    Parameters
    ----------
    columns : sequence of str, optional
        By default the first column of the table.
    weights : sequence of float, optional
        v_c ≥ 0; by default equal ones that sum to one.
    degree : int
        Above one, sets of words are compared.
    coef0 : float
        Not negative; ``degree=2, coef0=1`` compares single words and pairs.

    Examples
    --------
    >>> X = ["to be or not to be".split(), "to have or have not".split()]
    >>> BagOfWords()(X)
    array([[10.,  4.],
           [ 4.,  7.]])
    >>> BagOfWords(degree=2, coef0=1.0)(X)
    array([[121.,  25.],
           [ 25.,  64.]])
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
        degree: int = 1,
        coef0: float = 0.0,
    ) -> None:
        self.columns = columns
        self.weights = weights
        self.degree = degree
        self.coef0 = coef0

    def check(self) -> None:
        """Raise ValueError when a parameter has no meaning."""
        names = check_names("columns", self.columns)
        weights = check_weights("weights", self.weights)
        n_columns = len(names) if names else 1
        if weights and len(weights) != n_columns:
            raise ValueError(
                f"{len(weights)} weights for {n_columns} columns; give one each"
            )
        check_whole("degree", self.degree, 1, MAX_DEGREE)
        check_real("coef0", self.coef0)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Count the strings of each sequence."""
        self.check()
        x, y = table_pair(X, Y)
        names, weights = self.weighted_columns(x)
        rows = _count(x, names, weights)
        cols = rows if y is None else _count(y, names, weights)
        finish = polynomial(self.degree, self.coef0, 1.0)
        return BoundRows(rows, cols, y is None, finish)


def _count(
    table: Table, names: Sequence[str], weights: Sequence[float]
) -> SparseMatrix:
    """Counts times √weight, one row per sequence; a feature is a string of a column."""
    n_rows = len(table)
    sizes = [len(table.column(name).values) for name in names]
    begin = np.append(0, np.cumsum(sizes))
    row = np.repeat(np.arange(n_rows), np.diff(table.offset))
    keys = [
        row * begin[-1] + begin[i] + table.column(name).codes
        for i, name in enumerate(names)
    ]
    key, count = np.unique(np.concatenate(keys), return_counts=True)
    row, feature = np.divmod(key, begin[-1])
    scale = np.repeat(np.sqrt(weights), sizes)
    return SparseMatrix(
        np.append(0, np.cumsum(np.bincount(row, minlength=n_rows))),
        feature.astype(np.int32),
        count * scale[feature],
        int(begin[-1]),
    )
