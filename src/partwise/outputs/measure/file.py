"""What a model file keeps of a `MeasureModel`, and the checks when it is read.

``MeasureModel`` has features, ``KernelMeasureModel`` keys and an index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, check_magnitude, entry, require
from partwise.outputs.labels import labels_from_state
from partwise.outputs.measure.model import MeasureModel
from partwise.outputs.row_keys import row_scoring_from_state
from partwise.outputs.scoring import Arrays, State
from partwise.structures.label_vector import LabelVector
from partwise.structures.label_vector.measures import MEASURES


def to_state(model: MeasureModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    if structure.measure not in MEASURES:
        raise ValueError(
            f"measure={structure.measure!r} is a function, which cannot be kept in a "
            "file; use a named one"
        )
    settings = {
        "labels": model.labels,
        "measure": structure.measure,
        "beta": float(structure.beta),
        "k": structure.k,
        "threshold": float(model.threshold),
    }
    scoring, arrays = model.scoring.to_state(model.weights)
    return settings | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> MeasureModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings, 2)
    measure = entry(settings, "measure", str)
    require(measure in MEASURES, "no such measure")
    beta, threshold = (entry(settings, name, float) for name in ("beta", "threshold"))
    require(0.0 < beta <= 1e6, "beta out of range")
    check_magnitude(np.array(threshold), MAX_WEIGHT, "threshold")
    k = settings["k"]
    require(k is None or (type(k) is int and 0 < k < 2**62), "k out of range")
    structure = LabelVector(measure, beta=beta, k=k)
    scoring, weights = row_scoring_from_state(settings, arrays, labels[1:], structure)
    return MeasureModel(scoring, structure, labels, weights, threshold, info)
