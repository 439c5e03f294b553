"""What model files keep of the costs of labels, and the checks when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, entry, read_numbers


def cost_state(cost: Any, name: str = "cost") -> tuple[str, dict[str, np.ndarray]]:
    """Costs of labels by name, or ``"matrix"`` and its array."""
    if isinstance(cost, str):
        return cost, {}
    return "matrix", {name: np.asarray(cost, np.float64)}


def cost_from_state(
    settings: dict[str, Any], arrays: Any, size: int, name: str = "cost"
) -> Any:
    """The cost of `size` labels from the state that `cost_state` makes."""
    cost = entry(settings, "cost", str)
    if cost == "matrix":
        return read_numbers(arrays, name, MAX_FEATURE, size, size)
    return cost
