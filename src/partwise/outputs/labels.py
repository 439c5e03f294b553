"""Labels as a model file keeps them; which of two classes is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import entry, require
from partwise.parameters import ParameterError

MAX_LABELS = 5000  # kernels want several tables of labels × labels
POSITIVE = ("+1", "+", "1", "yes", "true", "pos", "positive", "bound")


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


def positive_last(y: Any, positive: str | None = None) -> list[Any]:
    """The two classes of y, the positive one last.

    It is the one named `positive`, else one named like +1, 1 or yes, else the last in
    their order.

    Examples
    --------
    >>> positive_last(["bound", "free", "free"])
    ['free', 'bound']
    """
    labels = np.unique(y).tolist()
    if len(labels) != 2:
        raise ValueError(f"y has {len(labels)} classes; a motif tells two apart")
    names = [str(label).lower() for label in labels]
    at = next((k for k in (1, 0) if names[k] in POSITIVE), 1)
    if positive is not None:
        if str(positive).lower() not in names:
            raise ParameterError("positive", positive, f"choose one of {labels}")
        at = names.index(str(positive).lower())
    return [labels[1 - at], labels[at]]
