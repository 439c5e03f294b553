"""Kernels on rows of numbers: functions of inner products and norms.

Rows are observations of any kind: documents, pixels, or single tokens with their window
as a featurizer makes them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partwise.kernels.base import Bound, Kernel, Real, Rows
from partwise.kernels.checks import check_real, check_whole
from partwise.kernels.inputs import VECTORS
from partwise.kernels.matrices import (
    DenseMatrix,
    Matrix,
    SparseMatrix,
    as_pair,
    renumber,
)
from partwise.protocol import Floats

# value of the kernel from <x, y>, ‖x‖² and ‖y‖², which broadcast; may work in place
Finish = Callable[[Floats, Floats, Floats], Floats]

MAX_DEGREE = 20


class Linear(Kernel):
    """The inner product <x, x'>.

    Examples
    --------
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    inputs = VECTORS

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bring the rows into one layout."""
        return BoundRows(*as_pair(X, Y), Y is None, _product)


class Polynomial(Kernel):
    """(gamma·<x, x'> + coef0)^degree.

    Parameters
    ----------
    degree : int
    coef0 : float
        Not negative; above zero, products of fewer than `degree` features count too.
    gamma : float

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 2.0], [3.0, 4.0]])
    array([[ 36., 144.],
           [144., 676.]])
    """

    inputs = VECTORS

    def __init__(self, degree: int = 2, coef0: float = 1.0, gamma: float = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma

    def check(self) -> None:
        """Raise ValueError when the kernel would not be positive semidefinite."""
        check_whole("degree", self.degree, 1, MAX_DEGREE)
        check_real("coef0", self.coef0)
        check_real("gamma", self.gamma, above=True)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bring the rows into one layout."""
        self.check()
        finish = polynomial(self.degree, self.coef0, self.gamma)
        return BoundRows(*as_pair(X, Y), Y is None, finish)


class RBF(Kernel):
    """exp(−gamma·‖x − x'‖²), the Gaussian kernel.

    Parameters
    ----------
    gamma : float

    Examples
    --------
    >>> RBF(gamma=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    inputs = VECTORS

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check(self) -> None:
        """Raise ValueError when gamma has no meaning."""
        check_real("gamma", self.gamma, above=True)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bring the rows into one layout."""
        self.check()
        gamma = float(self.gamma)

        def gaussian(dots: Floats, x_squares: Floats, y_squares: Floats) -> Floats:
            dots *= -2.0
            dots += x_squares
            dots += y_squares
            np.maximum(dots, 0.0, out=dots)  # rounding
            dots *= -gamma
            return np.exp(dots, out=dots)

        return BoundRows(*as_pair(X, Y), Y is None, gaussian)


class BoundRows(Bound):
    """Rows of two matrices; `finish` makes the kernel of their inner products."""

    def __init__(self, x: Matrix, y: Matrix, is_same: bool, finish: Finish) -> None:
        if isinstance(x, SparseMatrix) and isinstance(y, SparseMatrix):
            x, y = renumber(x, y)
        self.x, self.y, self.finish = x, y, finish
        self.n_rows, self.n_cols = x.n_rows, y.n_rows
        self.is_symmetric = is_same
        self.x_squares = x.squares()
        self.y_squares = self.x_squares if is_same else y.squares()
        self._buffers = threading.local()  # `number`, a buffer of each thread

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Always in double precision."""
        rows, cols = self.shape_of(rows, cols)
        dots = np.empty((len(rows), len(cols)))
        self._products(rows, cols, dots)
        return self.finish(dots, self.x_squares[rows, None], self.y_squares[None, cols])

    def _products(self, rows: np.ndarray, cols: np.ndarray, out: Floats) -> None:
        from partwise.kernels import _vector_compiled as kernels

        x, y = self.x, self.y
        if isinstance(x, DenseMatrix) or isinstance(y, DenseMatrix):
            kernels.dense_products(x[0], rows, y[0], cols, out)
            return
        if not hasattr(self._buffers, "number"):
            self._buffers.number = np.full(x.n_features, -1, np.int32)
        kernels.sparse_products(*x[:3], rows, *y[:3], cols, self._buffers.number, out)

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        return self._diagonal(self.x_squares)

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        return self._diagonal(self.y_squares)

    def _diagonal(self, squares: Floats) -> Floats:
        return self.finish(squares.copy(), squares, squares)

    def content(self) -> Iterator[Any]:
        """The rows."""
        yield from self.x.content()
        if not self.is_symmetric:
            yield from self.y.content()


def polynomial(degree: int, coef0: float, gamma: float) -> Finish:
    """(gamma·dots + coef0)^degree by squaring, which is much faster than `np.power`."""

    def finish(dots: Floats, x_squares: Floats, y_squares: Floats) -> Floats:
        if gamma != 1.0:
            dots *= gamma
        if coef0 != 0.0:
            dots += coef0
        base = dots.copy() if degree > 2 else dots
        for digit in f"{degree:b}"[1:]:  # powers by squaring, from the highest bit
            dots *= dots
            if digit == "1":
                dots *= base
        return dots

    return finish


def _product(dots: Floats, x_squares: Floats, y_squares: Floats) -> Floats:
    return dots
