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
