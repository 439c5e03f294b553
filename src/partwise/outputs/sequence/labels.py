"""Labels as users write them and as structures number them, and their chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.outputs.labels import is_unknown
from partwise.parameters import SettingsError
from partwise.structures.chain import Chain


def label_set(y: Any) -> list[Any]:
    """Distinct labels in order; None and NaN stand for labels that are not known."""
    seen: set[Any] = set()
    for row, labels in enumerate(y):
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            raise ValueError(
                f"y: sequence {row} is {labels!r}; give a list of labels per sequence"
            )
        seen.update(label for label in labels if not is_unknown(label))
    if not seen and any(len(labels) for labels in y):
        raise ValueError("y: no token has a label")
    try:
        ordered = sorted(seen)
    except TypeError:
        raise ValueError(
            "y: labels are of different types; make them all str"
        ) from None
    return [item.item() if isinstance(item, np.generic) else item for item in ordered]


def refuse_other_chain(tagger: Any, last: Chain) -> None:
    """Refuse to go on with a model whose transitions are of another kind."""
    for name in ("order", "boundary"):
        if getattr(tagger, name) != getattr(last, name):
            raise SettingsError(
                "<warm_start=True> goes on with the last model, which had "
                f"<{name}={getattr(last, name)!r}>; leave it as it was"
            )
