"""Kernels from elsewhere: scikit-learn's by name, a function, a ready matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partwise.kernels.base import Bound, Kernel, Real, Rows, diagonal_by_blocks
from partwise.kernels.checks import check_real
from partwise.kernels.inputs import OBJECTS, POSITIONS, VECTORS
from partwise.kernels.matrices import DenseMatrix, as_pair
from partwise.kernels.positive import find_asymmetry
from partwise.parameters import SettingsError
from partwise.protocol import Floats

# which of gamma, degree and coef0 each takes
PAIRWISE = {
    "additive_chi2": (),
    "chi2": ("gamma",),
    "cosine": (),
    "laplacian": ("gamma",),
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}
SAMPLE = 16  # inputs on which a user's function is tried in both orders
DENSE = ("additive_chi2", "chi2")  # take no sparse rows: a few become dense at a time


class Pairwise(Kernel):
    """A kernel of ``sklearn.metrics.pairwise``.

    Some of them (sigmoid, additive_chi2, others with a negative parameter or a degree
    that is no whole number) need not be positive semidefinite: `is_positive` is False,
    and `refuse_indefinite` refuses them for training on inputs where it shows.

    Parameters
    ----------
    metric : str
        additive_chi2, chi2, cosine, laplacian, linear, poly, rbf or sigmoid.
    gamma, degree, coef0 : float, optional
        As scikit-learn has them; its defaults when they are not given.

    Examples
    --------
    >>> Pairwise("laplacian", gamma=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    inputs = VECTORS

    def __init__(
        self,
        metric: str,
        gamma: float | None = None,
        degree: float | None = None,
        coef0: float | None = None,
    ) -> None:
        self.metric = metric
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def check(self) -> None:
        """Raise ValueError for an unknown name or a parameter it does not take."""
        if not isinstance(self.metric, str) or self.metric not in PAIRWISE:
            raise SettingsError(
                f"<metric={self.metric!r:.80}>: choose from {', '.join(PAIRWISE)}"
            )
        for name, value in self._given().items():
            if name not in PAIRWISE[self.metric]:
                raise ValueError(f"the {self.metric} kernel has no parameter {name!r}")
            check_real(name, value, -np.inf)

    @property
    def is_positive(self) -> bool:
        """Whether this name has the property, with these parameters."""
        if self.metric in ("additive_chi2", "sigmoid"):
            return False
        given = self._given()
        is_whole = float(given.get("degree", 3)).is_integer()
        return is_whole and all(value >= 0 for value in given.values())

    def _given(self) -> dict[str, Any]:
        names = ("gamma", "degree", "coef0")
        return {k: getattr(self, k) for k in names if getattr(self, k) is not None}

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bring the rows into one layout."""
        from sklearn.metrics.pairwise import pairwise_kernels

        self.check()
        settings = self._given()
        x, y = (_for_sklearn(matrix) for matrix in as_pair(X, Y))

        def compute(a: Any, b: Any) -> Floats:
            if self.metric in DENSE and hasattr(a, "toarray"):
                a, b = a.toarray(), b.toarray()
            return pairwise_kernels(a, b, metric=self.metric, **settings)

        return BoundFunction(compute, x, None if Y is None else y, is_batch=True)


class FromFunction(Kernel):
    """A kernel that a user wrote.

    Parameters
    ----------
    function : callable
        ``function(x, y)`` gives k(x, y) as a number; with `batch`, ``function(X, Y)``
        gives the matrix of all pairs. Python is slow: a few microseconds per pair.
    batch : bool

    Examples
    --------
    >>> common = FromFunction(lambda x, y: len(x & y))
    >>> common([{"a", "b"}, {"b"}])
    array([[2., 1.],
           [1., 1.]])
    """

    inputs = OBJECTS

    def __init__(
        self, function: Callable[[Any, Any], Any], batch: bool = False
    ) -> None:
        self.function = function
        self.batch = batch

    def check(self) -> None:
        """Raise ValueError when there is no function."""
        if not callable(self.function):
            raise ValueError(f"function={self.function!r:.80}: give something callable")

    @property
    def is_positive(self) -> bool:
        """False: nothing is known of the function."""
        return False

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Keep both sets of inputs as they are."""
        self.check()
        return BoundFunction(self.function, X, Y, is_batch=bool(self.batch))


class Precomputed(Kernel):
    """A matrix of kernel values; inputs are positions in it.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric; may be memory-mapped. A model file does not keep it.

    Examples
    --------
    >>> Precomputed([[1.0, 0.5], [0.5, 1.0]])([1, 0], [1])
    array([[1. ],
           [0.5]])
    """

    inputs = POSITIONS

    def __init__(self, matrix: Any = None) -> None:
        self.matrix = matrix

    def check(self) -> None:
        """Raise ValueError for what is no square matrix."""
        if self.matrix is None:
            return  # as read from a file; `bind` needs it
        shape = np.shape(self.matrix)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"matrix of shape {shape}: give a square one")

    @property
    def is_positive(self) -> bool:
        """False: nothing is known of the matrix."""
        return False

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Check the positions."""
        self.check()
        if self.matrix is None:
            raise ValueError("give the matrix: Precomputed(matrix)")
        return BoundPrecomputed(np.asarray(self.matrix), X, Y)


class BoundFunction(Bound):
    """Inputs as the user gave them, and a Python function."""

    def __init__(self, function: Any, X: Any, Y: Any, *, is_batch: bool) -> None:
        self.function, self.is_batch = function, is_batch
        self.X, self.Y = X, X if Y is None else Y
        self.n_rows, self.n_cols = OBJECTS.count(self.X), OBJECTS.count(self.Y)
        self.is_symmetric = Y is None

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """As the function gives them, in double precision."""
        rows, cols = self.shape_of(rows, cols)
        if not len(rows) or not len(cols):
            return np.empty((len(rows), len(cols)))
        xs, ys = OBJECTS.select(self.X, rows), OBJECTS.select(self.Y, cols)
        if not self.is_batch:
            return np.array([[float(self.function(x, y)) for y in ys] for x in xs])
        values = np.array(self.function(xs, ys), np.float64)
        if values.shape != (len(rows), len(cols)):
            raise ValueError(
                f"the kernel function gave shape {values.shape} for {len(rows)} and "
                f"{len(cols)} inputs"
            )
        return values

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        same = BoundFunction(self.function, self.X, None, is_batch=self.is_batch)
        return diagonal_by_blocks(same, self.n_rows)

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        same = BoundFunction(self.function, self.Y, None, is_batch=self.is_batch)
        return diagonal_by_blocks(same, self.n_cols)

    def check_symmetric(self) -> None:
        """Both orders of a few inputs: all of them would take twice the time."""
        n = self.n_rows
        some = np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)
        values = self.block(some, some)
        asymmetry = find_asymmetry(lambda r, c: values[r, c], np.diagonal(values))
        if asymmetry is not None:
            raise ValueError(
                f"the kernel function gives {asymmetry.one:.6g} for inputs "
                f"{some[asymmetry.x]} and {some[asymmetry.y]}, and "
                f"{asymmetry.other:.6g} for them the other way round; use "
                "(f(x, y) + f(y, x)) / 2"
            )

    def content(self) -> Iterator[Any]:
        """The rows of a matrix; of other objects nothing is known."""
        for X in (self.X,) if self.is_symmetric else (self.X, self.Y):
            if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
                yield from (repr(X.shape), X.dtype.str, X)
            elif hasattr(X, "indptr"):
                yield from (repr(X.shape), X.indptr, X.indices, X.data)
            else:
                raise SettingsError(
                    "<cache_dir=> needs inputs that can be compared: arrays, not the "
                    "objects of a user's function"
                )


class BoundPrecomputed(Bound):
    """Positions in a matrix."""

    def __init__(self, matrix: np.ndarray, X: Any, Y: Any) -> None:
        self.matrix = matrix
        self.x = _positions(X, len(matrix))
        self.y = self.x if Y is None else _positions(Y, len(matrix))
        self.n_rows, self.n_cols = len(self.x), len(self.y)
        self.is_symmetric = Y is None

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Entries of the matrix."""
        rows, cols = self.shape_of(rows, cols)
        values = self.matrix[np.ix_(self.x[rows], self.y[cols])]
        return values.astype(dtype if values.dtype == np.float32 else np.float64)

    def row_diagonal(self) -> Floats:
        """Entries of the matrix's diagonal."""
        return np.diagonal(self.matrix)[self.x].astype(float)

    def column_diagonal(self) -> Floats:
        """Entries of the matrix's diagonal."""
        return np.diagonal(self.matrix)[self.y].astype(float)

    def check_symmetric(self) -> None:
        """All pairs of positions."""
        asymmetry = find_asymmetry(self.block, self.row_diagonal())
        if asymmetry is not None:
            i, j = self.x[asymmetry.x], self.x[asymmetry.y]
            raise ValueError(
                f"the precomputed matrix is not symmetric: {asymmetry.one:.6g} at "
                f"({i}, {j}) and {asymmetry.other:.6g} at ({j}, {i}); give "
                "(K + K.T) / 2"
            )

    def content(self) -> Iterator[Any]:
        """The matrix and the positions."""
        yield from (self.matrix.dtype.str, self.matrix, self.x, self.y)


def _positions(X: Any, n: int) -> np.ndarray:
    numbers = np.asarray(X)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError("inputs of a precomputed kernel are positions in its matrix")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < n:
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise ValueError(f"position {wrong} in a precomputed matrix of {n} rows")
    return numbers.astype(np.int64)


def _for_sklearn(matrix: Any) -> Any:
    if isinstance(matrix, DenseMatrix):
        return matrix.x
    from scipy.sparse import csr_array

    shape = (matrix.n_rows, matrix.n_features)
    indptr = matrix.indptr
    if len(matrix.indices) < 1 << 31:  # scikit-learn needs both of one type
        indptr = indptr.astype(matrix.indices.dtype)
    return csr_array((matrix.data, matrix.indices, indptr), shape=shape)
