"""What a model file keeps of a `SequenceModel`, and the checks when it is read.

Two kinds of file hold one: ``SequenceModel`` with features, ``KernelSequenceModel``
with keys and an index. They differ in what the scoring writes.

Kernels do not check bounds, so nothing leaves this module that could make them read
outside their arrays.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    check_indices,
    check_rows,
    entry,
    read_array,
    read_numbers,
    require,
    under,
)
from partwise.features import DenseFeatures, Features
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.kernels.inputs import SEQUENCES
from partwise.outputs._support_file import plane_arrays, read_lengths, read_planes
from partwise.outputs.scoring import Arrays, State, prefixed
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.sequence.scoring import TokenFeatureScoring, TokenKeyScoring
from partwise.outputs.sequence.support import SupportSet
from partwise.readers.table import Table
from partwise.structures.chain import Chain

MAX_LABELS = 5000  # the kernels want several tables of labels × labels
MASKS = ("transitions", "starts", "ends")


def to_state(model: SequenceModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = chain_state(model)
    scoring, more = model.scoring.to_state(model.weights)
    arrays |= more
    support = model.support
    has_support = support is not None and len(support.alpha) > 0
    if support is not None and has_support:
        arrays |= support_arrays(support)
    return settings | scoring | {"support": has_support}, arrays


def chain_state(model: SequenceModel) -> State:
    """Labels and the chain over them."""
    chain, arrays = model.structure, {}
    for name in MASKS:
        if getattr(chain, name) is not None:
            arrays[f"chain/{name}"] = np.asarray(getattr(chain, name), np.bool_)
    cost = chain.delta.saved()
    if not isinstance(cost, str):
        arrays["chain/cost"] = cost
    settings = {
        "labels": model.labels,
        "order": int(chain.order),
        "boundary": bool(chain.boundary),
        "cost": cost if isinstance(cost, str) else "matrix",
    }
    labels_from_state(settings)
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> SequenceModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    chain = chain_from_state(settings, arrays, len(labels))
    kind = TokenKeyScoring if "index" in settings else TokenFeatureScoring
    scoring, weights = kind.from_state(settings, arrays, chain, labels)
    support = None
    if entry(settings, "support", bool):
        featurizer = scoring.featurizer
        n_features = None if featurizer is None else featurizer.n_features_
        inputs = under("support/", arrays)
        support = support_from_arrays(inputs, n_features, len(labels))
    return SequenceModel(scoring, chain, labels, weights, info, support)


def labels_from_state(settings: dict[str, Any]) -> list[Any]:
    """Labels of one kind, each once."""
    labels = entry(settings, "labels", list)
    require(0 < len(labels) <= MAX_LABELS, f"{len(labels)} labels")
    kinds = {type(label) for label in labels}
    require(
        len(kinds) == 1 and kinds <= {str, int, bool, float},
        "labels that are not of one kind",
    )
    require(len(set(labels)) == len(labels), "a label that stands twice")
    return labels


def chain_from_state(settings: dict[str, Any], arrays: Arrays, n_labels: int) -> Chain:
    """The chain over as many labels."""
    order = entry(settings, "order", int)
    require(order in (0, 1, 2), f"order {order}")
    cost: Any = entry(settings, "cost", str)
    if cost == "matrix":
        cost = read_numbers(arrays, "chain/cost", MAX_FEATURE, n_labels, n_labels)
    masks = {}
    for name in MASKS:
        if f"chain/{name}" in arrays:
            shape = (n_labels,) * (2 if name == "transitions" else 1)
            masks[name] = read_array(arrays, f"chain/{name}", np.bool_, *shape)
    boundary = entry(settings, "boundary", bool)
    chain = Chain(n_labels, order, boundary, cost=cost, **masks)
    chain.cost_matrix()  # refuses unknown names and negative entries
    return chain


# ------------------------------------------------------------------------- support


def input_arrays(inputs: Any) -> Arrays:
    """Arrays of the sequences of a support: a table, or features."""
    if isinstance(inputs, Table):
        return prefixed("table", SEQUENCES.pack(inputs))
    if isinstance(inputs, DenseFeatures):
        return {"X": inputs.X}
    if isinstance(inputs, Features):
        names = ("indptr", "indices", "data")
        return {name: getattr(inputs, name) for name in names}
    raise ValueError(
        "support structures of sequences that are neither tables nor features cannot "
        "be kept in a file; leave keep_dual out"
    )


def support_arrays(support: SupportSet) -> Arrays:
    """Arrays of a dual and of its sequences."""
    arrays: Arrays = {
        "offset": np.asarray(support.offset, np.int64),
        "y": np.asarray(support.y, np.int32),
        **string_arrays([t for row in support.tokens for t in row]),
        **plane_arrays(support.cuts, support.alpha, support.rows),
        **input_arrays(support.inputs),
    }
    return prefixed("support", arrays)


def support_from_arrays(
    arrays: Arrays, n_features: int | None, n_labels: int
) -> SupportSet:
    """Rebuild a dual; without a number of features its sequences are in a table."""
    offset = read_array(arrays, "offset", np.int64, None)
    lengths = read_lengths(offset)
    n_tokens = int(offset[-1])
    inputs: Any
    if "table/offset" in arrays:
        inputs = SEQUENCES.unpack(under("table/", arrays))
        require(np.array_equal(inputs.offset, offset), "support of other lengths")
    else:
        require(n_features is not None, "support sequences without content")
        inputs = _features(arrays, offset, n_features or 0)
    y = read_array(arrays, "y", np.int32, n_tokens)
    check_indices(y, n_labels, "a true label")
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: n)
    check_indices(cuts.code, n_labels, "a label of a cut")
    strings = read_strings(arrays, n=n_tokens)
    tokens = [strings[a:b] for a, b in pairwise(offset.tolist())]
    return SupportSet(inputs, y, cuts, alpha, rows, tokens)


def _features(
    arrays: Arrays, offset: np.ndarray, n_features: int
) -> Features | DenseFeatures:
    n_tokens = int(offset[-1])
    if "X" in arrays:
        X = read_numbers(arrays, "X", MAX_FEATURE, n_tokens, n_features)
        return DenseFeatures(X, offset)
    indptr = read_array(arrays, "indptr", np.int64, n_tokens + 1)
    indices = read_array(arrays, "indices", np.int32, None)
    check_rows(indptr, indices, (n_tokens, n_features), "support features")
    data = read_numbers(arrays, "data", MAX_FEATURE)
    fits = len(data) == len(indices) or (len(data) == 1 and data[0] == 1.0)
    require(fits, "values of features that do not fit")
    return Features(indptr, indices, data, offset, n_features)
