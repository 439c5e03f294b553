"""A chain over labels with names: costs by name, tag schemes, forbidden pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.structures.chain.structure import Chain
from partwise.structures.chain.tag_schemes import forbidden_masks, scheme_masks


def make_chain(
    labels: list[Any],
    order: int,
    boundary: bool,
    cost: Any,
    scheme: str | None,
    forbidden: Any,
) -> Chain:
    """The chain over these labels that a tagger's parameters describe."""
    if isinstance(cost, dict):
        given, cost = cost, 1.0 - np.eye(len(labels))
        number = {label: k for k, label in enumerate(labels)}
        for (truth, predicted), value in given.items():
            if truth in number and predicted in number:  # may be absent in a fold
                cost[number[truth], number[predicted]] = value
    masks: dict[str, Any] = {}
    if scheme is not None:
        masks = scheme_masks(labels, scheme)._asdict()
    if forbidden is not None:
        more = forbidden_masks(labels, forbidden)._asdict()
        masks = {name: more[name] & masks.get(name, True) for name in more}
    return Chain(len(labels), order=order, boundary=boundary, cost=cost, **masks)
