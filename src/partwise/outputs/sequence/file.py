"""The part of a `SequenceModel` in a model file, and the checks when it is read.

Two kinds of file hold one: ``SequenceModel`` with features, ``KernelSequenceModel``
with keys and an index. They differ in what the scoring writes.

Kernels do not check bounds, so nothing leaves this module that could make them read
outside their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import entry, read_array, require
from partwise.outputs.label_scoring import TokenFeatureScoring, TokenKeyScoring
from partwise.outputs.labels import cost_from_state, cost_state, labels_from_state
from partwise.outputs.scoring import Arrays, State
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.support_file import support_from_state, support_state
from partwise.structures.chain import Chain

MASKS = ("transitions", "starts", "ends")


def to_state(model: SequenceModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = chain_state(model)
    scoring, more = model.scoring.to_state(model.weights)
    support, planes = support_state(model.support)
    return settings | scoring | support, arrays | more | planes


def chain_state(model: SequenceModel) -> State:
    """Labels and the chain over them."""
    chain, arrays = model.structure, {}
    for name in MASKS:
        if getattr(chain, name) is not None:
            arrays[f"chain/{name}"] = np.asarray(getattr(chain, name), np.bool_)
    cost, more = cost_state(chain.delta.saved(), "chain/cost")
    settings = {
        "labels": model.labels,
        "order": int(chain.order),
        "boundary": bool(chain.boundary),
        "cost": cost,
    }
    labels_from_state(settings)
    return settings, arrays | more


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> SequenceModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    chain = chain_from_state(settings, arrays, len(labels))
    kind = TokenKeyScoring if "index" in settings else TokenFeatureScoring
    scoring, weights = kind.from_state(settings, arrays, chain, labels)
    featurizer = scoring.featurizer
    support = support_from_state(settings, arrays, featurizer, len(labels))
    return SequenceModel(scoring, chain, labels, weights, info, support)


def chain_from_state(settings: dict[str, Any], arrays: Arrays, n_labels: int) -> Chain:
    """The chain over `n_labels` labels."""
    order = entry(settings, "order", int)
    require(order in (0, 1, 2), f"order {order}")
    cost = cost_from_state(settings, arrays, n_labels, "chain/cost")
    masks = {}
    for name in MASKS:
        if f"chain/{name}" in arrays:
            shape = (n_labels,) * (2 if name == "transitions" else 1)
            masks[name] = read_array(arrays, f"chain/{name}", np.bool_, *shape)
    boundary = entry(settings, "boundary", bool)
    chain = Chain(n_labels, order, boundary, cost=cost, **masks)
    chain.cost_matrix()  # refuses unknown names and negative entries
    require(_has_outputs(chain), "constraints that allow no sequence of labels")
    return chain


def _has_outputs(chain: Chain) -> bool:
    """Whether a last label can be reached from a first one."""
    follows, new, ends = (mask == 0 for mask in chain.masks())
    reached = new
    while new.any():
        new = follows[new].any(axis=0) & ~reached
        reached = reached | new
    return bool((reached & ends).any())
