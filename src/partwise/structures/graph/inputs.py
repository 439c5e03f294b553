"""Graphs as inputs: arrays, networkx graphs, and grids of any dimension."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from partwise.protocol import Floats, Ints

ATTRIBUTE = "x"  # of the nodes and edges of a networkx graph: their features


class GraphInput(NamedTuple):
    """A graph whose nodes are to be labelled.

    Parameters
    ----------
    features : matrix (n_nodes, n_features), dense or CSR
    edges : int array (n_edges, 2)
        Numbers of two different nodes each.
    edge_features : matrix (n_edges, n_edge_features), dense or CSR
    names : list or None
        Names of the nodes, where they have some.

    Examples
    --------
    >>> x = GraphInput.create((np.eye(3), [(0, 1), (1, 2)]))
    >>> x.edge_features.tolist()
    [[1.0], [1.0]]
    """

    features: Any
    edges: Ints
    edge_features: Any
    names: list[Any] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.features.shape[0])

    @classmethod
    def create(cls, x: Any) -> GraphInput:
        """From (node features, edges[, edge features]), or a networkx graph."""
        names = None
        if isinstance(x, cls):
            return x
        if hasattr(x, "nodes") and hasattr(x, "edges"):
            x, names = _from_networkx(x)
        if not isinstance(x, tuple | list) or len(x) not in (2, 3):
            raise ValueError(
                "an input is no graph: give (node features, edges[, edge features]), "
                f"or a networkx graph whose nodes have the attribute {ATTRIBUTE!r}"
            )
        features = _matrix(x[0], "node features")
        n_nodes = features.shape[0]
        if not n_nodes:
            raise ValueError("there is no node; leave this graph out")
        edges = np.asarray(x[1])
        if edges.size == 0:
            edges = np.zeros((0, 2), np.int64)
        if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
            raise ValueError(
                f"edges have the shape {edges.shape} and the type {edges.dtype}; give "
                "whole numbers (n_edges, 2)"
            )
        edges = edges.astype(np.int64)
        if len(edges) and not 0 <= edges.min() <= edges.max() < n_nodes:
            raise ValueError(f"an edge leads to a node that is not among {n_nodes}")
        loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
        if len(loops):
            raise ValueError(
                f"edge {loops[0]} connects node {edges[loops[0], 0]} with itself; "
                "leave it out"
            )
        if len(x) == 2 or x[2] is None:
            return cls(features, edges, np.ones((len(edges), 1)), names)
        described = _matrix(x[2], "edge features")
        if described.shape[0] != len(edges):
            raise ValueError(
                f"edge features have {described.shape[0]} rows where there are "
                f"{len(edges)} edges"
            )
        return cls(features, edges, described, names)


def _matrix(values: Any, what: str) -> Any:
    if sparse.issparse(values):
        return values
    try:
        matrix = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what} are no matrix: {error}") from None
    if matrix.ndim != 2:
        raise ValueError(f"{what} have the shape {matrix.shape}; give a matrix")
    return matrix


def _from_networkx(graph: Any) -> tuple[tuple[Any, Ints, Any], list[Any]]:
    """Features in the attribute `ATTRIBUTE` of nodes and, on all or none, of edges."""
    names = list(graph.nodes)
    missing = [name for name in names if ATTRIBUTE not in graph.nodes[name]]
    if missing:
        raise ValueError(
            f"node {missing[0]!r} has no attribute {ATTRIBUTE!r}; give each node its "
            "features there"
        )
    number = {name: k for k, name in enumerate(names)}
    found = list(graph.edges(data=True))
    pairs = [(number[a], number[b]) for a, b, _ in found]
    described = [data[ATTRIBUTE] for _, _, data in found if ATTRIBUTE in data]
    if described and len(described) < len(found):
        raise ValueError(f"some edges have the attribute {ATTRIBUTE!r} and others not")
    features = np.array([graph.nodes[name][ATTRIBUTE] for name in names], np.float64)
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    return (features, edges, np.array(described) if described else None), names


def grid_graph(
    values: Any, connectivity: int = 1, directions: bool = True
) -> GraphInput:
    r"""The graph of a grid of any dimension: pixels, voxels, cells of a table.

    Parameters
    ----------
    values : array (\*shape, n_features)
        Features of the cells; node k is the k-th cell in the order of C.
    connectivity : int
        1 joins cells that differ by 1 in one coordinate, 2 in at most two of them
        (diagonals), and so on.
    directions : bool
        Give edges of each direction a feature of their own; else all have one, of 1.

    Returns
    -------
    GraphInput

    Examples
    --------
    >>> x = grid_graph(np.zeros((2, 3, 4)))
    >>> x.n_nodes, len(x.edges), x.edge_features.sum(axis=0).tolist()
    (6, 7, [4.0, 3.0])
    """
    values = np.asarray(values, np.float64)
    if values.ndim < 2:
        raise ValueError(
            f"a grid has the shape {values.shape}; give (*shape, n_features)"
        )
    shape = values.shape[:-1]
    number = np.arange(int(np.prod(shape))).reshape(shape)
    groups = []
    for step in steps_of(len(shape), connectivity):
        ahead = tuple(slice(max(d, 0), min(d, 0) or None) for d in step)
        behind = tuple(slice(max(-d, 0), min(-d, 0) or None) for d in step)
        groups.append(np.stack([number[behind].ravel(), number[ahead].ravel()], axis=1))
    edges = np.concatenate(groups)
    described: Floats = np.ones((len(edges), 1))
    if directions:
        described = np.repeat(np.eye(len(groups)), list(map(len, groups)), axis=0)
    return GraphInput(values.reshape(number.size, -1), edges, described)


def steps_of(n_axes: int, connectivity: int = 1) -> Sequence[tuple[int, ...]]:
    """Differences of neighbouring cells, one of each two opposite ones.

    Examples
    --------
    >>> steps_of(2)
    [(0, 1), (1, 0)]
    """
    steps = product((-1, 0, 1), repeat=n_axes)
    zero = (0,) * n_axes
    near = [s for s in steps if s > zero and sum(map(abs, s)) <= connectivity]
    return sorted(near)
