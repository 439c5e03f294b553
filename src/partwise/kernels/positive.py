"""Whether a kernel is positive semidefinite on the inputs that it is trained on.

A dual value bounds the objective from below only while no model has a negative ‖w‖²,
that is, while the Gram matrix K of the training inputs has no negative eigenvalue. Most
kernels have none whatever the inputs (`Kernel.is_positive`); of the others K decides.

Inputs are first scaled to k(x, x) = 1, which changes no sign (vᵀKv stays what it is)
and keeps a few long inputs from hiding the rest. Where rounding has moved each entry by
at most ε of itself, eigenvalues have moved by at most τ = ε·max_i Σ_j |K_ij|; so a
matrix is refused when K + τ·I has no Cholesky factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import MAX_KERNEL
from partwise.kernels.base import Kernel
from partwise.kernels.inputs import Objects, Positions
from partwise.kernels.memory import free_memory
from partwise.protocol import Floats

# ε, some roundings of single precision: a user may compute in it whatever the dtype. A
# dual value that is wrong by as much stays within the gap of any fit.
TOLERANCE = 1e-6
SYMMETRY = 1e-5  # by which k(x, y) and k(y, x) may differ, of √(k(x, x)·k(y, y))
GROSS = 1e-3  # by which a single entry proves a matrix wrong
# inputs with less than this share of the largest k(x, x) are scaled as if they had it:
# where numbers cancel, theirs are mostly rounding
SHORT = 1e-3
TILE = 512
MOST = 10_000  # inputs of a factorisation: seconds, and 800 MB
MEMORY = 0.5  # of what is free, for the same
FEW = 1000  # inputs up to which LAPACK computes the smallest eigenvalue


class Asymmetry(NamedTuple):
    """Two inputs whose order makes a difference."""

    x: int
    y: int
    one: float  # k(x, y)
    other: float  # k(y, x)


def refuse_indefinite(kernel: Kernel, values: np.ndarray) -> None:
    """Raise ValueError unless a Gram matrix is positive semidefinite up to rounding.

    Parameters
    ----------
    kernel : Kernel
        With `Kernel.is_positive`, every matrix passes unread.
    values : array (n, n), float64 or float32
        Values between the training inputs; may be memory-mapped. Of more than 10,000
        inputs, or of more than fit into half of the free memory, all entries are
        checked, and the eigenvalues of a sample.

    Raises
    ------
    ValueError
        A negative eigenvalue; NaN or infinity; k(x, y) and k(y, x) that differ.

    Examples
    --------
    >>> from partwise.kernels import FromFunction
    >>> X = [0.0, 1.0, 3.0]
    >>> common = FromFunction(min)
    >>> refuse_indefinite(common, common(X))
    >>> distance = FromFunction(lambda x, y: abs(x - y))
    >>> refuse_indefinite(distance, distance(X))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: FromFunction(function=...) is not positive semidefinite on these \
