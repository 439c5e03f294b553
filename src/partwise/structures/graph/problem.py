"""Packed graphs: a `Problem` in numba, with threads over graphs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.compiled import plain_array
from partwise.features.arrays import Features, as_features, make_features
from partwise.features.graphs import GraphInput
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers._rows import number_locally
from partwise.scorers.linear import LinearScorer
from partwise.structures.graph._compiled import (
    CUT,
    ELIMINATION,
    MESSAGES,
    GraphBlocks,
    GraphWork,
    decode_rows,
    search_address,
)
from partwise.structures.graph._elimination import Plan, make_plan
from partwise.structures.packed import PackedProblem, aligned_zeros, digests
from partwise.threads import run_sharded

if TYPE_CHECKING:
    from partwise.structures.graph.structure import Graph

METHODS = {ELIMINATION: "elimination", CUT: "cut", MESSAGES: "messages"}
MOST_CELLS = 2**24  # of a table of elimination; 2**20 where it was not asked for
MOST_CYCLES = 2000  # above, elimination is not tried: the attempt itself takes time
CHEAP = 200  # sweeps of messages that elimination may cost


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
        return np.split(cuts.code, cuts.indptr[1:-1])

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
        size = self.structure.n_labels
        marks = np.zeros((0, size), np.uint8) if banned is None else banned
        marks = plain_array(marks, np.uint8)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            decode_rows(
                self.blocks, work, model, marks, first, last, code, value, bound
            )
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on, shard=1)
        return np.split(code, blocks.offset[1:-1]), value, bound

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k best labellings of each graph with their scores.

        Lawler (1972): labellings besides the best one are divided by the first node
        that differs, with the nodes before it fixed.
        """
        blocks: Any = self.blocks
        if (blocks.method != ELIMINATION).any():
            i = int(np.argmax(blocks.method != ELIMINATION))
            raise CapabilityError(
                f"graph {i} is searched by {self.methods()[i]}; several best labellings"
                " need <decoder='elimination'>"
            )
        return [self._k_best_of(i, model, k) for i in range(self.n_blocks)]

    def _k_best_of(self, i: int, model: Floats, k: int) -> list[tuple[Ints, float]]:
        blocks: Any = self.blocks
        here = slice(int(blocks.offset[i]), int(blocks.offset[i + 1]))
        n_nodes, size = int(blocks.offset[-1]), self.structure.n_labels
        code, banned = np.zeros(n_nodes, np.int32), np.zeros((n_nodes, size), np.uint8)
        value, bound = np.zeros(self.n_blocks), np.zeros(self.n_blocks)
        work = self.borrow_work()
        heap: list[Any] = []
        found: list[tuple[Ints, float]] = []
        n_pushed = 0

        def push(marks: Any, fixed: int) -> None:
            nonlocal n_pushed
            if marks.all(axis=1).any():
                return
            banned[here] = marks
            decode_rows(blocks, work, model, banned, i, i + 1, code, value, bound)
            n_pushed += 1
            best = code[here].copy()
            heapq.heappush(heap, (-float(value[i]), n_pushed, best, marks, fixed))

        push(banned[here].copy(), 0)
        while heap and len(found) < k:
            negative, _, labels, marks, fixed = heapq.heappop(heap)
            found.append((labels, -negative))
            for v in range(fixed, len(labels)):
                other = marks.copy()
                other[v, labels[v]] = 1
                push(other, v)
                marks = marks.copy()
                marks[v] = 1
                marks[v, labels[v]] = 0
        self.return_work(work)
        return found

    def truths_for_keys(self) -> Ints:
        """Labels that are known."""
        return self.blocks.y

    def keys(self) -> list[bytes] | None:
        """Digests of features, edges and truths."""
        blocks: Any = self.blocks
        truth = self.truths_for_keys()
        pieces = [(truth, blocks.offset), (blocks.ends, blocks.edge_offset)]
        for rows, offset in (
            (blocks.rows, blocks.offset),
            (blocks.edge_rows, blocks.edge_offset),
        ):
            if hasattr(rows, "x"):
                pieces.append((rows.x, offset))
                continue
            first = rows.indptr[offset]
            pieces += [(rows.indices, first), (np.diff(rows.indptr), offset)]
            if rows.step:
                pieces.append((rows.data, first))
        return digests(pieces, self.n_blocks)


class LatentGraphProblem(GraphProblem):
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
        # in the place of labels that are not known, for keys
        self._observed = np.where(is_hidden, -1, blocks.y).astype(np.int32)

    def complete(self, model: Floats) -> Cuts:
        """Label the hidden nodes; the old truths of graphs that have changed."""
        blocks: Any = self.blocks
        banned = np.ones((len(self._observed), self.structure.n_labels), np.uint8)
        banned[np.arange(len(banned)), blocks.y] = 0
        banned[self._is_hidden] = 0
        codes, _, _ = self.decode(model, banned)
        rows, old = np.arange(self.n_blocks), blocks.y.copy()
        zero, one = np.zeros(self.n_blocks), np.ones(self.n_blocks)
        found = Cuts(rows, zero, one, zero, zero, blocks.offset, np.concatenate(codes))
        rows = np.flatnonzero(self.margins(model, found) < 0)
        for i in rows.tolist():
            blocks.y[blocks.offset[i] : blocks.offset[i + 1]] = codes[i]
        before = [old[blocks.offset[i] : blocks.offset[i + 1]] for i in rows.tolist()]
        indptr = np.append(0, np.cumsum(np.diff(blocks.offset)[rows])).astype(np.int64)
        code = np.concatenate([np.zeros(0, np.int32), *before])
        zero, one = np.zeros(len(rows)), np.ones(len(rows))
        return Cuts(rows, zero, one, zero, zero, indptr, code)

    def truths_for_keys(self) -> Ints:
        """Without completions."""
        return self._observed


