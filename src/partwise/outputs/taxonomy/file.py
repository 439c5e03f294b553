"""What model files keep of models over a taxonomy, and the checks when they are read.

``TaxonomyModel`` has features, ``KernelTaxonomyModel`` keys and an index;
``NodeSetModel`` predicts several classes per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, entry, read_numbers, require
from partwise.outputs.labels import labels_from_state
from partwise.outputs.row_keys import row_scoring_from_state
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.outputs.support_file import support_from_state, support_state
from partwise.outputs.taxonomy.model import NodeSetModel, TaxonomyModel
from partwise.structures.taxonomy import NodeSets, Taxonomy
from partwise.structures.taxonomy.nodes import Nodes


def to_state(model: TaxonomyModel | NodeSetModel) -> State:
    """Settings for JSON, and arrays."""
    structure: Any = model.structure
    nodes = structure.nodes
    settings: dict[str, Any] = {
        "nodes": nodes.names,
        "parents": [list(up) for up in nodes.parents],
    }
    nodes_from_state(settings)
    scoring, arrays = model.scoring.to_state(model.weights)
    settings |= scoring
    is_set = isinstance(structure, NodeSets)
    cost = structure.node_cost if is_set else structure.cost
    if not isinstance(cost, str):
        arrays["cost"], cost = np.asarray(cost, np.float64), "given"
    settings["cost"] = cost
    if is_set:
        return settings | {"leaves": structure.leaves}, arrays
    support, planes = support_state(model.support)
    settings |= {"labels": model.labels, "features": structure.features}
    return settings | support, arrays | planes


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> TaxonomyModel | NodeSetModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    nodes = nodes_from_state(settings)
    cost: Any = entry(settings, "cost", str)
    if "leaves" in settings:
        if cost == "given":
            cost = read_numbers(arrays, "cost", MAX_FEATURE, len(nodes))
        sets = NodeSets(nodes, cost, entry(settings, "leaves", str))
        sets.check()
        sets.costs()  # refuses what are none
        rows, weights = RowFeatureScoring.from_state(settings, arrays, nodes.names)
        return NodeSetModel(rows, sets, nodes.names, weights, info)
    labels = labels_from_state(settings)
    require(all(label in nodes.number for label in labels), "a class that is no node")
    if cost == "given":
        cost = read_numbers(arrays, "cost", MAX_FEATURE, len(labels), len(labels))
    structure = Taxonomy(nodes, labels, cost, entry(settings, "features", str))
    structure.cost_matrix()
    structure.attribute_matrix()
    names = structure.attribute_names
    scoring, weights = row_scoring_from_state(
        settings, arrays, labels, structure, names
    )
    featurizer = scoring.featurizer
    support = support_from_state(settings, arrays, featurizer, len(labels))
    return TaxonomyModel(scoring, structure, labels, weights, info, support)


def nodes_from_state(settings: dict[str, Any]) -> Nodes:
    """The nodes, each after its parents."""
    names = labels_from_state({"labels": entry(settings, "nodes", list)})
    return Nodes.from_lists(names, entry(settings, "parents", list))
