"""Sums over projective trees with sibling parts: log Z and the probability of parts.

`inside_siblings` and its steps in reverse, in `SumTimes` where a bound allows it, else
in `LogPlus`; see `_tree_sums.py`.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted
from partwise.structures._semirings import (
    LOG_PLUS,
    MAX_PLUS,
    SUM_TIMES,
    exp,
    log,
    plus,
    times,
)
from partwise.structures.dependency._second_order import (
    SiblingWork,
    inner_sibling,
    inside_siblings,
    new_sibling_work,
    trace_siblings,
)
from partwise.structures.dependency._sums import LARGEST, spread_row, wipe_marginals


class SiblingSumWork(NamedTuple):
    """Buffers of `sibling_sums` for sentences up to a length."""

    charts: SiblingWork
    outer: SiblingWork  # derivatives of the sum by each span; arcs in `arc` alone
    weight: np.ndarray  # (N, N) one for arcs, zero for forbidden ones
    shift: np.ndarray  # (N,) taken from all scores of a word
    heads: np.ndarray  # (N,)


def new_sibling_sum_work(longest):
    """Buffers for sentences of at most `longest` words."""
    size = longest + 1
    return SiblingSumWork(
        new_sibling_work(longest),
        new_sibling_work(longest),
        np.empty((size, size)),
        np.empty(size),
        np.empty(size, dtype=np.int32),
    )


@jitted
def sibling_sums(score, row, sibling, n, single_root, work, marginal, parts):
    """Log Z over projective trees under arcs and adjacent siblings; O(n³).

    ``marginal[h, d]`` (N, N) becomes the probability of each arc, ``parts[r, s]``, of
    the shape of `sibling`, that of each arc with its inner sibling: written for allowed
    arcs and the columns that can occur. Returns −inf when there is no tree.
    """
    highest, root_word = inside_siblings(
        MAX_PLUS, score, row, sibling, n, single_root, work.charts
    )
    if highest == -np.inf:
        wipe_marginals(n, marginal)
        return highest
    trace_siblings(row, sibling, n, root_word, work.charts, work.heads)
    total = 0.0
    for d in range(1, n + 1):  # the best tree gets weight 1
        h = work.heads[d - 1]
        work.shift[d] = score[h, d] + sibling[row[h, d], inner_sibling(work.heads, d)]
        total += work.shift[d]
    args = (score, row, sibling, n, single_root, work, marginal, parts)
    log_total = sum_sibling_charts(SUM_TIMES, *args)
    if not is_small(n, work.charts) or not is_small(n, work.outer):
        log_total = sum_sibling_charts(LOG_PLUS, *args)
    return total + log_total


@jitted
def is_small(n, charts):
    """Whether all spans are below `LARGEST` (not when one is infinite or NaN)."""
    for j in range(1, n + 1):
        for i in range(j):
            largest = max(
                max(charts.right[j, i], charts.left[j, i]),
                max(max(charts.arc[i, j], charts.arc[j, i]), charts.pair[j, i]),
            )
            if not largest <= LARGEST:
                return False
    return True


@jitted
def sum_sibling_charts(sr, score, row, sibling, n, single_root, work, marginal, parts):
    """Log of the sum of weights, and marginals, in one semiring.

    The weight of an arc and its sibling are one number: apart, one could underflow
    where the other overflows, though the best tree has weight 1.
    """
    charts, outer, weight = work.charts, work.outer, work.weight
    wipe_marginals(n, marginal)
    for h in range(n + 1):
        for d in range(1, n + 1):
            weight[h, d] = sr.zero
            if h != d and score[h, d] > -np.inf:
                weight[h, d] = sr.one
                r = row[h, d]
                arc = score[h, d] - work.shift[d]
                for s in range(min(h, d), max(h, d) + 1):
                    parts[r, s] = exp(sr, arc + sibling[r, s]) if s != d else sr.zero
    total, _ = inside_siblings(sr, weight, row, parts, n, single_root, charts)
    log_total = log(sr, total)
    outside_siblings(sr, weight, row, parts, n, single_root, charts, outer)
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d and score[h, d] > -np.inf:
                r = row[h, d]
                for s in range(min(h, d), max(h, d) + 1):
                    parts[r, s] = np.exp(log(sr, parts[r, s]) - log_total)
                    marginal[h, d] += parts[r, s]
    return log_total


@jitted
def outside_siblings(sr, score, row, parts, n, single_root, charts, outer):
    """Derivatives of `inside_siblings`; `parts` turns from weights to their shares.

    The share of a part is its weight times the derivative: the sum over the trees that
    contain it.
    """
    right, left, _, arc, arc_right = charts[:5]
    for j in range(n + 1):
        for i in range(n + 1):
            outer.right[j, i] = sr.zero
            outer.left[j, i] = sr.zero
            outer.pair[j, i] = sr.zero
            outer.arc[j, i] = sr.zero
            outer.arc_right[j, i] = sr.zero
    if not single_root:
        outer.right[n, 0] = sr.one
    for d in range(1, n + 1):
        if single_root and score[0, d] != sr.zero:
            above = times(sr, score[0, d], parts[row[0, d], 0])
            step = times(sr, left[d, 1], above)
            outer.right[n, d] = plus(sr, outer.right[n, d], step)
            step = times(sr, right[n, d], above)
            outer.left[d, 1] = plus(sr, outer.left[d, 1], step)
    for j in range(n, 0, -1):
        for i in range(j):
            b = outer.left[j, i]
            for k in range(i):
                b = plus(sr, b, times(sr, outer.pair[j, k], right[i - 1, k]))
            outer.left[j, i] = b
            spread_row(sr, outer.pair, j, outer.right, i - 1, left[j, i], i)
            for k in range(i):
                b = plus(sr, b, times(sr, outer.left[j, k], left[i, k]))
            spread_row(sr, outer.left, j, outer.left, i, arc[j, i], i)
            a = outer.right[j, i]
            for k in range(i):
                a = plus(sr, a, times(sr, outer.right[j, k], arc_right[i, k]))
            outer.right[j, i] = a
            spread_row(sr, outer.right, j, outer.arc_right, i, right[j, i], i)
            a = plus(sr, a, plus(sr, outer.arc[i, j], outer.arc_right[j, i]))
            outer.arc[i, j] = a
            if score[i, j] != sr.zero and (i > 0 or not single_root):
                open_right(sr, score, row, parts, j, i, charts, outer)
            if i > 0 and score[j, i] != sr.zero:
                outer.arc[j, i] = plus(sr, outer.arc[j, i], b)
                open_left(sr, score, row, parts, j, i, charts, outer)
        spread_row(sr, outer.pair, j, outer.right, j - 1, sr.one, j)
    for d in range(1, n + 1):
        if single_root and score[0, d] != sr.zero:
            r = row[0, d]
            share = times(sr, times(sr, left[d, 1], right[n, d]), score[0, d])
            parts[r, 0] = times(sr, share, parts[r, 0])
            for s in range(1, d):
                parts[r, s] = sr.zero


@jitted
def open_right(sr, score, row, parts, j, i, charts, outer):
    """From the derivative by the arc i → j to those by what it was made of."""
    left, pair, arc = charts.left, charts.pair, charts.arc
    r = row[i, j]
    above = times(sr, outer.arc[i, j], score[i, j])
    step = times(sr, above, parts[r, i])
    outer.left[j, i + 1] = plus(sr, outer.left[j, i + 1], step)
    parts[r, i] = times(sr, step, left[j, i + 1])
    for k in range(i + 1, j):
        step = times(sr, above, parts[r, k])
        outer.arc[i, k] = plus(sr, outer.arc[i, k], times(sr, step, pair[j, k]))
        step = times(sr, step, arc[i, k])
        outer.pair[j, k] = plus(sr, outer.pair[j, k], step)
        parts[r, k] = times(sr, step, pair[j, k])


@jitted
def open_left(sr, score, row, parts, j, i, charts, outer):
    """From the derivative by the arc j → i to those by what it was made of."""
    right, pair, arc = charts.right, charts.pair, charts.arc
    r = row[j, i]
    above = times(sr, outer.arc[j, i], score[j, i])
    step = times(sr, above, parts[r, j])
    outer.right[j - 1, i] = plus(sr, outer.right[j - 1, i], step)
    parts[r, j] = times(sr, step, right[j - 1, i])
    for k in range(i + 1, j):
        step = times(sr, above, parts[r, k])
        outer.arc[j, k] = plus(sr, outer.arc[j, k], times(sr, step, pair[i, k]))
        step = times(sr, step, arc[j, k])
        outer.pair[k, i] = plus(sr, outer.pair[k, i], step)
        parts[r, k] = times(sr, step, pair[i, k])
