"""What a model file keeps of a `KernelSequenceModel`, and its checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, read_numbers
from partwise.features import DenseFeatures, Features, featurizer_from_state
from partwise.features.label_keys import LabelHasher
from partwise.kernels.inputs import SEQUENCES
from partwise.outputs._index_file import (
    index_from_state,
    index_state,
    match_from_state,
    match_state,
)
from partwise.outputs.file_checks import entry, require, under
from partwise.outputs.sequence._kernel_model import KernelSequenceModel
from partwise.outputs.sequence.file import (
    chain_from_state,
    chain_state,
    feature_arrays,
    labels_from_state,
    support_arrays,
    support_from_arrays,
)
from partwise.readers.table import Table

Arrays = dict[str, np.ndarray]

MAX_PAIR_LABELS = 1000  # each sequence has a part for every pair of them


def to_state(model: KernelSequenceModel) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays."""
    settings, arrays = chain_state(model)
    n = model.n_coefficients
    settings["match"] = match_state(model.hasher.match)
    settings["index"], own = index_state(model.index, model.weights[:n])
    arrays |= {f"index/{name}": each for name, each in own.items()}
    arrays["tail"] = np.asarray(model.weights[n:], np.float64)
    settings["featurizer"] = None
    if model.featurizer is not None:
        settings["featurizer"], own = model.featurizer.state()
        arrays |= {f"featurizer/{name}": each for name, each in own.items()}
    support = model.support
    settings["support"] = support is not None and len(support.alpha) > 0
    if support is not None and settings["support"]:
        if isinstance(support.inputs, Table):
            packed = SEQUENCES.pack(support.inputs)
            own = {f"table/{name}": each for name, each in packed.items()}
        elif isinstance(support.inputs, Features | DenseFeatures):
            own = feature_arrays(support.inputs)
        else:
            raise ValueError(
                "support structures of sequences that are neither tables nor features "
                "cannot be kept in a file; leave keep_dual out"
            )
        arrays |= support_arrays(support, own)
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> KernelSequenceModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    chain = chain_from_state(settings, arrays, len(labels))
    hasher = LabelHasher(match_from_state(settings), labels)
    index, weight = index_from_state(
        entry(settings, "index", dict), under("index/", arrays)
    )
    require(not (index.by_token and hasher.has_pairs), "pairs of labels by token")
    require(bool(index.names) or not len(index.key), "keys without names")
    is_small = not hasher.has_pairs or len(labels) <= MAX_PAIR_LABELS
    require(is_small, f"pairs of {len(labels)} labels")
    tail = read_numbers(arrays, "tail", MAX_WEIGHT, chain.n_weights(0))
    featurizer: Any = None
    if settings["featurizer"] is not None:
        featurizer = featurizer_from_state(
            entry(settings, "featurizer", dict), under("featurizer/", arrays)
        )
    require((featurizer is not None) == index.by_token, "no rows for the kernel")
    if index.by_token and index.anchors is not None:
        fits = index.anchors.inputs.n_features == featurizer.n_features_
        require(fits, "anchors of another width")
    support = None
    if entry(settings, "support", bool):
        width = None if featurizer is None else featurizer.n_features_
        own = under("support/", arrays)
        support = support_from_arrays(own, width, len(labels))
    return KernelSequenceModel(
        featurizer, hasher, index, chain, labels, np.append(weight, tail), info, support
    )
