"""Graphs as numba blocks: the structure's side of `partwise.compiled`.

A model has the weights of nodes (n_features, L), then those of edges (n_edge_features,
n_pairs), where `pair_of` says which weight a pair of labels has: each its own where
edges are directed, else one for both orders. A code is the label of each node.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import (
    address_of,
    called_at,
    jitted,
    kernel,
    output_loss,
    recall_margin,
    score_rows,
    uncounted,
)
from partwise.scorers._touch import ADD, DOT, WIPE, touch_row
from partwise.structures.graph._cuts import attracts, cut_graph
from partwise.structures.graph._elimination import eliminate
from partwise.structures.graph._messages import (
    penalty_of,
    score_of,
    search_graph,
    slack_of,
)
from partwise.structures.graph._milp import search_by_milp

ELIMINATION, CUT, MESSAGES, MILP = 0, 1, 2, 3  # how a block is searched

TABLE = types.float64[:, ::1]
NODES = types.int32[::1]
PLACES = types.int64[::1]
SEARCH = types.float64(
    types.int64, types.int64, types.int64, types.int64,  # method, sweeps, nodes, seed
    TABLE, TABLE, types.int32[:, ::1],  # scores of nodes and edges, ends of edges
    PLACES, NODES,  # edges of each node
    NODES, PLACES, NODES, NODES,  # the plan of elimination
    NODES,  # receives the labels
)  # fmt: skip


@jitted
def search(
    method, n_sweeps, limit, is_seeded, unary, pairs, ends, near_ptr, near, order,
    scope_ptr, scope, parent, code,
):  # fmt: skip
    """The best labelling by the method of a block; returns a bound of all scores."""
    if method == ELIMINATION:
        return eliminate(
            order, scope_ptr, scope, parent, unary, pairs, ends, near_ptr, near, code
        )
    if method == CUT and attracts(pairs, ends.shape[0]):
        return cut_graph(unary, pairs, ends, near_ptr, near, code)
    n = code.shape[0]
    return search_graph(
        unary[:n].copy(), unary[:n], pairs, ends, near_ptr, near, n_sweeps, limit,
        is_seeded, code,
    )  # fmt: skip


call_search = called_at(SEARCH)


def search_address(is_milp=False):
    """Of `search`, for blocks: it is compiled once for the rows of all scorers."""
    if is_milp:
        return address_of(SEARCH, search_by_milp, is_cached=False)
    return address_of(SEARCH, search)


class GraphWork(NamedTuple):
    """Buffers of one thread."""

    emit: np.ndarray  # (most nodes, L) scores of labels
    score: np.ndarray  # (most nodes, L) with losses, or without forbidden labels
    edge: np.ndarray  # (most edges, n_pairs) scores of pairs by their weights
    pairs: np.ndarray  # (most edges, L·L) the same by labels


@uncounted
class GraphBlocks(NamedTuple):
    """Packed graphs over rows of any scorer."""

    rows: Any  # of nodes: a tag with the row operations of `partwise.compiled`
    edge_rows: Any  # of edges
    offset: np.ndarray  # (n_blocks + 1,) int64, nodes of each graph
    edge_offset: np.ndarray  # (n_blocks + 1,) int64
    ends: np.ndarray  # (n_edges, 2) int32, nodes counted from the first of the graph
    near_ptr: np.ndarray  # (n_nodes + 1,) int64 into `near`
    near: np.ndarray  # (2·n_edges,) int32, edges counted from the first of the graph
    y: np.ndarray  # (n_nodes,) int32 true labels
    cost: np.ndarray  # (rows, L) costs of labels, see `TokenCosts`
    cost_row: np.ndarray  # (n_nodes,) int32 the row of each node
    unit: np.ndarray  # (n_blocks,) factor of each graph's costs
    node_weight: np.ndarray  # (n_nodes,) or (1,)
    weight_step: int  # 0 when all nodes weigh the same
    pair_of: np.ndarray  # (L·L,) int32
    method: np.ndarray  # (n_blocks,) int64
    order: np.ndarray  # (n_nodes,) int32, see `Plan`
    scope_ptr: np.ndarray  # (n_nodes + 1,) int64
    scope: np.ndarray
    parent: np.ndarray  # (n_nodes,) int32
    n_pairs: int
    n_sweeps: int
    limit: int
    search: Any  # the address of `search`, or of another with its signature
    banned: np.ndarray  # (n_nodes, L) uint8, labels of other types, or (0, L)
    is_prediction: int

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        total = 0.0
        for v in range(blocks.offset[i + 1] - blocks.offset[i]):
            total += node_loss(blocks, i, v, code[v])
        return total

    def find_output(blocks, work, w, i, code):
        score_block(blocks, work, w, i)
        begin = blocks.offset[i]
        n, size = blocks.offset[i + 1] - begin, blocks.cost.shape[1]
        for v in range(n):
            code[v] = blocks.y[begin + v]
            for x in range(size):
                work.score[v, x] = work.emit[v, x]
                if blocks.is_prediction == 0:
                    work.score[v, x] += node_loss(blocks, i, v, x)
        if blocks.banned.shape[0] > 0:
            n_edges = blocks.edge_offset[i + 1] - blocks.edge_offset[i]
            penalty = penalty_of(work.score, work.pairs, n, n_edges)
            take_away(blocks.banned, begin, n, penalty, work.score)
        is_seeded = np.int64(1 - blocks.is_prediction)  # the truth is an output, too
        _, excess = search_block(blocks, work, i, is_seeded, code)
        margin = recall_margin(blocks, work, i, code)
        loss = 0.0 if blocks.is_prediction else output_loss(blocks, i, code)
        return loss, 1.0, loss - margin, loss - margin + excess

    def recall_margin(blocks, work, i, code):
        begin, size = blocks.offset[i], blocks.cost.shape[1]
        total = 0.0
        for v in range(blocks.offset[i + 1] - begin):
            total += work.emit[v, blocks.y[begin + v]] - work.emit[v, code[v]]
        first = blocks.edge_offset[i]
        for e in range(blocks.edge_offset[i + 1] - first):
            a, b = blocks.ends[first + e, 0], blocks.ends[first + e, 1]
            truth = blocks.y[begin + a] * size + blocks.y[begin + b]
            pair = code[a] * size + code[b]
            if pair != truth:
                total += work.pairs[e, truth] - work.pairs[e, pair]
        return total

    def margin(blocks, w, i, code):
        return touch_difference(blocks, w, i, code, DOT, 0.0)

    def push(blocks, w, i, code, coef):
        touch_difference(blocks, w, i, code, ADD, coef)

    def wipe(blocks, w, i, code):
        touch_difference(blocks, w, i, code, WIPE, 0.0)


@kernel
def touch_difference(blocks, w, i, code, mode, coef):
    """DOT returns <w, δ>, ADD adds coef·δ to w, WIPE erases what δ touches."""
    begin, size = blocks.offset[i], blocks.cost.shape[1]
    total = 0.0
    for v in range(blocks.offset[i + 1] - begin):
        truth, t = blocks.y[begin + v], begin + v
        if code[v] != truth:
            total += touch_row(blocks.rows, w, size, t, truth, mode, coef)
            total -= touch_row(blocks.rows, w, size, t, code[v], mode, -coef)
    rest, width = w[blocks.rows.n_features * size :], blocks.n_pairs
    for e in range(blocks.edge_offset[i], blocks.edge_offset[i + 1]):
        truth, pair = true_pair(blocks, i, e), pair_in(blocks, e, code)
        if truth != pair:
            total += touch_row(blocks.edge_rows, rest, width, e, truth, mode, coef)
            total -= touch_row(blocks.edge_rows, rest, width, e, pair, mode, -coef)
    return total


@kernel
def true_pair(blocks, i, e):
    """The weight of the true labels of edge e."""
    begin, size = blocks.offset[i], blocks.cost.shape[1]
    a, b = blocks.y[begin + blocks.ends[e, 0]], blocks.y[begin + blocks.ends[e, 1]]
    return blocks.pair_of[a * size + b]


@kernel
def pair_in(blocks, e, code):
    """The weight of the labels that a code gives to edge e."""
    size = blocks.cost.shape[1]
    return blocks.pair_of[code[blocks.ends[e, 0]] * size + code[blocks.ends[e, 1]]]


@kernel
def node_loss(blocks, i, v, label):
    """Loss of `label` at node v of block i."""
    t = blocks.offset[i] + v
    weight = blocks.node_weight[t * blocks.weight_step]
    return blocks.unit[i] * weight * blocks.cost[blocks.cost_row[t], label]


@kernel
def take_away(banned, begin, n, penalty, score):
    """Lower the scores of labels that the nodes from `begin` on must not have."""
    for v in range(n):
        for x in range(score.shape[1]):
            if banned[begin + v, x] > 0:
                score[v, x] -= penalty


@kernel
def score_block(blocks, work, w, i):
    """Scores of the nodes and edges of block i into `emit` and `pairs`."""
    n_features, size = blocks.rows.n_features, blocks.cost.shape[1]
    at = n_features * size
    weights = w[:at].reshape(n_features, size)
    score_rows(blocks.rows, weights, blocks.offset[i], blocks.offset[i + 1], work.emit)
    first, last = blocks.edge_offset[i], blocks.edge_offset[i + 1]
    n_features, width = blocks.edge_rows.n_features, blocks.n_pairs
    weights = w[at : at + n_features * width].reshape(n_features, width)
    score_rows(blocks.edge_rows, weights, first, last, work.edge)
    for e in range(last - first):
        for k in range(size * size):
            work.pairs[e, k] = work.edge[e, blocks.pair_of[k]]


@kernel
def search_block(blocks, work, i, is_seeded, code):
    """Write the best labelling of block i by the scores in `score` and `pairs`.

    Returns its score, and by how much another labelling may be better.
    """
    begin, end = blocks.offset[i], blocks.offset[i + 1]
    first, last = blocks.edge_offset[i], blocks.edge_offset[i + 1]
    scope_ptr = blocks.scope_ptr[begin : end + 1]
    bound = call_search(blocks.search, (
        blocks.method[i], blocks.n_sweeps, blocks.limit, is_seeded, work.score,
        work.pairs, blocks.ends[first:last], blocks.near_ptr[begin : end + 1],
        blocks.near[2 * first : 2 * last], blocks.order[begin:end], scope_ptr,
        blocks.scope[scope_ptr[0] : scope_ptr[end - begin]], blocks.parent[begin:end],
        code[: end - begin],
    ))  # fmt: skip
    here = code[: end - begin]
    value = score_of(work.score, work.pairs, blocks.ends[first:last], here)
    return value, (bound - value if bound > value + slack_of(bound) else 0.0)


@kernel
def decode_rows(blocks, work, w, banned, first, last, code, value, bound):
    """Best labelling, score and bound of the rows [first, last).

    `banned` (n_nodes, L) marks labels that nodes must not have; it may be empty.
    """
    for i in range(first, last):
        score_block(blocks, work, w, i)
        begin, size = blocks.offset[i], blocks.cost.shape[1]
        n = blocks.offset[i + 1] - begin
        n_edges = blocks.edge_offset[i + 1] - blocks.edge_offset[i]
        penalty = penalty_of(work.emit, work.pairs, n, n_edges)
        for v in range(n):
            for x in range(size):
                work.score[v, x] = work.emit[v, x]
        if banned.shape[0] > 0:
            take_away(banned, begin, n, penalty, work.score)
        here = code[begin : begin + n]
        value[i], excess = search_block(blocks, work, i, np.int64(0), here)
        bound[i] = value[i] + excess
