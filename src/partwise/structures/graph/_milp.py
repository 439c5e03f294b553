"""Exact search on small graphs by an integer program, for HiGHS through scipy.

Variables are x[v, a], whether node v has label a, and z[e, a, b] for both ends of an
edge; with Σ_a x[v, a] = 1 and sums of z over one end equal to x of the other, z follows
from whole x, and need not be asked to be whole itself. Scores are scaled, so that the
tolerances of the solver are a billionth of the largest of them.
"""

from typing import Any

import numpy as np
from numba import objmode

SCALE = 1e3  # of the largest score
TOLERANCE = 1e-6  # of the solver, in scaled scores
NODES = 10_000  # branches, where the user names none


def search_by_milp(
    method, n_sweeps, limit, is_seeded, unary, pairs, ends, near_ptr, near, order,
    scope_ptr, scope, parent, code,
):  # fmt: skip
    """`search` of `_compiled.py` by HiGHS: compiled code that calls Python."""
    n, n_edges = code.shape[0], ends.shape[0]
    with objmode(bound="float64"):
        bound = best_by_milp(unary[:n], pairs[:n_edges], ends, limit, is_seeded, code)
    return bound


def best_by_milp(
    unary: Any, pairs: Any, ends: Any, limit: int, is_seeded: int, code: Any
) -> float:
    """Write the best labelling; returns a bound of all scores.

    Parameters
    ----------
    unary : array (n, L), scores of nodes
    pairs : array (n_edges, L·L), scores of edges
    ends : int array (n_edges, 2)
    limit : int
        Most branches; 0 for `NODES`.
    is_seeded : int
        Whether `code` has a labelling to begin with.
    code : int array (n,)
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    (n, size), n_edges = unary.shape, len(ends)
    numbers = np.arange(n * size)
    rows, columns, values = [numbers // size], [numbers], [np.ones(n * size)]
    pair = n * size + np.arange(n_edges * size * size)
    edge, labels = np.divmod(np.arange(n_edges * size * size), size * size)
    at = n  # rows of constraints that are there
    for side, label in enumerate((labels // size, labels % size)):
        rows.append(at + edge * size + label)
        columns.append(pair)
        values.append(np.ones(len(pair)))
        node = np.repeat(ends[:, side].astype(np.int64), size)
        rows.append(at + np.arange(n_edges * size))
        columns.append(node * size + np.tile(np.arange(size), n_edges))
        values.append(-np.ones(n_edges * size))
        at += n_edges * size
    n_variables = n * size + len(pair)
    table = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(at, n_variables),
    )
    sums = np.zeros(at)
    sums[:n] = 1.0
    scores = np.concatenate([unary.ravel(), pairs.ravel()])
    factor = SCALE / max(float(np.abs(scores).max(initial=0.0)), 1e-300)
    is_whole = np.zeros(n_variables)
    is_whole[: n * size] = 1
    solution = milp(
        -factor * scores, integrality=is_whole, bounds=Bounds(0, 1),
        constraints=LinearConstraint(table, sums, sums),
        options={"node_limit": int(limit) or NODES, "mip_rel_gap": 0.0},
    )  # fmt: skip
    best = code.copy()
    if not is_seeded:
        best[:] = np.argmax(unary, axis=1)
    value = _score(unary, pairs, ends, best)
    if solution.x is not None:
        rounded = np.argmax(solution.x[: n * size].reshape(n, size), axis=1)
        reached = _score(unary, pairs, ends, rounded)
        if reached > value:
            best, value = rounded, reached
    code[:] = best
    bound = solution.mip_dual_bound
    if bound is None or not np.isfinite(bound):
        return float(np.inf)
    bound = -bound / factor
    # what is left within the tolerance is rounding
    return value if bound <= value + TOLERANCE / factor else bound


def _score(unary: Any, pairs: Any, ends: Any, code: Any) -> float:
    size = unary.shape[1]
    pair = code[ends[:, 0]] * size + code[ends[:, 1]]
    total = unary[np.arange(len(code)), code].sum()
    return float(total + pairs[np.arange(len(ends)), pair].sum())
