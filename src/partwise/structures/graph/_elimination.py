"""Exact search by elimination of nodes: trees, and graphs of small width.

Nodes are eliminated in an order: the best value of a node, for all labels of the
neighbours that are left (its scope), becomes a table over them, and they become
neighbours of each other. On a tree every scope has one node at most, and this is
max-sum; in general it is max-sum on a junction tree whose cliques are a node and its
scope, and takes Σ L^(scope + 1) steps.
"""

from __future__ import annotations

import heapq
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.protocol import Ints


class Plan(NamedTuple):
    """An order of elimination."""

    order: Ints  # (n,) int32, the node of each step
    scope_size: Ints  # (n,) int64, of each step
    scope: Ints  # int32, neighbours that are left, step after step
    parent: Ints  # (n,) int32, the step that takes the table over, −1 for none

    @property
    def width(self) -> int:
        """The largest scope: 1 at most on a forest."""
        return int(self.scope_size.max())

    def n_cells(self, n_labels: int) -> float:
        """Cells of all tables."""
        return float((float(n_labels) ** (self.scope_size + 1)).sum())


def make_plan(n_nodes: int, edges: Ints, most: int) -> Plan | None:
    """Eliminate the node with the fewest neighbours first; None where width > most.

    Examples
    --------
    >>> make_plan(4, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), 3).width
    2
    """
    return _cached_plan(n_nodes, np.ascontiguousarray(edges, np.int64).tobytes(), most)


@lru_cache(maxsize=4096)
def _cached_plan(n_nodes: int, content: bytes, most: int) -> Plan | None:
    edges = np.frombuffer(content, np.int64).reshape(-1, 2)
    near: list[set[int]] = [set() for _ in range(n_nodes)]
    for a, b in edges.tolist():
        near[a].add(b)
        near[b].add(a)
    heap = [(len(others), v) for v, others in enumerate(near)]
    heapq.heapify(heap)
    place = np.full(n_nodes, -1, np.int64)
    order: list[int] = []
    scopes: list[list[int]] = []
    while heap:
        size, v = heapq.heappop(heap)
        scope = near[v]
        if place[v] >= 0 or size != len(scope):
            continue
        if size > most:
            return None
        place[v] = len(order)
        order.append(v)
        scopes.append(sorted(scope))
        for u in scope:
            others = near[u]
            others |= scope
            others -= {u, v}
            heapq.heappush(heap, (len(others), u))
    return Plan(
        np.array(order, np.int32),
        np.array([len(scope) for scope in scopes], np.int64),
        np.array([u for scope in scopes for u in scope], np.int32),
        np.array([min(place[s], default=-1) for s in scopes], np.int32),
    )


@kernel
def power(base, exponent):
    """Of whole numbers."""
    result = 1
    for _ in range(exponent):
        result *= base
    return result


