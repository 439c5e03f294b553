"""What a model file keeps of a `MulticlassModel`, and the checks when it is read.

``MulticlassModel`` has features, ``KernelMulticlassModel`` keys and an index.
"""

from __future__ import annotations

from typing import Any

from partwise.outputs.labels import labels_from_state
from partwise.outputs.multiclass.model import MulticlassModel
from partwise.outputs.row_keys import row_scoring_from_state
from partwise.outputs.scoring import Arrays, State
from partwise.outputs.support_file import support_from_state, support_state
from partwise.structures.losses.file import cost_from_state, cost_state
from partwise.structures.multiclass import Multiclass


def to_state(model: MulticlassModel) -> State:
    """Settings for JSON, and arrays."""
    structure: Any = model.structure
    cost, arrays = cost_state(structure.cost)
    settings: dict[str, Any] = {"labels": model.labels, "cost": cost}
    labels_from_state(settings)
    scoring, scoring_arrays = model.scoring.to_state(model.weights)
    support, planes = support_state(model.support)
    return settings | scoring | support, arrays | scoring_arrays | planes


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> MulticlassModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    cost = cost_from_state(settings, arrays, len(labels))
    structure: Any = Multiclass(len(labels), cost=cost)
    structure.cost_matrix()  # refuses what is none
    scoring, weights = row_scoring_from_state(settings, arrays, labels)
    featurizer = scoring.featurizer
    support = support_from_state(settings, arrays, featurizer, len(labels))
    return MulticlassModel(scoring, structure, labels, weights, info, support)
