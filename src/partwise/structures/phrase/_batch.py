"""Single sentences of a batch: scores, k-best, sums over all trees."""

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.scorers.spans import add_expected
from partwise.structures._semirings import MAX_PLUS, SUM_TIMES
from partwise.structures.phrase._cky_best import k_best
from partwise.structures.phrase._cky_outside import Outside, outside
from partwise.structures.phrase._cky_programs import Scores, inside
from partwise.structures.phrase._parts import add_parts, score_sentence, truth_score
from partwise.structures.phrase._searches import scores_with, search_known


@kernel
def score_row(blocks, work, w, i):
    """Scores of all parts of sentence i into `work`."""
    score_sentence(blocks.rows, blocks.data, work, w, i)


@kernel
def add_likelihood(blocks, w, i, coef, rule, bracket):
    """W += expected features of sentence i − coef · those of its true tree."""
    data = blocks.data
    truth = data.truth[data.truth_ptr[i] : data.truth_ptr[i + 1]]
    add_expected(blocks.rows, w, i, rule, bracket)
    add_parts(blocks.rows, data, w, i, truth, -coef)


@allocating
def k_best_row(data, work, i, k, codes, value):
    """The k best trees by the scores in `work`; returns how many there are."""
    scores = scores_with(data, work, work.plain, work.none)
    first = data.offset[i]
    n = data.offset[i + 1] - first
    items = inside(MAX_PLUS, data.tables, scores, work.chart, first, n)
    return k_best(data.tables, scores, work.chart, items, first, n, k, codes, value)


@allocating
def complete_row(data, work, i, code):
    """The best tree with all known brackets, by the scores in `work`; whether it is."""
    tables = data.tables
    n = data.offset[i + 1] - data.offset[i]
    largest = 0.0  # score of a rule or chain
    for c in range(work.chain.shape[0]):
        largest = max(largest, abs(work.chain[c]))
    for k in range(tables.n_weights):
        largest = max(largest, abs(work.weight[k]))
    highest = 0.0  # score of a bracket
    for begin in range(n):
        for cell in range(begin * (n + 1) + begin + 1, begin * (n + 1) + n + 1):
            for label in range(tables.n_labels):
                highest = max(highest, abs(work.plain[cell, label]))
    longest = 1  # brackets of a part
    for c in range(tables.chain_top.shape[0]):
        longest = max(longest, tables.chain_step[c + 1] - tables.chain_step[c])
    bonus = 2.0 * data.room * n * (largest + longest * highest) + 1.0
    return search_known(data, work, i, bonus, code)


@allocating
def sum_row(data, work, block, lead, coef, rule, bracket):
    """Inside-outside by the scores in `work`: log Z and the score of the truth.

    `lead` is what the best tree scores above the truth, −inf without one. `rule`
    (n_rules,), if any, receives coef·E[number of rules], and `bracket` (cells,
    n_labels) coef·P(bracket). Scores are multiplied as exp(score − μ) per word, μ
    being the share of a word in the best tree's score: sums over whole sentences then
    stay near one, far from the limits of floating point.
    """
    tables = data.tables
    first = data.offset[block]
    n = data.offset[block + 1] - first
    truth = truth_score(data, work, block)
    best = lead + truth
    if best == -np.inf:
        return -np.inf, 0.0
    share = best / n
    weight = np.empty(work.weight.shape[0])
    for k in range(weight.shape[0]):
        weight[k] = np.exp(work.weight[k])
    weight[tables.n_weights + 1] = np.exp(-share)
    is_word = np.zeros(weight.shape[0], np.uint8)
    for leaf in range(data.leaf_ptr[first], data.leaf_ptr[first + n]):
        k = data.leaf_weight[leaf]
        if k < tables.n_weights and not is_word[k]:
            is_word[k] = 1
            weight[k] *= np.exp(-share)
    chain = np.empty(work.chain.shape[0])
    for c in range(chain.shape[0]):
        chain[c] = np.exp(work.chain[c])
    span = np.empty(work.plain.shape)
    for i in range(n):
        for cell in range(i * (n + 1) + i + 1, i * (n + 1) + n + 1):
            for label in range(tables.n_labels):
                span[cell, label] = np.exp(work.plain[cell, label])
    scores = Scores(
        weight, chain, span, work.none, data.leaf_ptr, data.leaf_tag, data.leaf_weight
    )
    chart = work.sums
    items = inside(SUM_TIMES, tables, scores, chart, first, n)
    total = 0.0
    for a in range(tables.n_symbols):
        if tables.root_weight[a] >= 0:
            total += chart.symbol[n, a] * weight[tables.root_weight[a]]
    log_z = np.log(total) + best
    if bracket.shape[0] == 0:
        return log_z, truth
    out = Outside(
        np.empty((chart.symbol.shape[0], tables.n_symbols)),
        np.empty(items.state.shape[0]),
        np.zeros(chart.base.shape[0]),
        np.zeros(chart.sum.shape[0]),
        np.zeros(weight.shape[0]),
        np.zeros((chart.symbol.shape[0], tables.n_labels)),
    )
    outside(SUM_TIMES, tables, scores, chart, items, first, n, out)
    for cell in range((n + 1) * (n + 1)):
        for label in range(tables.n_labels):
            bracket[cell, label] = coef * out.span[cell, label] / total
    for k in range(tables.n_weights if rule.shape[0] > 0 else 0):
        rule[k] = coef * out.weight[k] / total
    return log_z, truth
