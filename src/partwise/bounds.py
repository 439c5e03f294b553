"""What may reach a compiled kernel: offsets in order, indices in range, finite sums.

Kernels check nothing. Whatever a user or a file hands over passes these functions on
its way to them; each raises ValueError with a sentence that begins with `what`.
Neighbours are compared and never subtracted, because differences of 64-bit numbers
wrap.

The limits on magnitudes keep every sum of a solver and a decoder below the largest
double (1.8e308): with features up to x, C up to c and kernel values up to x², slacks
stay below n·c·x², and the largest number anybody computes, the square of an L2
subgradient, below n³·c⁴·x⁶ = n³·1e260. Scores of a model are at most
n·x·`MAX_WEIGHT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

MAX_FEATURE = 1e30  # features, losses, scores of a base model: what users hand in
MAX_KERNEL = 1e60  # values of kernels, products of two inputs
MAX_WEIGHT = 1e100  # weights and dual variables, in model files
REMEDY = "; replace it, or scale all of them"

Arrays = dict[str, np.ndarray]  # of a file, by name


def read_array(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, *shape: int | None
) -> np.ndarray:
    """An array of a file with this type and shape, contiguous and writable.

    Parameters
    ----------
    arrays : mapping of str to array
    name : str
    dtype : dtype
    *shape : int or None
        None stands for any length; without a shape, one axis of any length.

    Returns
    -------
    array
        Contiguous and writable.
    """
    wanted = shape or (None,)
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"no array {name!r}")
    fits = array.dtype == np.dtype(dtype) and array.ndim == len(wanted)
    fits = fits and all(
        want is None or have == want
        for have, want in zip(array.shape, wanted, strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in wanted)
        raise ValueError(
            f"array {name!r} is {array.dtype} {array.shape}, not {np.dtype(dtype)} "
            f"({sizes})"
        )
    return np.require(array, requirements=["C", "W"])


def read_numbers(
    arrays: Mapping[str, np.ndarray], name: str, limit: float, *shape: int | None
) -> np.ndarray:
    """An array of doubles that are finite and within the limit."""
    values = read_array(arrays, name, np.float64, *shape)
    check_magnitude(values, limit, f"array {name!r}", remedy="")
    return values


def check_offsets(offset: np.ndarray, total: int, what: str) -> None:
    """Refuse offsets that do not divide `total` items."""
    if offset.ndim != 1 or not len(offset) or offset[0] != 0 or offset[-1] != total:
        raise ValueError(f"{what}: offsets that do not go from 0 to {total}")
    if (offset[1:] < offset[:-1]).any():
        raise ValueError(f"{what}: offsets that fall")


def check_indices(numbers: np.ndarray, limit: int, what: str) -> None:
    """Refuse numbers that are not in 0 … limit − 1."""
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        raise ValueError(f"{what} out of range")


def check_rising(numbers: np.ndarray, what: str) -> None:
    """Refuse numbers that do not rise strictly."""
    if not (numbers[1:] > numbers[:-1]).all():
        raise ValueError(f"{what} out of order")


def check_magnitude(
    values: np.ndarray, limit: float, what: str, remedy: str = REMEDY
) -> None:
    """Refuse NaN, infinity, and what is beyond the limit to either side."""
    # NaN makes comparisons false; as Python's floats, because in single precision the
    # limit itself would be infinite
    if not values.size:
        return
    least, most = float(values.min()), float(values.max())
    if not -limit <= least <= most <= limit:
        raise ValueError(f"{what}: NaN, infinity or a number beyond ±{limit:g}{remedy}")


def as_list(X: Any) -> Any:
    """A list in the place of a column of a pandas data frame; all else unchanged.

    X[0] of a column is the row called 0, which need not be there.
    """
    return X.tolist() if hasattr(X, "iloc") and hasattr(X, "tolist") else X


def check_list(X: Any, items: str) -> None:
    """Refuse None, one string, and what has no length, where a list is needed."""
    if X is None or isinstance(X, str) or not hasattr(X, "__len__"):
        what = "None" if X is None else f"of type {type(X).__name__}"
        raise TypeError(f"X is {what}; give a list of {items}")


def check_rows(
    indptr: np.ndarray, indices: np.ndarray, shape: tuple[int, int], what: str
) -> None:
    """Refuse sparse rows (CSR) that lead outside their arrays."""
    if len(indptr) != shape[0] + 1:
        raise ValueError(f"{what}: {len(indptr) - 1} rows where {shape[0]} are needed")
    check_offsets(indptr, len(indices), what)
    check_indices(indices, shape[1], f"{what}: a column")


def check_sparse(matrix: Any, what: str) -> None:
    """Refuse a scipy matrix whose indices are out of range, which scipy does not check.

    Objects of other types pass.
    """
    if not hasattr(matrix, "tocsr"):
        return
    try:
        _check_arrays(matrix, getattr(matrix, "format", ""), what)
    except ValueError as error:
        raise ValueError(f"{error}; build the sparse matrix again") from None


def _check_arrays(matrix: Any, layout: str, what: str) -> None:
    rows, columns = matrix.shape
    if layout in ("csr", "csc", "bsr"):
        height, width = matrix.blocksize if layout == "bsr" else (1, 1)
        shape = (rows // height, columns // width)
        end = int(matrix.indptr[-1])  # there may be room for more
        if end > len(matrix.data):
            raise ValueError(f"{what}: entries without a value")
        shape = shape[::-1] if layout == "csc" else shape
        check_rows(matrix.indptr, matrix.indices[:end], shape, what)
    elif layout == "coo":
        if not len(matrix.row) == len(matrix.col) == len(matrix.data):
            raise ValueError(f"{what}: entries without a place or a value")
        check_indices(matrix.row, rows, f"{what}: a row")
        check_indices(matrix.col, columns, f"{what}: a column")


def require(condition: bool, what: str) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(what)


def entry(settings: dict[str, Any], name: str, kind: type) -> Any:
    """A setting of this type."""
    value = settings[name]
    require(type(value) is kind, f"entry {name!r} is no {kind.__name__}")
    return value


@contextmanager
def calling_sequences(unit: str) -> Iterator[None]:
    """Refusals within the block call sequences of tokens by another name."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        if not text.startswith("sequence "):
            raise
        text = text.replace("sequence", unit).replace("token", "row")
        raise type(error)(text) from None


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, by the rest of their names."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
