"""The weights and the name of a user's own structure in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, entry, read_numbers, under
from partwise.outputs.custom.model import WeightsModel
from partwise.outputs.scoring import prefixed
from partwise.scorers.index_file import index_from_state, index_state


def to_state(model: WeightsModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays for a model file."""
    settings: dict[str, Any] = {"structure": model.structure_name}
    if model.index is None:
        return settings, {"weights": model.weights}
    settings["index"], arrays = index_state(model.index, model.weights)
    return settings, prefixed("index", arrays)


def from_state(
    settings: dict[str, Any], arrays: dict[str, np.ndarray], info: dict[str, Any]
) -> WeightsModel:
    """The model of a file; raises ValueError for what `to_state` cannot have made."""
    name = settings.get("structure")
    if not isinstance(name, str):
        raise ValueError("the name of the structure is missing")
    if "index" in settings:
        state = entry(settings, "index", dict)
        index, weights = index_from_state(state, under("index/", arrays))
        return WeightsModel(name, weights, info, index)
    return WeightsModel(name, read_numbers(arrays, "weights", MAX_WEIGHT), info)
