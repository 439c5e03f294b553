"""Several classes per example: sets of nodes that are closed under parents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any, Self

import numpy as np

from partwise.compiled import address_of, plain_array
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Floats, Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.packed import aligned_zeros
from partwise.structures.row_structure import (
    RowStructure,
    SetProblem,
    example_rows,
    padded,
    row_vector,
)
from partwise.structures.taxonomy._sets_compiled import (
    CLOSURE,
    SetBlocks,
    SetWork,
    best_closure,
)
from partwise.structures.taxonomy.nodes import Nodes

NODE_COSTS = ("uniform", "siblings")


class NodeSets(RowStructure):
    """Sets of nodes of a tree or lattice that contain the parents of their nodes.

    Ψ(x, S) = Σ_{z ∈ S} Φ(x) ⊗ e_z: each node has weights of its own, and the score of a
    set is the sum over its nodes. The loss is Σ c_z over the nodes in which two sets
    differ. Both are sums over nodes, so in a tree one program from the leaves up finds
    the best set exactly: with s_z the score of node z (and what the loss adds to it),

        f(z) = s_z + Σ_{children c} max(0, f(c)),

    where leaves are mandatory and all f(c) ≤ 0, the largest f(c) in place of the sum.
    In a lattice the best set is a maximum closure, found exactly by a minimum cut.

    Parameters
    ----------
    nodes : Nodes
    node_cost : {"uniform", "siblings"} or array (N,)
        c_z: the same for all nodes; 1 for all nodes at the top together, and the cost
        of a parent shared by its children (Cesa-Bianchi et al., JMLR 2006; in a lattice
        the sum of such shares), so that errors near the top cost more; or numbers.
        Scaled to the sum 1: the loss is 1 at most.
    leaves : {"optional", "mandatory"}
        Whether a set may end at an inner node, or be empty; or has at least one leaf,
        and one below each of its nodes, in a tree.

    Notes
    -----
    An output y is a 0/1 vector over nodes. Runs margin rescaling with an L1 penalty.

    Examples
    --------
    >>> nodes = Nodes.read({"cat": "animal", "dog": "animal", "oak": "plant"})
    >>> sets = NodeSets(nodes)
    >>> sets.closure([["cat"], []])
    array([[1, 0, 1, 0, 0],
           [0, 0, 0, 0, 0]], dtype=int32)
    >>> sets.names(sets.best(np.array([-1.0, -1.0, 3.0, -2.0, 0.5])))
    ['cat']
    """

    def __init__(
        self, nodes: Nodes, node_cost: Any = "uniform", leaves: str = "optional"
    ) -> None:
        self.nodes = nodes
        self.node_cost = node_cost
        self.leaves = leaves

    # ------------------------------------------------------------------ vectors

    @property
    def n_labels(self) -> int:
        """Labels of a set: the nodes."""
        return len(self.nodes)

    def check(self) -> None:
        """Refuse unknown settings, and mandatory leaves in a lattice."""
        if self.leaves not in ("optional", "mandatory"):
            raise SettingsError(
                f"<leaves={self.leaves!r}>: choose 'optional' or 'mandatory'"
            )
        if self.leaves == "mandatory" and not self.nodes.is_tree:
            k = next(k for k, up in enumerate(self.nodes.parents) if len(up) > 1)
            raise CapabilityError(
                f"node {self.nodes.names[k]!r} has several parents: with "
                "<leaves='mandatory'> the search is exact in trees only; give each "
                "node one parent, or leave <leaves=> out"
            )

    def costs(self) -> Floats:
        """c_z of all nodes, (N,), with the sum 1."""
        size = self.n_labels
        if isinstance(self.node_cost, str):
            if self.node_cost not in NODE_COSTS:
                raise SettingsError(
                    f"<node_cost={self.node_cost!r}>: choose {', '.join(NODE_COSTS)}, "
                    "or give numbers"
                )
            cost = np.ones(size)
            if self.node_cost == "siblings":
                parents = self.nodes.parents
                n_children = np.bincount([p for up in parents for p in up or (size,)])
                for z, up in enumerate(parents):
                    shares = [cost[p] / n_children[p] for p in up]
                    cost[z] = sum(shares) if up else 1.0 / n_children[size]
        else:
            cost = plain_array(self.node_cost, np.float64)
            if cost.shape != (size,):
                raise ValueError(
                    f"node_cost has shape {cost.shape} where there are {size} nodes"
                )
            if not ((cost >= 0).all() and 0 < cost.sum() < np.inf):
                raise ValueError("node_cost: give numbers ≥ 0, not all zero")
        return cost / cost.sum()

    def closure(self, labels: Sequence[Any]) -> Ints:
        """Names of nodes for each example, with all their ancestors, (n, N) int32."""
        above = self.nodes.ancestors()
        out = np.zeros((len(labels), self.n_labels), np.int32)
        for i, names in enumerate(labels):
            if isinstance(names, str):
                raise ValueError(f"y[{i}] is {names!r}; give a list of classes")
            for name in names:
                if name not in self.nodes.number:
                    raise ValueError(f"y[{i}] has {name!r}, which is no node")
                out[i] |= above[self.nodes.number[name]]
        return out

    def names(self, y: Any) -> list[Any]:
        """The most specific nodes of a set."""
        is_inner = np.zeros(self.n_labels, bool)
        for z in np.flatnonzero(y):
            is_inner[list(self.nodes.parents[z])] = True
        return [self.nodes.names[z] for z in np.flatnonzero(np.asarray(y) * ~is_inner)]

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Any, Y: Any) -> Self:
        """Number of features."""
        self.check()
        n_features = X.shape[1] if hasattr(X, "shape") else np.size(X[0])
        self.n_psi_ = n_features * self.n_labels
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, S), shape (n_features · N,)."""
        return np.outer(row_vector(x), np.asarray(y, np.float64)).ravel()

    def loss(self, y: Any, y_hat: Any) -> float:
        """Σ c_z over the nodes in which the sets differ."""
        return float(self.costs()[np.asarray(y) != np.asarray(y_hat)].sum())

    def argmax(self, x: Any, w: Floats) -> Ints:
        """The set of highest score."""
        return self.best(row_vector(x) @ np.reshape(w, (-1, self.n_labels)))

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Ints:
        """The set of highest score plus loss."""
        score = row_vector(x) @ np.reshape(w, (-1, self.n_labels))
        return self.best(score + self.costs() * (1.0 - 2.0 * np.asarray(y)))

    def best(self, score: Floats) -> Ints:
        """The valid set of the highest sum of scores; in a tree by plain Python."""
        self.check()
        if not self.nodes.is_tree:
            code: Ints = np.empty(self.n_labels, np.int32)
            best_closure(plain_array(score, np.float64), *self._edges(), code)
            return code
        must = self.leaves == "mandatory"
        size = self.n_labels
        children: list[list[int]] = [[] for _ in range(size + 1)]  # the root last
        for z, up in enumerate(self.nodes.parents):
            children[up[0] if up else size].append(z)
        total = np.append(np.asarray(score, np.float64), 0.0)
        taken: list[list[int]] = [[] for _ in range(size + 1)]
        for z in [*range(size - 1, -1, -1), size]:
            taken[z] = [c for c in children[z] if total[c] > 0.0]
            if must and children[z] and not taken[z]:
                taken[z] = [max(children[z], key=lambda c: total[c])]
            total[z] += sum(total[c] for c in taken[z])
        y = np.zeros(size, np.int32)
        waiting = list(taken[size])
        while waiting:
            z = waiting.pop()
            y[z] = 1
            waiting += taken[z]
        return y

    def _edges(self) -> tuple[Ints, Ints, Ints]:
        """Children with their parents, and the edges of each node, for cuts."""
        pairs = [(z, p) for z, up in enumerate(self.nodes.parents) for p in up]
        ends: Ints = np.array(pairs, np.int32).reshape(-1, 2)
        nodes = ends.T.ravel()
        near = np.tile(np.arange(len(ends), dtype=np.int32), 2)
        counts = np.bincount(nodes, minlength=self.n_labels)
        return ends, offsets_of(counts), near[np.argsort(nodes, kind="stable")]

    def enumerate(self, x: Any) -> list[Ints]:
        """All valid sets; for tiny trees."""
        size = self.n_labels
        sizes = (combinations(range(size), k) for k in range(size + 1))
        vectors = (np.isin(np.arange(size), s) * 1 for s in chain(*sizes))
        return [y.astype(np.int32) for y in vectors if self.is_valid(y)]

    def is_valid(self, y: Any) -> bool:
        """Whether parents are there, and leaves where they are mandatory."""
        y = np.asarray(y)
        parents = self.nodes.parents
        if any(y[z] and not y[list(up)].all() for z, up in enumerate(parents)):
            return False
        if self.leaves == "optional":
            return True
        ends = y.astype(bool)
        for z in np.flatnonzero(y):
            ends[list(parents[z])] = False
        return bool(y.any()) and bool(self.nodes.is_leaf()[ends].all())

    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> NodeSetsProblem:
        """The problem of these rows; Y has 0 or 1 for each node, (n, N)."""
        self.check()
        if not formulation.is_additive:
            raise CapabilityError(
                "sets of nodes have no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        features: Any = example_rows(X)
        n, size = len(features.offset) - 1, self.n_labels
        scorer = scorer or LinearScorer()
        rows = scorer.bind(features, padded(size))
        y: Ints = np.zeros((n, size), np.int32)
        number = None
        if Y is not None:
            y = self._check_sets(Y, n)
            rows, number = scorer.ordered(rows)
        parent = [up[0] if up else -1 for up in self.nodes.parents]
        is_tree = self.nodes.is_tree
        ends, near_ptr, near = self._edges()
        blocks = SetBlocks(
            rows=rows,
            y=y,
            pairs=np.zeros((0, 2), np.int32),
            parent=np.array(parent, np.int32),
            cost=self.costs(),
            has_loss=1,
            must_reach_leaf=int(self.leaves == "mandatory"),
            width=padded(size),
            is_tree=int(is_tree),
            closure=0 if is_tree else address_of(CLOSURE, best_closure),
            ends=ends,
            near_ptr=near_ptr,
            near=near,
        )
        return NodeSetsProblem(
            self, blocks, features.offset, formulation, n_jobs, scorer, number
        )

    def _check_sets(self, Y: Any, n: int) -> Ints:
        y = np.asarray(Y)
        if y.shape != (n, self.n_labels):
            raise ValueError(
                f"Y has shape {y.shape}; give 0 or 1 for each of {n} rows and "
                f"{self.n_labels} nodes"
            )
        for i, row in enumerate(y):
            if not (np.isin(row, (0, 1)).all() and self.is_valid(row)):
                what = "closed under parents"
                if self.leaves == "mandatory":
                    what += ", with a leaf below each node"
                raise ValueError(f"Y[{i}] is no set of nodes that is {what}")
        return plain_array(y, np.int32)


class NodeSetsProblem(SetProblem):
    """Packed examples with sets of nodes.

    A model has padded rows and may number features in its own way; `compact` and
    `expand` convert from and to the plain layout (n_features, N).
    """

    def __init__(
        self,
        structure: NodeSets,
        blocks: SetBlocks,
        offset: Ints,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None,
    ) -> None:
        size, width = len(blocks.parent), blocks.width

        def new_work() -> SetWork:
            return SetWork(
                aligned_zeros(1, width), np.zeros(0), aligned_zeros(1, width),
                np.zeros(size), np.zeros(size), np.zeros(size, np.int32),
                np.zeros(size),
            )  # fmt: skip

        super().__init__(
            structure,
            blocks,
            blocks._replace(has_loss=0),
            0,
            offset=offset,
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
        )
