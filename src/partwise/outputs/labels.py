"""Labels as a model file keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, entry, read_numbers, require

MAX_LABELS = 5000  # kernels want several tables of labels × labels


def cost_state(cost: Any, name: str = "cost") -> tuple[str, dict[str, np.ndarray]]:
    """Costs of labels by name, or ``"matrix"`` and its array."""
    if isinstance(cost, str):
        return cost, {}
    return "matrix", {name: np.asarray(cost, np.float64)}


def cost_from_state(
    settings: dict[str, Any], arrays: Any, size: int, name: str = "cost"
) -> Any:
    """What `cost_state` gave, of as many labels."""
    cost = entry(settings, "cost", str)
    if cost == "matrix":
        return read_numbers(arrays, name, MAX_FEATURE, size, size)
    return cost


def typed_labels(settings: dict[str, Any]) -> tuple[list[Any], list[Any] | None]:
    """Labels of one kind, each once among those of its type, and these types."""
    types = settings.get("types")  # files had none before there were types
    if types is None:
        return labels_from_state(settings), None
    labels = entry(settings, "labels", list)
    is_listed = isinstance(types, list) and len(types) == len(labels) > 0
    require(is_listed and {type(t) for t in types} in ({str}, {int}), "types of labels")
    for kind in dict.fromkeys(types):
        here = [label for t, label in zip(types, labels, strict=True) if t == kind]
        labels_from_state({"labels": here})
    return labels, types


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
