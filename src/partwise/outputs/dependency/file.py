"""What a model file keeps of a `DependencyModel`, and the checks when it is read.

Two kinds of file hold one: ``DependencyModel`` with features, ``KernelDependencyModel``
with keys and an index. Kernels do not check bounds, so nothing leaves this module that
could make them read outside their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import entry, read_array, require, under
from partwise.features.sentences import shown_words
from partwise.kernels.inputs import SEQUENCES
from partwise.outputs._support_file import (
    input_arrays,
    plane_arrays,
    read_lengths,
    read_planes,
)
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.dependency.scoring import ArcFeatureScoring, ArcKeyScoring
from partwise.outputs.labels import MAX_LABELS
from partwise.outputs.scoring import Arrays, State, prefixed
from partwise.outputs.support import SupportSet
from partwise.structures.dependency import Arborescence
from partwise.structures.losses import ARC_LOSSES

MAX_CANDIDATES = 1000


def to_state(model: DependencyModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = _first_stage(model)
    others = {"labeller": model.labeller}
    if model.scoring.has_labels:
        others["pruner"] = model.pruner
        settings["n_candidates"] = model.n_candidates
    for name, other in others.items():
        settings[name] = None
        if other is not None:
            state, more = _first_stage(other)
            settings[name] = state | {"info": other.info}
            arrays |= prefixed(name, more)
    settings["support"], more = support_state(model)
    return settings, arrays | more


def _first_stage(model: DependencyModel) -> State:
    """A model without its labeller and pruner."""
    tree = model.structure
    settings: dict[str, Any] = {
        "projective": bool(tree.projective),
        "single_root": bool(tree.single_root),
        "normalized": bool(tree.delta.normalized),
        "construction": tree.construction,
    }
    if model.scoring.has_labels:
        settings |= {"labels": model.joint_labels, "cost": tree.delta.saved()}
    scoring, arrays = model.scoring.to_state(model.weights)
    return settings | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DependencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    model = _first_model(settings, arrays, info)
    require(model.structure.construction != "given", "a labeller without a parser")
    labeller = model.labeller = _other_model("labeller", settings, arrays)
    if labeller is not None:
        is_labeller = labeller.structure.construction == "given"
        require(is_labeller and bool(labeller.joint_labels), "no labeller")
        require(not model.joint_labels, "labels from two models")
    if model.scoring.has_labels:
        model.pruner = _other_model("pruner", settings, arrays)
        model.n_candidates = entry(settings, "n_candidates", int)
        require(0 < model.n_candidates <= MAX_CANDIDATES, "number of candidates")
    if model.pruner is not None:
        require(model.pruner.structure.construction == "exact", "no pruner")
        require(model.structure.construction == "exact", "candidates without a tree")
    model.support = support_from_state(settings, arrays, model)
    return model


def _other_model(
    name: str, settings: dict[str, Any], arrays: Arrays
) -> DependencyModel | None:
    """Rebuild the labeller or pruner of a model; None for none."""
    if settings[name] is None:
        return None
    state = entry(settings, name, dict)
    info = entry(state, "info", dict)
    model = _first_model(state, under(f"{name}/", arrays), info)
    require(model.scoring.has_labels, f"a {name} without features")
    return model


def _first_model(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DependencyModel:
    kind = ArcKeyScoring if "index" in settings else ArcFeatureScoring
    labels: list[Any] = []
    cost: Any = "uas"
    if kind.has_labels:
        labels, cost = entry(settings, "labels", list), settings["cost"]
        require(len(labels) <= MAX_LABELS, f"{len(labels)} labels")
        is_text = all(isinstance(label, str) for label in labels)
        require(is_text, "labels of other kinds")
        require(len(set(labels)) == len(labels), "a label that stands twice")
        is_cost = cost in ARC_LOSSES if isinstance(cost, str) else _is_share(cost)
        require(is_cost, "no such cost")
    structure = Arborescence(
        len(labels),
        projective=entry(settings, "projective", bool),
        single_root=entry(settings, "single_root", bool),
        cost=cost,
        normalized=entry(settings, "normalized", bool),
        construction=entry(settings, "construction", str),
    )
    structure.kind()  # refuses what does not go together
    scoring, weights = kind.from_state(settings, arrays, len(labels))
    return DependencyModel(scoring, structure, labels, weights, info)


def _is_share(cost: Any) -> bool:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return is_number and 0.0 <= cost <= 1.0


# ------------------------------------------------------------------------- support


def support_state(model: DependencyModel) -> tuple[bool, Arrays]:
    """Whether a parser has a dual, and its arrays."""
    support = model.support
    if support is None or not len(support.alpha):
        return False, {}
    arrays = {
        "y": np.asarray(support.y, np.int32),
        **plane_arrays(support.cuts, support.alpha, support.rows),
        **input_arrays(support.inputs),
    }
    return True, prefixed("support", arrays)


def support_from_state(
    settings: dict[str, Any], arrays: Arrays, model: DependencyModel
) -> SupportSet | None:
    """Rebuild a dual of this model; None for none."""
    if not entry(settings, "support", bool):
        return None
    arrays = under("support/", arrays)
    table = SEQUENCES.unpack(under("table/", arrays))
    lengths = read_lengths(table.offset)
    size = max(len(model.joint_labels), 1)
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: n)
    y = read_array(arrays, "y", np.int32, table.n_tokens)
    for code, length in ((y, lengths), (cuts.code, lengths[cuts.block])):
        limit = np.repeat((length + 1) * size, length)
        is_head = (code >= 0) & (code < limit)
        require(bool(is_head.all()), "a head out of range")
    return SupportSet(table, y, cuts, alpha, rows, shown_words(table))
