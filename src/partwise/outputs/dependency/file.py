"""What a model file keeps of a `DependencyModel`, and the checks when it comes back.

Weights are kept as those that are not zero: most places of a table of hashed rows are
empty. Kernels do not check bounds, so nothing leaves this module that could make them
read outside their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    check_indices,
    check_rising,
    read_array,
    read_numbers,
)
from partwise.features._arc_compiled import N_VARIANTS
from partwise.features.arcs import ArcFeaturizer
from partwise.kernels.inputs import SEQUENCES
from partwise.outputs._support_file import plane_arrays, read_lengths, read_planes
from partwise.outputs.dependency.model import DependencyModel, SupportTrees
from partwise.outputs.file_checks import entry, require, under
from partwise.structures.dependency.structure import Arborescence
from partwise.structures.losses import ARC_LOSSES

Arrays = dict[str, np.ndarray]
State = tuple[dict[str, Any], Arrays]

MAX_LABELS = 5000
MAX_CANDIDATES = 1000
MAX_WEIGHTS = 1 << 29  # 4 GB; zeros take no room in the file, but in memory


def to_state(model: DependencyModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = _own_state(model)
    settings["labeller"], more = labeller_state(model)
    arrays |= more
    settings["pruner"], more = _other_state("pruner", model.pruner)
    arrays |= more
    settings["n_candidates"] = model.n_candidates
    settings["support"], more = support_state(model)
    return settings, arrays | more


def labeller_state(model: DependencyModel) -> tuple[dict[str, Any] | None, Arrays]:
    """The labeller of a parser, if it has one."""
    return _other_state("labeller", model.labeller)


def _other_state(
    name: str, model: DependencyModel | None
) -> tuple[dict[str, Any] | None, Arrays]:
    if model is None:
        return None, {}
    settings, arrays = _own_state(model)
    settings["info"] = model.info
    return settings, {f"{name}/{key}": array for key, array in arrays.items()}


def _own_state(model: DependencyModel) -> State:
    featurizer, arrays = model.featurizer.state()
    arrays = {f"featurizer/{name}": array for name, array in arrays.items()}
    if len(model.weights) >= MAX_WEIGHTS:
        raise ValueError(f"{len(model.weights)} weights are too many for a model file")
    place = np.flatnonzero(model.weights)
    arrays["place"] = place.astype(np.int32)
    arrays["weight"] = np.asarray(model.weights[place], np.float64)
    tree = model.structure
    settings = {
        "labels": model.own_labels,
        "projective": bool(tree.projective),
        "single_root": bool(tree.single_root),
        "cost": tree.delta.saved(),
        "normalized": bool(tree.delta.normalized),
        "construction": tree.construction,
        "featurizer": featurizer,
    }
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DependencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    model = _own_model(settings, arrays, info)
    require(model.structure.construction != "given", "a labeller without a parser")
    model.labeller = labeller_from_state(settings["labeller"], arrays)
    is_doubled = model.labeller is not None and bool(model.own_labels)
    require(not is_doubled, "labels from two models")
    model.pruner = _other_model("pruner", settings["pruner"], arrays)
    model.n_candidates = entry(settings, "n_candidates", int)
    require(0 < model.n_candidates <= MAX_CANDIDATES, "number of candidates")
    if model.pruner is not None:
        require(model.pruner.structure.construction == "exact", "no pruner")
        require(model.structure.construction == "exact", "candidates without a tree")
    model.support = support_from_state(settings, arrays, model)
    return model


def labeller_from_state(settings: Any, arrays: Arrays) -> DependencyModel | None:
    """Rebuild a labeller; None for none."""
    labeller = _other_model("labeller", settings, arrays)
    if labeller is not None:
        is_labeller = labeller.structure.construction == "given"
        require(is_labeller and bool(labeller.own_labels), "no labeller")
    return labeller


def _other_model(name: str, settings: Any, arrays: Arrays) -> DependencyModel | None:
    if settings is None:
        return None
    require(isinstance(settings, dict), f"entry {name!r} is no dict")
    told = entry(settings, "info", dict)
    return _own_model(settings, under(f"{name}/", arrays), told)


def _own_model(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DependencyModel:
    labels = entry(settings, "labels", list)
    require(len(labels) <= MAX_LABELS, f"{len(labels)} labels")
    require(all(isinstance(label, str) for label in labels), "labels of other kinds")
    require(len(set(labels)) == len(labels), "a label that stands twice")
    featurizer = ArcFeaturizer.from_state(
        entry(settings, "featurizer", dict), under("featurizer/", arrays)
    )
    require(bool(labels) == bool(featurizer.label_templates), "labels without weights")
    cost = settings["cost"]
    require(
        cost in ARC_LOSSES if isinstance(cost, str) else _is_share(cost), "no such cost"
    )
    structure = Arborescence(
        len(labels),
        projective=entry(settings, "projective", bool),
        single_root=entry(settings, "single_root", bool),
        cost=cost,
        normalized=entry(settings, "normalized", bool),
        construction=entry(settings, "construction", str),
    )
    structure.kind()  # refuses what does not go together
    width = -(-len(labels) // 4) * 4
    size = featurizer.n_rows_ * N_VARIANTS + featurizer.n_label_rows_ * 2 * width
    require(size < MAX_WEIGHTS, f"{size} weights")
    place = read_array(arrays, "place", np.int32, None)
    weight = read_numbers(arrays, "weight", MAX_WEIGHT, len(place))
    check_indices(place, size, "the place of a weight")
    check_rising(place, "places of weights")
    weights = np.zeros(size)
    weights[place] = weight
    return DependencyModel(featurizer, structure, labels, weights, info)


def _is_share(cost: Any) -> bool:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return is_number and 0.0 <= cost <= 1.0


# ------------------------------------------------------------------------- support


def support_state(model: DependencyModel) -> tuple[bool, Arrays]:
    """Whether a parser has a dual, and its arrays."""
    support = model.support
    if support is None or not len(support.alpha):
        return False, {}
    packed = SEQUENCES.pack(support.table)
    arrays = {
        "y": np.asarray(support.y, np.int32),
        **plane_arrays(support.cuts, support.alpha, support.rows),
        **{f"table/{name}": own for name, own in packed.items()},
    }
    return True, {f"support/{name}": own for name, own in arrays.items()}


def support_from_state(
    settings: dict[str, Any], arrays: Arrays, model: DependencyModel
) -> SupportTrees | None:
    """Rebuild a dual of this model; None for none."""
    if not entry(settings, "support", bool):
        return None
    arrays = under("support/", arrays)
    table = SEQUENCES.unpack(under("table/", arrays))
    lengths = read_lengths(table.offset)
    size = max(len(model.own_labels), 1)
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: n)
    y = read_array(arrays, "y", np.int32, table.n_tokens)
    for code, length in ((y, lengths), (cuts.code, lengths[cuts.block])):
        limit = np.repeat((length + 1) * size, length)
        is_head = (code >= 0) & (code < limit)
        require(bool(is_head.all()), "a head out of range")
    return SupportTrees(table, y, cuts, alpha, rows)
