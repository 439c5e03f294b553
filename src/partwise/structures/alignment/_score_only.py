"""Best scores alone, of global and local alignments without masks.

The recurrences are those of `_programs.py`. A global alignment goes through cells
before the first tokens instead of choosing a start for each cell, and ends in the last
cell; a local one starts from zero. So a cell needs neither start nor end scores.

With whole-number weights, as of BLOSUM62, sixteen cells go together in single
precision, which is exact as long as all sums are below 2²⁴: half the time.
"""

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures.alignment._lanes import (
    SINGLE_LANES,
    fill_like,
    last_lane,
    load,
    put,
    running_largest,
    shift_in,
)
from partwise.structures.alignment._programs import start_score
from partwise.structures.alignment._scores import bounds_of, prepare
from partwise.vectors import add, largest

MAX_EXACT = 2.0**24


@kernel
def pass_rows(
    symbol, m, is_local, scores, sums, base, match, delete, best, lead_a, first_open,
    a_open, a_extend, step,
):  # fmt: skip
    """All rows of cells; returns the best score. `step` is the size of a vector.

    best (2, 16 + width) has H of two rows, the cell before the first token at 15; at
    the beginning the second row is that before the first token of a.
    """
    n, width = symbol.shape[0], best.shape[1]
    none = fill_like(scores, -np.inf)
    floor = fill_like(scores, 0.0 if is_local else -np.inf)
    top = none
    for t in range(n):
        here = (t % 2) * width + SINGLE_LANES
        before = ((t + 1) % 2) * width + SINGLE_LANES
        earlier, carry = none, none
        if not is_local:
            best[(t + 1) % 2, SINGLE_LANES - 1] = lead_a[t]
            earlier = fill_like(scores, lead_a[t + 1] + first_open)
        opening, extension = (
            fill_like(scores, a_open[t]),
            fill_like(scores, a_extend[t]),
        )
        at = symbol[t] * scores.shape[1]
        for c in range(0, m, step):
            source = largest(load(best, before + c - 1), floor)
            paired = add(source, load(scores, at + c))
            gap = largest(add(load(match, c), opening), load(delete, c))
            deleted = add(gap, extension)
            either = largest(paired, deleted)
            source = add(either, load(base, c))
            run = largest(running_largest(shift_in(earlier, source)), carry)
            put(match, c, paired)
            put(delete, c, deleted)
            put(best, here + c, largest(either, add(run, load(sums, c))))
            top = largest(paired, top)
            earlier, carry = source, last_lane(run)
    if not is_local:
        return np.float64(best[(n - 1) % 2, SINGLE_LANES + m - 1])
    put(match, 0, top)
    value = 0.0
    for lane in range(step):
        value = max(value, np.float64(match[lane]))
    return value


@allocating
def score_rows(blocks, work, w, is_local, like, first, last, value):
    """Best scores of the pairs [first, last), in the precision of the array `like`."""
    step = 64 // like.itemsize
    example = 0
    for pair in range(first, last):
        while blocks.pair_first[example + 1] <= pair:
            example += 1
        a, n, _, m = bounds_of(blocks, pair)
        prepare(blocks, work, w, example, pair)
        if n == 0 or m == 0:
            value[pair] = start_score(work.ends, n, m)
            continue
        symbol = blocks.pairs.a_symbol[a : a + n]
        width = (m + SINGLE_LANES - 1) // SINGLE_LANES * SINGLE_LANES
        n_symbols = symbol.max() + 1
        scores = np.full((n_symbols, width), -np.inf, like.dtype)
        for r in range(n_symbols):
            for c in range(m):
                scores[r, c] = work.scores[r, c]
        sums, base = np.zeros(width, like.dtype), np.zeros(width, like.dtype)
        total = 0.0
        for c in range(m):
            total += work.b_extend[c]
            sums[c] = total
            base[c] = (work.b_open[c + 1] if c + 1 < m else 0.0) - total
        match = np.full(width, -np.inf, like.dtype)
        delete = np.full(width, -np.inf, like.dtype)
        best = np.full((2, SINGLE_LANES + width), -np.inf, like.dtype)
        if not is_local:
            for c in range(m):
                best[1, SINGLE_LANES + c] = work.ends.lead_b[c + 1]
        value[pair] = pass_rows(
            symbol, m, is_local, scores, sums, base, match, delete, best,
            work.ends.lead_a, work.b_open[0], work.a_open, work.a_extend, step,
        )  # fmt: skip
