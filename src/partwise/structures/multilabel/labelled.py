"""Sets of labels with names: targets as matrices, implications by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.parameters import SettingsError, unknown_among
from partwise.protocol import Ints


def as_label_matrix(y: Any) -> Ints:
    """A 0/1 matrix; refuses anything else with what it should be."""
    fault = ""
    try:
        y = np.asarray(y)
    except ValueError:  # lists of different lengths
        y, fault = np.zeros(0), "y holds lists of labels"
    if fault:
        pass
    elif y.ndim != 2:
        fault = f"y has shape {y.shape}"
    elif y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        fault = "y holds more than 0 and 1"
    if fault:
        raise ValueError(
            f"Unknown label type: {fault}; give a 0/1 matrix with a column for each "
            "label, as MultiLabelBinarizer makes of lists"
        )
    return y.astype(np.int32)


def number_implications(given: Any, labels: list[Any]) -> list[list[int]]:
    """Pairs of numbers of labels, from pairs of labels or from ``"a>b,c>b"``.

    Examples
    --------
    >>> number_implications("cat>animal", ["animal", "cat"])
    [[1, 0]]
    """
    number = {str(label): k for k, label in enumerate(labels)}
    pairs = given or ()
    if isinstance(pairs, str):
        pairs = pairs.split(",")
    implications = []
    for pair in pairs:
        parts = pair.split(">") if isinstance(pair, str) else pair
        names = [str(label).strip() for label in parts]
        known = [number[name] for name in names if name in number]
        text = unknown_among(names, number)
        if len(names) != 2:
            text = f"{pair!r} is no pair of labels; give a>b or (a, b)"
        if text:
            raise SettingsError(f"<implications=>: {text}")
        implications.append(known)
    return implications
