"""Clusterings by spanning forests, whose links are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.protocol import Floats, Ints, Structure
from partwise.structures.clustering.problem import ForestProblem, pack_forests


class Items(NamedTuple):
    """Items to cluster, with candidate links."""

    n_items: int
    pairs: Any  # (m, 2) int, items of each link
    features: Any  # (m, n_features), dense or CSR


class Forest(NamedTuple):
    """Links without a cycle; an output."""

    links: tuple[int, ...]  # numbers of pairs, rising


class Clustering(Structure):
    """Partitions of items by the strong links between them.

    An input is `Items`, a truth the pair of them and a cluster label for each item, an
    output a `Forest`: its trees are clusters. <w, Ψ(x, h)> is the sum of <w, x_link>
    over the links of h; the best forest keeps links of positive score, by Kruskal's
    algorithm. With n items in k true clusters,

        Δ(y, h) = n − k − Σ_{links in h} l,   l = 1 within a true cluster, −r across,

    which is not normalised. Which links made a true cluster is hidden: a truth is
    completed by the maximum spanning tree of each of its clusters.

    Parameters
    ----------
    link_penalty : float
        r, what a link across costs: 1, or less to link more (0.01 in the paper, chosen
        by cross-validation for the MITRE loss).

    Notes
    -----
    Yu and Joachims, ICML 2009, section 5.2. Where candidate links do not connect a true
    cluster, n − k counts the links that they can make.

    Examples
    --------
    >>> x = Items(3, [(0, 1), (1, 2)], np.array([[1.0], [-1.0]]))
    >>> clustering = Clustering().setup([x], [(x, [0, 0, 1])])
    >>> forest = clustering.argmax(x, np.ones(1))
    >>> forest, clusters(x, forest).tolist()
    (Forest(links=(0,)), [0, 0, 1])
    >>> clustering.loss_between(x, [0, 0, 1], forest)
    0.0
    """

    def __init__(self, link_penalty: float = 1.0) -> None:
        self.link_penalty = link_penalty

    def setup(self, X: Sequence[Items], Y: Sequence[Any]) -> Self:
        """Number of features of a link."""
        self.check()
        self.n_psi_ = int(X[0].features.shape[1])
        return self

    def check(self) -> None:
        """Refuse a penalty of zero, by which wrong clusterings would cost nothing."""
        if not 0 < self.link_penalty < 1e6:
            raise ValueError(
                f"link_penalty={self.link_penalty!r}: give a positive number"
            )

    def joint_feature(self, x: Items, y: Forest) -> Floats:
        """Features of the links, summed."""
        return np.asarray(x.features[list(y.links)].sum(axis=0), float).ravel()

    def loss(self, y: Any, y_hat: Forest) -> float:
        """Δ; a truth is (items, labels), because links need their items."""
        items, labels = y
        return self.loss_between(items, labels, y_hat)

    def loss_between(self, x: Items, labels: Any, forest: Forest) -> float:
        """Δ of a forest against cluster labels."""
        same = self.same(x, labels)
        best = len(kruskal(x.n_items, x.pairs, np.where(same, 1.0, 0.0), True))
        right = int(same[list(forest.links)].sum())
        return best - right + self.link_penalty * (len(forest.links) - right)

    def same(self, x: Items, labels: Any) -> Any:
        """Whether each link is within a true cluster, (m,)."""
        labels, pairs = np.asarray(labels), np.reshape(x.pairs, (-1, 2))
        return labels[pairs[:, 0]] == labels[pairs[:, 1]]

    def argmax(self, x: Items, w: Floats) -> Forest:
        """The forest of positive links with the highest score."""
        score = np.asarray(x.features @ w).ravel()
        return Forest(kruskal(x.n_items, x.pairs, score, True))

    def loss_augmented_argmax(self, x: Items, y: Any, w: Floats) -> Forest:
        """The same where links cost −l."""
        cost = np.where(self.same(x, y[1]), -1.0, self.link_penalty)
        score = np.asarray(x.features @ w).ravel() + cost
        return Forest(kruskal(x.n_items, x.pairs, score, True))

    def complete(self, x: Items, y: Any, w: Floats) -> Forest:
        """Maximum spanning trees of the true clusters."""
        score = np.asarray(x.features @ w).ravel()
        score = np.where(self.same(x, y[1]), score, -np.inf)
        return Forest(kruskal(x.n_items, x.pairs, score, False))

    def pack(  # type: ignore[override]
        self,
        X: Sequence[Items],
        Y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> ForestProblem:
        """Lay documents out for a solver; each has a link at least."""
        self.check()
        formulation = (formulation or Formulation()).validate()
        labels = None if Y is None else [y[1] for y in Y]
        links = as_features([x.features for x in X])
        items = [(x.n_items, x.pairs) for x in X]
        return pack_forests(self, links, items, labels, formulation, n_jobs)


def kruskal(n: int, pairs: Any, score: Floats, positive: bool) -> tuple[int, ...]:
    """Links of the maximum spanning forest, of positive scores or of finite ones."""
    parent = list(range(n))

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    pairs, chosen = np.reshape(pairs, (-1, 2)), []
    for r in np.argsort(-score, kind="stable").tolist():
        if score[r] <= (0.0 if positive else -np.inf):
            break
        a, b = (root(int(item)) for item in pairs[r])
        if a != b:
            parent[a] = b
            chosen.append(r)
    return tuple(sorted(chosen))


def clusters(x: Any, forest: Forest) -> Ints:
    """Cluster of each item, (n_items,), numbered as they appear."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    ends = np.reshape(x.pairs, (-1, 2))[list(forest.links)].astype(int)
    shape = (x.n_items, x.n_items)
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape)
    label = connected_components(graph, directed=False)[1]
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
