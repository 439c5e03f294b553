"""What a model file keeps of a `KernelDependencyModel`, and the checks on the way back.

Kernels do not check bounds, so nothing leaves this module that could make them read
outside their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.features.arc_keys import ArcHasher
from partwise.features.vocabulary import check_offset
from partwise.kernels.clusters import WordClusters
from partwise.kernels.inputs import SEQUENCES, Sequences
from partwise.kernels.naming import from_dict
from partwise.models._dependency_file import (
    labeller_from_state,
    labeller_state,
    support_arrays,
    support_from_arrays,
)
from partwise.models._file_checks import array, entry, inside, require, under
from partwise.models.kernel_dependency import KernelDependencyModel
from partwise.scorers.atomic_index import AtomicIndex
from partwise.structures.arborescence import Arborescence

Arrays = dict[str, np.ndarray]

MAX_HASHES = 1000


def to_state(model: KernelDependencyModel) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays."""
    for match in model.hasher.match:
        if not isinstance(match, str):
            raise ValueError(
                f"match={match!r} is a function, which cannot be kept in a file; use "
                "a named one"
            )
    index, tree = model.index, model.structure
    packed = SEQUENCES.pack(index.table)
    arrays = {f"anchors/{name}": own for name, own in packed.items()}
    arrays |= {
        "key": index.key,
        "begin": index.begin,
        "anchor": index.anchor,
        "row": index.row,
        "weight": np.asarray(model.weights, np.float64),
    }
    settings = {
        "match": list(model.hasher.match),
        "kernel": None if index.kernel is None else index.kernel.to_dict(),
        "projective": bool(tree.projective),
        "single_root": bool(tree.single_root),
        "normalized": bool(tree.normalized),
        "construction": tree.construction,
    }
    settings["labeller"], more = labeller_state(model)
    arrays |= more
    settings["clusters"] = None
    if model.clusters is not None:
        settings["clusters"], own = model.clusters.state()
        arrays |= {f"clusters/{name}": array for name, array in own.items()}
    settings["columns"] = None
    if model.support is not None:
        settings["columns"] = list(model.support.table.columns)
        own = support_arrays(model.support)
        arrays |= {f"support/{name}": array for name, array in own.items()}
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> KernelDependencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    match = entry(settings, "match", list)
    require(0 < len(match) <= MAX_HASHES, f"{len(match)} hash functions")
    require(all(isinstance(name, str) for name in match), "hashes without names")
    kernel = None
    if settings["kernel"] is not None:
        kernel = from_dict(entry(settings, "kernel", dict))
        is_sequences = isinstance(kernel.input_family(), Sequences)
        require(is_sequences, "a kernel on other inputs")
    structure = Arborescence(
        projective=entry(settings, "projective", bool),
        single_root=entry(settings, "single_root", bool),
        normalized=entry(settings, "normalized", bool),
        construction=entry(settings, "construction", str),
    )
    structure.kind()  # refuses what does not go together
    require(structure.construction != "given", "a labeller without a parser")
    table = SEQUENCES.unpack(under("anchors/", arrays))
    key = array(arrays, "key", np.int64, None)
    require(not len(key) or int(key[0]) >= 0, "a key out of range")
    require(bool((np.diff(key) > 0).all()), "keys out of order")
    anchor = array(arrays, "anchor", np.int32, None)
    begin = array(arrays, "begin", np.int64, len(key) + 1)
    check_offset(begin, len(anchor), "postings")
    inside(anchor, len(table), "an anchor")
    row = array(arrays, "row", np.int64, len(table))
    inside(row, np.iinfo(np.int64).max, "a training row")
    require(bool((np.diff(row) > 0).all()), "training rows out of order")
    weight = array(arrays, "weight", np.float64, len(anchor))
    require(bool(np.isfinite(weight).all()), "weights that are not finite")
    index = AtomicIndex(key, begin, anchor, kernel, table, row)
    labeller = labeller_from_state(settings["labeller"], arrays)
    model = KernelDependencyModel(
        ArcHasher(match), index, structure, weight, info, labeller=labeller
    )
    if settings.get("clusters") is not None:
        model.clusters = WordClusters.from_state(
            entry(settings, "clusters", dict), under("clusters/", arrays)
        )
    if settings.get("columns") is not None:
        columns = entry(settings, "columns", list)
        model.support = support_from_arrays(under("support/", arrays), columns, model)
    return model
