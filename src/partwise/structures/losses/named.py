"""Costs of labels by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.parameters import ParameterError, warn_of_unknown
from partwise.protocol import Floats


def cost_table(
    parameter: str, costs: Mapping[Any, float], labels: Sequence[Any]
) -> Floats:
    """Costs of predicting the column's label for the row's, 1 where none is given.

    Parameters
    ----------
    parameter : str
        What messages call the costs.
    costs : mapping of (true, predicted) to cost
        Labels that the data do not have are left out with a warning.
    labels : sequence

    Examples
    --------
    >>> cost_table("cost", {("a", "b"): 3.0}, ["a", "b"]).tolist()
    [[0.0, 3.0], [1.0, 0.0]]
    """
    number = {label: k for k, label in enumerate(labels)}
    table = 1.0 - np.eye(len(number))
    for pair, value in costs.items():
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            remedy = f"{pair!r} is no pair of labels; give {{(true, predicted): cost}}"
            raise ParameterError(parameter, costs, remedy)
        if pair[0] in number and pair[1] in number:
            table[number[pair[0]], number[pair[1]]] = value
    warn_of_unknown(parameter, [label for pair in costs for label in pair], number)
    return table
