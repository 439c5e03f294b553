"""Which pairs of labels have a score of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.parameters import check_choice
from partwise.protocol import Floats, Ints

GRAPHS = ("independent", "tree", "full")


def label_pairs(graph: str, Y: Any) -> Ints:
    """
    The pairs of a named graph over labels.

    Parameters
    ----------
    graph : {"independent", "tree", "full"}
        No pairs; a spanning tree of largest mutual information between its pairs (Chow
        and Liu 1968); all pairs.
    Y : 0/1 array (n, K)

    Returns
    -------
    int array (E, 2)
        Each pair once, the smaller number first.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> label_pairs("tree", Y).tolist()
    [[0, 1], [0, 2]]
    """
    check_choice("graph", graph, GRAPHS)
    size = np.shape(Y)[1]
    if graph == "independent" or size < 2:
        return np.zeros((0, 2), np.int64)
    if graph == "full":
        return np.stack(np.triu_indices(size, 1), axis=1)
    weight = mutual_information(Y)
    reached = np.zeros(size, bool)
    reached[0] = True
    best, source = weight[0].copy(), np.zeros(size, np.int64)
    pairs = []
    for _ in range(size - 1):  # Prim's algorithm: the nearest label joins the tree
        k = int(np.argmax(np.where(reached, -np.inf, best)))
        pairs.append(sorted((int(source[k]), k)))
        reached[k] = True
        is_nearer = weight[k] > best
        best[is_nearer], source[is_nearer] = weight[k][is_nearer], k
    return np.array(sorted(pairs), np.int64)


def mutual_information(Y: Any) -> Floats:
    """Between each two labels, in nats, (K, K); from relative frequencies."""
    y = np.asarray(Y, np.float64)
    n = max(len(y), 1)
    on = y.mean(axis=0) if len(y) else np.zeros(y.shape[1])
    both = np.einsum("ij,ik->jk", y, y) / n  # not @: BLAS depends on threads
    total = np.zeros_like(both)
    for joint, one, other in (
        (both, on, on),
        (on[:, None] - both, on, 1 - on),
        (on[None, :] - both, 1 - on, on),
        (1 - on[:, None] - on[None, :] + both, 1 - on, 1 - on),
    ):
        apart = np.outer(one, other)
        share = np.where(joint > 1e-12, joint, 1.0)
        total += np.where(
            joint > 1e-12, joint * np.log(share / np.maximum(apart, 1e-12)), 0.0
        )
    return np.maximum(total, 0.0)


def forest(pairs: Ints, size: int) -> tuple[Ints, Ints, Ints] | None:
    """Labels with roots first, parents, and the pair that leads there; None: a cycle.

    Returns
    -------
    order : int32 array (K,)
    parent : int32 array (K,), −1 for a root
    link : int32 array (K,), number of the pair with the parent
    """
    near: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for e, (a, b) in enumerate(pairs.tolist()):
        near[a].append((b, e))
        near[b].append((a, e))
    parent, link = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    order: list[int] = []
    is_seen = [False] * size
    for root in range(size):
        if is_seen[root]:
            continue
        is_seen[root] = True
        waiting = [root]
        while waiting:
            k = waiting.pop()
            order.append(k)
            for j, e in near[k]:
                if not is_seen[j]:
                    is_seen[j] = True
                    parent[j], link[j] = k, e
                    waiting.append(j)
    if int((parent < 0).sum()) + len(pairs) != size:
        return None
    return np.array(order, np.int32), parent, link
