"""What a model file keeps of a `GraphModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, MAX_WEIGHT, entry, read_numbers, require, under
from partwise.features.graphs import GraphFeaturizer
from partwise.outputs.graph.model import GraphModel
from partwise.outputs.labels import labels_from_state
from partwise.outputs.scoring import Arrays, FeatureScoring, State
from partwise.structures.graph import Graph
from partwise.structures.graph.structure import DECODERS

MAX_EFFORT = 10**6  # sweeps and branches: a stranger's file must not run for years


def to_state(model: GraphModel) -> State:
    """Settings for JSON, and arrays."""
    graph = model.structure
    scoring, arrays = model.scoring.to_state(model.weights)
    arrays["weights"] = np.asarray(model.weights, np.float64)
    cost = graph.delta.saved()
    if not isinstance(cost, str):
        arrays["cost"] = cost
    settings = {
        "labels": model.labels,
        "directed": bool(graph.directed),
        "cost": cost if isinstance(cost, str) else "matrix",
        "decoder": graph.decoder,
        "sweeps": int(graph.sweeps),
        "search_nodes": int(graph.search_nodes),
    }
    labels_from_state(settings)
    return settings | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> GraphModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    size = len(labels)
    cost: Any = entry(settings, "cost", str)
    if cost == "matrix":
        cost = read_numbers(arrays, "cost", MAX_FEATURE, size, size)
    decoder = entry(settings, "decoder", str)
    require(decoder in DECODERS, f"decoder {decoder!r}")
    require(decoder != "cut" or size == 2, f"cuts with {size} labels")
    sweeps, nodes = entry(settings, "sweeps", int), entry(settings, "search_nodes", int)
    require(1 <= sweeps <= MAX_EFFORT, "sweeps out of range")
    require(0 <= nodes <= MAX_EFFORT, "search_nodes out of range")
    directed = entry(settings, "directed", bool)
    graph = Graph(size, directed, cost, decoder, sweeps, nodes)
    graph.delta.matrix(size)  # refuses unknown names and negative entries
    state = entry(settings, "featurizer", dict)
    featurizer = GraphFeaturizer.from_state(state, under("featurizer/", arrays))
    length = graph.n_weights(featurizer.n_features_, featurizer.n_edge_features_)
    weights = read_numbers(arrays, "weights", MAX_WEIGHT, length)
    return GraphModel(FeatureScoring(featurizer), graph, labels, weights, info)
