"""Linear assignment of places to rows: shortest augmenting paths.

Maximises Σ_p value(p, row of p) over all ways to give each of m places a row of its own
out of n ≥ m; a value of −inf forbids a pair. Places enter one after the other; each
takes the path of smallest reduced cost to a free row, found as by Dijkstra's algorithm,
and the prices u, v are changed so that reduced costs stay ≥ 0: O(m²n). Kuhn: The
Hungarian method for the assignment problem, 1955; Jonker, Volgenant: A shortest
augmenting path algorithm for dense and sparse linear assignment problems, Computing 38,
1987.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel, operation


@operation
def pair_value(values, p, r):
    """What it is worth that place p has row r; −inf where it may not."""


class TableValues(NamedTuple):
    """Values in a table."""

    value: np.ndarray  # (m, n)

    def pair_value(values, p, r):
        return values.value[p, r]


class AssignmentWork(NamedTuple):
    """Buffers for m places and n rows; place 0 and row 0 stand for none."""

    price_place: np.ndarray  # (m + 1,)
    price_row: np.ndarray  # (n + 1,)
    distance: np.ndarray  # (n + 1,)
    place_of: np.ndarray  # (n + 1,) int64
    before: np.ndarray  # (n + 1,) int64, the row before on the path
    is_reached: np.ndarray  # (n + 1,) uint8


def new_assignment_work(m: int, n: int) -> AssignmentWork:
    """Buffers for m places and n rows."""
    return AssignmentWork(
        np.empty(m + 1),
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.uint8),
    )


@kernel
def assign_places(values, m, n, work):
    """Solve the assignment; ``work.place_of[r + 1]`` is the place 1 … m of row r, or 0.

    `values` has the operation `pair_value`. Returns whether there is an assignment
    without a forbidden pair.
    """
    u, v, distance = work.price_place, work.price_row, work.distance
    place_of, before, is_reached = work.place_of, work.before, work.is_reached
    for p in range(m + 1):
        u[p] = 0.0
    for r in range(n + 1):
        v[r] = 0.0
        place_of[r] = 0
    for p in range(1, m + 1):
        place_of[0] = p
        row = 0
        for r in range(n + 1):
            distance[r] = np.inf
            is_reached[r] = 0
        while place_of[row] != 0:
            is_reached[row] = 1
            place = place_of[row]
            base = u[place]
            nearest, shortest = 0, np.inf
            for r in range(1, n + 1):
                if is_reached[r]:
                    continue
                cost = -pair_value(values, place - 1, r - 1) - base - v[r]
                if cost < distance[r]:
                    distance[r] = cost
                    before[r] = row
                if distance[r] < shortest:
                    shortest = distance[r]
                    nearest = r
            if nearest == 0:
                return False
            for r in range(n + 1):
                if is_reached[r]:
                    u[place_of[r]] += shortest
                    v[r] -= shortest
                else:
                    distance[r] -= shortest
            row = nearest
        while row != 0:
            place_of[row] = place_of[before[row]]
            row = before[row]
    return True
