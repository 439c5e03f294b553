"""The most violated tree for losses of counts of brackets, under every formulation.

1 − F1 = 1 − 2c/(p + g) with c correct, p predicted and g gold brackets is linear in c
once p is fixed. A few passes with multipliers for c and p find a good tree. The score
of the best tree through each item shows which items can be part of a better one,
and only those enter the chart with counts:

* over (c, p), exact for every formulation, up to `exact_words` words;
* over p alone with 2/(p + g) charged per correct bracket, for L1 margin rescaling at
  any length: a chart made for one p bounds the value at the others, so that few are
  needed until no bound is higher.

Longer sentences under other formulations keep the best tree of the passes. Each pass
bounds the score of all trees with (c, p) by M − λ_c·c − λ_p·p, and the largest
violation under all those bounds goes into the certificate.
"""

from typing import Any

import numpy as np

from partwise.compiled import inlined, inner
from partwise.objective import MARGIN, MARGIN_ROOT, SLACK, SLACK_ROOT
from partwise.structures._formulations import plane
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.phrase._cky_counts import inside_counts
from partwise.structures.phrase._cky_counts_trace import root_table, trace_counts
from partwise.structures.phrase._cky_outside import Outside, outside
from partwise.structures.phrase._cky_programs import Scores, inside
from partwise.structures.phrase._oracles import decode, violated
from partwise.structures.phrase._parts import (
    count_brackets,
    edit_spans,
    loss_at,
    loss_of,
    mark_gold,
    recalled,
    truth_score,
)

N_PASSES = 6
CLOSE = 1e-10  # differences of violations that count as none

# np.int64(…) below: numba would compile a callee again for every literal number


def search_counts(blocks, work, i, code):
    """The most violated tree of block i for a loss that counts brackets."""
    bound = search_values(blocks, work, i, code)
    b, scale, violation = violated(blocks, work, i, code)
    return b, scale, violation, max(bound, violation)


@inner
def slopes(blocks, block, c, p, violation):
    """Multipliers (λ_c, λ_p) that trees of equal violation near (c, p) agree with."""
    g = blocks.n_gold[block]
    loss = max(loss_at(blocks, blocks.n_gold[block], c, p), 0.05)
    by_c, by_p = -(blocks.missed + blocks.spurious), blocks.spurious
    if blocks.is_f1:
        by_c, by_p = -2.0 / (p + g), 2.0 * c / ((p + g) * (p + g))
    size = loss
    if blocks.rule == MARGIN_ROOT or blocks.rule == SLACK_ROOT:
        size = np.sqrt(loss)
        by_c, by_p = by_c / (2.0 * size), by_p / (2.0 * size)
    if blocks.rule >= SLACK:
        factor = max(violation, 0.0) / (size * size)
        by_c, by_p = by_c * factor, by_p * factor
    return by_c, by_p


@inner
def most_brackets(blocks, n):
    """An upper bound of the brackets over n words."""
    tables = blocks.tables
    longest = 0
    for c in range(tables.chain_top.shape[0]):
        longest = max(longest, tables.chain_step[c + 1] - tables.chain_step[c])
    return (n - 1) + (2 * n - 1) * longest


@inlined
def search_values(blocks, work, block, code):
    """Write the tree; returns a bound of all violations, −inf where it is exact."""
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    begin, end = blocks.truth_ptr[block], blocks.truth_ptr[block + 1]
    truth = truth_score(blocks, work, block)
    for t in range(code.shape[0]):
        code[t] = -1
    for t in range(begin, end):
        code[t - begin] = blocks.truth[t]
    best, cuts, n_cuts = try_multipliers(blocks, work, block, truth, code)
    is_linear = blocks.rule == MARGIN and blocks.is_f1
    if n > blocks.exact_words and not is_linear:
        return bound_of_cuts(blocks, block, n, truth, cuts, n_cuts)
    largest = 1.0  # possible loss
    if not blocks.is_f1:
        largest = blocks.missed * blocks.n_gold[block]
        largest += blocks.spurious * most_brackets(blocks, n)
    if blocks.rule == MARGIN_ROOT or blocks.rule == SLACK_ROOT:
        largest = np.sqrt(largest)
    if blocks.rule >= SLACK:
        least = truth - 1.0 + best / largest if best > 0.0 else -np.inf
    else:
        least = truth + best - largest
    if cuts[0, 0] <= least + CLOSE and best > -np.inf:
        return -np.inf  # no tree scores enough to do better
    scores = Scores(
        work.weight, work.chain, work.plain, work.none, blocks.leaf_ptr,
        blocks.leaf_tag, blocks.leaf_weight,
    )  # fmt: skip
    tables, chart = blocks.tables, work.chart
    items = inside(MAX_PLUS, tables, scores, chart, first, n)
    out = Outside(
        np.empty((chart.symbol.shape[0], tables.n_symbols)),
        np.empty(items.state.shape[0]),
        np.full(chart.base.shape[0], -np.inf),
        np.full(chart.sum.shape[0], -np.inf),
        np.empty(0),
        np.empty((0, 0)),
    )
    outside(MAX_PLUS, tables, scores, chart, items, first, n, out)
    alive = np.zeros(items.state.shape[0], np.uint8)
    for at in range(chart.end[n]):
        alive[at] = items.score[at] + out.item[at] >= least - CLOSE
    gold = np.zeros(((n + 1) * (n + 1), tables.n_labels), np.uint8)
    mark_gold(blocks, block, gold)
    if n <= blocks.exact_words:
        both: Any = np.int64(1)
        symbols = inside_counts(
            tables, scores, chart, items, alive, gold, both, first, n
        )
        table = root_table(tables, scores, symbols, n)
        c_best, p_best = both - 2, both - 2
        for c in range(table.shape[0]):
            for p in range(1, table.shape[1]):
                loss = loss_at(blocks, blocks.n_gold[block], c, p)
                is_plane = loss > 0.0 or blocks.rule <= MARGIN_ROOT
                if not is_plane or table[c, p] == -np.inf:
                    continue
                b, scale = plane(blocks.rule, loss)
                violation = b - scale * (truth - table[c, p])
                if violation > best + CLOSE:
                    best, c_best, p_best = violation, c, p
        if p_best >= 0:
            trace_counts(
                tables, scores, chart, items, alive, gold, both, symbols, first, n,
                c_best, p_best, code,
            )  # fmt: skip
        return -np.inf
    search_predicted(blocks, work, block, truth, best, items, alive, gold, code)
    return -np.inf


