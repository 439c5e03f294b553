"""Sets of nodes as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width) in one flat array: a column of weights for each
node, padded to whole vectors. A code has a 0 or 1 for each node.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import (
    add_row,
    called_at,
    dot_row,
    jitted,
    kernel,
    score_rows,
    uncounted,
    wipe_row,
)
from partwise.structures.graph._cuts import cut_graph

CLOSURE = types.void(
    types.float64[::1],  # scores of nodes
    types.int32[:, ::1],  # ends of edges, child and parent
    types.int64[::1], types.int32[::1],  # edges of each node
    types.int32[::1],  # receives the set
)  # fmt: skip


@jitted
def best_closure(score, ends, near_ptr, near, code):
    """Write the set of highest score that is closed under parents, in a lattice.

    A minimum cut (Picard, Management Science 1976) with label 0 for nodes of the set: a
    child without one of its parents costs more than all scores. Of several sets the one
    without what adds nothing.
    """
    n, n_edges = code.shape[0], ends.shape[0]
    unary, pairs = np.zeros((n, 2)), np.zeros((n_edges, 4))
    total = 0.0
    for z in range(n):
        unary[z, 0] = score[z]
        total += abs(score[z])
    for e in range(n_edges):
        pairs[e, 1] = -2.0 * total
    cut_graph(unary, pairs, ends, near_ptr, near, code)
    for z in range(n):
        code[z] = 1 - code[z]


call_closure = called_at(CLOSURE)


class SetWork(NamedTuple):
    """Buffers of one thread."""

    parts: np.ndarray  # (1, width) scores of nodes, left for `recall_margin`
    spare: np.ndarray  # (1, width)
    total: np.ndarray  # (N,) best score of a set below a node, the node included
    first: np.ndarray  # (N,) best total of a child
    child: np.ndarray  # (N,) int32 that child
    change: np.ndarray  # (N,)


@uncounted
class SetBlocks(NamedTuple):
    """Examples with a set of nodes each, over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    y: np.ndarray  # (n_blocks, N) int32, 1 for nodes of the true set
    parent: np.ndarray  # (N,) int32, −1 at the top; parents come before children
    cost: np.ndarray  # (N,) loss of a node too many or too few
    has_loss: int  # 0 for predictions
    must_reach_leaf: int
    width: int  # columns of a model, padding included
    is_tree: int
    closure: Any  # address of `best_closure`, for lattices
    ends: np.ndarray  # (n_edges, 2) int32, child and parent
    near_ptr: np.ndarray  # (N + 1,) int64
    near: np.ndarray  # (2·n_edges,) int32, edges of each node

    def code_length(blocks, i):
        return blocks.parent.shape[0]

    def output_loss(blocks, i, code):
        loss = 0.0
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                loss += blocks.cost[z]
        return loss

    def find_output(blocks, work, w, i, code):
        score_nodes(blocks, w, i, work.parts)
        loss = 0.0
        for z in range(code.shape[0]):
            work.change[z] = work.parts[0, z]
            if blocks.has_loss:
                work.change[z] += blocks.cost[z] * (1.0 - 2.0 * blocks.y[i, z])
        if blocks.is_tree:
            best_set(blocks.parent, blocks.must_reach_leaf, work, code)
        else:
            call_closure(blocks.closure, (
                work.change, blocks.ends, blocks.near_ptr, blocks.near, code
            ))  # fmt: skip
        margin = 0.0
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                margin += (blocks.y[i, z] - code[z]) * work.parts[0, z]
                loss += blocks.cost[z] * blocks.has_loss
        return loss, 1.0, loss - margin, loss - margin

    def recall_margin(blocks, work, i, code):
        return set_margin(blocks.y, i, work.parts, code)

    def margin(blocks, w, i, code):
        total = 0.0
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                score = dot_row(blocks.rows, w, blocks.width, i, z)
                total += (blocks.y[i, z] - code[z]) * score
        return total

    def margins(blocks, work, w, i, codes, at, n, out):
        if n == 0:
            return
        score_nodes(blocks, w, i, work.spare)
        size = blocks.parent.shape[0]
        for p in range(n):
            begin = at + p * size
            out[p] = set_margin(blocks.y, i, work.spare, codes[begin : begin + size])

    def push(blocks, w, i, code, coef):
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                change = coef * (blocks.y[i, z] - code[z])
                add_row(blocks.rows, w, blocks.width, i, z, change)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        size = blocks.parent.shape[0]
        for z in range(size):
            change = 0.0
            for p in range(n):
                change += coef[p] * (blocks.y[i, z] - codes[at + p * size + z])
            if change != 0.0:
                add_row(blocks.rows, w, blocks.width, i, z, change)

    def wipe(blocks, w, i, code):
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                wipe_row(blocks.rows, w, blocks.width, i, z)


@kernel
def score_nodes(blocks, w, i, out):
    """Scores of all nodes for row i, (1, width)."""
    n_features, width = blocks.rows.n_features, blocks.width
    weights = w[: n_features * width].reshape(n_features, width)
    score_rows(blocks.rows, weights, i, i + 1, out)


@kernel
def set_margin(y, i, score, code):
    """Score of the true set of row i less that of a set."""
    total = 0.0
    for z in range(code.shape[0]):
        if code[z] != y[i, z]:
            total += (y[i, z] - code[z]) * score[0, z]
    return total


@kernel
def best_set(parent, must_reach_leaf, work, code):
    """Write the set of highest total ``work.change`` that is closed under parents.

    From the leaves up, a node collects the totals of children that are worth having;
    where sets must reach leaves and no child is, that of the best child. Then from the
    top down, a node is taken when its parent is and it was worth it.
    """
    score, total, first, child = work.change, work.total, work.first, work.child
    size = parent.shape[0]
    for z in range(size):
        total[z], first[z], child[z] = 0.0, -np.inf, -1
    best, top = -np.inf, -1  # nodes at the top are children of the root
    for z in range(size - 1, -1, -1):
        if must_reach_leaf and child[z] >= 0 and first[z] <= 0.0:
            total[z] += first[z]
        total[z] += score[z]
        up = parent[z]
        if up < 0:
            if total[z] >= best:
                best, top = total[z], z
        else:
            if total[z] > 0.0:
                total[up] += total[z]
            if total[z] >= first[up]:
                first[up], child[up] = total[z], z
    for z in range(size):
        up = parent[z]
        if up < 0:
            is_forced = must_reach_leaf and z == top and best <= 0.0
            code[z] = np.int32(total[z] > 0.0 or is_forced)
        else:
            is_forced = must_reach_leaf and z == child[up] and first[up] <= 0.0
            is_taken = code[up] == 1 and (total[z] > 0.0 or is_forced)
            code[z] = np.int32(is_taken)
