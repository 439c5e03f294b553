"""The best partition of items by values of pairs: greedy merges, integer programs."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from partwise.protocol import Floats, Ints


class FoundPartition(NamedTuple):
    """A partition, by the pairs within its clusters."""

    is_joined: Any  # (m,) bool, of each pair
    bound: float  # no partition has a larger sum of values


def components(n_items: int, pairs: Any) -> Ints:
    """Number of the connected component of each item, (n_items,)."""
    ends = np.reshape(pairs, (-1, 2)).astype(int)
    shape = (n_items, n_items)
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape)
    return connected_components(graph, directed=False)[1]


def joined(label: Any, pairs: Any) -> Any:
    """Whether the items of each pair have one label, (m,)."""
    label, ends = np.asarray(label), np.reshape(pairs, (-1, 2))
    return label[ends[:, 0]] == label[ends[:, 1]]


def greedy_partition(n_items: int, pairs: Any, value: Floats) -> Ints:
    """Clusters by merging the two that gain most, as long as there is a gain.

    Examples
    --------
    >>> greedy_partition(3, [(0, 1), (1, 2), (0, 2)], np.array([2.0, 1.0, -3.0]))
    array([0, 0, 2])
    """
    label = np.arange(n_items)
    while True:
        ends = label[np.reshape(pairs, (-1, 2))]
        gain: dict[tuple[int, int], float] = {}
        for (a, b), v in zip(np.sort(ends).tolist(), value.tolist(), strict=True):
            if a != b:
                gain[a, b] = gain.get((a, b), 0.0) + v
        best = max(sorted(gain), key=gain.__getitem__, default=None)
        if best is None or gain[best] <= 0:
            return label
        label[label == best[1]] = best[0]


def best_partition(n_items: int, pairs: Any, value: Floats) -> FoundPartition | None:
    """The partition with the largest sum of values within clusters.

    An integer program: x_ab = 1 where items a and b are in one cluster, with the
    triangle inequalities x_ab + x_bc − x_ac ≤ 1 of all items. None when the solver
    gives up.

    Parameters
    ----------
    n_items : int
        A few dozen at most: there are n³/2 inequalities.
    pairs : array (m, 2)
    value : array (m,)
        Of each pair; pairs that are not listed have the value 0.

    Examples
    --------
    >>> pairs = [(0, 1), (1, 2), (0, 2)]
    >>> best_partition(3, pairs, np.array([2.0, 1.0, -3.0])).is_joined
    array([ True, False, False])
    """
    total = np.zeros((n_items, n_items))
    ends = np.sort(np.reshape(pairs, (-1, 2)))
    np.add.at(total, (ends[:, 0], ends[:, 1]), value)
    one, other = np.triu_indices(n_items, 1)
    cost = -total[one, other]
    scale = float(np.abs(cost).max(initial=0.0))
    if not scale > 0:
        return FoundPartition(joined(np.arange(n_items), ends), 0.0)
    number = np.zeros((n_items, n_items), int)
    number[one, other] = number[other, one] = np.arange(len(one))
    column = [
        (number[a, b], number[b, c], number[a, c])
        for x, y, z in combinations(range(n_items), 3)
        for a, b, c in ((x, y, z), (y, z, x), (z, x, y))
    ]
    n_rows = len(column)
    rules = csr_array(
        (
            np.tile([1.0, 1.0, -1.0], n_rows),
            (np.repeat(np.arange(n_rows), 3), np.ravel(column).astype(int)),
        ),
        shape=(n_rows, len(one)),
    )
    result = milp(
        cost / scale,
        constraints=[LinearConstraint(rules, -np.inf, 1.0)] if n_rows else [],
        integrality=np.ones(len(one)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None or result.mip_dual_bound is None:
        return None
    chosen = np.flatnonzero(result.x > 0.5)
    label = components(n_items, np.column_stack([one[chosen], other[chosen]]))
    reached = float(np.sum(total[one, other][joined(label, np.c_[one, other])]))
    # the program's tolerances are absolute, after scaling
    bound = max(-scale * float(result.mip_dual_bound), reached)
    return FoundPartition(joined(label, ends), bound)
