"""Clusterings: by spanning forests, whose links are hidden, or by all pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.protocol import Floats, Ints, Structure
from partwise.structures.clustering.items import Items
from partwise.structures.clustering.partitions import (
    best_partition,
    components,
    greedy_partition,
    joined,
)
from partwise.structures.clustering.problem import LinkProblem, pack_links


class Forest(NamedTuple):
    """Links without a cycle; an output."""

    links: tuple[int, ...]  # numbers of pairs, rising


class Partition(NamedTuple):
    """Candidate pairs within clusters; an output, and a truth."""

    links: tuple[int, ...]  # numbers of pairs, rising

    @classmethod
    def of(cls, x: Items, labels: Any) -> Partition:
        """The partition by cluster labels of the items."""
        return cls(tuple(np.flatnonzero(joined(labels, x.pairs)).tolist()))


class LinkedItems(Structure):
    """What clusterings by candidate links between `Items` share."""

    decoder: ClassVar[str]
    output_class: ClassVar[type]
    link_penalty: float

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

    def joint_feature(self, x: Items, y: Any) -> Floats:
        """Features of the links, summed."""
        return np.asarray(x.features[list(y.links)].sum(axis=0), float).ravel()

    @abstractmethod
    def same(self, x: Items, y: Any) -> Any:
        """Whether each link is within a true cluster, (m,)."""

    def scores(self, x: Items, w: Floats) -> Floats:
        """<w, x_link> of each link, (m,)."""
        return np.asarray(x.features @ w).ravel()

    def augmented_scores(self, x: Items, y: Any, w: Floats) -> Floats:
        """Scores and what each link adds to the loss, (m,)."""
        return self.scores(x, w) + np.where(self.same(x, y), -1.0, self.link_penalty)

    def pack(
        self,
        X: Sequence[Items],
        Y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> LinkProblem:
        """Lay documents out for a solver; each has a link at least."""
        self.check()
        formulation = (formulation or Formulation()).validate()
        same = None
        if Y is not None:
            same = [self.same(x, y) for x, y in zip(X, Y, strict=True)]
        links = as_features([x.features for x in X])
        items = [(x.n_items, x.pairs) for x in X]
        return pack_links(self, links, items, same, formulation, n_jobs)


class Clustering(LinkedItems):
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

    decoder = "forest"
    output_class = Forest

    def __init__(self, link_penalty: float = 1.0) -> None:
        self.link_penalty = link_penalty

    def same(self, x: Items, y: Any) -> Any:
        """By the labels of a truth (items, labels)."""
        return joined(y[1], x.pairs)

    def loss(self, y: Any, y_hat: Forest) -> float:
        """Δ; a truth is (items, labels), because links need their items."""
        items, labels = y
        return self.loss_between(items, labels, y_hat)

    def loss_between(self, x: Items, labels: Any, forest: Forest) -> float:
        """Δ of a forest against cluster labels."""
        same = joined(labels, x.pairs)
        best = len(kruskal(x.n_items, x.pairs, np.where(same, 1.0, 0.0), True))
        right = int(same[list(forest.links)].sum())
        return best - right + self.link_penalty * (len(forest.links) - right)

    def argmax(self, x: Items, w: Floats) -> Forest:
        """The forest of positive links with the highest score."""
        return Forest(kruskal(x.n_items, x.pairs, self.scores(x, w), True))

    def loss_augmented_argmax(self, x: Items, y: Any, w: Floats) -> Forest:
        """The same where links cost −l."""
        score = self.augmented_scores(x, y, w)
        return Forest(kruskal(x.n_items, x.pairs, score, True))

    def complete(self, x: Items, y: Any, w: Floats) -> Forest:
        """Maximum spanning trees of the true clusters."""
        score = np.where(self.same(x, y), self.scores(x, w), -np.inf)
        return Forest(kruskal(x.n_items, x.pairs, score, False))


class CorrelationClustering(LinkedItems):
    """Partitions of items by all pairs within clusters.

    An input is `Items`, an output a `Partition`. <w, Ψ(x, y)> is the sum of <w, x_pair>
    over all candidate pairs within clusters of y, so weak pairs count as well as strong
    ones, and

        Δ(y, ŷ) = pairs that y joins and ŷ does not + r·pairs that ŷ joins and y does
        not,

    the number of wrong pairs for r = 1. Nothing is hidden. The best partition is hard
    to find: clusters are merged greedily, as long as the score rises, which comes with
    a bound; small documents are solved by integer programming.

    Parameters
    ----------
    link_penalty : float
        r, what a pair joined across true clusters costs.
    exact_items : int
        Items of a document up to which the best partition is found by an integer
        program where the greedy one does not reach its bound; 0 never does.

    Notes
    -----
    Finley and Joachims: Supervised clustering with support vector machines, ICML 2005.
    Their pair loss is divided by the number of pairs; this one is not, like that of
    `Clustering`.

    Examples
    --------
    >>> x = Items(3, [(0, 1), (1, 2), (0, 2)], np.array([[2.0], [1.0], [-4.0]]))
    >>> clustering = CorrelationClustering().setup([x], [Partition.of(x, [0, 0, 1])])
    >>> partition = clustering.argmax(x, np.ones(1))
    >>> partition, clusters(x, partition).tolist()
    (Partition(links=(0,)), [0, 0, 1])
    """

    decoder = "correlation"
    output_class = Partition

    def __init__(self, link_penalty: float = 1.0, exact_items: int = 0) -> None:
        self.link_penalty = link_penalty
        self.exact_items = exact_items

    def setup(self, X: Sequence[Items], Y: Sequence[Any]) -> Self:
        """Number of features of a pair; whether all searches are exact."""
        super().setup(X, Y)
        self.exact_oracle = all(x.n_items <= self.exact_items for x in X)
        return self

    def same(self, x: Items, y: Partition) -> Any:
        """Whether the truth joins each pair."""
        same = np.zeros(len(x.pairs), bool)
        same[list(y.links)] = True
        return same

    def loss(self, y: Partition, y_hat: Partition) -> float:
        """Δ(y, ŷ)."""
        missing, wrong = (
            set(y.links) - set(y_hat.links),
            set(y_hat.links) - set(y.links),
        )
        return len(missing) + self.link_penalty * len(wrong)

    def argmax(self, x: Items, w: Floats) -> Partition:
        """The best partition of a small document, else the greedy one."""
        return self._best(x, self.scores(x, w))

    def loss_augmented_argmax(self, x: Items, y: Partition, w: Floats) -> Partition:
        """The same by scores and losses; the truth, if nothing better is found."""
        value = self.augmented_scores(x, y, w)
        outputs = (self._best(x, value), y)
        return max(outputs, key=lambda output: value[list(output.links)].sum())

    def _best(self, x: Items, value: Floats) -> Partition:
        best = None
        if x.n_items <= self.exact_items:
            best = best_partition(x.n_items, x.pairs, value)
        if best is None:
            return Partition.of(x, greedy_partition(x.n_items, x.pairs, value))
        return Partition(tuple(np.flatnonzero(best.is_joined).tolist()))


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


def clusters(x: Any, output: Any) -> Ints:
    """Cluster of each item, (n_items,), numbered as they appear."""
    ends = np.reshape(x.pairs, (-1, 2))[list(output.links)]
    label = components(x.n_items, ends)
    _, first, number = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def refuse_unknown(labels: Sequence[Any]) -> None:
    """Refuse None and NaN among the cluster labels of documents."""
    for i, each in enumerate(labels):
        if any(label is None or label != label for label in each.ravel().tolist()):
            raise ValueError(
                f"y of document {i} has an item without a cluster (None or NaN); give "
                "an item that is alone a label of its own"
            )


def n_splits(x: Any, labels: Any) -> int:
    """True clusters that candidate links leave in pieces: links missing to join them.

    Examples
    --------
    >>> n_splits(Items(3, [(0, 1)], None), [0, 0, 0])
    1
    """
    ends = np.reshape(x.pairs, (-1, 2))[joined(labels, x.pairs)]
    return int(components(x.n_items, ends).max()) + 1 - len(np.unique(labels))
