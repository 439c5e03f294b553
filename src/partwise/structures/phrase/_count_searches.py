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
from partwise.structures.phrase._cky_counts import CountedSentence, inside_counts
from partwise.structures.phrase._cky_counts_trace import root_table, trace_counts
from partwise.structures.phrase._cky_outside import Outside, outside
from partwise.structures.phrase._cky_programs import inside
from partwise.structures.phrase._parts import (
    count_brackets,
    edit_spans,
    loss_at,
    loss_of,
    mark_gold,
    recalled,
    truth_score,
)
from partwise.structures.phrase._searches import decode, scores_with, violated

N_PASSES = 6
CLOSE = 1e-10  # differences of violations that count as none

# np.int64(…) below: numba would compile a callee again for every literal number


def search_counts(data, work, i, code):
    """The most violated tree of block i for a loss that counts brackets."""
    bound = search_values(data, work, i, code)
    b, scale, violation = violated(data, work, i, code)
    return b, scale, violation, max(bound, violation)


@inner
def slopes(data, block, c, p, violation):
    """Multipliers (λ_c, λ_p) that trees of equal violation near (c, p) agree with."""
    g = data.n_gold[block]
    loss = max(loss_at(data, data.n_gold[block], c, p), 0.05)
    by_c, by_p = -(data.missed + data.spurious), data.spurious
    if data.is_f1:
        by_c, by_p = -2.0 / (p + g), 2.0 * c / ((p + g) * (p + g))
    size = loss
    if data.rule == MARGIN_ROOT or data.rule == SLACK_ROOT:
        size = np.sqrt(loss)
        by_c, by_p = by_c / (2.0 * size), by_p / (2.0 * size)
    if data.rule >= SLACK:
        factor = max(violation, 0.0) / (size * size)
        by_c, by_p = by_c * factor, by_p * factor
    return by_c, by_p


@inner
def most_brackets(data, n):
    """An upper bound of the brackets over n words."""
    tables = data.tables
    longest = 0
    for c in range(tables.chain_top.shape[0]):
        longest = max(longest, tables.chain_step[c + 1] - tables.chain_step[c])
    return (n - 1) + (2 * n - 1) * longest


@inlined
def search_values(data, work, block, code):
    """Write the tree; returns a bound of all violations, −inf where it is exact."""
    first = data.offset[block]
    n = data.offset[block + 1] - first
    begin, end = data.truth_ptr[block], data.truth_ptr[block + 1]
    truth = truth_score(data, work, block)
    for t in range(code.shape[0]):
        code[t] = -1
    for t in range(begin, end):
        code[t - begin] = data.truth[t]
    best, cuts, n_cuts = try_multipliers(data, work, block, truth, code)
    is_linear = data.rule == MARGIN and data.is_f1
    if n > data.exact_words and not is_linear:
        return bound_of_cuts(data, block, n, truth, cuts, n_cuts)
    largest = 1.0  # possible loss
    if not data.is_f1:
        largest = data.missed * data.n_gold[block]
        largest += data.spurious * most_brackets(data, n)
    if data.rule == MARGIN_ROOT or data.rule == SLACK_ROOT:
        largest = np.sqrt(largest)
    if data.rule >= SLACK:
        least = truth - 1.0 + best / largest if best > 0.0 else -np.inf
    else:
        least = truth + best - largest
    if cuts[0, 0] <= least + CLOSE and best > -np.inf:
        return -np.inf  # no tree scores enough to do better
    scores = scores_with(data, work, work.plain, work.none)
    tables, chart = data.tables, work.chart
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
    mark_gold(data, block, gold)
    if n <= data.exact_words:
        both: Any = np.int64(1)
        sentence = CountedSentence(
            tables, scores, chart, items, alive, gold, both, first, n
        )
        symbols = inside_counts(sentence)
        table = root_table(sentence, symbols)
        c_best, p_best = both - 2, both - 2
        for c in range(table.shape[0]):
            for p in range(1, table.shape[1]):
                loss = loss_at(data, data.n_gold[block], c, p)
                is_plane = loss > 0.0 or data.rule <= MARGIN_ROOT
                if not is_plane or table[c, p] == -np.inf:
                    continue
                b, scale = plane(data.rule, loss)
                violation = b - scale * (truth - table[c, p])
                if violation > best + CLOSE:
                    best, c_best, p_best = violation, c, p
        if p_best >= 0:
            trace_counts(sentence, symbols, c_best, p_best, code)
        return -np.inf
    search_predicted(data, work, block, truth, best, items, alive, gold, code)
    return -np.inf


