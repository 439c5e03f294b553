"""What a model file keeps of a `MotifModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import MAX_FEATURE, MAX_WEIGHT, entry, read_numbers, require
from partwise.outputs.labels import labels_from_state
from partwise.outputs.motif.model import MotifModel
from partwise.outputs.scoring import Arrays, State
from partwise.structures.motif import Motif

MAX_LENGTH = 10_000


def to_state(model: MotifModel) -> State:
    """Settings for JSON, and arrays."""
    settings = {"labels": model.labels, **model.structure.get_params()}
    labels_from_state(settings)
    return settings, {"weights": model.weights, "counts": model.counts}


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> MotifModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings, 2)
    length = entry(settings, "length", int)
    require(1 <= length <= MAX_LENGTH, f"a motif of length {length}")
    seeds = entry(settings, "seeds", int)
    require(0 <= seeds < 2**31, f"{seeds} seeds")
    order = entry(settings, "order", int)
    both_strands = entry(settings, "both_strands", bool)
    structure = Motif(length, order, both_strands, seeds).setup()
    weights = read_numbers(arrays, "weights", MAX_WEIGHT, structure.n_psi_)
    counts = read_numbers(arrays, "counts", MAX_FEATURE, length, 4)
    require(bool((counts >= 0).all()), "counts below zero")
    return MotifModel(structure, labels, weights, counts, info)
