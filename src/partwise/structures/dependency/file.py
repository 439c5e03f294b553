"""What a model file keeps of dependency trees, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import entry, require
from partwise.protocol import Ints
from partwise.structures.dependency.structure import Arborescence
from partwise.structures.losses import ARC_LOSSES

MAX_LABELS = 5000  # kernels want several tables of labels × labels


def tree_state(structure: Arborescence, labels: list[str] | None) -> dict[str, Any]:
    """Settings for JSON; without labels and their cost where `labels` is None."""
    settings: dict[str, Any] = {
        "projective": bool(structure.projective),
        "single_root": bool(structure.single_root),
        "normalized": bool(structure.delta.normalized),
        "construction": structure.construction,
    }
    if labels is not None:
        settings |= {"labels": labels, "cost": structure.delta.saved()}
    return settings


def tree_from_state(
    settings: dict[str, Any], has_labels: bool
) -> tuple[Arborescence, list[str]]:
    """Rebuild the structure and its labels; raises ValueError for what does not fit."""
    labels: list[Any] = []
    cost: Any = "uas"
    if has_labels:
        labels, cost = entry(settings, "labels", list), settings["cost"]
        require(len(labels) <= MAX_LABELS, f"{len(labels)} labels")
        is_text = all(isinstance(label, str) for label in labels)
        require(is_text, "labels of other kinds")
        require(len(set(labels)) == len(labels), "a label that stands twice")
        is_cost = cost in ARC_LOSSES if isinstance(cost, str) else _is_share(cost)
        require(is_cost, "no such cost")
    structure = Arborescence(
        len(labels),
        projective=entry(settings, "projective", bool),
        single_root=entry(settings, "single_root", bool),
        cost=cost,
        normalized=entry(settings, "normalized", bool),
        construction=entry(settings, "construction", str),
    )
    structure.kind()  # refuses what does not go together
    return structure, labels


def _is_share(cost: Any) -> bool:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return is_number and 0.0 <= cost <= 1.0


def check_codes(code: Ints, lengths: Ints, n_labels: int) -> None:
    """Refuse heads and labels that do not exist, of sentences of these lengths."""
    limit = np.repeat((lengths + 1) * max(n_labels, 1), lengths)
    require(bool(((code >= 0) & (code < limit)).all()), "a head out of range")
