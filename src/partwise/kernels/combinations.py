"""Kernels made of kernels: sums, products, multiples, and unit length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from partwise.kernels.base import Bound, Kernel, Real, Rows
from partwise.kernels.checks import check_real
from partwise.kernels.inputs import Inputs
from partwise.protocol import Floats


class _Pair(Kernel):
    """A kernel of two kernels on the same inputs."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def check(self) -> None:
        """Raise ValueError when the two do not go together."""
        for kernel in (self.left, self.right):
            _check_kernel(kernel)
        families = {type(k.input_family()) for k in (self.left, self.right)}
        if len(families) > 1:
            names = " and ".join(sorted(family.__name__ for family in families))
            raise ValueError(f"{self} would need inputs of two kinds: {names.lower()}")

    @property
    def is_positive(self) -> bool:
        """Whether both kernels are known to be positive semidefinite."""
        return self.left.is_positive and self.right.is_positive

    def input_family(self) -> Inputs:
        """The family of inputs that both kernels compare."""
        return self.left.input_family()

    def _compared(self, available: Sequence[str], default: list[str]) -> Sequence[str]:
        both = (self.left, self.right)
        return [name for k in both for name in k._compared(available, default)]

    def _named(self, default: list[str]) -> Kernel:
        return type(self)(self.left._named(default), self.right._named(default))


class Sum(_Pair):
    """k(x, x') + l(x, x'): the features of both.

    Parameters
    ----------
    left, right : Kernel
    """

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bind both kernels."""
        self.check()
        return BoundPair(self.left.bind(X, Y), self.right.bind(X, Y), np.add)


class Product(_Pair):
    """k(x, x')·l(x, x'): all pairs of features of the one and the other.

    Parameters
    ----------
    left, right : Kernel
    """

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bind both kernels."""
        self.check()
        return BoundPair(self.left.bind(X, Y), self.right.bind(X, Y), np.multiply)


