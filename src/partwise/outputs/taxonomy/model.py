"""Trained models over a taxonomy: one class per row, or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import ScoredModel
from partwise.outputs.multiclass.model import MulticlassModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.protocol import Floats, Ints
from partwise.structures.taxonomy import NodeSets, Taxonomy


class TaxonomyModel(MulticlassModel):
    """Predicts and explains classes whose weights are those of nodes on their way."""

    name: ClassVar[str] = "TaxonomyModel"
    structure: Taxonomy  # type: ignore[assignment]

    def node_weights(self) -> Floats:
        """Weights of features for nodes, (n_features, N), of a model on features."""
        names = self.structure.attribute_names
        return self.scoring.emission(self.weights, len(names))

    def class_weights(self) -> Floats:
        """Sums over the nodes on the way to each class, (n_features, K)."""
        return self.node_weights() @ self.structure.attribute_matrix().T

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each node the features and their weights."""
        return self.scoring.heaviest(self.weights, self.structure.attribute_names)

    def _part_reasons(
        self, X: Any, outputs: tuple[Ints, Ints]
    ) -> Iterator[Contribution]:
        """Shares of features over all nodes in which the two ways differ."""
        weights = self.weights
        if not self.scoring.prefix:
            weights = self.class_weights().ravel()
        return self.scoring.reasons(X, weights, self.labels, outputs)


class NodeSetModel(ScoredModel):
    """Predicts the most specific classes of rows, any number for each.

    Parameters
    ----------
    scoring : RowFeatureScoring
    structure : NodeSets
    weights : array (n_features · N,)
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "NodeSetModel"
    support = None

    def __init__(
        self,
        scoring: RowFeatureScoring,
        structure: NodeSets,
        weights: Floats,
        info: dict[str, Any],
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.weights = weights
        self.info = info
        self.labels = structure.nodes.names

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All rows at once."""
        features = self.scoring.featurizer.transform(X)
        yield self.structure.pack(features, None, n_jobs=n_jobs)

    def training_problem(
        self, X: Any, y: Ints, formulation: Formulation | None = None, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of; y is (n, N)."""
        features = self.scoring.featurizer.transform(X)
        return self.structure.pack(features, y, formulation, n_jobs=n_jobs)

    def node_weights(self) -> Floats:
        """Weights of features for nodes, (n_features, N)."""
        return self.scoring.emission(self.weights, len(self.labels))

    class_weights = node_weights

    def predict_nodes(self, X: Any, *, n_jobs: int = 1) -> Ints:
        """1 for the predicted nodes, ancestors included, (n, N)."""
        (problem,) = self.problems(X, n_jobs)
        return problem.decode(problem.expand(self.weights))

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[list[Any]]:
        """The most specific classes of each row."""
        return [self.structure.names(y) for y in self.predict_nodes(X, n_jobs=n_jobs)]

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each node the features and their weights."""
        return self.scoring.heaviest(self.weights, self.labels)

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """The features that carry the predicted set, against the empty one."""
        y = self.predict_nodes(X)[0]
        nodes = np.flatnonzero(y)
        features: Any = self.scoring.featurizer.transform(X)
        if hasattr(features, "X"):
            columns, values = np.arange(features.n_features), features.X[0]
        else:
            columns, values = features.indices, features.data
        shares = values[:, None] * self.node_weights()[np.ix_(columns, nodes)]
        names = self.scoring.feature_names
        reasons = [
            Contribution(0, names[f], self.labels[z], "none", float(shares[p, q]))
            for p, f in enumerate(columns)
            for q, z in enumerate(nodes)
        ]
        reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        winner, score = ", ".join(map(str, self.structure.names(y))), shares.sum()
        return Explanation(["row"], [winner], [""], score, float(score), reasons)
