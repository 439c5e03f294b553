"""What a model file keeps of a `ClusteringModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry
from partwise.outputs.clustering.model import ClusteringModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.structures.clustering import Clustering


def to_state(model: ClusteringModel) -> State:
    """Settings for JSON, and arrays."""
    scoring, arrays = model.scoring.to_state(model.weights)
    return {"link_penalty": float(model.structure.link_penalty), **scoring}, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> ClusteringModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    structure = Clustering(entry(settings, "link_penalty", float))
    structure.check()
    scoring, weights = RowFeatureScoring.from_state(settings, arrays, [""])
    return ClusteringModel(scoring, structure, weights, info)
