"""Graphs as inputs: arrays, networkx graphs, and grids of any dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from partwise.bounds import calling_sequences, check_sparse, entry, require, under
from partwise.features.arrays import ArrayFeaturizer
from partwise.features.dicts import DictFeaturizer

Ints = np.ndarray
Floats = np.ndarray

ATTRIBUTE = "x"  # of the nodes and edges of a networkx graph: their features
TYPE = "type"  # of the nodes of a networkx graph


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
    types : list or None
        Types of the nodes, each with labels of its own, where they have some.

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
    types: list[Any] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.features.shape[0])

    @classmethod
    def create(cls, x: Any) -> GraphInput:
        """From (nodes, edges[, edge features[, types]]), or a networkx graph."""
        if isinstance(x, cls):
            return x
        nodes, edges, described, names, types = parts_of(x)
        features = _matrix(nodes, "node features")
        matrix = np.ones((len(edges), 1))
        if described is not None:
            matrix = _matrix(described, "edge features")
        return cls(features, edges, matrix, names, types)


def is_empty_graph(x: Any) -> bool:
    """Whether a graph has no nodes; what is no graph is refused elsewhere.

    Examples
    --------
    >>> is_empty_graph(([], [])), is_empty_graph((np.zeros((1, 2)), []))
    (True, False)
    """
    nodes = x.nodes if hasattr(x, "nodes") else x
    if isinstance(x, tuple | list) and 2 <= len(x) <= 4:
        nodes = x[0]
    shape = getattr(nodes, "shape", None)
    if shape is not None:
        return shape[:1] == (0,)
    return nodes is not x and hasattr(nodes, "__len__") and len(nodes) == 0


def parts_of(x: Any) -> GraphInput:
    """A graph, checked, but for features as they were; those of edges may be None."""
    names = None
    if isinstance(x, GraphInput):
        return x
    if hasattr(x, "nodes") and hasattr(x, "edges"):
        x, names = _from_networkx(x)
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 4:
        raise ValueError(
            "an input is no graph: give (node features, edges[, edge features[, types"
            f"]]), or a networkx graph whose nodes have the attribute {ATTRIBUTE!r}"
        )
    nodes, described = x[0], x[2] if len(x) > 2 else None
    n_nodes = _length(nodes)
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
    if len(edges) and not 0 <= edges.min() <= edges.max() < n_nodes:
        raise ValueError(f"an edge leads to a node that is not among {n_nodes}")
    edges = edges.astype(np.int64)
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(
            f"edge {loops[0]} connects node {edges[loops[0], 0]} with itself; "
            "leave it out"
        )
    if described is not None and _length(described) != len(edges):
        raise ValueError(
            f"edge features have {_length(described)} rows where there are "
            f"{len(edges)} edges"
        )
    types = x[3] if len(x) == 4 else None
    if types is not None:
        types = types.tolist() if isinstance(types, np.ndarray) else list(types)
        if len(types) != n_nodes:
            raise ValueError(f"there are {len(types)} types of {n_nodes} nodes")
    return GraphInput(nodes, edges, described, names, types)


def _length(rows: Any) -> int:
    if hasattr(rows, "shape"):
        return int(rows.shape[0]) if rows.shape else 0
    if not hasattr(rows, "__len__"):
        raise ValueError(f"features are {rows!r:.40}; give a row for each")
    return len(rows)


def _matrix(values: Any, what: str) -> Any:
    if sparse.issparse(values):
        check_sparse(values, what)
        return values
    try:
        matrix = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what} are no matrix: {error}") from None
    if matrix.ndim != 2:
        raise ValueError(f"{what} have the shape {matrix.shape}; give a matrix")
    return matrix


def _from_networkx(graph: Any) -> tuple[Any, list[Any]]:
    """Features in the attribute `ATTRIBUTE` of nodes and, on all or none, of edges."""
    names = list(graph.nodes)
    missing = [name for name in names if ATTRIBUTE not in graph.nodes[name]]
    if missing:
        raise ValueError(
            f"node {missing[0]!r} has no attribute {ATTRIBUTE!r}; give each node its "
            "features there"
        )
    number = {name: k for k, name in enumerate(names)}
    edges = list(graph.edges(data=True))
    pairs = [(number[a], number[b]) for a, b, _ in edges]
    described = [data[ATTRIBUTE] for _, _, data in edges if ATTRIBUTE in data]
    if described and len(described) < len(edges):
        raise ValueError(f"some edges have the attribute {ATTRIBUTE!r} and others not")
    features = [graph.nodes[name][ATTRIBUTE] for name in names]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    types = [graph.nodes[name].get(TYPE) for name in names]
    has_types = any(one is not None for one in types)
    return (features, ends, described or None, types if has_types else None), names


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


class GraphFeaturizer:
    """Features of the nodes and edges of graphs, from arrays or from dicts.

    Nodes and edges may be rows of a matrix, or dicts and lists of named features, as
    the tokens of `DictFeaturizer`. Where edges have no features, each has one, of 1.

    Examples
    --------
    >>> X = [([{"colour": "red"}, {"colour": "blue"}], [(0, 1)])]
    >>> featurizer = GraphFeaturizer()
    >>> featurizer.fit_transform(X)[0].features.toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    >>> featurizer.feature_names_
    ['colour:blue', 'colour:red']
    """

    kind = "graphs.v1"

    nodes: Any
    edges: Any  # None where edges have no features

    @property
    def n_features_(self) -> int:
        """Features of nodes."""
        return int(self.nodes.n_features_)

    @property
    def n_edge_features_(self) -> int:
        """Features of edges."""
        return 1 if self.edges is None else int(self.edges.n_features_)

    @property
    def feature_names_(self) -> list[str]:
        """Of nodes."""
        return list(self.nodes.feature_names_)

    @property
    def edge_names_(self) -> list[str]:
        """Of edges."""
        return ["edge"] if self.edges is None else list(self.edges.feature_names_)

    def fit_transform(self, X: Sequence[Any]) -> list[GraphInput]:
        """Learn which features there are, and make them."""
        graphs = _all_parts(X)
        if not graphs:
            raise ValueError("X is empty: give at least one graph")
        self.nodes = _featurizer(x.features for x in graphs)
        with calling_sequences("graph"):
            self.nodes.fit([x.features for x in graphs])
        self.edges = None
        if any(x.edge_features is not None for x in graphs):
            self.edges = _featurizer(x.edge_features for x in graphs if len(x.edges))
            with calling_sequences("graph"):
                self.edges.fit(_described(graphs) or [np.zeros((1, 1))])
        return self._make(graphs)

    def transform(self, X: Sequence[Any]) -> list[GraphInput]:
        """Graphs with matrices of features; those unseen in training are left out."""
        return self._make(_all_parts(X))

    def _make(self, graphs: list[Any]) -> list[GraphInput]:
        nodes = _matrices(self.nodes, [x.features for x in graphs])
        edges = iter(())
        if self.edges is not None:
            edges = iter(_matrices(self.edges, _described(graphs)))
        elif any(
            x.edge_features is not None
            and np.shape(x.edge_features) != (len(x.edges), 1)
            for x in graphs
        ):
            raise ValueError("X: the model was trained on edges without features")
        made = []
        for features, x in zip(nodes, graphs, strict=True):
            matrix = x.edge_features
            if self.edges is not None:
                matrix = np.zeros((0, self.n_edge_features_))
                if len(x.edges):
                    matrix = next(edges)
            elif matrix is None:
                matrix = np.ones((len(x.edges), 1))
            made.append(x._replace(features=features, edge_features=matrix))
        return made

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Give what a model file must keep: JSON-able settings, and arrays."""
        settings, arrays = self.nodes.state()
        document: dict[str, Any] = {"kind": self.kind, "nodes": settings, "edges": None}
        saved = {f"nodes/{name}": array for name, array in arrays.items()}
        if self.edges is not None:
            document["edges"], arrays = self.edges.state()
            saved |= {f"edges/{name}": array for name, array in arrays.items()}
        return document, saved

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`; invalid input raises ValueError."""
        require(meta.get("kind") == cls.kind, "not the state of a featurizer of graphs")
        featurizer = cls()
        featurizer.nodes = _from_state(entry(meta, "nodes", dict), arrays, "nodes/")
        featurizer.edges = None
        if meta["edges"] is not None:
            featurizer.edges = _from_state(entry(meta, "edges", dict), arrays, "edges/")
        return featurizer


def _from_state(meta: dict[str, Any], arrays: Any, prefix: str) -> Any:
    is_array = meta.get("kind") == ArrayFeaturizer.kind
    kind = ArrayFeaturizer if is_array else DictFeaturizer
    return kind.from_state(meta, under(prefix, arrays))


def _all_parts(X: Sequence[Any]) -> list[GraphInput]:
    graphs = []
    for i, x in enumerate(X):
        try:
            graphs.append(parts_of(x))
        except ValueError as error:
            raise ValueError(f"graph {i}: {error}") from None
    return graphs


def _described(graphs: list[Any]) -> list[Any]:
    """Features of the edges of graphs that have edges."""
    for i, x in enumerate(graphs):
        if len(x.edges) and x.edge_features is None:
            raise ValueError(f"graph {i}: edges have no features, those of others have")
    return [x.edge_features for x in graphs if len(x.edges)]


def _featurizer(parts: Any) -> Any:
    """Of rows of numbers, or of named features."""
    for rows in parts:
        is_listed = isinstance(rows, list) and len(rows) > 0
        if is_listed and isinstance(rows[0], Mapping | set | frozenset):
            return DictFeaturizer()
        if is_listed and isinstance(rows[0], list) and rows[0]:
            return (
                DictFeaturizer() if isinstance(rows[0][0], str) else ArrayFeaturizer()
            )
    return ArrayFeaturizer()


def _matrices(featurizer: Any, parts: list[Any]) -> list[Any]:
    """A matrix for each graph."""
    if not parts:
        return []
    with calling_sequences("graph"):
        made = featurizer.transform(parts)
    offset = made.offset
    if hasattr(made, "X"):
        return np.split(made.X, offset[1:-1])
    data = made.data
    if len(data) != len(made.indices):
        data = np.ones(len(made.indices))
    matrices = []
    for a, b in pairwise(offset.tolist()):
        ptr = made.indptr[a : b + 1]
        here = slice(ptr[0], ptr[-1])
        content = (data[here], made.indices[here], ptr - ptr[0])
        shape = (b - a, made.n_features)
        matrices.append(sparse.csr_array(content, shape=shape))
    return matrices
