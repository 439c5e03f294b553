"""Labels of nodes as users write them and as graphs number them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from partwise.features.graphs import GraphInput
from partwise.protocol import Ints


def label_set(y: Any, graphs: list[GraphInput]) -> list[Any]:
    """Distinct labels in order."""
    if len(y) != len(graphs):
        raise ValueError(f"y has {len(y)} items where X has {len(graphs)} graphs")
    seen: set[Any] = set()
    for i, (row, x) in enumerate(zip(y, graphs, strict=True)):
        seen.update(labels_of(row, x.names, "y", i))
    seen.discard(None)
    if not seen:
        raise ValueError("y: no node has a label")
    try:
        ordered = sorted(seen)
    except TypeError:
        raise ValueError(
            "y: labels are of different types; make them all str"
        ) from None
    return [item.item() if isinstance(item, np.generic) else item for item in ordered]


def encode_labels(
    y: Any, graphs: list[GraphInput], labels: list[Any], what: str = "y"
) -> list[Ints]:
    """Numbers of the labels of nodes, −1 for None; refuses what does not fit X."""
    if len(y) != len(graphs):
        raise ValueError(f"{what} has {len(y)} items where X has {len(graphs)} graphs")
    number = {label: k for k, label in enumerate(labels)} | {None: -1}
    codes: list[Ints] = []
    for i, (row, x) in enumerate(zip(y, graphs, strict=True)):
        listed = labels_of(row, x.names, what, i)
        if len(listed) != x.n_nodes:
            raise ValueError(
                f"graph {i} has {x.n_nodes} nodes in X and {len(listed)} labels in "
                f"{what}"
            )
        unknown = [label for label in listed if label not in number]
        if unknown:
            raise ValueError(
                f"{what}: graph {i} has label {unknown[0]!r}, which the model does not "
                "know"
            )
        codes.append(np.array([number[label] for label in listed], np.int32))
    return codes


def labels_of(row: Any, names: list[Any] | None, what: str, i: int) -> list[Any]:
    """The labels of one graph in the order of its nodes; None where one is missing."""
    if isinstance(row, Mapping):
        if names is None:
            raise ValueError(f"{what}: graph {i} has no names of nodes; give a list")
        return [row.get(name) for name in names]
    if isinstance(row, str) or not hasattr(row, "__len__"):
        raise ValueError(f"{what}: graph {i} is {row!r:.40}; give a label per node")
    flat = row.ravel().tolist() if isinstance(row, np.ndarray) else list(row)
    return [None if label != label else label for label in flat]
