"""When two values count as the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Floats


def tolerance(value: Floats) -> float:
    """Rounding allowed when values of this size are compared."""
    return 1e-9 * (1.0 + float(np.abs(value[np.isfinite(value)]).max(initial=0.0)))


def public(structure: Any) -> dict[str, Any]:
    """Attributes that calls must not change; names with an underscore may be caches."""
    return {k: v for k, v in vars(structure).items() if not k.startswith("_")}


def is_same(one: Any, other: Any) -> bool:
    """Equality that looks into arrays, containers and objects."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype == object:
            return is_same(list(one), list(other))
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            is_same(one[k], other[k]) for k in one
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if hasattr(one, "__dict__") and not callable(one):
        return is_same(vars(one), vars(other))
    return bool(one == other)
