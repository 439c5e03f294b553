"""What a model file keeps of an `AlignmentModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import MAX_FEATURE, MAX_WEIGHT, entry, read_numbers
from partwise.features.pairs import PairFeaturizer
from partwise.outputs.alignment.model import AlignmentModel
from partwise.outputs.scoring import Arrays, State
from partwise.structures.alignment.file import alignment_from_state, options_of


def to_state(model: AlignmentModel) -> State:
    """Settings for JSON, and arrays."""
    scoring, arrays = model.scoring.to_state(model.weights)
    arrays["weights"] = model.weights
    if model.start is not None:
        arrays["start"] = model.start
    return {**scoring, "options": options_of(model.structure)}, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> AlignmentModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    featurizer = PairFeaturizer.from_state(entry(settings, "featurizer", dict))
    options = entry(settings, "options", dict)
    structure = alignment_from_state(featurizer.settings(), options)
    size = structure.layout().n_weights
    weights = read_numbers(arrays, "weights", MAX_WEIGHT, size)
    start = None
    if "start" in arrays:
        start = read_numbers(arrays, "start", MAX_FEATURE, size)
    return AlignmentModel(featurizer, structure, weights, info, start)
