"""Labels as a model file keeps them."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require

MAX_LABELS = 5000  # kernels want several tables of labels × labels


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
