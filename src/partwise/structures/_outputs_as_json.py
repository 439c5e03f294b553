"""Outputs of users' structures as JSON, for checkpoints: never a pickle."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import CapabilityError


def as_json(y: Any) -> Any:
    """An output made of numbers, strings, lists, tuples, dicts and arrays, as JSON."""
    if isinstance(y, np.ndarray) and y.dtype.kind in "biuf":
        return {"array": y.tolist(), "dtype": y.dtype.str, "shape": list(y.shape)}
    if isinstance(y, np.generic):
        return {"array": y.item(), "dtype": y.dtype.str, "shape": None}
    if isinstance(y, tuple):
        return {"tuple": [as_json(part) for part in y]}
    if isinstance(y, list):
        return [as_json(part) for part in y]
    if isinstance(y, dict):
        return {"dict": [[as_json(k), as_json(v)] for k, v in y.items()]}
    if isinstance(y, frozenset | set):
        kind = type(y).__name__
        return {kind: [as_json(part) for part in sorted(y, key=repr)]}
    if y is None or isinstance(y, bool | int | float | str):
        return y
    raise CapabilityError(
        f"a checkpoint keeps outputs as JSON, and a {type(y).__name__} has none; use "
        "numbers, strings, lists, tuples, dicts or arrays, or leave checkpoint out"
    )


def from_json(listed: Any) -> Any:
    """The output that `as_json` described."""
    if isinstance(listed, list):
        return [from_json(part) for part in listed]
    if not isinstance(listed, dict):
        return listed
    if "array" in listed:
        array = np.array(listed["array"], listed["dtype"])
        return array[()] if listed["shape"] is None else array.reshape(listed["shape"])
    if "tuple" in listed:
        return tuple(from_json(part) for part in listed["tuple"])
    if "dict" in listed:
        return {from_json(k): from_json(v) for k, v in listed["dict"]}
    kinds = {"set": set, "frozenset": frozenset}
    ((kind, parts),) = listed.items()
    return kinds[kind](from_json(part) for part in parts)
