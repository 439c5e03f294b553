"""Sets of nodes as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width) in one flat array: a column of weights for each
node, padded to whole vectors. A code has a 0 or 1 for each node.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import called_at, jitted, kernel, output_loss, uncounted
from partwise.structures._set_compiled import score_labels, set_margin, set_operations
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
    pair: np.ndarray  # (0,)
    spare: np.ndarray  # (1, width)
    total: np.ndarray  # (N,) best score of a set below a node, the node included
    first: np.ndarray  # (N,) best total of a child
    child: np.ndarray  # (N,) int32 that child
    change: np.ndarray  # (N,)


@uncounted
@set_operations
class SetBlocks(NamedTuple):
    """Examples with a set of nodes each, over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    y: np.ndarray  # (n_blocks, N) int32, 1 for nodes of the true set
    pairs: np.ndarray  # (0, 2) int32: nodes have no scores together
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

    def output_loss(blocks, i, code):
        loss = 0.0
        for z in range(code.shape[0]):
            if code[z] != blocks.y[i, z]:
                loss += blocks.cost[z]
        return loss

    def find_output(blocks, work, w, i, code):
        score_labels(blocks, w, i, work.parts)
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
        margin = set_margin(blocks, i, work.parts, work.pair, code)
        loss = output_loss(blocks, i, code) if blocks.has_loss else 0.0
        return loss, 1.0, loss - margin, loss - margin


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
