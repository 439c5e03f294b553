"""Checks of what comes out of a model file; each raises ValueError."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def require(condition: bool, what: str) -> None:
    """Refuse a file in which something does not hold."""
    if not condition:
        raise ValueError(what)


def entry(settings: dict[str, Any], name: str, kind: type) -> Any:
    """A setting of this type."""
    value = settings[name]
    require(type(value) is kind, f"entry {name!r} is no {kind.__name__}")
    return value


def under(prefix: str, arrays: Arrays) -> Arrays:
    """The arrays whose names begin so, without the beginning."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def array(arrays: Arrays, name: str, dtype: Any, *shape: int | None) -> np.ndarray:
    """An array of this type and shape (None: any length), as kernels want it."""
    found = arrays[name]
    fits = found.dtype == np.dtype(dtype) and found.ndim == len(shape)
    fits = fits and all(
        want is None or have == want
        for have, want in zip(found.shape, shape, strict=True)
    )
    require(fits, f"array {name!r} is {found.dtype} {found.shape}")
    return np.require(found, requirements=["C", "W"])


def inside(numbers: np.ndarray, limit: int, what: str) -> None:
    """Refuse numbers that are not in 0 … limit − 1."""
    require(
        not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < limit),
        f"{what} out of range",
    )
