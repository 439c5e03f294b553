"""Sums over all dependency trees: log Z and the probability of every arc.

The probability of a tree is exp(score − log Z). Projective trees are summed by Eisner's
charts and their outside pass, all trees by the matrix-tree theorem. Both are written
once over a semiring and run twice at most: with `SumTimes` on weights scaled word by
word, and, when a bound shows that numbers of too different size would be lost, with
`LogPlus`. Scores are laid out as in `_programs.py`.

The determinant of the matrix-tree theorem is taken by eliminating word after word.
Written on the Laplacian that subtracts nearly equal numbers as soon as two words prefer
each other, which trained models do all the time. Written on arcs (Grassmann, Taksar and
Heyman 1985) it only adds: when word v goes, each way h → v → d through it becomes a
part of the arc h → d, and no digit is lost.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures._semirings import (
    LOG_PLUS,
    MAX_PLUS,
    SUM_TIMES,
    exp,
    log,
    over,
    plus,
    times,
)
from partwise.structures.dependency._eisner import Charts, inside, trace
from partwise.structures.dependency._programs import new_tree_work

# Values of a chart that stay below this cannot carry a lost (underflown) term of
# 1e-308 to a visible size, because the sum of all trees is at least 1 there.
LARGEST = 1e140
SMALLEST_LOG = -650.0


class SumWork(NamedTuple):
    """Buffers of the sums for sentences up to a length."""

    charts: Charts
    outer: Charts  # derivatives of the sum by each span
    weight: np.ndarray  # (N, N) scores in the semiring's units
    slope: np.ndarray  # (N, N) derivatives of log Z by the weights
    shift: np.ndarray  # (N,) taken from all scores of a word
    flow: np.ndarray  # (N,)
    heads: np.ndarray  # (N,)
    order: np.ndarray  # (N,) which word stands where in an elimination


def new_sum_work(longest):
    """Buffers for sentences of at most `longest` words."""
    size = longest + 1
    return SumWork(
        new_tree_work(longest).charts,
        new_tree_work(longest).charts,
        np.empty((size, size)),
        np.empty((size, size)),
        np.empty(size),
        np.empty(size),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
    )


@kernel
def projective_sums(score, n, single_root, work, marginal):
    """Log Z over projective trees; ``marginal[h, d]`` the probability of each arc.

    Returns −inf, and zeros, when there is no tree.
    """
    highest, root_word = inside(MAX_PLUS, score, n, single_root, work.charts)
    if highest == -np.inf:
        wipe_marginals(n, marginal)
        return highest
    trace(score, n, root_word, work.charts, work.heads)
    for d in range(1, n + 1):  # the best tree gets weight 1
        work.shift[d] = score[work.heads[d - 1], d]
    total = sum_charts(SUM_TIMES, score, n, single_root, work, marginal)
    if not is_small(n, work.charts) or not is_small(n, work.outer):
        total = sum_charts(LOG_PLUS, score, n, single_root, work, marginal)
    for d in range(1, n + 1):
        total += work.shift[d]
    return total


@kernel
def wipe_marginals(n, marginal):
    """Set the marginals of a sentence to zero."""
    for h in range(n + 1):
        for d in range(n + 1):
            marginal[h, d] = 0.0


@kernel
def is_small(n, charts):
    """Whether all spans are below `LARGEST` (not when one is infinite or NaN)."""
    for j in range(1, n + 1):
        for i in range(j):
            largest = max(
                max(charts.right[j, i], charts.left[j, i]),
                max(charts.arc_right[j, i], charts.arc_left[j, i]),
            )
            if not largest <= LARGEST:
                return False
    return True


@kernel
def sum_charts(sr, score, n, single_root, work, marginal):
    """Log of the sum of weights, and marginals, in one semiring."""
    weight, charts, outer = work.weight, work.charts, work.outer
    for h in range(n + 1):
        for d in range(1, n + 1):
            weight[h, d] = exp(sr, score[h, d] - work.shift[d])
    total, _ = inside(sr, weight, n, single_root, charts)
    outside(sr, weight, n, single_root, charts, outer)
    log_total = log(sr, total)
    wipe_marginals(n, marginal)
    for j in range(1, n + 1):
        for i in range(j):
            value = times(sr, charts.arc_right[j, i], outer.arc_right[j, i])
            marginal[i, j] = np.exp(log(sr, value) - log_total)
            if i > 0:
                value = times(sr, charts.arc_left[j, i], outer.arc_left[j, i])
                marginal[j, i] = np.exp(log(sr, value) - log_total)
    if single_root:
        for d in range(1, n + 1):
            value = times(sr, charts.left[d, 1], charts.right[n, d])
            value = times(sr, value, weight[0, d])
            marginal[0, d] = np.exp(log(sr, value) - log_total)
    return log_total


@kernel
def outside(sr, score, n, single_root, charts, outer):
    """Derivatives of the total of `inside` by every span: its steps in reverse."""
    right, left = charts.right, charts.left
    arc_right, arc_left = charts.arc_right, charts.arc_left
    for j in range(n + 1):
        for i in range(j + 1):
            outer.right[j, i] = sr.zero
            outer.left[j, i] = sr.zero
            outer.arc_right[j, i] = sr.zero
            outer.arc_left[j, i] = sr.zero
    if single_root:
        for d in range(1, n + 1):
            step = times(sr, left[d, 1], score[0, d])
            outer.right[n, d] = plus(sr, outer.right[n, d], step)
            step = times(sr, right[n, d], score[0, d])
            outer.left[d, 1] = plus(sr, outer.left[d, 1], step)
    else:
        outer.right[n, 0] = sr.one
    meet = outer.meet
    for j in range(n, 0, -1):
        for i in range(j):
            b = outer.left[j, i]
            for k in range(i):
                b = plus(sr, b, times(sr, meet[k], right[i - 1, k]))
            outer.left[j, i] = b
            a = outer.right[j, i]
            for k in range(i):
                a = plus(sr, a, times(sr, outer.right[j, k], arc_right[i, k]))
            outer.right[j, i] = a
            for k in range(i):
                b = plus(sr, b, times(sr, outer.left[j, k], left[i, k]))
            outer.arc_left[j, i] = b
            spread(sr, meet, outer.right, i - 1, left[j, i], i)
            spread_row(sr, outer.right, j, outer.arc_right, i, right[j, i], i)
            spread_row(sr, outer.left, j, outer.left, i, arc_left[j, i], i)
            a = plus(sr, outer.arc_right[j, i], a)
            outer.arc_right[j, i] = a
            meet[i] = times(sr, a, score[i, j])
            if i > 0:
                meet[i] = plus(sr, meet[i], times(sr, b, score[j, i]))
        spread(sr, meet, outer.right, j - 1, sr.one, j)


@kernel
def spread(sr, source, into, r, factor, n):
    """into[r, k] ⊕= source[k] ⊗ factor for k < n."""
    if factor != sr.zero:
        for k in range(n):
            into[r, k] = plus(sr, into[r, k], times(sr, source[k], factor))


@kernel
def spread_row(sr, source, s, into, r, factor, n):
    """into[r, k] ⊕= source[s, k] ⊗ factor for k < n."""
    if factor != sr.zero:
        for k in range(n):
            into[r, k] = plus(sr, into[r, k], times(sr, source[s, k], factor))


@kernel
def spanning_sums(score, n, single_root, work, marginal):
    """Log Z over all trees, crossing arcs allowed, and the probability of each arc.

    Returns −inf, and zeros, when there is no tree. O(n³).
    """
    shift = work.shift
    wipe_marginals(n, marginal)
    total = 0.0
    lowest = 1 if single_root else 0
    shift[0] = 0.0
    for d in range(1, n + 1):
        shift[d] = -np.inf
        for h in range(lowest, n + 1):
            if h != d and score[h, d] > shift[d]:
                shift[d] = score[h, d]
        if shift[d] == -np.inf:
            shift[d] = score[0, d]
        if shift[d] == -np.inf:
            return -np.inf
        total += shift[d]
    if single_root:  # one arc leaves the root: its scores have a scale of their own
        shift[0] = -np.inf
        for d in range(1, n + 1):
            shift[0] = max(shift[0], score[0, d] - shift[d])
        if shift[0] == -np.inf:
            return -np.inf
        total += shift[0]
    log_total = sum_spanning(SUM_TIMES, score, n, single_root, work, marginal)
    if log_total - n * np.log(n + 1.0) < SMALLEST_LOG or not adds_up(n, marginal):
        log_total = sum_spanning(LOG_PLUS, score, n, single_root, work, marginal)
        if log_total == -np.inf:
            wipe_marginals(n, marginal)
    return total + log_total


@kernel
def adds_up(n, marginal):
    """Whether the heads of each word have probability 1 together."""
    for d in range(1, n + 1):
        total = 0.0
        for h in range(n + 1):
            total += marginal[h, d]
        if not abs(total - 1.0) < 1e-9:
            return False
    return True


@kernel
def sum_spanning(sr, score, n, single_root, work, marginal):
    """Log of the sum of weights, and marginals, in one semiring."""
    weight, slope, shift, order = work.weight, work.slope, work.shift, work.order
    for h in range(n + 1):
        order[h] = h
        above = shift[0] if h == 0 else 0.0
        for d in range(1, n + 1):
            weight[h, d] = exp(sr, score[h, d] - shift[d] - above)
    log_total = eliminate(sr, n, single_root, work)
    if log_total == -np.inf:
        return log_total
    differentiate(sr, n, single_root, work)
    for h in range(n + 1):
        u = order[h]
        above = shift[0] if h == 0 else 0.0
        for d in range(1, n + 1):
            v = order[d]
            if h != d and score[u, v] > -np.inf:
                value = log(sr, slope[h, d]) + score[u, v] - shift[v] - above
                marginal[u, v] = np.exp(value)
    return log_total


@kernel
def entering(sr, weight, v, lowest):
    """Sum of the arcs into v from the nodes `lowest`…v − 1."""
    total = sr.zero
    for h in range(lowest, v):
        total = plus(sr, total, weight[h, v])
    return total


@kernel
def eliminate(sr, n, single_root, work):
    """Remove the words from the last to the first; the log of the sum over trees.

    Z(G) = S_v · Z(G without v), S_v the sum of the arcs into v, where the arc h → d
    gains weight[h, v]·weight[v, d]/S_v. For a single root, S_v leaves the root out
    (the term of first order in the root's weights is all that counts), unless v is
    the only word left; a word without other heads is then kept for the end.
    """
    weight, flow, order = work.weight, work.flow, work.order
    log_total = 0.0
    for v in range(n, 0, -1):
        lowest = 1 if single_root and v > 1 else 0
        flow[v] = entering(sr, weight, v, lowest)
        if lowest == 1 and flow[v] == sr.zero:
            for u in range(1, v):
                if flow[v] == sr.zero:
                    exchange(weight, order, n, u, v)
                    flow[v] = entering(sr, weight, v, lowest)
        if flow[v] == sr.zero:
            return -np.inf
        log_total += log(sr, flow[v])
        for h in range(v):
            if weight[h, v] != sr.zero:
                share = over(sr, weight[h, v], flow[v])
                for d in range(1, v):
                    through = times(sr, share, weight[v, d])
                    weight[h, d] = plus(sr, weight[h, d], through)
    return log_total


@kernel
def exchange(weight, order, n, u, v):
    """Let the words at u and v change places."""
    for h in range(n + 1):
        weight[h, u], weight[h, v] = weight[h, v], weight[h, u]
    for d in range(1, n + 1):
        weight[u, d], weight[v, d] = weight[v, d], weight[u, d]
    order[u], order[v] = order[v], order[u]


@kernel
def differentiate(sr, n, single_root, work):
    """slope[h, d] = ∂ log Z / ∂ weight[h, d], word by word in reverse.

    With p_h = weight[h, v]/S_v and q_h = Σ_d weight[v, d]·slope[h, d],

        slope[v, d] = Σ_h p_h·slope[h, d]      slope[h, v] = (1 + q_h − Σ p q)/S_v

    where Σ p q, the expected number of v's children, is at most n: the only difference
    taken is between small numbers, so probabilities are exact to about n·1e-16.
    """
    weight, slope, flow = work.weight, work.slope, work.flow
    for v in range(1, n + 1):
        lowest = 1 if single_root and v > 1 else 0
        slope[v, v] = sr.zero
        for d in range(1, v):
            slope[v, d] = sr.zero
        children = 0.0
        for h in range(v):
            share = over(sr, weight[h, v], flow[v])
            through = sr.zero
            for d in range(1, v):
                step = times(sr, weight[v, d], slope[h, d])
                through = plus(sr, through, step)
                slope[v, d] = plus(sr, slope[v, d], times(sr, share, slope[h, d]))
            slope[h, v] = through
            if share != sr.zero:
                children += np.exp(log(sr, share) + log(sr, through))
        for h in range(v):
            gained = log(sr, slope[h, v])
            if h >= lowest and gained < 50.0:  # beyond, 1 − children is no digit of it
                rest = np.exp(gained) + 1.0 - children
                gained = np.log(rest) if rest > 0.0 else -np.inf
            slope[h, v] = over(sr, exp(sr, gained), flow[v])
