"""What a model file keeps of a `ClusteringModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require
from partwise.outputs.clustering.model import ClusteringModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.structures.clustering import Clustering, CorrelationClustering


def to_state(model: ClusteringModel) -> State:
    """Settings for JSON, and arrays."""
    scoring, arrays = model.scoring.to_state(model.weights)
    structure = model.structure
    settings = {"link_penalty": float(structure.link_penalty), **scoring}
    if structure.decoder != "forest":  # forests were all that earlier versions knew
        settings |= {"decoder": "correlation", "exact_items": structure.exact_items}
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> ClusteringModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    structure: Any = Clustering(entry(settings, "link_penalty", float))
    if "decoder" in settings:
        require(settings["decoder"] == "correlation", "an unknown decoder")
        exact_items = entry(settings, "exact_items", int)
        require(0 <= exact_items < 2**31, f"{exact_items} exact items")
        structure = CorrelationClustering(structure.link_penalty, exact_items)
    structure.check()
    scoring, weights = RowFeatureScoring.from_state(settings, arrays, [""])
    return ClusteringModel(scoring, structure, weights, info)
