"""Trained models over a taxonomy: one class per row, or several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.multiclass.model import MulticlassModel
from partwise.outputs.rows import SetModel
from partwise.protocol import Floats, Ints
from partwise.structures.taxonomy import Taxonomy


class TaxonomyModel(MulticlassModel):
    """Predicts and explains classes whose weights are those of nodes on their way."""

    name: ClassVar[str] = "TaxonomyModel"
    structure: Taxonomy

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


class NodeSetModel(SetModel):
    """Predicts the most specific classes of rows, any number for each.

    The labels are the nodes of its structure, `NodeSets`.
    """

    name: ClassVar[str] = "NodeSetModel"

    node_weights = SetModel.class_weights
    predict_nodes = SetModel.predict_matrix  # ancestors included

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[list[Any]]:
        """The most specific classes of each row."""
        return [self.structure.names(y) for y in self.predict_nodes(X, n_jobs=n_jobs)]

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """The features that carry the predicted set, against the empty one."""
        y = self.predict_nodes(X)[0]
        reasons, shares = self.set_reasons(X, np.flatnonzero(y))
        reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        winner = ", ".join(map(str, self.structure.names(y)))
        score = float(shares[:, np.flatnonzero(y)].sum())
        return Explanation(["row"], [winner], [""], score, score, reasons)