class _Single(Kernel):
    """A kernel of one kernel."""

    kernel: Kernel

    @property
    def is_positive(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.kernel.is_positive

    def input_family(self) -> Inputs:
        """The family of inputs that the kernel compares."""
        return self.kernel.input_family()

    def _compared(self, available: Sequence[str], default: list[str]) -> Sequence[str]:
        return self.kernel._compared(available, default)

    def _named(self, default: list[str]) -> Kernel:
        params = self.get_params(deep=False)
        return type(self)(**params | {"kernel": self.kernel._named(default)})


class Scaled(_Single):
    """factor·k(x, x').

    Parameters
    ----------
    kernel : Kernel
    factor : float
        Above zero.
    """

    def __init__(self, kernel: Kernel, factor: float) -> None:
        self.kernel = kernel
        self.factor = factor

    def check(self) -> None:
        """Raise ValueError for a factor that is not positive."""
        _check_kernel(self.kernel)
        check_real("factor", self.factor, above=True)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bind the kernel."""
        self.check()
        return BoundScaled(self.kernel.bind(X, Y), float(self.factor))


class Normalized(_Single):
    """k(x, x') / √(k(x, x)·k(x', x')): each input has length one.

    An input with k(x, x) = 0 keeps its zeros.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from partwise.kernels import NGram
    >>> Normalized(NGram(n=2))(["cat", "car"]).round(3)
    array([[1.   , 0.632],
           [0.632, 1.   ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def check(self) -> None:
        """Raise ValueError when there is no kernel to normalise."""
        _check_kernel(self.kernel)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bind the kernel and take its diagonals."""
        self.check()
        return BoundNormalized(self.kernel.bind(X, Y))


class _Around(Bound):
    """Delegates all but the values to one bound kernel."""

    def __init__(self, inner: Bound) -> None:
        self.inner = inner
        self.n_rows, self.n_cols = inner.n_rows, inner.n_cols
        self.is_symmetric = inner.is_symmetric

    def row_work(self) -> Floats:
        """Work of each row of the kernel inside."""
        return self.inner.row_work()

    def column_work(self) -> Floats:
        """Work of each column of the kernel inside."""
        return self.inner.column_work()

    def check_symmetric(self) -> None:
        """Check the kernel inside."""
        self.inner.check_symmetric()

    def content(self) -> Iterator[Any]:
        """The data of the kernel inside."""
        return self.inner.content()


class BoundScaled(_Around):
    """Blocks of a kernel times a number."""

    def __init__(self, inner: Bound, factor: float) -> None:
        super().__init__(inner)
        self.factor = factor

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Entries times the factor."""
        values = self.inner.block(rows, cols, dtype)
        values *= values.dtype.type(self.factor)
        return values

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        return self.factor * self.inner.row_diagonal()

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        return self.factor * self.inner.column_diagonal()


class BoundNormalized(_Around):
    """Blocks of a kernel divided by the lengths of its inputs."""

    def __init__(self, inner: Bound) -> None:
        super().__init__(inner)
        rows = inner.row_diagonal()
        cols = rows if inner.is_symmetric else inner.column_diagonal()
        rounding = 1e-6 * max(
            np.abs(squares).max(initial=0.0) for squares in (rows, cols)
        )
        self.row_length = _lengths(rows, rounding)
        self.column_length = _lengths(cols, rounding)

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Entries over lengths, in the precision of the entries."""
        values = self.inner.block(rows, cols, dtype)
        rows, cols = self.shape_of(rows, cols)
        precision = values.dtype
        values *= _inverse(self.row_length[rows]).astype(precision)[:, None]
        values *= _inverse(self.column_length[cols]).astype(precision)[None, :]
        return values

    def row_diagonal(self) -> Floats:
        """One, or zero where k(x, x) is zero."""
        return (self.row_length > 0).astype(float)

    def column_diagonal(self) -> Floats:
        """One, or zero where k(y, y) is zero."""
        return (self.column_length > 0).astype(float)


class BoundPair(Bound):
    """Blocks of two kernels, added or multiplied."""

    def __init__(self, left: Bound, right: Bound, operation: np.ufunc) -> None:
        self.left, self.right, self.operation = left, right, operation
        self.n_rows, self.n_cols = left.n_rows, left.n_cols
        self.is_symmetric = left.is_symmetric

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Entries of both, combined."""
        one = self.left.block(rows, cols, dtype)
        return self.operation(one, self.right.block(rows, cols, dtype))

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        return self.operation(self.left.row_diagonal(), self.right.row_diagonal())

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        return self.operation(self.left.column_diagonal(), self.right.column_diagonal())

    def row_work(self) -> Floats:
        """Work of each row of the kernel whose rows differ; it orders the blocks."""
        return self._uneven().row_work()

    def column_work(self) -> Floats:
        """Work of each column of the same kernel."""
        return self._uneven().column_work()

    def _uneven(self) -> Bound:
        return self.right if np.ptp(self.left.row_work()) == 0 else self.left

    def check_symmetric(self) -> None:
        """Check both kernels."""
        self.left.check_symmetric()
        self.right.check_symmetric()

    def content(self) -> Iterator[Any]:
        """The data of both kernels."""
        yield from self.left.content()
        yield from self.right.content()


def _check_kernel(kernel: Any) -> None:
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"{kernel!r:.80} is no kernel; make one with partwise.kernels.as_kernel"
        )
    kernel.check()


def _lengths(squares: Floats, rounding: float) -> Floats:
    """√k(x, x), where a number below zero is rounding or no square of a length."""
    if squares.min(initial=0.0) < -rounding:
        i = int(np.argmin(squares))
        raise ValueError(
            f"Normalized: k(x, x) = {squares[i]:.2g} of input {i}, where the square of "
            "a length is needed; use a kernel that is positive semidefinite"
        )
    return np.sqrt(np.maximum(squares, 0.0))


def _inverse(length: Floats) -> Floats:
    return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
