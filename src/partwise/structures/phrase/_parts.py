"""Parts of derivations: their weights, their brackets and losses, their scores.

`data` is a `GrammarData`, `work` a `GrammarWork`, see `_compiled.py`; `rows` those of
any scorer with the operations of `partwise.scorers.spans`.
"""

from partwise.compiled import inner
from partwise.scorers.spans import (
    ADD,
    DOT,
    WIPE,
    score_phrases,
    touch_bracket,
    touch_rule,
)


@inner
def touch_parts(rows, data, w, block, code, mode, coef):
    """`touch` the weights of all parts of a derivation; returns their sum."""
    tables = data.tables
    n = data.offset[block + 1] - data.offset[block]
    n_chains = tables.chain_top.shape[0]
    total = 0.0
    for t in range(0, code.shape[0], 2):
        part = code[t]
        if part < 0:
            break
        i, j = code[t + 1] // (n + 1), code[t + 1] % (n + 1)
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                label = tables.chain_label[s]
                total += touch_rule(rows, w, block, tables.chain_rule[s], mode, coef)
                total += touch_bracket(rows, w, block, i, j, label, mode, coef)
        else:
            total += touch_rule(rows, w, block, part - n_chains, mode, coef)
            label = tables.weight_label[part - n_chains]
            if label >= 0:
                total += touch_bracket(rows, w, block, i, j, label, mode, coef)
    return total


@inner
def dot_parts(rows, data, w, block, code):
    """<w, φ(code)>."""
    return touch_parts(rows, data, w, block, code, DOT, 0.0)


@inner
def add_parts(rows, data, w, block, code, coef):
    """Add coef·φ(code) to w."""
    touch_parts(rows, data, w, block, code, ADD, coef)


@inner
def wipe_parts(rows, data, w, block, code):
    """Set to zero the coordinates of w where φ(code) is not."""
    touch_parts(rows, data, w, block, code, WIPE, 0.0)


@inner
def part_score(tables, work, part, cell):
    """Score of a part from the tables of the last `score_sentence`."""
    n_chains = tables.chain_top.shape[0]
    if part >= n_chains:
        label = tables.weight_label[part - n_chains]
        rule_score = work.weight[part - n_chains]
        return rule_score + work.plain[cell, label] if label >= 0 else rule_score
    total = work.chain[part]
    for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
        total += work.plain[cell, tables.chain_label[s]]
    return total


@inner
def count_brackets(data, block, code):
    """Numbers of correct and of predicted brackets of a code.

    A derivation names no bracket twice, so each gold bracket is matched at most once.
    Gold brackets of unknown label are correct where there is any bracket.
    """
    tables = data.tables
    n_correct, n_predicted = 0, 0
    for t in range(0, code.shape[0], 2):
        part, cell = code[t], code[t + 1]
        if part < 0:
            break
        for s in range(tables.part_ptr[part], tables.part_ptr[part + 1]):
            n_predicted += 1
            n_correct += has_bracket(data, block, cell, tables.part_label[s])
    for z in range(data.bare_ptr[block], data.bare_ptr[block + 1]):
        n_correct += is_bracketed(tables, code, data.bare[z])
    return n_correct, n_predicted


@inner
def is_bracketed(tables, code, cell):
    """Whether (1) or not (0) a code has a bracket of any label over a span."""
    for t in range(0, code.shape[0], 2):
        part = code[t]
        if part < 0:
            break
        if code[t + 1] == cell and tables.part_ptr[part] < tables.part_ptr[part + 1]:
            return 1
    return 0


@inner
def has_bracket(data, block, cell, label):
    """Whether (1) or not (0) the truth is known to have a bracket."""
    tables = data.tables
    for t in range(data.gold_ptr[block], data.gold_ptr[block + 1], 2):
        part = data.gold[t]
        if part < 0:
            break
        if data.gold[t + 1] != cell:
            continue
        for s in range(tables.part_ptr[part], tables.part_ptr[part + 1]):
            if tables.part_label[s] == label:
                return 1
    return 0


