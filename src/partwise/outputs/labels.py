"""Labels as users write them, as structures number them, and in model files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from partwise.bounds import entry, require
from partwise.parameters import ParameterError
from partwise.protocol import Ints

MAX_LABELS = 5000  # training makes several tables of labels × labels
POSITIVE = ("+1", "+", "1", "yes", "true", "pos", "positive", "bound")


def typed_labels(settings: dict[str, Any]) -> tuple[list[Any], list[Any] | None]:
    """Labels of one kind, each once among those of its type, and these types."""
    types = settings.get("types")  # files had none before there were types
    if types is None:
        return labels_from_state(settings), None
    labels = entry(settings, "labels", list)
    is_listed = isinstance(types, list) and len(types) == len(labels) > 0
    require(is_listed and {type(t) for t in types} in ({str}, {int}), "types of labels")
    for kind in dict.fromkeys(types):
        of_type = [label for t, label in zip(types, labels, strict=True) if t == kind]
        labels_from_state({"labels": of_type})
    return labels, types


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


def labels_from_state(settings: dict[str, Any], n: int | None = None) -> list[Any]:
    """Labels of one type without duplicates; n of them, where n is given."""
    labels = entry(settings, "labels", list)
    require(0 < len(labels) <= MAX_LABELS, f"{len(labels)} labels")
    require(n in (None, len(labels)), f"{len(labels)} labels where there are {n}")
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
    check_labels(labels)
    if len(labels) != 2:
        classes = f"{len(labels)} class{'es'[: 2 * (len(labels) != 1)]}"
        raise ValueError(
            f"y has {classes}; give sequences of two, with and without the motif"
        )
    names = [str(label).lower() for label in labels]
    at = next((k for k in (1, 0) if names[k] in POSITIVE), 1)
    if positive is not None:
        if str(positive).lower() not in names:
            raise ParameterError("positive", positive, f"choose one of {labels}")
        at = names.index(str(positive).lower())
    return [labels[1 - at], labels[at]]


def label_set(y: Any) -> list[Any]:
    """Distinct labels in order; None and NaN stand for labels that are not known."""
    if y is None:
        raise ValueError("y is None; give a list of labels per sequence")
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


def encode_labels(
    y: Any, offset: Ints, labels: list[Any], what: str = "y", first: int = 0
) -> Ints:
    """Numbers of the labels of all tokens, −1 for None; refuses what does not fit X.

    Parameters
    ----------
    y : lists of labels
    offset : int array (n_sequences + 1,)
    labels : list
    what : str
        What messages call `y`.
    first : int
        Number of the first sequence in messages.
    """
    if len(y) != len(offset) - 1:
        raise ValueError(f"{what} has {len(y)} sequences where X has {len(offset) - 1}")
    number = {label: k for k, label in enumerate(labels)}
    codes: list[int] = []
    for row, (names, length) in enumerate(zip(y, np.diff(offset), strict=True), first):
        if names is None and what == "given":  # nothing is known of it
            names = [None] * int(length)
        if isinstance(names, str) or not hasattr(names, "__len__"):
            raise ValueError(
                f"{what}: sequence {row} is {names!r}; give a list of labels"
            )
        if len(names) != length:
            raise ValueError(
                f"sequence {row} has {length} tokens in X and {len(names)} labels in "
                f"{what}"
            )
        try:
            codes += [-1 if is_unknown(label) else number[label] for label in names]
        except KeyError as error:
            raise ValueError(
                f"{what}: sequence {row} has label {error.args[0]!r}, which the model "
                "does not know"
            ) from None
    return np.array(codes, np.int32)