inputs: |k(x, y)| = 3 of inputs 0 and 2 exceeds √(k(x, x)·k(y, y)) = 0, so that \
training would have no valid bound; use another function, or a kernel with a name \
whose is_positive is True
    """
    if kernel.is_positive:
        return
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(
            f"a Gram matrix of shape {values.shape}; give one row and one column per "
            "training input"
        )
    largest = _largest(kernel, values)
    if largest == 0.0:  # also of no inputs
        return
    diagonal = np.diagonal(values).astype(np.float64)
    asymmetry = find_asymmetry(lambda rows, cols: values[rows, cols], diagonal)
    if asymmetry is not None:
        raise ValueError(
            f"{_shown(kernel)} is not symmetric: k(x, y) = {asymmetry.one:.6g} and "
            f"k(y, x) = {asymmetry.other:.6g} of inputs {asymmetry.x} and "
            f"{asymmetry.y}; use (k(x, y) + k(y, x)) / 2"
        )
    length = _lengths(diagonal, diagonal.max() if diagonal.max() > 0 else largest)
    slack = TOLERANCE * _largest_sum(kernel, values, diagonal, length)
    smallest = _negative_eigenvalue(values, length, slack)
    if smallest is not None:
        _refuse(
            kernel,
            "scaled to k(x, x) = 1, its Gram matrix has an eigenvalue of "
            f"{smallest:.2g} or less",
        )


def find_asymmetry(
    block: Callable[[slice, slice], np.ndarray], diagonal: Floats
) -> Asymmetry | None:
    """Two inputs with k(x, y) ≠ k(y, x) beyond rounding.

    Parameters
    ----------
    block : callable
        ``block(rows, cols)`` gives the entries of these slices.
    diagonal : array (n,)
        k(x, x).

    Examples
    --------
    >>> values = np.array([[1.0, 0.5], [0.25, 1.0]])
    >>> find_asymmetry(lambda rows, cols: values[rows, cols], np.ones(2))
    Asymmetry(x=0, y=1, one=0.5, other=0.25)
    """
    length = _lengths(diagonal, np.abs(diagonal).max(initial=0.0))
    for rows, cols in _tile_pairs(len(diagonal)):
        one = block(rows, cols).astype(np.float64, copy=False)
        other = block(cols, rows).T.astype(np.float64, copy=False)
        allowed = np.maximum(np.abs(one), np.abs(other))
        np.maximum(allowed, length[rows, None] * length[None, cols], out=allowed)
        with np.errstate(invalid="ignore"):  # not finite: refused elsewhere
            differs = np.abs(one - other) > SYMMETRY * allowed
        if differs.any():
            r, c = np.unravel_index(np.argmax(differs), differs.shape)
            x, y = int(rows.start + r), int(cols.start + c)
            return Asymmetry(x, y, float(one[r, c]), float(other[r, c]))
    return None


def _largest(kernel: Kernel, values: np.ndarray) -> float:
    """The largest magnitude of an entry, none beyond `MAX_KERNEL`."""
    largest = 0.0
    for first in range(0, len(values), TILE):
        size = np.abs(values[first : first + TILE]).astype(np.float64, copy=False)
        fits = size <= MAX_KERNEL
        if not fits.all():
            r, c = np.unravel_index(np.argmin(fits), size.shape)
            raise ValueError(
                f"the Gram matrix of {_shown(kernel)} holds {values[first + r, c]} for "
                f"inputs {first + r} and {c}; a kernel needs finite numbers up to "
                f"{MAX_KERNEL:g}, leave out inputs for which it has none, or scale it"
            )
        largest = max(largest, float(size.max(initial=0.0)))
    return largest


def _lengths(diagonal: Floats, largest: float) -> Floats:
    """√k(x, x) of each input, short ones lengthened; (n,)."""
    return np.sqrt(np.maximum(diagonal, SHORT * largest))


def _largest_sum(
    kernel: Kernel, values: np.ndarray, diagonal: Floats, length: Floats
) -> float:
    """max_i Σ_j |K_ij| of the scaled matrix; a gross entry is refused on the way."""
    x = int(np.argmin(diagonal))
    if diagonal[x] < -GROSS * length[x] ** 2:
        _refuse(kernel, f"k(x, x) = {diagonal[x]:.2g} of input {x}")
    sums = np.zeros(len(values))
    for rows, cols in _tile_pairs(len(values)):
        size = np.abs(_scaled(values, rows, cols, length))
        if size.max() > 1 + GROSS:
            r, c = np.unravel_index(np.argmax(size), size.shape)
            x, y = rows.start + r, cols.start + c
            most = math.sqrt(max(diagonal[x], 0.0)) * math.sqrt(max(diagonal[y], 0.0))
            _refuse(
                kernel,
                f"|k(x, y)| = {abs(values[x, y]):.6g} of inputs {x} and {y} exceeds "
                f"√(k(x, x)·k(y, y)) = {most:.6g}",
            )
        sums[rows] += size.sum(axis=1)
        if rows != cols:
            sums[cols] += size.sum(axis=0)
    return float(sums.max())


def _negative_eigenvalue(
    values: np.ndarray, length: Floats, slack: float
) -> float | None:
    """An eigenvalue of the scaled matrix below −slack, if there is one."""
    from scipy.linalg.lapack import dpotrf

    n = len(values)
    free = free_memory()
    room = MOST if free is None else int(math.sqrt(MEMORY * free / 8))
    m = min(n, MOST, max(room, 1))
    # a part of the inputs never looks worse than all of them
    some = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    chosen: Any = slice(0, n) if m == n else some
    matrix = np.empty((m, m))
    _fill(matrix, values, chosen, length)
    matrix.ravel()[:: m + 1] += slack
    # the transpose is in the order of Fortran, which is factorised in place
    _, order = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    if order == 0:
        return None
    _fill(matrix, values, chosen, length)
    return min(_smallest(matrix), -slack)


def _fill(matrix: np.ndarray, values: np.ndarray, chosen: Any, length: Floats) -> None:
    positions = np.arange(len(values))[chosen]
    for first in range(0, len(matrix), TILE):
        rows = slice(first, first + TILE)
        some = positions[rows]
        matrix[rows] = values[some][:, chosen]
        matrix[rows] /= length[some, None]
        matrix[rows] /= length[None, chosen]


def _smallest(matrix: np.ndarray) -> float:
    """The smallest eigenvalue to two digits, or a value that is not below it."""
    if len(matrix) <= FEW:
        from scipy.linalg import eigvalsh

        return float(eigvalsh(matrix, subset_by_index=[0, 0])[0])
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    start = np.random.default_rng(0).normal(size=len(matrix))
    try:
        eigenvalues = eigsh(
            matrix, 1, which="SA", v0=start, tol=1e-3, maxiter=50,
            return_eigenvectors=False,
        )  # fmt: skip
    except ArpackNoConvergence:
        return 0.0
    return float(eigenvalues[0])


def _scaled(values: np.ndarray, rows: slice, cols: slice, length: Floats) -> Floats:
    block = values[rows, cols] / length[rows, None]
    block /= length[None, cols]
    return block


def _tile_pairs(n: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the tiles on and above the diagonal."""
    for i in range(0, n, TILE):
        for j in range(i, n, TILE):
            yield slice(i, min(i + TILE, n)), slice(j, min(j + TILE, n))


def _refuse(kernel: Kernel, evidence: str) -> None:
    family = kernel.input_family()
    if isinstance(family, Positions):
        remedy = "use another matrix, or add a multiple of the identity to this one"
    elif isinstance(family, Objects):
        remedy = (
            "use another function, or a kernel with a name whose is_positive is True"
        )
    else:
        remedy = "use another kernel whose is_positive is True, such as 'rbf' or 'poly'"
    raise ValueError(
        f"{_shown(kernel)} is not positive semidefinite on these inputs: {evidence}, "
        f"so that training would have no valid bound; {remedy}"
    )


def _shown(kernel: Kernel) -> str:
    """On one line, and short although a matrix may be inside."""
    text = " ".join(repr(kernel).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
