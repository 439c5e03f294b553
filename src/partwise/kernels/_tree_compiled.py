"""Common fragments of pairs of trees; compiled. See `trees.py` for the recursion."""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted


class TreeArrays(NamedTuple):
    """Inner nodes of all trees, numbered in pre-order within each tree."""

    node_ptr: np.ndarray  # (n_trees + 1,) int64
    kind_of: np.ndarray  # (n_nodes,) int32, which of its tree's productions
    child_ptr: np.ndarray  # (n_nodes + 1,) int64
    child: np.ndarray  # (n_children,) int32, number within the tree; words left out
    kind_ptr: np.ndarray  # (n_trees + 1,) int64
    kind: np.ndarray  # (n_kinds,) int32, distinct productions of each tree, rising
    place: np.ndarray  # (n_kinds + 1,) int64, where their nodes begin in `by_kind`
    by_kind: np.ndarray  # (n_nodes,) int32, nodes of each tree by production


@jitted
def tree_block(a, rows, b, cols, decay, out):
    """out[r, c] = Σ C(n, m) over nodes n of tree rows[r], m of tree cols[c]."""
    largest_a = 1
    largest_b = 1
    for r in range(rows.shape[0]):
        largest_a = max(largest_a, a.node_ptr[rows[r] + 1] - a.node_ptr[rows[r]])
    for c in range(cols.shape[0]):
        largest_b = max(largest_b, b.node_ptr[cols[c] + 1] - b.node_ptr[cols[c]])
    table = np.zeros((largest_a, largest_b))
    first = np.empty(largest_a, np.int64)
    last = np.empty(largest_a, np.int64)
    for r in range(rows.shape[0]):
        for c in range(cols.shape[0]):
            out[r, c] = tree_pair(a, rows[r], b, cols[c], decay, table, first, last)


@jitted
def tree_diagonal(a, decay, out):
    """out[t] = Σ C(n, m) over pairs of nodes of tree t."""
    largest = 1
    for t in range(out.shape[0]):
        largest = max(largest, a.node_ptr[t + 1] - a.node_ptr[t])
    table = np.zeros((largest, largest))
    first = np.empty(largest, np.int64)
    last = np.empty(largest, np.int64)
    for t in range(out.shape[0]):
        out[t] = tree_pair(a, t, a, t, decay, table, first, last)


@jitted
def tree_pair(a, x, b, y, decay, table, first, last):
    """Sum over the pairs of nodes with the same production; `table` stays zero."""
    match_productions(a, x, b, y, first, last)
    begin_a = a.node_ptr[x]
    total = 0.0
    # pre-order reversed: children before parents
    for n in range(a.node_ptr[x + 1] - begin_a - 1, -1, -1):
        k = a.kind_of[begin_a + n]
        for q in range(first[k], last[k]):
            m = b.by_kind[q]
            value = decay
            at_b = b.child_ptr[b.node_ptr[y] + m]
            at_a = a.child_ptr[begin_a + n]
            for j in range(a.child_ptr[begin_a + n + 1] - at_a):
                value *= 1.0 + table[a.child[at_a + j], b.child[at_b + j]]
            table[n, m] = value
            total += value
    for n in range(a.node_ptr[x + 1] - begin_a):
        k = a.kind_of[begin_a + n]
        for q in range(first[k], last[k]):
            table[n, b.by_kind[q]] = 0.0
    return total


@jitted
def match_productions(a, x, b, y, first, last):
    """Where the nodes of y with each production of x stand: [first, last)."""
    j = b.kind_ptr[y]
    end = b.kind_ptr[y + 1]
    for i in range(a.kind_ptr[x], a.kind_ptr[x + 1]):
        while j < end and b.kind[j] < a.kind[i]:
            j += 1
        k = i - a.kind_ptr[x]
        if j < end and b.kind[j] == a.kind[i]:
            first[k] = b.place[j]
            last[k] = b.place[j + 1]
        else:
            first[k] = 0
            last[k] = 0
