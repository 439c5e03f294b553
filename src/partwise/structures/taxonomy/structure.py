"""One class in a tree or lattice: `Multiclass` with ancestors as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.parameters import SettingsError
from partwise.protocol import Floats, Ints
from partwise.structures.multiclass import Multiclass
from partwise.structures.taxonomy.nodes import Nodes

COSTS = ("tree", "path", "zero_one")
FEATURES = ("ancestors", "balanced", "class")


class Taxonomy(Multiclass):
    """One of the classes of a taxonomy.

    Ψ(x, y) = Φ(x) ⊗ Λ(y), where Λ(y) marks the class y and all its ancestors: every
    node z of the taxonomy has a vector of weights w_z, and the score of a class is
    Σ <w_z, x> over the nodes on the way to it. <Λ(y), Λ(y')> counts common ancestors,
    so that classes learn from the examples of their relatives (Tsochantaridis et al.,
    ICML 2004, section 5.2). All searches are those of `Multiclass`.

    Parameters
    ----------
    nodes : Nodes
    classes : sequence
        Names of the nodes that are outputs, in the order of their numbers. A class may
        be an inner node: then it competes with the classes below it.
    cost : "tree", "path", "zero_one" or array (K, K)
        The loss of a wrong class: height of the first common ancestor (in a lattice the
        smallest of all common ones; the siblings of a leaf cost 1); steps from one to
        the other, so that the parent of a leaf costs 1 and a sibling 2; 1; or a matrix.
    features : {"ancestors", "balanced", "class"}
        What Λ marks: the class and its ancestors; the same, but each of d ancestors by
        1/√d, so that <Λ(y), Λ(y)> is 2 at every depth and not d + 1; or the class only,
        which is a flat model.

    Examples
    --------
    >>> nodes = Nodes.read({"cat": "animal", "dog": "animal", "oak": "plant"})
    >>> taxonomy = Taxonomy(nodes, ["cat", "dog", "oak"])
    >>> taxonomy.cost_matrix()
    array([[0., 1., 2.],
           [1., 0., 2.],
           [2., 2., 0.]])
    >>> taxonomy.attribute_matrix()
    array([[1., 0., 1., 0., 0.],
           [1., 0., 0., 1., 0.],
           [0., 1., 0., 0., 1.]])
    """

    def __init__(
        self,
        nodes: Nodes,
        classes: Any,
        cost: Any = "tree",
        features: str = "ancestors",
    ) -> None:
        self.nodes = nodes
        self.classes = classes
        self.cost = cost
        self.features = features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """Number of outputs."""
        return len(self.classes)

    @property
    def numbers(self) -> Ints:
        """Nodes of the classes, (K,)."""
        return np.array([self.nodes.number[name] for name in self.classes], np.int64)

    def cost_matrix(self) -> Floats:
        """Loss of predicting the column's class for the row's, shape (K, K)."""
        if isinstance(self.cost, str):
            if self.cost == "tree":
                return self.nodes.tree_loss(self.numbers)
            if self.cost == "path":
                return self.nodes.path_loss(self.numbers)
            if self.cost not in COSTS:
                raise SettingsError(
                    f"<cost={self.cost!r}>: choose {', '.join(COSTS)}, or give a matrix"
                )
        return super().cost_matrix()

    def attribute_matrix(self) -> Floats:
        """Λ, shape (K, N): the nodes on the way to each class."""
        if self.features not in FEATURES:
            raise SettingsError(
                f"<features={self.features!r}>: choose {', '.join(FEATURES)}"
            )
        if self.features == "class":
            return np.eye(self.n_classes)
        marks = self.nodes.ancestors()[self.numbers].astype(float)
        if self.features == "balanced":
            n_ancestors = marks.sum(axis=1, keepdims=True) - 1.0
            marks /= np.sqrt(np.maximum(n_ancestors, 1.0))
            marks[np.arange(self.n_classes), self.numbers] = 1.0
        return marks

    @property
    def attribute_names(self) -> list[Any]:
        """What the columns of weights belong to: nodes, or classes."""
        if self.features == "class":
            return list(self.classes)
        return self.nodes.names
