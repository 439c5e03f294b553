"""Graphs: a label for each node, with scores of nodes and of edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.compiled import plain_array
from partwise.features.graphs import GraphInput
from partwise.objective import Formulation
from partwise.parameters import ParameterError, check_choice, check_whole
from partwise.protocol import CapabilityError, Floats, Ints, Structure
from partwise.scorers.linear import LinearScorer
from partwise.structures.losses import ADDITIVE, TokenLoss
from partwise.structures.losses.tokens import token_loss

DECODERS = ("auto", "elimination", "cut", "messages", "milp")


class GraphWeights(NamedTuple):
    """The weights of a graph by name; views."""

    node: Floats  # (n_features, n_labels)
    edge: Floats  # (n_edge_features, n_pairs)


class Graph(Structure):
    """Label the nodes of a graph.

    <w, Ψ(x, y)> = Σ_v w_node[y_v]·x_v + Σ_(u,v) w_edge[y_u, y_v]·x_uv, over the nodes
    v and the edges (u, v), with features x_uv of edges. The loss is a sum over nodes,
    and adds to their scores.

    Parameters
    ----------
    n_labels : int
    directed : bool
        Whether the order of an edge's nodes counts: weights of (a, b) and (b, a) are
        then different.
    cost : {"hamming", "normalized"}, matrix or TokenLoss
        The loss: wrong nodes, their share, or costs of the column's label for the
        row's.
    decoder : {"auto", "elimination", "cut", "messages", "milp"}
        How the best labelling is searched. *elimination* is exact: max-sum on trees
        and forests, in general on a junction tree, for graphs of small width. *cut* is
        exact for two labels where neighbours attract each other, by a maximum flow;
        where they do not, messages are passed. *messages* is sequential tree-reweighted
        message passing, with an upper bound; then branch and bound. *auto* takes the
        first of these that a graph allows. *milp* is an integer program for small
        graphs, solved by HiGHS to a billionth of the largest score.
    sweeps : int
        Most sweeps of messages.
    search_nodes : int
        Branches that branch and bound may look at, where messages leave a gap; of an
        integer program, where it is not 0, else 10,000.
    types : list (L,), optional
        The type of nodes that may have each label. Without it all nodes may have all
        labels. Labels of different types have weights of their own, so have pairs.

    Notes
    -----
    x is `GraphInput`, or what its `create` takes; an output is an array (n_nodes,) of
    numbers of labels. Searches return violation and bound: where they are equal the
    search was exact, whatever its method.

    Examples
    --------
    >>> graph = Graph(2)
    >>> x = (np.array([[1.0], [-0.1], [1.0]]), [(0, 1), (1, 2)])
    >>> w = np.array([-1.0, 1.0, 0.5, 0.0, 0.5])  # nodes, then pairs 00, 01, 11
    >>> graph.argmax(x, w)
    array([1, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_labels: int,
        directed: bool = False,
        cost: Any = "hamming",
        decoder: Literal["auto", "elimination", "cut", "messages", "milp"] = "auto",
        sweeps: int = 100,
        search_nodes: int = 0,
        types: list[Any] | None = None,
    ) -> None:
        self.n_labels = n_labels
        self.directed = directed
        self.cost = cost
        self.decoder = decoder
        self.sweeps = sweeps
        self.search_nodes = search_nodes
        self.types = types

    def banned(self, x: GraphInput) -> Any:
        """1 for labels of other types than the node's, (n_nodes, L); else (0, L)."""
        if self.types is None:
            return np.zeros((0, self.n_labels), np.uint8)
        types = [None] * x.n_nodes if x.types is None else x.types
        unknown = [one for one in types if one not in self.types]
        if unknown:
            raise ValueError(
                f"a node has type {unknown[0]!r}; there are labels of "
                f"{', '.join(map(repr, dict.fromkeys(self.types)))}"
            )
        number = {one: k for k, one in enumerate(dict.fromkeys(self.types))}
        of_label = np.array([number[one] for one in self.types])
        of_node = np.array([number[one] for one in types])
        return (of_node[:, None] != of_label).astype(np.uint8)

    def check_search(self) -> None:
        """Refuse settings of searches that no graph allows."""
        check_choice("decoder", self.decoder, DECODERS)
        check_whole("sweeps", self.sweeps, 1)
        check_whole("search_nodes", self.search_nodes, 0)

    def facts(self) -> dict[str, Any]:
        """What `inspect` says of it."""
        return {
            "directed": bool(self.directed),
            "cost": self.cost if isinstance(self.cost, str) else "matrix",
            "decoder": self.decoder,
            "sweeps": int(self.sweeps),
            "search_nodes": int(self.search_nodes),
            "types": None if self.types is None else list(self.types),
        }

    # ------------------------------------------------------------------- weights

    @property
    def delta(self) -> TokenLoss:
        """The loss as an object."""
        loss = token_loss(self.cost)
        if loss.search != ADDITIVE:
            raise ParameterError(
                "cost", self.cost, "it is no sum over nodes; use 'hamming'"
            )
        return loss

    @property
    def n_pairs(self) -> int:
        """Pairs of labels with weights of their own."""
        size = self.n_labels
        return size * size if self.directed else size * (size + 1) // 2

    def pair_of(self) -> Ints:
        """The number of each pair of labels among weights, (n_labels²,).

        Examples
        --------
        >>> Graph(3).pair_of().reshape(3, 3).tolist()
        [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
        """
        size = self.n_labels
        if self.directed:
            return np.arange(size * size, dtype=np.int32)
        table = np.zeros((size, size), np.int32)
        upper = np.triu_indices(size)
        table[upper] = np.arange(len(upper[0]))
        return np.maximum(table, table.T).ravel()

    def pair_names(self, labels: Sequence[Any]) -> list[str]:
        """What the pairs of labels with weights of their own are called."""
        size, arrow = self.n_labels, "→" if self.directed else "–"
        places = np.unique(self.pair_of(), return_index=True)[1].tolist()
        return [f"{labels[k // size]}{arrow}{labels[k % size]}" for k in places]

    def n_weights(self, n_features: int, n_edge_features: int) -> int:
        """Length of a model."""
        return n_features * self.n_labels + n_edge_features * self.n_pairs

    def weights_of(self, model: Floats, n_features: int) -> GraphWeights:
        """The weights of a model by name."""
        at = n_features * self.n_labels
        node = model[:at].reshape(n_features, self.n_labels)
        return GraphWeights(node, model[at:].reshape(-1, self.n_pairs))

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Sequence[Any], Y: Any) -> Self:
        """Number of weights."""
        x = GraphInput.create(X[0])
        self.n_psi_ = self.n_weights(x.features.shape[1], x.edge_features.shape[1])
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Features of nodes by label, then of edges by pair of labels."""
        x = GraphInput.create(x)
        y = np.asarray(y, np.int64)
        labels = np.eye(self.n_labels)[y]
        pair = y[x.edges[:, 0]] * self.n_labels + y[x.edges[:, 1]]
        pairs = np.eye(self.n_pairs)[self.pair_of()[pair]]
        node, edge = x.features.T @ labels, x.edge_features.T @ pairs
        return np.concatenate([np.asarray(node).ravel(), np.asarray(edge).ravel()])

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ)."""
        return self.delta.loss(y, y_hat)

    def argmax(self, x: Any, w: Floats) -> Ints:
        """The labelling of highest score that the decoder finds."""
        problem = self.pack([x], None)
        return problem.decode(np.asarray(w, np.float64))[0][0]

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Ints:
        """The labelling of highest score plus loss that the decoder finds."""
        problem = self.pack([x], [y])
        return problem.outputs(problem.oracle(np.asarray(w, np.float64)))[0]

    def enumerate(self, x: Any) -> Iterator[Ints]:
        """All labellings; for tiny graphs."""
        x = GraphInput.create(x)
        banned = self.banned(x) if self.types else np.zeros((x.n_nodes, self.n_labels))
        for labels in product(*(np.flatnonzero(row == 0) for row in banned)):
            yield np.array(labels, np.int32)

    def nearest(self, x: Any, w: Floats, y: Ints) -> tuple[Ints, float]:
        """The best labelling that differs from y at one node; by how much its score."""
        x = GraphInput.create(x)
        weights = self.weights_of(w, x.features.shape[1])
        score = np.array(x.features @ weights.node)
        edge = np.asarray(x.edge_features @ weights.edge)
        table = edge[:, self.pair_of()].reshape(-1, self.n_labels, self.n_labels)
        first, second = x.edges.T
        numbers, nodes = np.arange(len(x.edges)), np.arange(len(y))
        np.add.at(score, first, table[numbers, :, y[second]])
        np.add.at(score, second, table[numbers, y[first], :])
        change = score - score[nodes, y][:, None]
        change[nodes, y] = -np.inf
        if self.types is not None:
            change[self.banned(x) > 0] = -np.inf
        v, label = divmod(int(np.argmax(change)), self.n_labels)
        other = y.copy()
        other[v] = label
        return other, float(change[v, label])

    # ------------------------------------------------------------------- batches

    def pack(
        self,
        X: Sequence[Any],
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        node_weight: Any = None,
        scorer: LinearScorer | None = None,
    ) -> Any:
        """Lay graphs out for a solver.

        Parameters
        ----------
        X : list of GraphInput, or of what its `create` takes
        Y : list of int arrays (n_nodes,); None to predict only
            A label of −1 is not known: it costs nothing, and is completed in rounds
            (the problem is `Latent`).
        formulation : Formulation
        n_jobs : int
            Threads over graphs.
        node_weight : list of arrays (n_nodes,), optional
            Factor of each node's loss.
        scorer : LinearScorer, optional
            How nodes and edges are scored.
        """
        from partwise.structures.graph.packing import pack_graphs

        formulation = (formulation or Formulation()).validate()
        if not formulation.is_additive:
            raise CapabilityError(
                "graphs have no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        self.check_search()
        if self.decoder == "cut" and self.n_labels != 2:
            raise ParameterError(
                "decoder", "cut", f"cuts need 2 labels, not {self.n_labels}"
            )
        if not len(X):
            raise ValueError("X is empty: give at least one graph")
        graphs = []
        for i, x in enumerate(X):
            try:
                graphs.append(GraphInput.create(x))
                self.banned(graphs[-1])
            except ValueError as error:
                raise ValueError(f"graph {i}: {error}") from None
        if Y is not None:
            Y = self._checked(graphs, Y)
        weight = None
        if node_weight is not None:
            sizes = [x.n_nodes for x in graphs]
            if [len(row) for row in node_weight] != sizes:
                raise ValueError("node_weight: give one number per node of each graph")
            weight = plain_array(np.concatenate(node_weight), np.float64)
            check_magnitude(weight, MAX_FEATURE, "node_weight")
            if (weight < 0).any():
                raise ValueError("node_weight: give numbers that are not negative")
        scorer = scorer or LinearScorer()
        return pack_graphs(self, graphs, Y, formulation, n_jobs, weight, scorer)

    def _checked(self, graphs: list[GraphInput], Y: Any) -> list[Ints]:
        """Truths as arrays of numbers of labels."""
        if len(Y) != len(graphs):
            raise ValueError(f"Y has {len(Y)} items where X has {len(graphs)} graphs")
        checked: list[Ints] = []
        for i, (x, y) in enumerate(zip(graphs, Y, strict=True)):
            y = np.asarray(y)
            if y.shape != (x.n_nodes,):
                raise ValueError(
                    f"graph {i} has {x.n_nodes} nodes in X, and labels of the shape "
                    f"{y.shape} in Y"
                )
            if y.dtype.kind not in "iu" or y.min() < -1 or y.max() >= self.n_labels:
                raise ValueError(
                    f"graph {i}: labels must be whole numbers below {self.n_labels}, "
                    "or −1 where they are not known"
                )
            known = np.flatnonzero(y >= 0)
            if self.types is not None and self.banned(x)[known, y[known]].any():
                raise ValueError(f"graph {i}: a label of another type than its node")
            checked.append(y.astype(np.int32))
        return checked
