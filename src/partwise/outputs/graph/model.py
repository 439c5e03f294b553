"""A trained labeller of graphs: labels nodes without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.features.graphs import GraphInput
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import LabelledModel
from partwise.protocol import Floats, Ints, Latent, offers
from partwise.structures.graph import Graph
from partwise.structures.graph.labels import encode_labels


class GraphModel(LabelledModel):
    """Labels the nodes of graphs.

    Its features are those of a `GraphFeaturizer`; weights are laid out as in
    `Graph.weights_of`.
    """

    structure: Graph
    name: ClassVar[str] = "GraphModel"
    # ---------------------------------------------------------------- prediction

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All graphs at once."""
        if len(X):
            graphs = self.featurizer.transform(X)
            yield self.structure.pack(graphs, None, n_jobs=n_jobs)

    def training_problem(
        self,
        X: Any,
        codes: Any,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
    ) -> Any:
        """The problem whose objective the certificate speaks of."""
        graphs = self.featurizer.transform(X)
        problem = self.structure.pack(graphs, codes, formulation, n_jobs=n_jobs)
        if offers(problem, Latent):
            problem.complete(self.weights)
        return problem

    def truth_problems(self, X: Any, y: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed graphs with their labels."""
        codes = encode_labels(y, self.featurizer.transform(X), self.labels)
        yield self.training_problem(X, codes, n_jobs=n_jobs)

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
                graphs = self.featurizer.transform(X)
                codes = encode_labels(given, graphs, self.labels, "given")
                known = np.concatenate(codes)
                banned = np.ones((len(known), len(self.labels)), bool)
                banned[np.arange(len(known)), known] = False
                banned[known < 0] = False
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
        """How each graph is searched: elimination, cut or messages."""
        return [name for problem in self.problems(X) for name in problem.methods()]

    # --------------------------------------------------------------- explanation

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """Node features of each label, then edge features of each pair of labels."""
        featurizer = self.featurizer
        weights = self.structure.weights_of(self.weights, featurizer.n_features_)
        for label, column in zip(self.labels, weights.node.T, strict=True):
            yield str(label), featurizer.feature_names_, column
        for number, column in enumerate(weights.edge.T):
            yield self._pair_name(number), featurizer.edge_names_, column

    def _pair_name(self, number: int) -> str:
        size = len(self.labels)
        place = int(np.argmax(self.structure.pair_of() == number))
        arrow = "→" if self.structure.directed else "–"
        return f"{self.labels[place // size]}{arrow}{self.labels[place % size]}"

    def explain(self, X: Any, *, top: int = 10) -> Explanation:
        """Why the labels of one graph, in a list, won.

        The runner-up is the second best labelling where searches are exact, else the
        best one that differs from the winner at one node.
        """
        (x,) = self.featurizer.transform(X)
        (problem,) = self.problems(X)
        (winner,), (score,), _ = problem.decode(self.weights)
        names = x.names or [f"#{v}" for v in range(x.n_nodes)]
        explanation = Explanation(
            [str(name) for name in names],
            self._name(winner),
            None,
            float(score),
            np.inf,
        )
        if len(self.labels) == 1:
            return explanation
        if problem.methods() == ["elimination"]:
            runner, second = problem.k_best(self.weights, 2)[0][1]
        else:
            runner, change = self.structure.nearest(x, self.weights, winner)
            second = score + change
        explanation.runner_up = self._name(runner)
        explanation.lead = float(score - second)
        reasons = self._reasons(x, winner, runner)
        explanation.contributions = sorted(reasons, key=lambda c: -abs(c.share))[:top]
        return explanation

    def _reasons(
        self, x: GraphInput, winner: Ints, runner: Ints
    ) -> Iterator[Contribution]:
        """Shares of the features of nodes and edges whose labels differ."""
        weights = self.structure.weights_of(self.weights, x.features.shape[1])
        featurizer = self.featurizer
        for v in np.flatnonzero(winner != runner).tolist():
            a, b = self.labels[winner[v]], self.labels[runner[v]]
            share = weights.node[:, winner[v]] - weights.node[:, runner[v]]
            yield from _shares(v, x.features, v, share, featurizer.feature_names_, a, b)
        pair_of, size = self.structure.pair_of(), len(self.labels)
        one, other = (pair_of[y[x.edges] @ [size, 1]] for y in (winner, runner))
        for e in np.flatnonzero(one != other).tolist():
            a, b = self._pair_name(one[e]), self._pair_name(other[e])
            share = weights.edge[:, one[e]] - weights.edge[:, other[e]]
            v = int(x.edges[e, 0])
            yield from _shares(
                v, x.edge_features, e, share, featurizer.edge_names_, a, b
            )


def _shares(
    v: int, matrix: Any, row: int, weights: Floats, names: list[str], a: Any, b: Any
) -> Iterator[Contribution]:
    values = matrix[[row]]
    values = values.toarray() if hasattr(values, "toarray") else values
    shares = values[0] * weights
    for f in np.flatnonzero(shares).tolist():
        yield Contribution(v, names[f], a, b, float(shares[f]))
