"""What a model file keeps of a `DiversityModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, entry, read_numbers, require
from partwise.features.covering import WordCovers
from partwise.outputs.diversity.model import DiversityModel
from partwise.outputs.scoring import Arrays, State
from partwise.structures.coverage import Coverage

MAX_K = 100_000
MAX_NODES = 10**9


def to_state(model: DiversityModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    scoring, arrays = model.scoring.to_state(model.weights)
    settings = {"k": int(structure.k), "search_nodes": int(structure.search_nodes)}
    weights = {"weights": np.asarray(model.weights, np.float64)}
    return settings | scoring, arrays | weights


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DiversityModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    k, nodes = entry(settings, "k", int), entry(settings, "search_nodes", int)
    require(0 < k <= MAX_K, "k out of range")
    require(0 <= nodes <= MAX_NODES, "search_nodes out of range")
    covers = WordCovers.from_state(entry(settings, "featurizer", dict))
    weights = read_numbers(arrays, "weights", MAX_WEIGHT, covers.n_features_)
    return DiversityModel(covers, Coverage(k, nodes), weights, info)
