"""What a model file keeps of a `KernelDependencyModel`, and its checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.features.arc_keys import ArcHasher
from partwise.kernels.clusters import WordClusters
from partwise.outputs._index_file import (
    index_from_state,
    index_state,
    match_from_state,
    match_state,
)
from partwise.outputs.dependency._kernel_model import KernelDependencyModel
from partwise.outputs.dependency.file import (
    labeller_from_state,
    labeller_state,
    support_from_state,
    support_state,
)
from partwise.outputs.file_checks import entry, require, under
from partwise.structures.dependency import Arborescence

Arrays = dict[str, np.ndarray]


def to_state(model: KernelDependencyModel) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays."""
    tree = model.structure
    settings: dict[str, Any] = {
        "match": match_state(model.hasher.match),
        "projective": bool(tree.projective),
        "single_root": bool(tree.single_root),
        "normalized": bool(tree.normalized),
        "construction": tree.construction,
    }
    settings["index"], own = index_state(model.index, model.weights)
    arrays = {f"index/{name}": array for name, array in own.items()}
    settings["labeller"], more = labeller_state(model)
    arrays |= more
    settings["clusters"] = None
    if model.clusters is not None:
        settings["clusters"], own = model.clusters.state()
        arrays |= {f"clusters/{name}": array for name, array in own.items()}
    settings["support"], more = support_state(model)
    return settings, arrays | more


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> KernelDependencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    structure = Arborescence(
        projective=entry(settings, "projective", bool),
        single_root=entry(settings, "single_root", bool),
        normalized=entry(settings, "normalized", bool),
        construction=entry(settings, "construction", str),
    )
    structure.kind()  # refuses what does not go together
    require(structure.construction != "given", "a labeller without a parser")
    index, weight = index_from_state(
        entry(settings, "index", dict), under("index/", arrays)
    )
    require(not index.by_token, "a kernel on single words")
    clusters = None
    if settings.get("clusters") is not None:
        clusters = WordClusters.from_state(
            entry(settings, "clusters", dict), under("clusters/", arrays)
        )
    model = KernelDependencyModel(
        ArcHasher(match_from_state(settings)), index, structure, weight, info,
        labeller=labeller_from_state(settings["labeller"], arrays), clusters=clusters,
    )  # fmt: skip
    model.support = support_from_state(settings, arrays, model)
    return model
