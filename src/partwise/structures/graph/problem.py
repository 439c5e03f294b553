"""Packed graphs: a `Problem` in numba, with threads over graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.compiled import plain_array
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints, unit_cuts
from partwise.scorers._rows import number_locally
from partwise.scorers.linear import LinearScorer
from partwise.structures.digests import row_digests
from partwise.structures.graph._compiled import (
    CUT,
    ELIMINATION,
    MESSAGES,
    MILP,
    GraphBlocks,
    GraphWork,
    decode_rows,
)
from partwise.structures.graph._sums import sum_rows
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.k_best import k_best_by_partition
from partwise.structures.packed import ForkedTruths, PackedProblem, aligned_zeros

if TYPE_CHECKING:
    from partwise.structures.graph.structure import Graph

METHODS = {ELIMINATION: "elimination", CUT: "cut", MESSAGES: "messages", MILP: "milp"}


class GraphProblem(PackedProblem):
    """Packed graphs; a model has the layout of `Graph.weights_of`."""

    def __init__(
        self, graph: Graph, blocks: GraphBlocks, formulation: Formulation, n_jobs: int
    ) -> None:
        rows: Any = blocks.rows
        edges: Any = blocks.edge_rows
        size, n_pairs = graph.n_labels, blocks.n_pairs
        most_nodes = int(np.diff(blocks.offset).max())
        most_edges = int(np.diff(blocks.edge_offset).max())

        def localise() -> tuple[GraphBlocks, int]:
            local = LinearScorer().local(rows, blocks.offset)
            indices = np.empty_like(edges.indices)
            n_local = number_locally(
                blocks.edge_offset, edges.indptr, edges.indices, edges.n_features,
                indices,
            )  # fmt: skip
            near = edges._replace(indices=indices, n_features=int(n_local))
            n_weights = local.n_features * size + int(n_local) * n_pairs
            return blocks._replace(rows=local, edge_rows=near), n_weights

        def new_work() -> GraphWork:
            return GraphWork(
                aligned_zeros(most_nodes, size), aligned_zeros(most_nodes, size),
                aligned_zeros(most_edges, n_pairs),
                aligned_zeros(most_edges, size * size),
            )  # fmt: skip

        super().__init__(
            blocks,
            blocks._replace(is_prediction=1),
            localise,
            n_blocks=len(blocks.offset) - 1,
            n_weights=rows.n_features * size + edges.n_features * n_pairs,
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
        )
        self.structure = graph

    def effort(self) -> Floats:
        """Nodes and edges of each graph."""
        blocks: Any = self.blocks
        return 1.0 + np.diff(blocks.offset) + np.diff(blocks.edge_offset)

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Label arrays of the cuts."""
        return cuts.codes

    def methods(self) -> list[str]:
        """How each graph is searched."""
        return [METHODS[number] for number in self.blocks.method.tolist()]

    def decode(
        self, model: Floats, banned: Any = None
    ) -> tuple[list[Ints], Floats, Floats]:
        """Best labels of each graph, their scores, and bounds of all scores.

        Parameters
        ----------
        model : array (n_weights,)
        banned : array (n_nodes, n_labels), optional
            True for labels that a node must not have.
        """
        blocks: Any = self.blocks
        code = np.zeros(blocks.offset[-1], np.int32)
        value, bound = np.zeros(self.n_blocks), np.zeros(self.n_blocks)
        marks: Any = blocks.banned
        if banned is not None:
            marks = np.asarray(banned, bool)
            if len(blocks.banned):
                marks = marks | (blocks.banned > 0)
        marks = plain_array(marks, np.uint8)

        def visit(work: Any, first: int, last: int) -> None:
            decode_rows(
                self.blocks, work, model, marks, first, last, code, value, bound
            )

        self.visit_shards(self.n_blocks, visit, shard=1)
        return np.split(code, blocks.offset[1:-1]), value, bound

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k best labellings of each graph with their scores.

        Lawler (1972): labellings besides the best one are divided by the first node
        that differs, with the nodes before it fixed. Refuses graphs whose searches do
        not prove what they find.
        """
        return [self._k_best_of(i, model, k) for i in range(self.n_blocks)]

    def _k_best_of(self, i: int, model: Floats, k: int) -> list[tuple[Ints, float]]:
        blocks: Any = self.blocks
        here = slice(int(blocks.offset[i]), int(blocks.offset[i + 1]))
        n_nodes, size = int(blocks.offset[-1]), self.structure.n_labels
        code, banned = np.zeros(n_nodes, np.int32), np.zeros((n_nodes, size), np.uint8)
        if len(blocks.banned):
            banned[:] = blocks.banned
        value, bound = np.zeros(self.n_blocks), np.zeros(self.n_blocks)
        work = self.borrow_work()

        def best_of(space: tuple[Any, int]) -> tuple[Ints, float] | None:
            marks, _ = space
            if marks.all(axis=1).any():
                return None
            banned[here] = marks
            decode_rows(blocks, work, model, banned, i, i + 1, code, value, bound)
            if bound[i] > value[i]:
                raise CapabilityError(
                    f"graph {i} is searched by {self.methods()[i]}, which did not "
                    "prove a labelling to be the best; several best labellings need "
                    "<decoder='elimination'>, for graphs of small width, more "
                    "<search_nodes>, or <decoder='milp'>"
                )
            return code[here].copy(), float(value[i])

        def divide(space: tuple[Any, int], labels: Ints) -> Iterator[tuple[Any, int]]:
            marks, fixed = space
            for v in range(fixed, len(labels)):
                other = marks.copy()
                other[v, labels[v]] = 1
                yield other, v
                marks = marks.copy()
                marks[v] = 1
                marks[v, labels[v]] = 0

        ranked = k_best_by_partition(k, (banned[here].copy(), 0), best_of, divide)
        self.return_work(work)
        return ranked

    def marginals(self, model: Floats) -> tuple[Floats, Floats]:
        """P(label of node) ∝ exp(score), (n_nodes, L), and log Z of each graph."""
        node, _, log_z, _ = self._sums(model)
        return node, log_z

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each graph, and Σ c_i (E[φ] − φ(y_i))."""
        blocks: Any = self.blocks
        node, edge, log_z, truth = self._sums(model)
        base = np.repeat(blocks.offset[:-1], np.diff(blocks.edge_offset))
        first, second = (blocks.y[base + end] for end in blocks.ends.T)
        node[np.arange(len(node)), blocks.y] -= 1.0
        edge[np.arange(len(edge)), first * self.structure.n_labels + second] -= 1.0
        node *= np.repeat(weight, np.diff(blocks.offset))[:, None]
        edge *= np.repeat(weight, np.diff(blocks.edge_offset))[:, None]
        pairs = np.zeros((len(edge), blocks.n_pairs))
        np.add.at(pairs.T, blocks.pair_of, edge.T)
        gradient = [_as_matrix(blocks.rows).T @ node]
        gradient.append(_as_matrix(blocks.edge_rows).T @ pairs)
        return log_z - truth, np.concatenate([part.ravel() for part in gradient])

    def _sums(self, model: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Probabilities of labels and of pairs of labels, log Z, scores of truths."""
        self._require_elimination("probabilities")
        blocks: Any = self.blocks
        size = self.structure.n_labels
        node = np.empty((blocks.offset[-1], size))
        edge = np.empty((blocks.edge_offset[-1], size * size))
        log_z, truth = np.empty(self.n_blocks), np.empty(self.n_blocks)

        def visit(work: Any, first: int, last: int) -> None:
            sum_rows(self.blocks, work, model, first, last, node, edge, log_z, truth)

        self.visit_shards(self.n_blocks, visit)
        return node, edge, log_z, truth

    def _require_elimination(self, what: str) -> None:
        others = np.flatnonzero(self.blocks.method != ELIMINATION)
        if len(others):
            raise CapabilityError(
                f"graph {others[0]} is searched by {self.methods()[others[0]]}; {what} "
                "need <decoder='elimination'>, for graphs of small width"
            )

    def keys(self) -> list[bytes] | None:
        """Digests of features, edges and truths."""
        blocks: Any = self.blocks
        truth, every = self.truths_for_keys(), slice(None)
        nodes = row_digests(blocks.rows, every, truth, blocks.offset)
        edges = row_digests(blocks.edge_rows, every, blocks.ends, blocks.edge_offset)
        return [node + edge for node, edge in zip(nodes, edges, strict=True)]


class LatentGraphProblem(ForkedTruths, GraphProblem):
    """Packed graphs of which some labels are not known.

    Nodes without a label cost nothing; their labels are the best ones beside those
    that are known.
    """

    def __init__(
        self,
        graph: Graph,
        blocks: GraphBlocks,
        formulation: Formulation,
        n_jobs: int,
        is_hidden: Any,
    ) -> None:
        super().__init__(graph, blocks, formulation, n_jobs)
        self._is_hidden = is_hidden
        # −1 in the place of labels that are not known
        self.observed = np.where(is_hidden, -1, blocks.y).astype(np.int32)

    def complete(self, model: Floats) -> Cuts:
        """Label the hidden nodes; the old truths of graphs that have changed.

        Completions depend on the model alone, in ties, too, where searches prove what
        they find. Others are taken unless they are worse than the labels that are
        there, so that no round becomes worse by a poor search.
        """
        blocks: Any = self.blocks
        banned = np.ones((len(self.observed), self.structure.n_labels), np.uint8)
        banned[np.arange(len(banned)), blocks.y] = 0
        banned[self._is_hidden] = 0
        codes, value, bound = self.decode(model, banned)
        rows = np.arange(self.n_blocks)
        best = unit_cuts(rows, blocks.offset, np.concatenate(codes))
        is_taken = (bound <= value) | (self.margins(model, best) <= 0)
        code = np.where(
            np.repeat(is_taken, np.diff(blocks.offset)), best.code, blocks.y
        )
        return replace_truths(blocks.y, blocks.offset, code)


def _as_matrix(rows: Any) -> Any:
    """Rows as a matrix."""
    if hasattr(rows, "x"):
        return rows.x
    data = rows.data if rows.step else np.full(len(rows.indices), rows.data[0])
    shape = (len(rows.indptr) - 1, rows.n_features)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=shape)
