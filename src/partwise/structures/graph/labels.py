"""Labels of nodes as users write them and as graphs number them."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, NamedTuple

import numpy as np

from partwise.features.graphs import GraphInput
from partwise.parameters import ParameterError, warn_of_unknown
from partwise.protocol import Floats, Ints


class NodeLabels(NamedTuple):
    """Labels by number, and the type of node that each belongs to, if there are any."""

    labels: list[Any]
    types: list[Any] | None

    def encode(self, y: Any, graphs: list[GraphInput], what: str = "y") -> list[Ints]:
        """Numbers of the labels of nodes, −1 for None; refuses what does not fit X."""
        if len(y) != len(graphs):
            raise ValueError(
                f"{what} has {len(y)} items where X has {len(graphs)} graphs"
            )
        types = self.types or [None] * len(self.labels)
        number = {
            pair: k for k, pair in enumerate(zip(types, self.labels, strict=True))
        }
        codes: list[Ints] = []
        for i, (row, x) in enumerate(zip(y, graphs, strict=True)):
            listed = labels_of(row, x.names, what, i)
            if len(listed) != x.n_nodes:
                raise ValueError(
                    f"graph {i} has {x.n_nodes} nodes in X and {len(listed)} labels in "
                    f"{what}"
                )
            of_nodes = [None] * x.n_nodes if self.types is None else x.types or ()
            pairs = list(zip(of_nodes, listed, strict=False))
            for kind, label in pairs:
                if label is not None and (kind, label) not in number:
                    where = "" if kind is None else f" of a node of type {kind!r}"
                    raise ValueError(
                        f"{what}: graph {i} has label {label!r}{where}, which the "
                        "model does not know"
                    )
            codes.append(np.array([number.get(pair, -1) for pair in pairs], np.int32))
        return codes

    def factors(self, class_weight: Any, codes: list[Ints]) -> Floats:
        """Factors of the costs of labels, (L,), by a parameter `class_weight`."""
        if isinstance(class_weight, Mapping):
            warn_of_unknown("class_weight", class_weight, self.labels)
            return np.array([class_weight.get(label, 1.0) for label in self.labels])
        if class_weight != "balanced":
            raise ParameterError(
                "class_weight", class_weight, "give a dict, 'balanced' or None"
            )
        known = np.concatenate(codes)
        counts = np.bincount(known[known >= 0], minlength=len(self.labels))
        return counts.sum() / (len(counts) * np.maximum(counts, 1))


def label_set(y: Any, graphs: list[GraphInput], hidden: Any = None) -> NodeLabels:
    """Distinct labels in order, those of each type of nodes together.

    Types in `hidden`, see `hidden_numbers`, have so many labels besides.
    """
    if len(y) != len(graphs):
        raise ValueError(f"y has {len(y)} items where X has {len(graphs)} graphs")
    has_types = {x.types is not None for x in graphs}
    if len(has_types) > 1:
        raise ValueError("X: some graphs have types of nodes and others not")
    seen: set[Any] = set()
    for i, (row, x) in enumerate(zip(y, graphs, strict=True)):
        listed = labels_of(row, x.names, "y", i)
        types = x.types or [""] * len(listed)
        seen |= {
            pair for pair in zip(types, listed, strict=False) if pair[1] is not None
        }
    if not seen:
        raise ValueError("y: no node has a label")
    known_types = {kind for x in graphs for kind in x.types or ()}
    for kind, n in hidden_numbers(hidden).items():
        if kind not in known_types:
            raise ParameterError("hidden_labels", hidden, f"no node has type {kind!r}")
        seen |= {(kind, f"{kind} {k}") for k in range(n)}
    try:
        ordered = sorted(seen)
    except TypeError:
        raise ValueError(
            "y: labels are of different types; make them all str"
        ) from None
    labels, types = (
        [item.item() if isinstance(item, np.generic) else item for item in column]
        for column in ([label for _, label in ordered], [kind for kind, _ in ordered])
    )
    return NodeLabels(labels, types if True in has_types else None)


def hidden_numbers(given: Any) -> dict[Any, int]:
    """Numbers of labels by type, from a dict or from ``"part=3,cause=2"``.

    Examples
    --------
    >>> hidden_numbers("part=3, cause=2")
    {'part': 3, 'cause': 2}
    """
    try:
        if isinstance(given, str):
            pairs = [pair.partition("=") for pair in given.split(",")]
            numbers = {kind.strip(): int(n) for kind, _, n in pairs}
        else:
            numbers = {kind: index(n) for kind, n in dict(given or {}).items()}
    except (TypeError, ValueError):
        numbers = {"": 0}
    if any(n < 1 for n in numbers.values()):
        raise ParameterError(
            "hidden_labels", given, "give a number of labels for each type: TYPE=N"
        )
    return numbers


def labels_of(row: Any, names: list[Any] | None, what: str, i: int) -> list[Any]:
    """The labels of one graph in the order of its nodes; None where one is missing."""
    if isinstance(row, Mapping):
        if names is None:
            raise ValueError(f"{what}: graph {i} has no names of nodes; give a list")
        foreign = [name for name in row if name not in names]
        if foreign:
            raise ValueError(f"{what}: graph {i} has no node {foreign[0]!r}")
        missing = [name for name in names if name not in row]
        if missing and what == "y":
            raise ValueError(
                f"y: graph {i} has no label for node {missing[0]!r}; give None where "
                "a label is not known"
            )
        return [row.get(name) for name in names]
    if isinstance(row, str) or not hasattr(row, "__len__"):
        raise ValueError(f"{what}: graph {i} is {row!r:.40}; give a label per node")
    flat = row.ravel().tolist() if isinstance(row, np.ndarray) else list(row)
    return [None if label != label else label for label in flat]
