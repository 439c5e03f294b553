"""Graphs laid end to end, with plans of their searches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.compiled import plain_array
from partwise.features.arrays import Features, as_features, make_features
from partwise.features.graphs import GraphInput
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.graph._compiled import (
    CUT,
    ELIMINATION,
    MESSAGES,
    MILP,
    GraphBlocks,
    search_address,
)
from partwise.structures.graph._elimination import Plan, make_plan
from partwise.structures.graph.problem import GraphProblem, LatentGraphProblem

if TYPE_CHECKING:
    from partwise.structures.graph.structure import Graph

MOST_CELLS = 2**24  # of a table of elimination; 2**20 where it was not asked for
MOST_CYCLES = 2000  # above, elimination is not tried: the attempt itself takes time
MOST_VARIABLES = 10**6  # of an integer program
CHEAP = 200  # sweeps of messages that elimination may cost


def pack_graphs(
    graph: Graph,
    X: Sequence[GraphInput],
    Y: Any,
    formulation: Formulation,
    n_jobs: int,
    node_weight: Any,
    scorer: LinearScorer,
) -> GraphProblem:
    """Lay graphs end to end, with plans of their searches."""
    size = graph.n_labels
    n_nodes = [x.n_nodes for x in X]
    n_edges = [len(x.edges) for x in X]
    offset = offsets_of(n_nodes)
    edge_offset = offsets_of(n_edges)
    ends = np.concatenate([x.edges for x in X]).astype(np.int32).reshape(-1, 2)
    y = np.zeros(offset[-1], np.int32)
    if Y is not None:
        y[:] = np.concatenate(Y)
    is_hidden = y < 0
    banned = np.concatenate([graph.banned(x) for x in X])
    if is_hidden.any():
        weight = np.ones(len(y)) if node_weight is None else node_weight
        node_weight = np.where(is_hidden, 0.0, weight)
        y[is_hidden] = _first_labels(y, banned, size)[is_hidden]
    costs = graph.delta.pack(y, offset, size)
    is_sparse = any(sparse.issparse(x.features) for x in X)
    wrap = sparse.csr_array if is_sparse else np.asarray
    rows = scorer.bind(as_features([wrap(x.features) for x in X]))
    near_ptr, near = _adjacency(ends, offset, edge_offset)
    plans = [_plan(graph, i, x) for i, x in enumerate(X)]
    plan = _joined([plan for _, plan in plans], offset)
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
        order=plan.order,
        scope_ptr=offsets_of(plan.scope_size),
        scope=plan.scope,
        parent=plan.parent,
        n_pairs=graph.n_pairs,
        n_sweeps=int(graph.sweeps),
        limit=int(graph.search_nodes),
        search=_search_of(graph),
        banned=plain_array(banned, np.uint8),
        is_prediction=0,
    )
    if is_hidden.any():
        return LatentGraphProblem(graph, blocks, formulation, n_jobs, is_hidden)
    return GraphProblem(graph, blocks, formulation, n_jobs)


def _first_labels(y: Ints, banned: Any, size: int) -> Ints:
    """Labels at which hidden nodes begin: of all nodes, whose `y` is −1 where hidden.

    The most frequent label that a node may have; where none was ever seen, any: rounds
    from equal labels would keep them equal.
    """
    counts = np.bincount(y[y >= 0], minlength=size)
    shares = np.random.default_rng(0).random((len(y), size))
    votes = np.where(counts > 0, counts, shares)
    if len(banned):
        votes = np.where(banned, -1, votes)
    return np.argmax(votes, axis=1)


def _joined(plans: Sequence[Plan | None], offset: Ints) -> Plan:
    """Plans of all graphs, end to end; zeros for graphs without one."""
    none = [np.zeros(n, np.int32) for n in np.diff(offset)]
    empty = np.zeros(0, np.int32)
    parts = [
        Plan(zero, zero, empty, zero) if plan is None else plan
        for plan, zero in zip(plans, none, strict=True)
    ]
    order, size, scope, parent = (np.concatenate(c) for c in zip(*parts, strict=True))
    return Plan(order, size, scope, parent)


def _plan(graph: Graph, i: int, x: GraphInput) -> tuple[int, Plan | None]:
    """How graph i is searched."""
    n, n_edges, size = x.n_nodes, len(x.edges), graph.n_labels
    choice = graph.decoder
    if choice == "milp":
        if n * size + n_edges * size**2 > MOST_VARIABLES:
            raise SettingsError(
                f"graph {i} is too large for <decoder='milp'>; use 'messages', or "
                "'auto'"
            )
        return MILP, None
    if choice in ("auto", "elimination"):
        is_asked = choice == "elimination"
        cells = MOST_CELLS if is_asked else MOST_CELLS // 16
        width = math.floor(math.log(cells) / math.log(max(size, 2))) - 1
        plan = None
        if is_asked or n_edges - n <= MOST_CYCLES:
            plan = make_plan(n, x.edges, max(width, 1))
        if is_asked and plan is None:
            raise SettingsError(
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


def _search_of(graph: Graph) -> Any:
    """The address of the search of all methods, or of integer programs."""
    with warnings.catch_warnings():
        # numba warns that Python does not run in parallel, which is no surprise
        warnings.filterwarnings("ignore", message=".*object mode.*")
        return search_address(graph.decoder == "milp")


def _adjacency(ends: Ints, offset: Ints, edge_offset: Ints) -> tuple[Ints, Ints]:
    """Where the edges of each node begin, and these edges."""
    n_edges = np.diff(edge_offset)
    base = np.repeat(offset[:-1], n_edges)
    number = np.arange(len(ends)) - np.repeat(edge_offset[:-1], n_edges)
    nodes = np.concatenate([ends[:, 0] + base, ends[:, 1] + base])
    order = np.argsort(nodes, kind="stable")
    counts = np.bincount(nodes, minlength=int(offset[-1]))
    near_ptr = offsets_of(counts)
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