@kernel
def add_pairs(cliques, n_cells, n_labels, stride, table, is_first):
    """Add the scores of an edge: node to node of the scope with this stride."""
    size = n_labels
    for high in range(n_cells // (stride * size)):
        for label in range(size):
            for low in range(stride):
                at = ((high * size + label) * stride + low) * size
                for x in range(size):
                    pair = x * size + label if is_first else label * size + x
                    cliques[at + x] += table[pair]


@kernel
def add_table(cliques, n_cells, n_labels, stride_of, stride, digit, table):
    """Add a table over a part of the clique, by the strides of its members."""
    m = stride_of.shape[0]
    for j in range(m):
        digit[j] = 0
    base = 0
    for cell in range(n_cells):
        for x in range(n_labels):
            cliques[cell * n_labels + x] += table[base + x * stride]
        j = 0
        while j < m:  # the next cell
            digit[j] += 1
            base += stride_of[j]
            if digit[j] < n_labels:
                break
            base -= n_labels * stride_of[j]
            digit[j] = 0
            j += 1


@kernel
def lay_out(order, scope_ptr, parent, n_labels, place, begin, child, sibling):
    """Steps of nodes, where tables begin, and whose tables a step takes over.

    Returns the size of the largest scope.
    """
    widest = 0
    begin[0] = 0
    for k in range(order.shape[0]):
        child[k] = -1
    for k in range(order.shape[0]):
        place[order[k]] = k
        m = scope_ptr[k + 1] - scope_ptr[k]
        widest = max(widest, m)
        begin[k + 1] = begin[k] + power(n_labels, m)
        if parent[k] >= 0:
            sibling[k] = child[parent[k]]
            child[parent[k]] = k
    return widest


@kernel
def stride_in(here, u, n_labels):
    """The stride of node u in a table over the nodes `here`; 0 if it is not there."""
    stride = 1
    for j in range(here.shape[0]):
        if here[j] == u:
            return stride
        stride *= n_labels
    return 0


@kernel
def fill_clique(
    k, order, scope_ptr, scope, unary, pairs, ends, near_ptr, near, place, begin, child,
    sibling, tables, digit, strides, cliques,
):  # fmt: skip
    """Scores of node and scope of step k together, with the tables it takes over."""
    n_labels, v = unary.shape[1], order[k]
    first_scope, first_near = scope_ptr[0], near_ptr[0]
    here = scope[scope_ptr[k] - first_scope : scope_ptr[k + 1] - first_scope]
    m, n_cells = here.shape[0], begin[k + 1] - begin[k]
    for cell in range(n_cells):
        for x in range(n_labels):
            cliques[cell * n_labels + x] = unary[v, x]
    for p in range(near_ptr[v] - first_near, near_ptr[v + 1] - first_near):
        e = near[p]
        is_first = ends[e, 0] == v
        u = ends[e, 1] if is_first else ends[e, 0]
        if place[u] > k:
            stride = stride_in(here, u, n_labels)
            add_pairs(cliques, n_cells, n_labels, stride, pairs[e], is_first)
    q = child[k]
    while q >= 0:
        its = scope[scope_ptr[q] - first_scope : scope_ptr[q + 1] - first_scope]
        for j in range(m):
            strides[j] = stride_in(its, here[j], n_labels)
        stride = stride_in(its, v, n_labels)
        table = tables[begin[q] : begin[q + 1]]
        add_table(cliques, n_cells, n_labels, strides[:m], stride, digit, table)
        q = sibling[q]


@allocating
def eliminate(
    order, scope_ptr, scope, parent, unary, pairs, ends, near_ptr, near, code
):
    """The best labelling, exactly; returns its score.

    Parameters
    ----------
    order, scope, parent : see `Plan`
    scope_ptr : (n + 1,) int64, where scopes begin, counted from the first
    unary : (≥ n, L) scores of nodes
    pairs : (≥ n_edges, L·L) scores of edges, by the label of the first node, the second
    ends : (n_edges, 2) int32, nodes of edges
    near_ptr, near : edges of each node
    code : (n,) int32, receives the labels
    """
    n, n_labels = order.shape[0], unary.shape[1]
    place, begin = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    child, sibling = np.empty(n, np.int64), np.empty(n, np.int64)
    widest = lay_out(order, scope_ptr, parent, n_labels, place, begin, child, sibling)
    tables, back = np.empty(begin[n]), np.empty(begin[n], np.int32)
    cliques = np.empty(power(n_labels, widest + 1))
    digit, strides = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    total = 0.0
    for k in range(n):
        fill_clique(
            k, order, scope_ptr, scope, unary, pairs, ends, near_ptr, near, place,
            begin, child, sibling, tables, digit, strides, cliques,
        )  # fmt: skip
        for cell in range(begin[k + 1] - begin[k]):
            best, label = -np.inf, 0
            for x in range(n_labels):
                if cliques[cell * n_labels + x] > best:
                    best, label = cliques[cell * n_labels + x], x
            tables[begin[k] + cell] = best
            back[begin[k] + cell] = label
        if parent[k] < 0:
            total += tables[begin[k]]
    for k in range(n - 1, -1, -1):
        cell, stride = 0, 1
        for p in range(scope_ptr[k] - scope_ptr[0], scope_ptr[k + 1] - scope_ptr[0]):
            cell += stride * code[scope[p]]
            stride *= n_labels
        code[order[k]] = back[begin[k] + cell]
    return total
