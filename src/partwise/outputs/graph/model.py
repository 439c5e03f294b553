"""A trained labeller of graphs: labels nodes without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.label_model import LabelModel
from partwise.outputs.label_scoring import table_reasons
from partwise.protocol import Floats, Ints
from partwise.structures.graph import Graph
from partwise.structures.graph.labels import NodeLabels


class GraphModel(LabelModel):
    """Labels the nodes of graphs.

    Its features are those of a `GraphFeaturizer`; weights are laid out as in
    `Graph.weights_of`.
    """

    structure: Graph
    name: ClassVar[str] = "GraphModel"

    @property
    def node_labels(self) -> NodeLabels:
        """The labels with their types."""
        return NodeLabels(self.labels, self.structure.types)

    def truth_problems(
        self, X: Any, y: Any, n_jobs: int = 1, **settings: Any
    ) -> Iterator[Any]:
        """Packed graphs with their labels."""
        graphs = self.featurizer.transform(X)
        codes = self.node_labels.encode(y, graphs)
        yield self.structure.pack(graphs, codes, n_jobs=n_jobs, **settings)

    def predict(
        self, X: Any, *, given: Sequence[Any] | None = None, n_jobs: int = 1
    ) -> list[list[Any]]:
        """Best labels of the nodes of each graph.

        Parameters
        ----------
        X : list of graphs
        given : list, optional
            Labels that are known and must be kept: for each graph a list with None
            where they are not, or a dict by the names of nodes.
        n_jobs : int
        """
        answers: list[list[Any]] = []
        for problem in self.problems(X, n_jobs):
            banned = None
            if given is not None:
                codes = self.node_labels.encode(
                    given, self.featurizer.transform(X), "given"
                )
                known = np.concatenate(codes)
                others = np.arange(len(self.labels)) != known[:, None]
                banned = (known[:, None] >= 0) & others
            labels, _, _ = problem.decode(self.weights, banned)
            answers += [self._name(codes) for codes in labels]
        return answers

    def bounds(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of each prediction, and the bound of all scores, (n_graphs, 2).

        They are equal where the prediction is known to be the best labelling.
        """
        for problem in self.problems(X, n_jobs):
            return np.stack(problem.decode(self.weights)[1:], axis=1)
        return np.zeros((0, 2))

    def methods(self, X: Any) -> list[str]:
        """How each graph is searched: elimination, cut, messages or milp."""
        return [name for problem in self.problems(X) for name in problem.methods()]

    # --------------------------------------------------------------- explanation

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """Node features of each label, then edge features of each pair of labels."""
        featurizer = self.featurizer
        weights = self.structure.weights_of(self.weights, featurizer.n_features_)
        for label, column in zip(self.labels, weights.node.T, strict=True):
            yield str(label), featurizer.feature_names_, column
        pairs = self.structure.pair_names(self.labels)
        for name, column in zip(pairs, weights.edge.T, strict=True):
            yield name, featurizer.edge_names_, column

    def explain(self, X: Any, *, top: int = 10, tokens: Any = None) -> Explanation:
        """Why the labels of one graph, in a list, won.

        The runner-up is the second best labelling where searches are by elimination,
        else the best one that differs from the winner at one node.
        """
        (x,) = self.featurizer.transform(X)
        names = list(map(str, x.names or [f"#{v}" for v in range(x.n_nodes)]))
        return super().explain(X, tokens=tokens or names, top=top)

    def two_best(self, X: Any) -> list[tuple[Ints, float]]:
        """Winner and runner-up of one graph, with their scores; see `explain`."""
        (problem,) = self.problems(X)
        if problem.methods() == ["elimination"]:
            return problem.k_best(self.weights, 2)[0]
        (winner,), (score,), _ = problem.decode(self.weights)
        (x,) = self.featurizer.transform(X)
        runner, change = self.structure.nearest(x, self.weights, winner)
        ranked = [(winner, float(score)), (runner, float(score + change))]
        return ranked if np.isfinite(change) else ranked[:1]

    def _part_reasons(
        self, X: Any, outputs: tuple[Ints, Ints]
    ) -> Iterator[Contribution]:
        """Shares of the features of nodes and edges whose labels differ."""
        (x,) = self.featurizer.transform(X)
        weights = self.structure.weights_of(self.weights, x.features.shape[1])
        names = (self.featurizer.feature_names_, self.labels)
        yield from table_reasons(x.features, weights.node, outputs, names)
        pair_of, size = self.structure.pair_of(), len(self.labels)
        pairs = [pair_of[y[x.edges] @ [size, 1]] for y in outputs]
        names = (self.featurizer.edge_names_, self.structure.pair_names(self.labels))
        places = x.edges[:, 0]
        yield from table_reasons(x.edge_features, weights.edge, pairs, names, places)
