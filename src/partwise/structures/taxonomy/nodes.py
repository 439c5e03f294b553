"""The nodes of a taxonomy: a parent table, ancestors, heights, distances."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from partwise.bounds import require
from partwise.parameters import ParameterError
from partwise.protocol import Floats, Ints
from partwise.readers.hierarchies import path_parents

MAX_NODES = 5000  # costs and ancestors are tables of nodes × nodes


class Nodes:
    """Nodes of a tree or lattice, parents before children.

    Parameters
    ----------
    names : list
        Of the nodes, each once.
    parents : list of tuples of int
        Numbers of the parents of each node, all smaller than its own; none for a node
        at the top. Nodes at the top have one common ancestor, the root, which is no
        node: it would be an attribute of every class.

    Examples
    --------
    >>> nodes = Nodes.read({"cat": "animal", "dog": "animal", "oak": "plant"})
    >>> nodes.names
    ['animal', 'plant', 'cat', 'dog', 'oak']
    >>> nodes.parents
    [(), (), (0,), (0,), (1,)]
    >>> nodes.heights()
    array([1, 1, 0, 0, 0])
    """

    def __init__(self, names: list[Any], parents: list[tuple[int, ...]]) -> None:
        self.names = names
        self.parents = parents
        self.number = {name: k for k, name in enumerate(names)}

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.names)

    @classmethod
    def read(cls, parents: Any, labels: Iterable[Any] = ()) -> Nodes:
        """
        Nodes from what users give.

        Parameters
        ----------
        parents : mapping, str or None
            A node to its parent, to a list of parents, or to None at the top; a string
            that separates the steps of a path: with ``"/"`` the parent of ``"a/b"`` is
            ``"a"``; None for labels that are all at the top.
        labels : iterable
            Classes that must be nodes. Those of a table must stand in it.
        """
        labels = list(dict.fromkeys(map(_plain, labels)))
        if isinstance(parents, str):
            if not parents:
                raise ValueError("parents='': give what separates the steps of a path")
            for label in labels:
                if not isinstance(label, str):
                    raise ValueError(
                        f"parents={parents!r} needs paths, {label!r} is none"
                    )
            if labels and not any(parents in label for label in labels):
                raise ParameterError(
                    "parents", parents, f"no class has it, as {labels[0]!r} has not; "
                    "give what separates the steps of a path, or a table of parents",
                )  # fmt: skip
            table = path_parents(sorted(labels), parents)
        elif parents is None:
            table = {label: () for label in labels}
        elif isinstance(parents, Mapping):
            table = _plain_table(parents)
            missing = [label for label in labels if label not in table]
            if missing:
                raise ValueError(
                    f"parents has no node {missing[0]!r}, which is a class; add it, "
                    "with None as its parent if it is at the top"
                )
        else:
            raise ValueError(
                f"parents={parents!r}: give a dict from nodes to parents, or what "
                "separates the steps of a path"
            )
        if len(table) > MAX_NODES:
            raise ValueError(f"parents has {len(table)} nodes, {MAX_NODES} are allowed")
        kinds = sorted({type(name).__name__ for name in table})
        if len(kinds) > 1:
            raise ValueError(
                f"parents has nodes of types {' and '.join(kinds)}; give them names of "
                "one type, that of the classes"
            )
        return cls._sorted(table)

    @classmethod
    def _sorted(cls, table: dict[Any, tuple[Any, ...]]) -> Nodes:
        """By depth, then in the order of the table."""
        try:
            order = list(TopologicalSorter(table).static_order())
        except CycleError as error:
            cycle = " → ".join(map(str, error.args[1]))
            raise ValueError(f"parents has a cycle: {cycle}") from None
        depth: dict[Any, int] = {}
        for name in order:
            depth[name] = max((depth[up] + 1 for up in table[name]), default=0)
        names = sorted(table, key=lambda name: depth[name])
        number = {name: k for k, name in enumerate(names)}
        return cls(names, [tuple(number[up] for up in table[name]) for name in names])

    @classmethod
    def from_lists(cls, names: list[Any], parents: list[Any]) -> Nodes:
        """Nodes as a file has them; refuses what is not parents before children."""
        require(len(parents) == len(names), "parents of other nodes")
        for k, up in enumerate(parents):
            is_list = isinstance(up, list) and all(type(p) is int for p in up)
            require(is_list, "parents that are no numbers")
            fits = all(0 <= p < k for p in up) and len(set(up)) == len(up)
            require(fits, "a node before its parents")
        return cls(names, [tuple(up) for up in parents])

    def table(self) -> dict[Any, list[Any]]:
        """Each node with the names of its parents, as `read` takes them."""
        return {
            name: [self.names[p] for p in up]
            for name, up in zip(self.names, self.parents, strict=True)
        }

    def classes(self, kind: str, seen: np.ndarray) -> np.ndarray:
        """What may be predicted, in order.

        Parameters
        ----------
        kind : {"seen", "leaves", "nodes"}
            Classes of training rows, also other leaves, or all nodes.
        seen : array (K,)
            Classes of training rows, in order.
        """
        names = np.array(self.names)
        if kind == "nodes":
            return np.unique(names)
        if kind == "leaves":
            return np.unique(np.concatenate([seen, names[self.is_leaf()]]))
        return seen

    @property
    def is_tree(self) -> bool:
        """Whether no node has two parents."""
        return all(len(up) < 2 for up in self.parents)

    def is_leaf(self) -> np.ndarray:
        """Whether nodes have no children, (N,) bool."""
        leaf = np.ones(len(self), bool)
        for up in self.parents:
            leaf[list(up)] = False
        return leaf

    def ancestors(self) -> np.ndarray:
        """Whether the column's node is the row's, or an ancestor of it, (N, N)."""
        table = np.eye(len(self), dtype=bool)
        for k, up in enumerate(self.parents):
            for parent in up:
                table[k] |= table[parent]
        return table

    def heights(self) -> Ints:
        """Steps to the lowest leaf below each node, (N,); 0 for a leaf."""
        height = np.zeros(len(self), np.int64)
        for k in range(len(self) - 1, -1, -1):
            for parent in self.parents[k]:
                height[parent] = max(height[parent], height[k] + 1)
        return height

    def steps_up(self) -> Floats:
        """Fewest steps from the row's node up to the column's, (N, N); else inf."""
        steps = np.where(np.eye(len(self), dtype=bool), 0.0, np.inf)
        for k, up in enumerate(self.parents):
            for parent in up:
                steps[k] = np.minimum(steps[k], steps[parent] + 1.0)
        return steps

    def tree_loss(self, of: Ints) -> Floats:
        """
        Height of the first common ancestor of two nodes; 0 for a node and itself.

        Parameters
        ----------
        of : int array (K,)
            Numbers of nodes.

        Returns
        -------
        array (K, K)
            In a lattice the smallest height among common ancestors. The root, above
            the nodes at the top, has the largest height.
        """
        height, above = self.heights(), self.ancestors()[of]
        loss = np.full((len(of), len(of)), float(height.max(initial=0) + 1))
        for node in np.argsort(-height, kind="stable").tolist():
            below = np.flatnonzero(above[:, node])
            loss[np.ix_(below, below)] = height[node]
        np.fill_diagonal(loss, 0.0)
        return loss

    def path_loss(self, of: Ints) -> Floats:
        """Steps of the shortest path between two nodes by a common ancestor, (K, K)."""
        up = self.steps_up()
        is_top = [not parents for parents in self.parents]
        to_root = up[:, is_top].min(axis=1, initial=np.inf)[of] + 1.0
        up = up[of]
        loss = to_root[:, None] + to_root[None, :]
        for node in range(len(self)):
            below = np.flatnonzero(np.isfinite(up[:, node]))
            sums = up[below, node][:, None] + up[below, node][None, :]
            at = np.ix_(below, below)
            loss[at] = np.minimum(loss[at], sums)
        return loss


def _plain_table(parents: Mapping[Any, Any]) -> dict[Any, tuple[Any, ...]]:
    """A node to its parents, each once; parents that are no keys are at the top."""
    table: dict[Any, tuple[Any, ...]] = {}
    for node, up in parents.items():
        if up is None:
            up = ()
        elif isinstance(up, Hashable) and not isinstance(up, tuple | frozenset):
            up = (up,)
        table[_plain(node)] = tuple(dict.fromkeys(map(_plain, up)))
    for up in list(table.values()):
        for node in up:
            table.setdefault(node, ())
    return table


def _plain(name: Any) -> Any:
    """A number or string of numpy as Python's."""
    return name.item() if isinstance(name, np.generic) else name