@inlined
def try_multipliers(blocks, work, block, truth, code):
    """Passes with multipliers; the best tree goes into `code`.

    Returns its violation, and the passes as rows (M, λ_c, λ_p) with their number. The
    first has λ = 0. Under margin rescaling the truth is an output of violation 0, and
    others without loss are planes too; else −inf stands for nothing found.
    """
    g = blocks.n_gold[block]
    trial = np.empty(code.shape[0], np.int32)
    cuts = np.empty((N_PASSES, 3))
    by_c, by_p = 0.0, 0.0
    best = 0.0 if blocks.rule <= MARGIN_ROOT else -np.inf
    n_cuts = 0
    for m in range(N_PASSES):
        edit_spans(blocks, work, block, by_p, by_p + by_c)
        cuts[m, 0] = decode(blocks, work, block, work.span, work.none, trial)
        cuts[m, 1], cuts[m, 2] = by_c, by_p
        n_cuts += 1
        c, p = count_brackets(blocks, block, trial)
        loss = loss_at(blocks, blocks.n_gold[block], c, p)
        if loss > 0.0 or blocks.rule <= MARGIN_ROOT:
            b, scale = plane(blocks.rule, loss)
            score = cuts[m, 0] - by_c * c - by_p * p
            violation = b - scale * (truth - score)
            if violation > best:
                best = violation
                for t in range(code.shape[0]):
                    code[t] = trial[t]
        if loss <= 0.0:
            c, p = g, g
        old_c, old_p = by_c, by_p
        by_c, by_p = slopes(blocks, block, c, p, best)
        if abs(by_c - old_c) + abs(by_p - old_p) <= 1e-9:
            break
    return best, cuts, n_cuts


@inner
def bound_of_cuts(blocks, block, n, truth, cuts, n_cuts):
    """The largest violation of any (c, p) under the bounds of all passes."""
    g = blocks.n_gold[block]
    largest = -np.inf
    for p in range(1, most_brackets(blocks, n) + 1):
        for c in range(min(g, p) + 1):
            loss = loss_at(blocks, blocks.n_gold[block], c, p)
            if loss <= 0.0 and blocks.rule > MARGIN_ROOT:
                continue
            score = np.inf
            for m in range(n_cuts):
                score = min(score, cuts[m, 0] - cuts[m, 1] * c - cuts[m, 2] * p)
            b, scale = plane(blocks.rule, loss)
            largest = max(largest, b - scale * (truth - score))
    return largest


@inlined
def search_predicted(blocks, work, block, truth, best, items, alive, gold, code):
    """L1 margin rescaling with 1 − F1: charts over the predicted brackets alone."""
    tables, chart = blocks.tables, work.chart
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    g = blocks.n_gold[block]
    trial = np.empty(code.shape[0], np.int32)
    _, p = count_brackets(blocks, block, code)
    upper = np.full(most_brackets(blocks, n) + 2, np.inf)
    is_done = np.zeros(upper.shape[0], np.uint8)
    none: Any = np.int64(0)  # correct brackets are not counted
    while True:
        rate = 2.0 / (p + g)
        edit_spans(blocks, work, block, 0.0, -rate)
        scores = Scores(
            work.weight, work.chain, work.span, work.none, blocks.leaf_ptr,
            blocks.leaf_tag, blocks.leaf_weight,
        )  # fmt: skip
        symbols = inside_counts(
            tables, scores, chart, items, alive, gold, none, first, n
        )
        table = root_table(tables, scores, symbols, n)
        target, highest = none - 1, -np.inf
        for q in range(upper.shape[0]):
            value = -np.inf
            if 0 < q < table.shape[1]:
                value = 1.0 + table[0, q] - truth
            # each correct bracket was charged `rate` where 2/(q + g) is due
            value += max(0.0, rate - 2.0 / (q + g)) * min(g, q) if q > 0 else 0.0
            upper[q] = min(upper[q], value)
            if q == p:
                is_done[q] = 1
            if 0 < q < table.shape[1] and upper[q] > highest:
                target, highest = q, upper[q]
        if target < 0:
            return
        trace_counts(
            tables, scores, chart, items, alive, gold, none, symbols, first, n, none,
            target, trial,
        )  # fmt: skip
        violation = loss_of(blocks, block, trial) - recalled(blocks, work, block, trial)
        if violation > best:
            best = violation
            for t in range(code.shape[0]):
                code[t] = trial[t]
        p, highest = -1, best + CLOSE
        for q in range(1, upper.shape[0]):
            if not is_done[q] and upper[q] > highest:
                p, highest = q, upper[q]
        if p < 0:
            return
