"""Most violated outputs where the loss is not a mere addition to scores.

They enter the blocks by their address, so that sweeps are compiled once for all of
them, and each of them only when a formulation needs it.
"""

import numpy as np
from numba import types

from partwise.compiled import address_of, allocating, called_at, kernel
from partwise.objective import HARD, MARGIN_ROOT
from partwise.structures._formulations import plane
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.chain._programs import (
    Edges,
    best_state,
    forward,
    frontier,
    k_best,
    n_states,
    trace_frontier,
)
from partwise.structures.losses import FRONTIER, TWO_BEST

TABLE = types.float64[:, ::1]
SEARCH = types.void(
    types.int64,  # order
    TABLE,  # (≥ n, L) scores of labels at positions
    TABLE,  # (≥ n, L) their losses
    types.float64,  # of which all losses are multiples
    TABLE, TABLE, types.float64[::1],  # the edges: opening, inner, last
    types.int64, types.int64,  # rule and zero_one, as in `ChainBlocks`
    types.int32[::1],  # (n,) true labels
    types.int32[::1],  # (n,) receives the output
)  # fmt: skip


@kernel
def score_code(order, emit, edges, code, n):
    """<w, φ(code)> from part scores."""
    total = 0.0
    state = 0
    n_labels = emit.shape[1]
    for t in range(n):
        label = code[t]
        total += emit[t, label]
        if t == 1:
            total += edges.opening[state, label]
        elif t > 1:
            total += edges.inner[state, label]
        if order == 2 and t > 0:
            state = state % n_labels * n_labels + label
        else:
            state = label
    return total + edges.last[code[n - 1]]


@allocating
def search_two_best(
    order, emit, losses, unit, opening, inner, last, rule, zero_one, y, code
):
    """The best output that is not the truth."""
    n, n_labels = y.shape[0], emit.shape[1]
    edges = Edges(opening, inner, last)
    alpha = np.empty((n, inner.shape[0]))
    forward(MAX_PLUS, order, n, emit, edges, alpha)
    codes = np.empty((2, n), np.int32)
    values = np.empty(2)
    n_found = k_best(order, n, 2, n_labels, edges, alpha, codes, values)
    is_truth = True
    for t in range(n):
        is_truth = is_truth and codes[0, t] == y[t]
    chosen = 1 if is_truth and n_found == 2 else 0
    for t in range(n):
        code[t] = codes[chosen, t]


@allocating
def search_frontier(
    order, emit, losses, unit, opening, inner, last, rule, zero_one, y, code
):
    """Maximise b(d) − s(d)·margin over the best output of every integer loss d.

    Where b does not depend on the size of the loss (0/1 losses, hard margins), wrong
    tokens are counted instead. Outputs with d = 0 are planes under margin rescaling
    alone; the truth is one of them.
    """
    n, n_labels = y.shape[0], emit.shape[1]
    edges = Edges(opening, inner, last)
    cost = np.empty((n, n_labels), np.int64)
    is_counted = rule == HARD or zero_one == 1
    largest = 0
    for t in range(n):
        worst = 0
        for label in range(n_labels):
            if is_counted:
                cost[t, label] = 1 if losses[t, label] > 0.0 else 0
            else:
                cost[t, label] = round(losses[t, label] / unit)
            worst = max(worst, cost[t, label])
        largest += worst
    width = n_states(order, n_labels, n - 1)
    best = np.empty((largest + 1, width))
    back = np.empty((n, largest + 1, width), np.int32)
    frontier(order, n, emit, edges, cost, best, back)
    for t in range(n):
        code[t] = y[t]
    truth = score_code(order, emit, edges, y, n)
    chosen = -1
    highest = -np.inf
    for d in range(0 if rule <= MARGIN_ROOT else 1, largest + 1):
        value = best[d, best_state(best[d])]
        loss = min(d, 1.0) if is_counted else d * unit
        b, scale = plane(rule, loss)
        violation = b - scale * (truth - value)
        if violation > highest:
            highest = violation
            chosen = d
    if chosen >= 0:
        trace_frontier(n, n_labels, best, back, cost, chosen, code)


def search_by(oracle):
    """The address of the search that an oracle needs; 0 where losses add to scores."""
    searches = {TWO_BEST: search_two_best, FRONTIER: search_frontier}
    return address_of(SEARCH, searches[oracle]) if oracle in searches else 0


call_search = called_at(SEARCH)
