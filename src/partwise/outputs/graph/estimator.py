"""`GraphLabeler`: labels of nodes with scikit-learn's interface."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from partwise.features.graphs import GraphFeaturizer, is_empty_graph, parts_of
from partwise.outputs.explanation import Explanation
from partwise.outputs.graph.model import GraphModel
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.latent_estimator import LabelledEstimator, refuse_weights
from partwise.parameters import SettingsError, check_choice
from partwise.protocol import Floats
from partwise.structures.graph import Graph
from partwise.structures.graph.labels import hidden_numbers, label_set, labels_of
from partwise.structures.graph.structure import GraphWeights
from partwise.structures.losses.tokens import token_loss

SEARCH = ("directed", "decoder", "sweeps", "search_nodes")  # as the structure has them


@dataclass(eq=False, repr=False, kw_only=True)
class GraphLabeler(LabelledEstimator):
    """Label the nodes of graphs and grids.

    Scores are sums over nodes and edges, each linear in features of its own. Minimises
    ½‖w‖² + (C/n) Σ_i ξ_i over n graphs, where ξ_i is how much a wrong labelling of
    graph i comes too near.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default a tenth of the number of graphs.
    directed : bool
        Whether the order of the nodes of an edge counts.
        If not, a pair of labels has one weight for both orders.
    cost : {"hamming", "normalized"} or matrix
        The loss: wrong nodes, share of wrong nodes, or costs of the column's label for
        the row's.
    class_weight : dict, "balanced" or None
        Factors of the costs of nodes, by their true label.
    hidden_labels : str, dict or None
        Types of nodes without labels in y, and how many they have, as in ``"part=3"``.
        Labels of such nodes are completed in rounds, as those that are None.
    decoder : {"auto", "elimination", "cut", "messages", "milp"}
        How labels are searched: exactly by elimination (trees, small width), exactly
        by a minimum cut (two labels that attract each other), by messages with a
        bound, or, on small graphs, by an integer program. By default the first of the
        first three that a graph allows.
    sweeps : int
        Most sweeps of messages.
    search_nodes : int
        Branches that branch and bound may look at where messages leave a gap.
        With enough of them searches are exact, and the certificate has a gap.
    metric : str
        What `score` measures.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; ``loss="log"`` needs graphs that elimination can do.

    Attributes
    ----------
    classes_ : array of labels
    coef_ : array (n_labels, n_features)
        Weights of nodes.
    edge_coef_ : array (n_edge_features, n_labels, n_labels)

    Examples
    --------
    >>> from partwise.datasets import toy_graphs
    >>> X, y = toy_graphs(40)
    >>> labeler = GraphLabeler(C=40).fit(X[:30], y[:30])
    >>> labeler.score(X[30:], y[30:]) > 0.8
    True
    """

    directed: bool = False
    cost: Any = "hamming"
    class_weight: Any = None
    hidden_labels: Any = None
    decoder: Literal["auto", "elimination", "cut", "messages", "milp"] = "auto"
    sweeps: int = 100
    search_nodes: int = 0
    metric: str = "node_accuracy"

    model_: GraphModel = field(init=False)
    model_class = GraphModel
    as_given = ("cost", "class_weight", "hidden_labels")

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        search = {name: getattr(self, name) for name in SEARCH}
        Graph(2, **search).check_search()
        hidden_numbers(self.hidden_labels)
        if isinstance(self.cost, str):
            check_choice("cost", self.cost, ("hamming", "normalized"))
        if self.class_weight is not None and self.cost == "normalized":
            raise SettingsError(
                "<class_weight=> goes with costs of single nodes; use <cost='hamming'>"
            )

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, node_weight: Any = None
    ) -> Self:
        """Learn from graphs and the labels of their nodes.

        Parameters
        ----------
        X : list of graphs
            Tuples (node features, edges[, edge features[, types]]): a matrix (n_nodes,
            n_features), dense or sparse, or a list of dicts; whole numbers (n_edges,
            2); features of edges like those of nodes, or None; a type for each node.
            Types have labels, and weights, of their own. Or networkx graphs with
            features in the attribute ``x`` of nodes and edges, and types in ``type`` of
            nodes; or `grid_graph`.
        y : list
            For each graph an array or list of labels, or a dict by names of nodes.
            Where a label is None, it is completed in rounds (`solver="cccp"`).
        sample_weight : array (n_graphs,), optional
        node_weight : list of arrays (n_nodes,), optional
            Factor of the loss of each node.
        """
        self.check_parameters()
        weights = {"class_weight": self.class_weight, "node_weight": node_weight}
        for name, given in weights.items():
            if given is not None:
                refuse_weights(name, self.loss)
        last = self._last_model
        if last is not None:
            self._refuse_other(last.structure, "directed")
        featurizer = GraphFeaturizer() if last is None else last.featurizer
        fitting = featurizer.transform if last else featurizer.fit_transform
        graphs = fitting(X)
        known = last.node_labels if last else label_set(y, graphs, self.hidden_labels)
        codes = known.encode(y, graphs)
        self._refuse_hidden(np.concatenate(codes))
        cost = self.cost
        if self.class_weight is not None:
            factors = known.factors(self.class_weight, codes)
            cost = factors[:, None] * token_loss(cost).matrix(len(factors))
        structure = Graph(
            len(known.labels), cost=cost, types=known.types,
            **{name: getattr(self, name) for name in SEARCH},
        )  # fmt: skip
        problem = structure.pack(
            graphs, codes, self._formulation(), n_jobs=self._n_jobs(),
            node_weight=node_weight,
        )  # fmt: skip
        scoring = TokenFeatureScoring(featurizer)
        model = GraphModel(scoring, structure, known.labels, np.zeros(0))
        self._learn_weights(model, problem, sample_weight)
        self._weighted = self._weighted or node_weight is not None
        model.info["searches"] = dict(Counter(problem.methods()))
        return self

    # ---------------------------------------------------------------- prediction

    unit: ClassVar[str] = "graph"
    is_empty = staticmethod(is_empty_graph)

    def bounds(self, X: Any) -> Floats:
        """Score of each prediction, and a bound of all scores, (n_graphs, 2)."""
        self._check_fitted()
        return self.model_.bounds(X, n_jobs=self._n_jobs())

    def score(self, X: Any, y: Any) -> float:
        """The estimator's `metric` of its predictions."""
        rows = enumerate(zip(y, X, strict=True))
        y = [labels_of(row, parts_of(x).names, "y", i) for i, (row, x) in rows]
        return super().score(X, y)

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Why the labels of one graph won."""
        self._check_fitted()
        return self.model_.explain([x], top=top)

    # ------------------------------------------------------------------- weights

    def _weights(self) -> GraphWeights:
        model = self.model_
        return model.structure.weights_of(model.weights, model.featurizer.n_features_)

    @property
    def coef_(self) -> Floats:
        """Weights of nodes, (n_labels, n_features)."""
        return self._weights().node.T

    @property
    def edge_coef_(self) -> Floats:
        """Weights of edges, (n_edge_features, n_labels, n_labels)."""
        edge, size = self._weights().edge, len(self.model_.labels)
        return edge[:, self.model_.structure.pair_of()].reshape(-1, size, size)
