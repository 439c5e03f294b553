"""What a model file keeps of a `DependencyModel`, and the checks when it is read.

Two kinds of file hold one: ``DependencyModel`` with features, ``KernelDependencyModel``
with keys and an index. Kernels do not check bounds, so nothing leaves this module that
could make them read outside their arrays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from partwise.bounds import entry, require, under
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.scoring import Arrays, State, prefixed
from partwise.outputs.support_file import (
    sentence_support_from_state,
    sentence_support_state,
)
from partwise.outputs.tree_scoring import ArcFeatureScoring, ArcKeyScoring
from partwise.structures.dependency.file import (
    check_codes,
    tree_from_state,
    tree_state,
)

MAX_CANDIDATES = 1000


def to_state(model: DependencyModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = _first_stage(model)
    stages = {"labeller": model.labeller}
    if model.scoring.has_labels:
        stages["pruner"] = model.pruner
        settings["n_candidates"] = model.n_candidates
    for name, stage in stages.items():
        settings[name] = None
        if stage is not None:
            state, stage_arrays = _first_stage(stage)
            settings[name] = state | {"info": stage.info}
            arrays |= prefixed(name, stage_arrays)
    support, planes = sentence_support_state(model.support)
    return settings | support, arrays | planes


def _first_stage(model: DependencyModel) -> State:
    """A model without its labeller and pruner."""
    scoring, arrays = model.scoring.to_state(model.weights)
    labels = model.joint_labels if model.scoring.has_labels else None
    return tree_state(model.structure, labels) | scoring, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> DependencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    model = _first_model(settings, arrays, info)
    construction, labels = model.structure.construction, model.labels
    require(construction != "given", "a labeller without a parser")
    labeller = model.labeller = _other_model("labeller", settings, arrays)
    if labeller is not None:
        is_labeller = labeller.structure.construction == "given"
        require(is_labeller and bool(labeller.labels), "no labeller")
        require(not labels, "labels from two models")
        model.labels = labeller.labels
    if model.scoring.has_labels:
        model.pruner = _other_model("pruner", settings, arrays)
        model.n_candidates = entry(settings, "n_candidates", int)
        require(0 < model.n_candidates <= MAX_CANDIDATES, "number of candidates")
    if model.pruner is not None:
        require(model.pruner.structure.construction == "exact", "no pruner")
        require(construction == "exact", "candidates without a tree")
    check = partial(check_codes, n_labels=len(labels))
    model.support = sentence_support_from_state(settings, arrays, check)
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
    structure, labels = tree_from_state(settings, kind.has_labels)
    scoring, weights = kind.from_state(settings, arrays, len(labels))
    return DependencyModel(scoring, structure, labels, weights, info)