def pack_graphs(
    graph: Graph,
    X: Sequence[GraphInput],
    Y: Any,
    formulation: Formulation,
    n_jobs: int,
    node_weight: Any,
) -> GraphProblem:
    """Lay graphs end to end, with plans of their searches."""
    size = graph.n_labels
    n_nodes = [x.n_nodes for x in X]
    n_edges = [len(x.edges) for x in X]
    offset = np.append(0, np.cumsum(n_nodes)).astype(np.int64)
    edge_offset = np.append(0, np.cumsum(n_edges)).astype(np.int64)
    ends = np.concatenate([x.edges for x in X]).astype(np.int32).reshape(-1, 2)
    y = np.zeros(offset[-1], np.int32)
    if Y is not None:
        y[:] = np.concatenate(Y)
    is_hidden = y < 0
    if is_hidden.any():  # begin with the most frequent label
        if node_weight is None:
            node_weight = np.ones(len(y))
        node_weight = np.where(is_hidden, 0.0, node_weight)
        known = np.bincount(y[~is_hidden], minlength=size)
        y[is_hidden] = int(np.argmax(known))
    costs = graph.delta.pack(y, offset, size)
    is_sparse = any(sparse.issparse(x.features) for x in X)
    wrap = sparse.csr_array if is_sparse else np.asarray
    scorer = LinearScorer()
    rows = scorer.bind(as_features([wrap(x.features) for x in X]))
    near_ptr, near = _adjacency(ends, offset, edge_offset)
    plans = [_plan(graph, i, x) for i, x in enumerate(X)]
    scope_size = np.zeros(offset[-1], np.int64)
    order, parent = np.zeros(offset[-1], np.int32), np.zeros(offset[-1], np.int32)
    scopes: list[Ints] = [np.zeros(0, np.int32)]
    for i, (_, plan) in enumerate(plans):
        if plan is not None:
            here = slice(offset[i], offset[i + 1])
            order[here], parent[here] = plan.order, plan.parent
            scope_size[here] = plan.scope_size
            scopes.append(plan.scope)
    blocks = GraphBlocks(
        rows=rows,
        edge_rows=scorer.bind(_edge_features(X, edge_offset)),
        offset=offset,
        edge_offset=edge_offset,
        ends=plain_array(ends, np.int32),
        near_ptr=near_ptr,
        near=near,
        y=y,
        cost=plain_array(costs.table, np.float64),
        cost_row=plain_array(costs.row, np.int32),
        unit=plain_array(costs.unit, np.float64),
        node_weight=np.ones(1) if node_weight is None else node_weight,
        weight_step=int(node_weight is not None),
        pair_of=graph.pair_of(),
        method=np.array([method for method, _ in plans], np.int64),
        order=order,
        scope_ptr=np.append(0, np.cumsum(scope_size)).astype(np.int64),
        scope=np.concatenate(scopes).astype(np.int32),
        parent=parent,
        n_pairs=graph.n_pairs,
        n_sweeps=int(graph.sweeps),
        limit=int(graph.search_nodes),
        search=search_address(),
        is_prediction=0,
    )
    if is_hidden.any():
        return LatentGraphProblem(graph, blocks, formulation, n_jobs, is_hidden)
    return GraphProblem(graph, blocks, formulation, n_jobs)


def _plan(graph: Graph, i: int, x: GraphInput) -> tuple[int, Plan | None]:
    """How graph i is searched."""
    n, n_edges, size = x.n_nodes, len(x.edges), graph.n_labels
    choice = graph.decoder
    if choice in ("auto", "elimination"):
        is_asked = choice == "elimination"
        cells = MOST_CELLS if is_asked else MOST_CELLS // 16
        width = math.floor(math.log(cells) / math.log(max(size, 2))) - 1
        plan = None
        if is_asked or n_edges - n <= MOST_CYCLES:
            plan = make_plan(n, x.edges, max(width, 1))
        if is_asked and plan is None:
            raise ValueError(
                f"graph {i} is too wide for <decoder='elimination'> with {size} labels;"
                " use 'messages', or 'auto'"
            )
        if plan is not None and (
            is_asked
            or plan.width <= 1
            or plan.n_cells(size) <= CHEAP * (n + n_edges) * size**2
        ):
            return ELIMINATION, plan
    if size == 2 and choice in ("auto", "cut"):
        return CUT, None
    return MESSAGES, None


def _adjacency(ends: Ints, offset: Ints, edge_offset: Ints) -> tuple[Ints, Ints]:
    """Where the edges of each node begin, and these edges."""
    n_edges = np.diff(edge_offset)
    base = np.repeat(offset[:-1], n_edges)
    number = np.arange(len(ends)) - np.repeat(edge_offset[:-1], n_edges)
    nodes = np.concatenate([ends[:, 0] + base, ends[:, 1] + base])
    order = np.argsort(nodes, kind="stable")
    counts = np.bincount(nodes, minlength=int(offset[-1]))
    near_ptr = np.append(0, np.cumsum(counts)).astype(np.int64)
    return near_ptr, np.tile(number, 2)[order].astype(np.int32)


def _edge_features(X: Sequence[GraphInput], edge_offset: Ints) -> Features:
    """Features of all edges, always sparse: one kind of rows, compiled once."""
    widths = [x.edge_features.shape[1] for x in X]
    for i, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(
                f"graph {i} has {width} edge features where graph 0 has {widths[0]}"
            )
    described = [sparse.csr_array(x.edge_features) for x in X if len(x.edges)]
    if not described:
        none = np.zeros(0, np.int32)
        return make_features(np.zeros(1), none, None, edge_offset, widths[0])
    features: Any = as_features(described)
    return features._replace(offset=edge_offset)
