"""What a model file keeps of an `AlignmentModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import MAX_FEATURE, MAX_WEIGHT, entry, read_numbers, require
from partwise.features.pairs import PairFeaturizer
from partwise.outputs.alignment.model import OPTIONS, AlignmentModel
from partwise.outputs.scoring import Arrays, State
from partwise.structures.alignment import Alignment


def to_state(model: AlignmentModel) -> State:
    """Settings for JSON, and arrays."""
    scoring, arrays = model.scoring.to_state(model.weights)
    options = dict(model.options)
    options["free_ends"] = list(options["free_ends"])
    arrays["weights"] = model.weights
    if model.start is not None:
        arrays["start"] = model.start
    return {**scoring, "options": options}, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> AlignmentModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    featurizer = PairFeaturizer.from_state(entry(settings, "featurizer", dict))
    options = entry(settings, "options", dict)
    require(set(options) == set(OPTIONS), "options of another structure")
    entry(options, "tie_gaps", bool)
    entry(options, "mode", str)
    ends = entry(options, "free_ends", list)
    require(all(isinstance(end, str) for end in ends), "free ends are no names")
    for name, may_be_none in (("cost", False), ("band", True)):
        value = options[name]
        is_number = type(value) is int and 0 <= value < 2**31
        is_named = value is None if may_be_none else isinstance(value, str)
        require(is_number or is_named, f"{name} out of range")
    structure = Alignment(**featurizer.settings(), **options)
    structure.free()
    structure.tolerance()
    size = structure.layout().n_weights
    weights = read_numbers(arrays, "weights", MAX_WEIGHT, size)
    start = None
    if "start" in arrays:
        start = read_numbers(arrays, "start", MAX_FEATURE, size)
    return AlignmentModel(featurizer, options, weights, info, start)