@inner
def mark_gold(data, block, gold):
    """gold[cell, label] = 1 for the known brackets of the truth."""
    tables = data.tables
    for t in range(data.gold_ptr[block], data.gold_ptr[block + 1], 2):
        part, cell = data.gold[t], data.gold[t + 1]
        if part < 0:
            break
        for s in range(tables.part_ptr[part], tables.part_ptr[part + 1]):
            gold[cell, tables.part_label[s]] = 1


@inner
def loss_of(data, block, code):
    """Δ(y, ŷ) of a code."""
    n_gold = data.n_gold[block]
    if data.zero_one:
        return 0.0 if is_truth(data, block, code) else 1.0
    n_correct, n_predicted = count_brackets(data, block, code)
    if data.is_partial[block]:  # other brackets may be right or wrong
        n_predicted = n_correct
    return loss_at(data, n_gold, n_correct, n_predicted)


@inner
def loss_at(data, n_gold, n_correct, n_predicted):
    """Δ by counts of brackets."""
    if data.is_f1:
        return 1.0 - 2.0 * n_correct / max(n_gold + n_predicted, 1)
    missed, spurious = n_gold - n_correct, n_predicted - n_correct
    return data.missed * missed + data.spurious * spurious


@inner
def is_truth(data, block, code):
    """Whether a code is that of the true tree."""
    begin, end = data.truth_ptr[block], data.truth_ptr[block + 1]
    for t in range(code.shape[0]):
        truth = data.truth[begin + t] if begin + t < end else -1
        if code[t] != truth:
            return False
        if truth < 0:
            break
    return True


@inner
def recalled(data, work, block, code):
    """<w, δ(code)> from the scores that `score_sentence` left."""
    total = truth_score(data, work, block)
    for t in range(0, code.shape[0], 2):
        if code[t] < 0:
            break
        total -= part_score(data.tables, work, code[t], code[t + 1])
    return total


@inner
def score_sentence(rows, data, work, w, block):
    """Scores of all parts of a sentence: rules, chains of them, and brackets."""
    tables, weight, chain = data.tables, work.weight, work.chain
    chain_step, chain_rule = tables.chain_step, tables.chain_rule
    score_phrases(rows, w, block, work)
    weight[tables.n_weights] = 0.0
    weight[tables.n_weights + 1] = 0.0
    for c in range(chain.shape[0]):
        chain[c] = 0.0
        for s in range(chain_step[c], chain_step[c + 1]):
            chain[c] += weight[chain_rule[s]]


@inner
def truth_score(data, work, block):
    """Score of the true derivation, from the scores that `score_sentence` left."""
    total = 0.0
    for t in range(data.truth_ptr[block], data.truth_ptr[block + 1], 2):
        part, cell = data.truth[t], data.truth[t + 1]
        if part < 0:
            break
        total += part_score(data.tables, work, part, cell)
    return total


@inner
def edit_spans(data, work, block, wrong, right):
    """Scores of brackets plus `wrong`, or `right` where they are known to be true.

    A span that is known to have a bracket of some label gets `right` once.
    """
    plain, span, tables = work.plain, work.span, data.tables
    n = data.offset[block + 1] - data.offset[block]
    for i in range(n):
        for cell in range(i * (n + 1) + i + 1, i * (n + 1) + n + 1):
            for label in range(tables.n_labels):
                span[cell, label] = plain[cell, label] + wrong
    for t in range(data.gold_ptr[block], data.gold_ptr[block + 1], 2):
        part, cell = data.gold[t], data.gold[t + 1]
        if part < 0:
            break
        for s in range(tables.part_ptr[part], tables.part_ptr[part + 1]):
            label = tables.part_label[s]
            span[cell, label] = plain[cell, label] + right
    if work.node.shape[0] > 0:
        for i in range(n):
            for cell in range(i * (n + 1) + i + 1, i * (n + 1) + n + 1):
                work.node[cell] = 0.0
        for z in range(data.bare_ptr[block], data.bare_ptr[block + 1]):
            work.node[data.bare[z]] = right
