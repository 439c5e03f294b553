"""What a model file keeps of a `MatchingModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require
from partwise.outputs.matching.model import MatchingModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.structures.matching import Matching

MAX_COST = 1e100


def to_state(model: MatchingModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    settings = {
        "unmatched": bool(structure.unmatched),
        "missed": float(structure.missed),
        "invented": float(structure.invented),
    }
    scoring, arrays = model.scoring.to_state(model.weights)
    return settings | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> MatchingModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    costs = {name: entry(settings, name, float) for name in ("missed", "invented")}
    for name, cost in costs.items():
        require(0.0 <= cost <= MAX_COST, f"{name} out of range")
    structure = Matching(entry(settings, "unmatched", bool), **costs)
    scoring, weights = RowFeatureScoring.from_state(settings, arrays, [None])
    return MatchingModel(scoring, structure, weights, info)