@inlined
def try_multipliers(data, work, block, truth, code):
    """Passes with multipliers; the best tree goes into `code`.

    Returns its violation, and the passes as rows (M, λ_c, λ_p) with their number. The
    first has λ = 0. Under margin rescaling the truth is an output of violation 0, and
    others without loss are planes too; else −inf stands for nothing found.
    """
    g = data.n_gold[block]
    trial = np.empty(code.shape[0], np.int32)
    cuts = np.empty((N_PASSES, 3))
    by_c, by_p = 0.0, 0.0
    best = 0.0 if data.rule <= MARGIN_ROOT else -np.inf
    n_cuts = 0
    for m in range(N_PASSES):
        edit_spans(data, work, block, by_p, by_p + by_c)
        cuts[m, 0] = decode(data, work, block, work.span, work.none, trial)
        cuts[m, 1], cuts[m, 2] = by_c, by_p
        n_cuts += 1
        c, p = count_brackets(data, block, trial)
        loss = loss_at(data, data.n_gold[block], c, p)
        if loss > 0.0 or data.rule <= MARGIN_ROOT:
            b, scale = plane(data.rule, loss)
            score = cuts[m, 0] - by_c * c - by_p * p
            violation = b - scale * (truth - score)
            if violation > best:
                best = violation
                for t in range(code.shape[0]):
                    code[t] = trial[t]
        if loss <= 0.0:
            c, p = g, g
        old_c, old_p = by_c, by_p
        by_c, by_p = slopes(data, block, c, p, best)
        if abs(by_c - old_c) + abs(by_p - old_p) <= 1e-9:
            break
    return best, cuts, n_cuts


@inner
def bound_of_cuts(data, block, n, truth, cuts, n_cuts):
    """The largest violation of any (c, p) under the bounds of all passes."""
    g = data.n_gold[block]
    largest = -np.inf
    for p in range(1, most_brackets(data, n) + 1):
        for c in range(min(g, p) + 1):
            loss = loss_at(data, data.n_gold[block], c, p)
            if loss <= 0.0 and data.rule > MARGIN_ROOT:
                continue
            score = np.inf
            for m in range(n_cuts):
                score = min(score, cuts[m, 0] - cuts[m, 1] * c - cuts[m, 2] * p)
            b, scale = plane(data.rule, loss)
            largest = max(largest, b - scale * (truth - score))
    return largest


@inlined
def search_predicted(data, work, block, truth, best, items, alive, gold, code):
    """L1 margin rescaling with 1 − F1: charts over the predicted brackets alone."""
    first = data.offset[block]
    n = data.offset[block + 1] - first
    g = data.n_gold[block]
    trial = np.empty(code.shape[0], np.int32)
    _, p = count_brackets(data, block, code)
    upper = np.full(most_brackets(data, n) + 2, np.inf)
    is_done = np.zeros(upper.shape[0], np.uint8)
    none: Any = np.int64(0)  # correct brackets are not counted
    while True:
        rate = 2.0 / (p + g)
        edit_spans(data, work, block, 0.0, -rate)
        sentence = CountedSentence(
            data.tables, scores_with(data, work, work.span, work.none), work.chart,
            items, alive, gold, none, first, n,
        )  # fmt: skip
        symbols = inside_counts(sentence)
        table = root_table(sentence, symbols)
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
        trace_counts(sentence, symbols, none, target, trial)
        violation = loss_of(data, block, trial) - recalled(data, work, block, trial)
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
