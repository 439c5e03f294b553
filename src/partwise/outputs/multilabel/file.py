"""What a model file keeps of a `MultilabelModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, entry, read_numbers, require
from partwise.outputs.labels import labels_from_state
from partwise.outputs.multilabel.model import MultilabelModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.structures.multilabel import Multilabel


def to_state(model: MultilabelModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    settings: dict[str, Any] = {
        "labels": model.labels,
        "pairs": structure.pair_array().tolist(),
        "implications": np.reshape(structure.implications, (-1, 2)).tolist(),
        "cost": structure.cost,
        "max_labels": structure.max_labels,
        "search_nodes": structure.search_nodes,
    }
    structure_from_state(settings)
    n_table = model.class_weights().size
    scoring, arrays = model.scoring.to_state(model.weights[:n_table])
    arrays["pairs/weights"] = model.pair_weights()
    return settings | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> MultilabelModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    structure = structure_from_state(settings)
    labels = settings["labels"]
    scoring, weights = RowFeatureScoring.from_state(settings, arrays, labels)
    n_pairs = len(structure.pair_array())
    pairs = read_numbers(arrays, "pairs/weights", MAX_WEIGHT, n_pairs)
    weights = np.concatenate([weights, pairs])
    return MultilabelModel(scoring, structure, labels, weights, info)


def structure_from_state(settings: dict[str, Any]) -> Multilabel:
    """The structure over the labels."""
    labels = labels_from_state(settings)
    given = {name: entry(settings, name, list) for name in ("pairs", "implications")}
    for name, pairs in given.items():
        for pair in pairs:
            is_pair = isinstance(pair, list) and list(map(type, pair)) == [int, int]
            fits = is_pair and all(0 <= k < len(labels) for k in pair)
            require(fits, f"{name} of other labels")
    most = settings["max_labels"]
    limit = len(labels) if most is None else entry(settings, "max_labels", int)
    require(0 < limit <= len(labels), "max_labels out of range")
    nodes = entry(settings, "search_nodes", int)
    require(0 < nodes <= 10**9, "search_nodes out of range")
    cost = entry(settings, "cost", str)
    structure = Multilabel(
        len(labels), cost=cost, max_labels=most, search_nodes=nodes, **given
    )
    structure.check()
    return structure
