"""Labels as users write them and as structures number them, and their chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.parameters import SettingsError
from partwise.protocol import Ints
from partwise.readers.table import Table
from partwise.structures.chain import Chain
from partwise.structures.chain.tag_schemes import forbidden_masks, scheme_masks


def label_set(y: Any) -> list[Any]:
    """Distinct labels in order; refuses missing ones by their place."""
    seen = set()
    for row, labels in enumerate(y):
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            raise ValueError(
                f"y: sequence {row} is {labels!r}; give a list of labels per sequence"
            )
        for t, label in enumerate(labels):
            if label is None or label != label:
                raise ValueError(
                    f"y: sequence {row} has no label at token {t}; learning from "
                    "partly labelled sequences is not supported yet, leave it out"
                )
        seen.update(labels)
    try:
        ordered = sorted(seen)
    except TypeError:
        raise ValueError(
            "y: labels are of different types; make them all str"
        ) from None
    return [item.item() if isinstance(item, np.generic) else item for item in ordered]


def encode_labels(y: Any, offset: Ints, labels: list[Any]) -> Ints:
    """Numbers of the labels of all tokens; refuses what does not fit X."""
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
            codes += [number[label] for label in here]
        except KeyError as error:
            raise ValueError(
                f"y: sequence {row} has label {error.args[0]!r}, which the model does "
                "not know"
            ) from None
    return np.array(codes, np.int32)


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
    names = ("transitions", "starts", "ends")
    masks: dict[str, Any] = {}
    if scheme is not None:
        masks = dict(zip(names, scheme_masks(labels, scheme), strict=True))
    if forbidden is not None:
        more = forbidden_masks(labels, forbidden)
        for name, allowed in zip(names, more, strict=True):
            masks[name] = allowed & masks.get(name, True)
    return Chain(len(labels), order=order, boundary=boundary, cost=cost, **masks)


def refuse_other_chain(tagger: Any, last: Chain) -> None:
    """Refuse to go on with a model whose transitions are of another kind."""
    for name in ("order", "boundary"):
        if getattr(tagger, name) != getattr(last, name):
            raise SettingsError(
                "<warm_start=True> goes on with the last model, which had "
                f"<{name}={getattr(last, name)!r}>; leave it as it was"
            )


def show_tokens(X: Any, row: int) -> list[str]:
    """Tokens of one sequence as strings."""
    if isinstance(X, Table):
        name = next(iter(X.columns))
        return X[row].strings(name)[0]
    sequence = X[row]
    if isinstance(sequence, Table):
        return show_tokens(sequence, 0)
    if hasattr(sequence, "shape"):
        return [f"#{t}" for t in range(sequence.shape[0])]
    shown = []
    for token in sequence:
        if isinstance(token, tuple):
            token = token[0]
        elif isinstance(token, dict):
            texts = [v for v in token.values() if isinstance(v, str)]
            token = texts[0] if texts else str(token)
        shown.append(str(token))
    return shown
