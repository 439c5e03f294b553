"""Exact search with two labels by a minimum cut, where neighbours attract each other.

With θ(0,0) + θ(1,1) ≥ θ(0,1) + θ(1,0) on all edges the best labelling is a minimum cut
(Greig, Porteous and Seheult 1989; Kolmogorov and Zabih 2004): nodes on the side of the
source have label 0. The flow is found by Dinic's algorithm with real capacities; edges
to source and sink are one number per node, positive for the source.
"""

import numpy as np

from partwise.compiled import allocating, kernel

ROUNDING = 1e-13  # of the largest capacity; less counts as nothing


@kernel
def attracts(pairs, n_edges):
    """Whether neighbours attract each other on all edges, up to rounding."""
    for e in range(n_edges):
        size = 0.0
        for k in range(4):
            size = max(size, abs(pairs[e, k]))
        surplus = pairs[e, 0] + pairs[e, 3] - pairs[e, 1] - pairs[e, 2]
        if surplus < -1e-12 * size:
            return False
    return True


@kernel
def layer(excess, room, ends, near_ptr, near, least, level, queue):
    """Levels from the nodes that the source still feeds; whether a sink is reached."""
    n, first = excess.shape[0], near_ptr[0]
    tail = 0
    for v in range(n):
        level[v] = -1
        if excess[v] > least:
            level[v] = 0
            queue[tail] = v
            tail += 1
    is_reached = False
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        if excess[v] < -least:
            is_reached = True
        for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
            e = near[p]
            side = 1 if ends[e, 1] == v else 0
            u = ends[e, 1 - side]
            if level[u] < 0 and room[e, side] > least:
                level[u] = level[v] + 1
                queue[tail] = u
                tail += 1
    return is_reached


@kernel
def push_flow(source, excess, room, ends, near_ptr, near, least, level, at, path):
    """Push what the source feeds into one node to sinks, along rising levels."""
    first = near_ptr[0]
    flow = 0.0
    depth, v = 0, source
    while excess[source] > least:
        if excess[v] < -least:
            amount = min(excess[source], -excess[v])
            for d in range(depth):
                amount = min(amount, room[path[d] // 2, path[d] % 2])
            for d in range(depth):
                e, side = path[d] // 2, path[d] % 2
                room[e, side] -= amount
                room[e, 1 - side] += amount
            excess[source] -= amount
            excess[v] += amount
            flow += amount
            depth, v = 0, source
            continue
        is_moved = False
        while at[v] < near_ptr[v + 1] - first:
            e = near[at[v]]
            side = 1 if ends[e, 1] == v else 0
            u = ends[e, 1 - side]
            if level[u] == level[v] + 1 and room[e, side] > least:
                path[depth] = 2 * e + side
                depth += 1
                v = u
                is_moved = True
                break
            at[v] += 1
        if not is_moved:
            if depth == 0:
                break
            level[v] = -1
            depth -= 1
            v = ends[path[depth] // 2, path[depth] % 2]
            at[v] += 1
    return flow


@allocating
def cut_graph(unary, pairs, ends, near_ptr, near, code):
    """The best labelling with two labels; returns a bound, its score up to rounding."""
    n, n_edges = code.shape[0], ends.shape[0]
    excess, room = np.empty(n), np.zeros((n_edges, 2))
    bound, largest = 0.0, 0.0
    for v in range(n):
        bound += unary[v, 0]
        excess[v] = unary[v, 0] - unary[v, 1]  # the cost of label 1
    for e in range(n_edges):
        a, b, c, d = pairs[e, 0], pairs[e, 1], pairs[e, 2], pairs[e, 3]
        bound += a
        excess[ends[e, 0]] += a - c
        excess[ends[e, 1]] += c - d
        room[e, 0] = max(a + d - b - c, 0.0)  # cost of labels 0 and 1
        largest = max(largest, room[e, 0])
    for v in range(n):
        largest = max(largest, abs(excess[v]))
        if excess[v] < 0.0:
            bound -= excess[v]  # label 1 is better by so much
    least = ROUNDING * largest
    level, queue = np.empty(n, np.int64), np.empty(n, np.int64)
    at, path = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    while layer(excess, room, ends, near_ptr, near, least, level, queue):
        for v in range(n):
            at[v] = near_ptr[v] - near_ptr[0]
        for v in range(n):
            if level[v] == 0 and excess[v] > least:
                bound -= push_flow(
                    v, excess, room, ends, near_ptr, near, least, level, at, path
                )
    for v in range(n):
        code[v] = 0 if level[v] >= 0 else 1
    return bound
