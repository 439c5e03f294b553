"""What a model file keeps of a `Chain`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import Arrays, entry, read_array, require
from partwise.structures.chain.structure import Chain
from partwise.structures.losses.file import cost_from_state, cost_state

MASKS = ("transitions", "starts", "ends")


def chain_state(chain: Chain) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays."""
    cost, arrays = cost_state(chain.delta.saved(), "chain/cost")
    for name in MASKS:
        if getattr(chain, name) is not None:
            arrays[f"chain/{name}"] = np.asarray(getattr(chain, name), np.bool_)
    settings = {"order": int(chain.order), "boundary": bool(chain.boundary)}
    return settings | {"cost": cost}, arrays


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
