"""Labels as users write them and as structures number them, and their chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.outputs.labels import check_labels
from partwise.parameters import SettingsError
from partwise.protocol import Ints
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
    known = [item.item() if isinstance(item, np.generic) else item for item in ordered]
    check_labels(known)
    return known


def is_unknown(label: Any) -> bool:
    """Whether a label is missing: None or NaN."""
    return label is None or bool(label != label)


def encode_labels(y: Any, offset: Ints, labels: list[Any]) -> Ints:
    """Numbers of the labels of all tokens, −1 for None; refuses what does not fit X."""
    if len(y) != len(offset) - 1:
        raise ValueError(f"y has {len(y)} sequences where X has {len(offset) - 1}")
    number = {label: k for k, label in enumerate(labels)}
    codes: list[int] = []
    for row, here in enumerate(y):
        if len(here) != offset[row + 1] - offset[row]:
            raise ValueError(
                f"sequence {row} has {offset[row + 1] - offset[row]} tokens in X and "
                f"{len(here)} labels in y"
            )
        try:
            codes += [-1 if is_unknown(label) else number[label] for label in here]
        except KeyError as error:
            raise ValueError(
                f"y: sequence {row} has label {error.args[0]!r}, which the model does "
                "not know"
            ) from None
    return np.array(codes, np.int32)


def refuse_other_chain(tagger: Any, last: Chain) -> None:
    """Refuse to go on with a model whose transitions are of another kind."""
    for name in ("order", "boundary"):
        if getattr(tagger, name) != getattr(last, name):
            raise SettingsError(
                "<warm_start=True> goes on with the last model, which had "
                f"<{name}={getattr(last, name)!r}>; leave it as it was"
            )
