"""What a model file keeps of a user's own structure: its weights and its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, read_numbers
from partwise.outputs.custom.model import WeightsModel


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
