"""Sums over all labellings by elimination: log Z, and probabilities of labels.

The first pass eliminates nodes as the search does, with log Σ exp in the place of
maxima. The second goes back from the last node: P(node, scope) is P(node | scope), from
the table of the node, times P(scope), which the step that used the table has computed.
"""

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures.graph._compiled import score_block, take_away
from partwise.structures.graph._elimination import fill_clique, lay_out, stride_in


@kernel
def log_sum(values, first, n):
    """Log Σ exp of n numbers."""
    top = values[first]
    for x in range(1, n):
        top = max(top, values[first + x])
    total = 0.0
    for x in range(n):
        total += np.exp(values[first + x] - top)
    return top + np.log(total)


@allocating
def sum_graph(
    order, scope_ptr, scope, parent, unary, pairs, ends, near_ptr, near, node, edge
):
    """Write P(label of node) and P(labels of edge); returns log Z. See `eliminate`."""
    n, size = order.shape[0], unary.shape[1]
    first_scope, first_near = scope_ptr[0], near_ptr[0]
    place, begin = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    child, sibling = np.empty(n, np.int64), np.empty(n, np.int64)
    widest = lay_out(order, scope_ptr, parent, size, place, begin, child, sibling)
    tables, cliques = np.empty(begin[n]), np.empty(begin[n] * size)
    digit, strides = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    log_z = 0.0
    for k in range(n):
        here = cliques[begin[k] * size : begin[k + 1] * size]
        fill_clique(
            k, order, scope_ptr, scope, unary, pairs, ends, near_ptr, near, place,
            begin, child, sibling, tables, digit, strides, here,
        )  # fmt: skip
        for cell in range(begin[k + 1] - begin[k]):
            tables[begin[k] + cell] = log_sum(here, cell * size, size)
        if parent[k] < 0:
            log_z += tables[begin[k]]
    above = np.zeros(begin[n])  # probabilities of scopes
    node[:] = 0.0
    edge[:] = 0.0
    for k in range(n - 1, -1, -1):
        v = order[k]
        its = scope[scope_ptr[k] - first_scope : scope_ptr[k + 1] - first_scope]
        m = its.shape[0]
        if parent[k] < 0:
            above[begin[k]] = 1.0
        for cell in range(begin[k + 1] - begin[k]):
            rest = cell
            for j in range(m):
                digit[j] = rest % size
                rest //= size
            at = begin[k] + cell
            for x in range(size):
                score = cliques[at * size + x] - tables[at]
                share = above[at] * np.exp(score)
                node[v, x] += share
                for p in range(near_ptr[v] - first_near, near_ptr[v + 1] - first_near):
                    e = near[p]
                    is_first = ends[e, 0] == v
                    u = ends[e, 1] if is_first else ends[e, 0]
                    for j in range(m if place[u] > k else 0):
                        if its[j] == u:
                            a, b = (x, digit[j]) if is_first else (digit[j], x)
                            edge[e, a * size + b] += share
                q = child[k]
                while q >= 0:
                    low, high = (
                        scope_ptr[q] - first_scope,
                        scope_ptr[q + 1] - first_scope,
                    )
                    place_in = stride_in(scope[low:high], v, size) * x
                    for j in range(m):
                        place_in += stride_in(scope[low:high], its[j], size) * digit[j]
                    above[begin[q] + place_in] += share
                    q = sibling[q]
    return log_z


@allocating
def sum_rows(blocks, work, w, first, last, node, edge, log_z, truth):
    """Sums of the rows [first, last), and scores of the truths."""
    size = blocks.cost.shape[1]
    for i in range(first, last):
        score_block(blocks, work, w, i)
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        if blocks.banned.shape[0] > 0:
            take_away(blocks.banned, begin, end - begin, np.inf, work.emit)
        low, high = blocks.edge_offset[i], blocks.edge_offset[i + 1]
        scope_ptr = blocks.scope_ptr[begin : end + 1]
        log_z[i] = sum_graph(
            blocks.order[begin:end], scope_ptr,
            blocks.scope[scope_ptr[0] : scope_ptr[end - begin]],
            blocks.parent[begin:end], work.emit, work.pairs, blocks.ends[low:high],
            blocks.near_ptr[begin : end + 1], blocks.near[2 * low : 2 * high],
            node[begin:end], edge[low:high],
        )  # fmt: skip
        truth[i] = 0.0
        for v in range(end - begin):
            truth[i] += work.emit[v, blocks.y[begin + v]]
        for e in range(low, high):
            a = blocks.y[begin + blocks.ends[e, 0]]
            b = blocks.y[begin + blocks.ends[e, 1]]
            truth[i] += work.pairs[e - low, a * size + b]
