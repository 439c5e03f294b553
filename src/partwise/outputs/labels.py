"""Labels as a model file keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from partwise.bounds import entry, require

MAX_LABELS = 5000  # kernels want several tables of labels × labels


def check_labels(labels: Iterable[Any]) -> None:
    """Refuse, before training, labels that no model file can keep."""
    for label in labels:
        if isinstance(label, str) and not label.isascii():
            try:
                label.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"y: label {label!r} has half a character (a lone surrogate), "
                    "which no file can keep; decode the text again"
                ) from None
        elif isinstance(label, int) and abs(label) >= 2**63:
            raise ValueError("y: a label beyond 64 bits; make labels strings")


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
