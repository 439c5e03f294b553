"""What a model file keeps of a `GraphModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require, under
from partwise.features.graphs import GraphFeaturizer
from partwise.outputs.graph.model import GraphModel
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.labels import typed_labels
from partwise.outputs.scoring import Arrays, State, read_weights
from partwise.structures.graph import Graph
from partwise.structures.graph.structure import DECODERS
from partwise.structures.losses.file import cost_from_state, cost_state

MAX_EFFORT = 10**6  # sweeps and branches: no file may make them run for years


def to_state(model: GraphModel) -> State:
    """Settings for JSON, and arrays."""
    graph = model.structure
    scoring, arrays = model.scoring.to_state(model.weights)
    cost, cost_arrays = cost_state(graph.delta.saved())
    settings = {"labels": model.labels} | graph.facts() | {"cost": cost}
    typed_labels(settings)
    return settings | scoring, arrays | cost_arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> GraphModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels, types = typed_labels(settings)
    size = len(labels)
    cost = cost_from_state(settings, arrays, size)
    decoder = entry(settings, "decoder", str)
    require(decoder in DECODERS, f"decoder {decoder!r}")
    require(decoder != "cut" or size == 2, f"cuts with {size} labels")
    sweeps, nodes = entry(settings, "sweeps", int), entry(settings, "search_nodes", int)
    require(1 <= sweeps <= MAX_EFFORT, "sweeps out of range")
    require(0 <= nodes <= MAX_EFFORT, "search_nodes out of range")
    directed = entry(settings, "directed", bool)
    graph = Graph(size, directed, cost, decoder, sweeps, nodes, types)
    graph.delta.matrix(size)  # refuses unknown names and negative entries
    state = entry(settings, "featurizer", dict)
    featurizer = GraphFeaturizer.from_state(state, under("featurizer/", arrays))
    length = graph.n_weights(featurizer.n_features_, featurizer.n_edge_features_)
    weights = read_weights(arrays, length)
    return GraphModel(TokenFeatureScoring(featurizer), graph, labels, weights, info)
