"""Best scores alone, of global and local alignments without masks.

The recurrences are those of `_programs.py`. A global alignment goes through cells
before the first tokens instead of choosing a start for each cell, and ends in the last
cell; a local one starts from zero. So a cell needs neither start nor end scores.

Without a trace, cells need not lie in order (Farrar 2007): the columns are cut into as
many stretches as a vector has lanes, and a vector holds one column of each. Then I
depends on an earlier vector, not on a neighbouring lane, and its maximum runs along all
stretches at once. What insertions carry from one stretch to the next is known when the
row ends, and is put in when the row below reads H:

    H(t, c) = max(H'(t, c), E_c + largest source of all stretches before that of c)

This takes two thirds of the time of cells in order, where the maximum runs through the
lanes of each vector.

With whole-number weights, as of BLOSUM62, sixteen cells go together in single
precision, which is exact as long as all sums are below 2²⁴.
"""

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures.alignment._lanes import (
    fill_like,
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
    symbol, is_local, scores, sums, base, match, delete, best, carried, lead_a,
    first_open, a_open, a_extend, step,
):  # fmt: skip
    """All rows of cells; returns the best score of a local alignment.

    Rows of cells have `step` lanes; `best` has H' of the row before the first at the
    beginning, and of the last row at the end, whose `carried` is the largest source of
    an insertion from earlier stretches.
    """
    width = best.shape[0]
    none = fill_like(scores, -np.inf)
    floor = fill_like(scores, 0.0 if is_local else -np.inf)
    top, before, first = none, none, none
    for t in range(symbol.shape[0]):
        opening = fill_like(scores, a_open[t])
        extension = fill_like(scores, a_extend[t])
        at = symbol[t] * width
        # the last column of each stretch is left of the first one of the next
        corner = none if is_local else fill_like(scores, lead_a[t])
        above = add(before, load(sums, width - step))
        source = shift_in(corner, largest(load(best, width - step), above))
        run = none
        for c in range(0, width, step):
            paired = add(largest(source, floor), load(scores, at + c))
            gap = largest(add(load(match, c), opening), load(delete, c))
            deleted = add(gap, extension)
            either = largest(paired, deleted)
            sum_c = load(sums, c)
            source = largest(load(best, c), add(before, sum_c))
            put(match, c, paired)
            put(delete, c, deleted)
            put(best, c, largest(either, add(run, sum_c)))
            run = largest(run, add(either, load(base, c)))
            top = largest(paired, top)
        if not is_local:
            first = fill_like(scores, lead_a[t + 1] + first_open)
        before = largest(shift_in(first, running_largest(run)), first)
    put(carried, 0, before)
    put(match, 0, top)
    value = -np.inf
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
        stretch = (m + step - 1) // step
        width = stretch * step
        n_symbols = symbol.max() + 1
        scores = np.full((n_symbols, width), -np.inf, like.dtype)
        sums, base = np.zeros(width, like.dtype), np.zeros(width, like.dtype)
        best = np.full(width, -np.inf, like.dtype)
        total = 0.0
        for c in range(m):
            place = c % stretch * step + c // stretch
            for r in range(n_symbols):
                scores[r, place] = work.scores[r, c]
            total += work.b_extend[c]
            sums[place] = total
            base[place] = (work.b_open[c + 1] if c + 1 < m else 0.0) - total
            if not is_local:
                best[place] = work.ends.lead_b[c + 1]
        match = np.full(width, -np.inf, like.dtype)
        delete = np.full(width, -np.inf, like.dtype)
        carried = np.zeros(step, like.dtype)
        top = pass_rows(
            symbol, is_local, scores, sums, base, match, delete, best, carried,
            work.ends.lead_a, work.b_open[0], work.a_open, work.a_extend, step,
        )  # fmt: skip
        if is_local:
            value[pair] = max(0.0, top)
        else:
            end, lane = (m - 1) % stretch * step, (m - 1) // stretch
            value[pair] = max(best[end + lane], carried[lane] + sums[end + lane])
