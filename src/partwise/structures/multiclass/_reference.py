"""Plain-Python methods on one example: the reference of the compiled ones.

Here x is a row of features, dense or sparse, and y the number of a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from partwise.protocol import Floats
from partwise.structures.row_structure import row_vector


class MulticlassReference:
    """Mixin with the four methods of a structure, and the optional ones."""

    n_classes: int
    n_psi_: int

    def cost_matrix(self) -> Floats:
        """Loss of each class for each; see `Multiclass`."""
        raise NotImplementedError

    def attribute_matrix(self) -> Floats:
        """Λ; see `Multiclass`."""
        raise NotImplementedError

    def setup(self, X: Any, Y: Sequence[int]) -> Self:
        """Read the number of features."""
        n_features = X.shape[1] if hasattr(X, "shape") else row_vector(X[0]).size
        self.n_psi_ = n_features * self.attribute_matrix().shape[1]
        return self

    def joint_feature(self, x: Any, y: int) -> Floats:
        """Ψ(x, y) = Φ(x) ⊗ Λ(y), shape (n_features · n_attributes,)."""
        return np.outer(row_vector(x), self.attribute_matrix()[y]).ravel()

    def loss(self, y: int, y_hat: int) -> float:
        """Δ(y, ŷ), an entry of the cost matrix."""
        return float(self.cost_matrix()[y, y_hat])

    def argmax(self, x: Any, w: Floats) -> int:
        """The class of highest score, the first of several."""
        return int(np.argmax(self._scores(x, w)))

    def loss_augmented_argmax(self, x: Any, y: int, w: Floats) -> int:
        """The class of highest score plus loss, the first of several."""
        return int(np.argmax(self._scores(x, w) + self.cost_matrix()[y]))

    def enumerate(self, x: Any) -> list[int]:
        """All classes."""
        return list(range(self.n_classes))

    def two_best(self, x: Any, w: Floats) -> list[int]:
        """The two classes of highest score, or the only one."""
        return np.argsort(-self._scores(x, w), kind="stable")[:2].tolist()

    def frontier(self, x: Any, y: int, w: Floats) -> list[tuple[float, int]]:
        """The best class for every loss."""
        scores, cost = self._scores(x, w), self.cost_matrix()[y]
        pairs = []
        for loss in np.unique(cost):
            classes = np.flatnonzero(cost == loss)
            pairs.append((float(loss), int(classes[np.argmax(scores[classes])])))
        return pairs

    def _scores(self, x: Any, w: Floats) -> Floats:
        attributes = self.attribute_matrix()
        weights = np.reshape(w, (-1, attributes.shape[1]))
        return attributes @ (row_vector(x) @ weights)
