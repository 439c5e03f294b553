"""The weights of a user's own structure: all that a file can hold of it.

The structure is code and stays with the user; loading asks for it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, read_numbers
from partwise.protocol import Floats


class WeightsModel:
    """A weight vector, the name of the structure it belongs to, and its certificate."""

    def __init__(self, structure_name: str, weights: Floats, info: dict[str, Any]):
        self.structure_name = structure_name
        self.weights = weights
        self.info = info


def to_state(model: WeightsModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays for a model file."""
    return {"structure": model.structure_name}, {"weights": model.weights}


def from_state(
    settings: dict[str, Any], arrays: dict[str, np.ndarray], info: dict[str, Any]
) -> WeightsModel:
    """The model of a file; raises ValueError for what `to_state` cannot have made."""
    name = settings.get("structure")
    if not isinstance(name, str):
        raise ValueError("the name of the structure is missing")
    return WeightsModel(name, read_numbers(arrays, "weights", MAX_WEIGHT), info)
