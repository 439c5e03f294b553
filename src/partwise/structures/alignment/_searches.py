"""Most violated alignments where the loss is not a mere addition to scores.

Losses are multiples of one lost reference pair, so the best score for every number of
lost pairs is enough (the frontier). The search enters the blocks by its address: it is
compiled only when a formulation needs it.
"""

import numpy as np
from numba import types

from partwise.compiled import address_of, allocating, called_at, kernel
from partwise.objective import HARD, MARGIN_ROOT
from partwise.structures._formulations import plane
from partwise.structures.alignment._charts import (
    DELETE,
    INSERT,
    MATCH,
    START,
    make_chart,
)
from partwise.structures.alignment._programs import Ends

FLOATS, TABLE = types.float64[::1], types.float64[:, ::1]
NUMBERS, BYTES = types.int32[::1], types.uint8[::1]
SEARCH = types.void(
    TABLE, NUMBERS, types.int64,  # scores of matches, symbols of a, tokens of b
    types.int64[::1], NUMBERS, types.int32[:, ::1],  # masks, and given pairs
    FLOATS, FLOATS, FLOATS, FLOATS,  # gap scores
    NUMBERS, NUMBERS,  # columns of each row
    FLOATS, FLOATS, FLOATS, FLOATS, BYTES,  # ends
    NUMBERS, BYTES, types.float64, types.int64,  # truth, counted, unit, tolerance
    types.float64, types.int64, NUMBERS,  # score of the truth, rule, output
)  # fmt: skip
SOURCES, KEEPS_M, FROM_DELETE, KEEPS_D, INSERT_AT = 3, 4, 8, 16, 5


@allocating
def search_frontier(
    scores, symbol, m, forbid_first, forbid, given, a_open, a_extend, b_open, b_extend,
    low, high, lead_a, lead_b, tail_a, tail_b, shorter, y, counted, unit, tolerance,
    truth, rule, code,
):  # fmt: skip
    """Maximise b(d) − s(d)·margin over the best alignment with d lost pairs, all d.

    The program of `_charts.py` with the lost pairs so far as a third coordinate: a
    counted token is lost when it is deleted, or matched too far from its partner, or
    left out at an end. Hard margins ask only whether any is lost, so counts stop at 1.
    """
    ends = Ends(lead_a, lead_b, tail_a, tail_b, shorter)
    chart = make_chart(
        scores, symbol, m, forbid_first, forbid, given, a_open, a_extend, b_open,
        b_extend, low, high, ends,
    )  # fmt: skip
    n = symbol.shape[0]
    before = np.zeros(n + 1, np.int64)  # counted tokens before each
    for t in range(n):
        before[t + 1] = before[t] + counted[t]
    cap = min(before[n], 1) if rule == HARD else before[n]
    n_losses = cap + 1
    best = np.full(n_losses, -np.inf)
    last = np.full(n_losses, -1, np.int64)  # (t·m + c)·n_losses + d of the last pair
    best[cap] = chart.empty
    trace = np.zeros((n, m, n_losses), np.uint8)
    fill_losses(chart, before, y, counted, tolerance, best, last, trace)
    for t in range(n):
        code[t] = y[t]
    chosen, highest = -1, -np.inf
    for d in range(0 if rule <= MARGIN_ROOT else 1, n_losses):
        b, scale = plane(rule, d * unit)
        violation = b - scale * (truth - best[d])
        if violation > highest:
            highest, chosen = violation, d
    if chosen >= 0:
        trace_losses(trace, y, counted, tolerance, last[chosen], code)


@kernel
def is_lost(y, counted, tolerance, t, c):
    """1 if a match of t with c loses the true partner of t, else 0."""
    return 1 if counted[t] and abs(c - y[t]) > tolerance else 0


@allocating
def fill_losses(chart, before, y, counted, tolerance, best, last, trace):
    """Best value and last pair for every number of lost pairs; traces of all cells.

    A byte of the trace has the source of M (bits 0-1), whether it had reached the cap
    before (2), the same for D (3, 4), and the source of I (5-6).
    """
    n, m, n_losses = trace.shape
    cap = n_losses - 1
    old, new = np.full((3, m, n_losses), -np.inf), np.empty((3, m, n_losses))
    for t in range(n):
        new[:] = -np.inf
        for c in range(chart.low[t], chart.high[t]):
            lost = is_lost(y, counted, tolerance, t, c)
            for d in range(n_losses):
                bits = np.int64(0)
                value = -np.inf
                if min(before[t] + lost, cap) == d:
                    value, bits = chart.start[t, c], np.int64(START)
                if c > 0:
                    for keeps in range(2 if d == cap and lost else 1):
                        from_d = d if keeps else d - lost
                        for state in range(3):
                            if from_d >= 0 and old[state, c - 1, from_d] > value:
                                value = old[state, c - 1, from_d]
                                bits = np.int64(state + KEEPS_M * keeps)
                new[MATCH, c, d] = value + chart.score[t, c]
                gone = np.int64(counted[t])
                value = -np.inf
                for keeps in range(2 if d == cap and gone else 1):
                    from_d = d if keeps else d - gone
                    if from_d < 0:
                        continue
                    opened = old[MATCH, c, from_d] + chart.a_open[t]
                    extended = old[DELETE, c, from_d]
                    if max(opened, extended) > value:
                        value = max(opened, extended)
                        bits &= ~(FROM_DELETE + KEEPS_D)
                        bits += FROM_DELETE * (extended > opened) + KEEPS_D * keeps
                new[DELETE, c, d] = value + chart.a_extend[t]
                if c > 0:
                    value = new[INSERT, c - 1, d]
                    source = INSERT
                    for state in range(2):
                        opened = new[state, c - 1, d] + chart.b_open[c]
                        if opened > value:
                            value, source = opened, state
                    new[INSERT, c, d] = value + chart.b_extend[c]
                    bits += source << INSERT_AT
                trace[t, c, d] = bits
                total = min(d + before[n] - before[t + 1], cap)
                value = new[MATCH, c, d] + chart.end[t, c]
                if value > best[total]:
                    best[total] = value
                    last[total] = (t * m + c) * n_losses + d
        old, new = new, old


@kernel
def trace_losses(trace, y, counted, tolerance, place, code):
    """The alignment behind a last pair of `fill_losses`; −1 is the empty one."""
    n, m, n_losses = trace.shape
    for t in range(n):
        code[t] = -1
    if place < 0:
        return
    d, t, c = place % n_losses, place // n_losses // m, place // n_losses % m
    state = np.int64(MATCH)
    while state != START:
        bits = np.int64(trace[t, c, d])
        if state == MATCH:
            code[t] = c
            if not bits & KEEPS_M:
                d -= is_lost(y, counted, tolerance, t, c)
            state = bits & SOURCES
            t -= 1
            c -= 1
        elif state == DELETE:
            if not bits & KEEPS_D:
                d -= counted[t]
            state = np.int64(DELETE if bits & FROM_DELETE else MATCH)
            t -= 1
        else:
            state = (bits >> INSERT_AT) & SOURCES
            c -= 1


def search_by(is_additive):
    """The address of the search that a formulation needs; 0 where losses add."""
    return 0 if is_additive else address_of(SEARCH, search_frontier)


call_search = called_at(SEARCH)
