"""A chain over labels with names: costs by name, tag schemes, forbidden pairs."""

from __future__ import annotations

from typing import Any

from partwise.parameters import warn_of_unknown
from partwise.structures.chain.structure import Chain
from partwise.structures.chain.tag_schemes import forbidden_masks, scheme_masks
from partwise.structures.losses.named import cost_table


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
        cost = cost_table("cost", cost, labels)
    masks: dict[str, Any] = {}
    if scheme is not None:
        masks = scheme_masks(labels, scheme)._asdict()
    if forbidden is not None:
        more = forbidden_masks(labels, forbidden)._asdict()
        names = [label for pair in forbidden for label in pair if label is not None]
        warn_of_unknown("forbidden", names, labels)
        masks = {name: more[name] & masks.get(name, True) for name in more}
    return Chain(len(labels), order=order, boundary=boundary, cost=cost, **masks)
