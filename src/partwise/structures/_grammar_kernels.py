"""Grammars as numba blocks: the structure's side of `compiled.py`.

A model is one flat array: weights of rules, roots and words (`GrammarTables`), then
rows of features of spans with a weight per bracket label. A code is a derivation, see
`trace`; a bracket is a label over a span, tags and unfinished branchings are none.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from partwise.compiled import output_loss, recall_margin
from partwise.structures._cky_programs import Chart, Scores, inside, trace
from partwise.structures._grammar_tables import GrammarTables
from partwise.structures._semirings import MAX_PLUS

ZERO_ONE, BRACKETS, F1 = 0, 1, 2  # losses
PLAIN, ADDITIVE, TWO_BEST, COUNTS = 0, 1, 2, 3  # how the worst output is found


class GrammarWork(NamedTuple):
    """Buffers of one thread; `plain` keeps scores of spans without the loss."""

    weight: np.ndarray  # (n_weights + 1,), the last is 0
    chain: np.ndarray  # (C,)
    plain: np.ndarray  # (cells, n_labels)
    span: np.ndarray  # (cells, n_labels)
    begin: np.ndarray  # (longest, n_labels) features at the first word
    end: np.ndarray  # (longest, n_labels) features at the last word
    chart: Chart


class GrammarBlocks(NamedTuple):
    """Packed sentences with their true derivations."""

    tables: GrammarTables
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sentence
    leaf_ptr: np.ndarray  # (n_tokens + 1,) int64
    leaf_tag: np.ndarray  # int32
    leaf_weight: np.ndarray  # int32
    begin: np.ndarray  # (n_tokens, m) int32 rows of features, −1 for none
    end: np.ndarray  # (n_tokens, m) int32
    tag: np.ndarray  # (n_tokens,) int32 for features of pairs of tags
    bucket: np.ndarray  # (longest + 1,) int32 row of the length
    n_paired: int  # values of `tag`, 0 without pairs
    pair_row: int
    has_spans: int  # whether there are features of spans
    truth_ptr: np.ndarray  # (n_blocks + 1,) int64
    truth: np.ndarray  # int32 codes
    n_gold: np.ndarray  # (n_blocks,) int64 brackets of the truth
    room: int  # parts of a code per word, at most
    cost: int  # ZERO_ONE, BRACKETS or F1
    oracle: int  # PLAIN, ADDITIVE, TWO_BEST or COUNTS
    slack_scaled: int  # the offset also scales the plane
    square_root: int  # L2 penalties see √Δ
    constant: int  # the offset is 1 whatever the loss

    def code_length(blocks, i):
        return 2 * blocks.room * (blocks.offset[i + 1] - blocks.offset[i])

    def output_loss(blocks, i, code):
        n_correct, n_predicted = count_brackets(blocks, i, code)
        return loss_of(blocks, i, n_correct, n_predicted, code)

    def find_output(blocks, work, w, i, code):
        prepare(blocks, work, w)
        return search(blocks, work, w, i, code)

    def recall_margin(blocks, work, i, code):
        tables = blocks.tables
        n = blocks.offset[i + 1] - blocks.offset[i]
        begin, end = blocks.truth_ptr[i], blocks.truth_ptr[i + 1]
        total = 0.0
        for sign in range(2):
            parts = code if sign else blocks.truth[begin:end]
            value = 0.0
            for t in range(0, parts.shape[0], 2):
                if parts[t] < 0:
                    break
                value += part_score(tables, work, n, parts[t], parts[t + 1])
            total += -value if sign else value
        return total

    def margin(blocks, w, i, code):
        begin, end = blocks.truth_ptr[i], blocks.truth_ptr[i + 1]
        return dot_parts(blocks, w, i, blocks.truth[begin:end]) - dot_parts(
            blocks, w, i, code
        )

    def push(blocks, w, i, code, coef):
        begin, end = blocks.truth_ptr[i], blocks.truth_ptr[i + 1]
        add_parts(blocks, w, i, blocks.truth[begin:end], coef)
        add_parts(blocks, w, i, code, -coef)

    def wipe(blocks, w, i, code):
        begin, end = blocks.truth_ptr[i], blocks.truth_ptr[i + 1]
        wipe_parts(blocks, w, i, blocks.truth[begin:end])
        wipe_parts(blocks, w, i, code)


# Adding up, updating and clearing the features of a bracket are one loop over the same
# rows; three copies of it, because a function as argument would compile anew each time.


@njit(cache=True, nogil=True)
def bracket_rows(blocks, first, i, j, rows):
    """Rows of the features of the span [i, j); returns how many."""
    size = 0
    for f in range(blocks.begin.shape[1]):
        if blocks.begin[first + i, f] >= 0:
            rows[size] = blocks.begin[first + i, f]
            size += 1
    for f in range(blocks.end.shape[1]):
        if blocks.end[first + j - 1, f] >= 0:
            rows[size] = blocks.end[first + j - 1, f]
            size += 1
    return size


@njit(cache=True, nogil=True)
def joint_rows(blocks, first, i, j, n):
    """Rows of the length, of the two tags inside and of the two outside."""
    tag, wide = blocks.tag, blocks.n_paired
    before = tag[first + i - 1] if i > 0 else 0
    after = tag[first + j] if j < n else 0
    inner = blocks.pair_row + tag[first + i] * wide + tag[first + j - 1]
    outer = blocks.pair_row + wide * wide + before * wide + after
    return blocks.bucket[j - i], inner, outer


@njit(cache=True, nogil=True)
def dot_bracket(blocks, w, first, i, j, n, label):
    """<w, features of a bracket>."""
    if not blocks.has_spans:
        return 0.0
    base, size = blocks.tables.n_weights + label, blocks.tables.n_labels
    rows = np.empty(blocks.begin.shape[1] + blocks.end.shape[1], np.int64)
    total = 0.0
    for z in range(bracket_rows(blocks, first, i, j, rows)):
        total += w[base + rows[z] * size]
    length, inner, outer = joint_rows(blocks, first, i, j, n)
    total += w[base + length * size]
    if blocks.n_paired > 0:
        total += w[base + inner * size] + w[base + outer * size]
    return total


@njit(cache=True, nogil=True)
def add_bracket(blocks, w, first, i, j, n, label, coef):
    """W += coef · features of a bracket."""
    if not blocks.has_spans:
        return
    base, size = blocks.tables.n_weights + label, blocks.tables.n_labels
    rows = np.empty(blocks.begin.shape[1] + blocks.end.shape[1], np.int64)
    for z in range(bracket_rows(blocks, first, i, j, rows)):
        w[base + rows[z] * size] += coef
    length, inner, outer = joint_rows(blocks, first, i, j, n)
    w[base + length * size] += coef
    if blocks.n_paired > 0:
        w[base + inner * size] += coef
        w[base + outer * size] += coef


@njit(cache=True, nogil=True)
def wipe_bracket(blocks, w, first, i, j, n, label):
    """W = 0 at the features of a bracket."""
    if not blocks.has_spans:
        return
    base, size = blocks.tables.n_weights + label, blocks.tables.n_labels
    rows = np.empty(blocks.begin.shape[1] + blocks.end.shape[1], np.int64)
    for z in range(bracket_rows(blocks, first, i, j, rows)):
        w[base + rows[z] * size] = 0.0
    length, inner, outer = joint_rows(blocks, first, i, j, n)
    w[base + length * size] = 0.0
    if blocks.n_paired > 0:
        w[base + inner * size] = 0.0
        w[base + outer * size] = 0.0


@njit(cache=True, nogil=True)
def dot_parts(blocks, w, block, code):
    """<w, φ(code)>."""
    tables = blocks.tables
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    n_chains = tables.chain_top.shape[0]
    total = 0.0
    for t in range(0, code.shape[0], 2):
        part = code[t]
        if part < 0:
            break
        i, j = code[t + 1] // (n + 1), code[t + 1] % (n + 1)
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                total += w[tables.chain_rule[s]]
                total += dot_bracket(blocks, w, first, i, j, n, tables.chain_label[s])
        else:
            total += w[part - n_chains]
            label = tables.weight_label[part - n_chains]
            if label >= 0:
                total += dot_bracket(blocks, w, first, i, j, n, label)
    return total


@njit(cache=True, nogil=True)
def add_parts(blocks, w, block, code, coef):
    """W += coef·φ(code)."""
    tables = blocks.tables
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    n_chains = tables.chain_top.shape[0]
    for t in range(0, code.shape[0], 2):
        part = code[t]
        if part < 0:
            break
        i, j = code[t + 1] // (n + 1), code[t + 1] % (n + 1)
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                w[tables.chain_rule[s]] += coef
                label = tables.chain_label[s]
                add_bracket(blocks, w, first, i, j, n, label, coef)
        else:
            w[part - n_chains] += coef
            label = tables.weight_label[part - n_chains]
            if label >= 0:
                add_bracket(blocks, w, first, i, j, n, label, coef)


@njit(cache=True, nogil=True)
def wipe_parts(blocks, w, block, code):
    """W = 0 where φ(code) is not."""
    tables = blocks.tables
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    n_chains = tables.chain_top.shape[0]
    for t in range(0, code.shape[0], 2):
        part = code[t]
        if part < 0:
            break
        i, j = code[t + 1] // (n + 1), code[t + 1] % (n + 1)
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                w[tables.chain_rule[s]] = 0.0
                wipe_bracket(blocks, w, first, i, j, n, tables.chain_label[s])
        else:
            w[part - n_chains] = 0.0
            label = tables.weight_label[part - n_chains]
            if label >= 0:
                wipe_bracket(blocks, w, first, i, j, n, label)


@njit(cache=True, nogil=True)
def part_score(tables, work, n, part, cell):
    """Score of a part from the tables of the last `prepare` and `score_spans`."""
    n_chains = tables.chain_top.shape[0]
    if part >= n_chains:
        label = tables.weight_label[part - n_chains]
        own = work.weight[part - n_chains]
        return own + work.plain[cell, label] if label >= 0 else own
    total = work.chain[part]
    for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
        total += work.plain[cell, tables.chain_label[s]]
    return total


@njit(cache=True, nogil=True)
def count_brackets(blocks, block, code):
    """Numbers of correct and of predicted brackets of a code.

    A derivation names no bracket twice, so each gold bracket is matched at most once.
    """
    tables = blocks.tables
    n = blocks.offset[block + 1] - blocks.offset[block]
    gold = np.zeros(((n + 1) * (n + 1), tables.n_labels), np.uint8)
    mark_gold(blocks, block, gold)
    n_chains = tables.chain_top.shape[0]
    n_correct, n_predicted = 0, 0
    for t in range(0, code.shape[0], 2):
        part, cell = code[t], code[t + 1]
        if part < 0:
            break
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                n_predicted += 1
                n_correct += gold[cell, tables.chain_label[s]]
        elif tables.weight_label[part - n_chains] >= 0:
            n_predicted += 1
            n_correct += gold[cell, tables.weight_label[part - n_chains]]
    return n_correct, n_predicted


@njit(cache=True, nogil=True)
def mark_gold(blocks, block, gold):
    """gold[cell, label] = 1 for the brackets of the truth."""
    tables = blocks.tables
    n_chains = tables.chain_top.shape[0]
    for t in range(blocks.truth_ptr[block], blocks.truth_ptr[block + 1], 2):
        part, cell = blocks.truth[t], blocks.truth[t + 1]
        if part < 0:
            break
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                gold[cell, tables.chain_label[s]] = 1
        elif tables.weight_label[part - n_chains] >= 0:
            gold[cell, tables.weight_label[part - n_chains]] = 1


@njit(cache=True, nogil=True)
def loss_of(blocks, block, n_correct, n_predicted, code):
    """Δ of an output with these counts; an empty code stands for no tree."""
    n_gold = blocks.n_gold[block]
    if blocks.cost == BRACKETS:
        return float(n_gold + n_predicted - 2 * n_correct)
    if blocks.cost == F1:
        if n_gold + n_predicted == 0:
            return 0.0
        return 1.0 - 2.0 * n_correct / (n_gold + n_predicted)
    begin, end = blocks.truth_ptr[block], blocks.truth_ptr[block + 1]
    for t in range(code.shape[0]):
        truth = blocks.truth[begin + t] if begin + t < end else -1
        if code[t] != truth:
            return 1.0
        if truth < 0:
            break
    return 0.0


@njit(cache=True, nogil=True)
def prepare(blocks, work, w):
    """Weights of rules and chains; the same for all sentences."""
    tables, weight, chain = blocks.tables, work.weight, work.chain
    chain_step, chain_rule = tables.chain_step, tables.chain_rule
    for k in range(tables.n_weights):
        weight[k] = w[k]
    weight[tables.n_weights] = 0.0
    for c in range(chain.shape[0]):
        chain[c] = 0.0
        for s in range(chain_step[c], chain_step[c + 1]):
            chain[c] += weight[chain_rule[s]]


@njit(cache=True, nogil=True)
def score_ends(rows, w, base, size, first, n, out):
    """Sums of the rows of features at each word, per label."""
    for t in range(n):
        for label in range(size):
            out[t, label] = 0.0
        for f in range(rows.shape[1]):
            if rows[first + t, f] >= 0:
                at = base + rows[first + t, f] * size
                for label in range(size):
                    out[t, label] += w[at + label]


@njit(cache=True, nogil=True)
def score_spans(blocks, work, w, block):
    """Scores of all brackets of a sentence, without the loss, into `plain`."""
    plain, begin, end = work.plain, work.begin, work.end
    size, base = blocks.tables.n_labels, blocks.tables.n_weights
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    if not blocks.has_spans:
        for cell in range((n + 1) * (n + 1)):
            for label in range(size):
                plain[cell, label] = 0.0
        return
    score_ends(blocks.begin, w, base, size, first, n, begin)
    score_ends(blocks.end, w, base, size, first, n, end)
    is_paired = blocks.n_paired > 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            length, inner, outer = joint_rows(blocks, first, i, j, n)
            length = base + length * size
            for label in range(size):
                plain[cell, label] = (
                    begin[i, label] + end[j - 1, label] + w[length + label]
                )
            if is_paired:
                inner, outer = base + inner * size, base + outer * size
                for label in range(size):
                    plain[cell, label] += w[inner + label] + w[outer + label]


@njit(cache=True, nogil=True)
def edit_spans(blocks, work, block, wrong, right):
    """Scores of brackets plus `wrong`, or `right` where the truth has the bracket."""
    plain, span, tables = work.plain, work.span, blocks.tables
    n = blocks.offset[block + 1] - blocks.offset[block]
    n_chains = tables.chain_top.shape[0]
    for i in range(n):
        for cell in range(i * (n + 1) + i + 1, i * (n + 1) + n + 1):
            for label in range(tables.n_labels):
                span[cell, label] = plain[cell, label] + wrong
    for t in range(blocks.truth_ptr[block], blocks.truth_ptr[block + 1], 2):
        part, cell = blocks.truth[t], blocks.truth[t + 1]
        if part < 0:
            break
        if part < n_chains:
            for s in range(tables.chain_step[part], tables.chain_step[part + 1]):
                label = tables.chain_label[s]
                span[cell, label] = plain[cell, label] + right
        elif tables.weight_label[part - n_chains] >= 0:
            label = tables.weight_label[part - n_chains]
            span[cell, label] = plain[cell, label] + right


@njit(cache=True, nogil=True)
def plane(blocks, loss):
    """Offset and scale of an output with this loss (see `Formulation`)."""
    if loss <= 0.0:
        return 0.0, 1.0
    b = 1.0 if blocks.constant else loss
    if blocks.square_root:
        b = np.sqrt(b)
    return b, (b if blocks.slack_scaled else 1.0)


@njit(cache=True, nogil=True)
def decode(blocks, work, block, span, code):
    """The best tree under the given scores of spans; returns its score."""
    scores = Scores(
        work.weight, work.chain, span, blocks.leaf_ptr, blocks.leaf_tag,
        blocks.leaf_weight,
    )  # fmt: skip
    first = blocks.offset[block]
    n = blocks.offset[block + 1] - first
    items = inside(MAX_PLUS, blocks.tables, scores, work.chart, first, n)
    return trace(blocks.tables, scores, work.chart, items, first, n, code)


@njit(cache=True, nogil=True)
def search(blocks, work, w, i, code):
    """Most violated output of block i, given prepared rules: (b, scale, violation)."""
    score_spans(blocks, work, w, i)
    if blocks.oracle == PLAIN:
        decode(blocks, work, i, work.plain, code)
        return 0.0, 1.0, -recall_margin(blocks, work, i, code)
    if blocks.oracle == ADDITIVE:
        edit_spans(blocks, work, i, 1.0, -1.0)
        decode(blocks, work, i, work.span, code)
    b, scale = plane(blocks, output_loss(blocks, i, code))
    return b, scale, b - scale * recall_margin(blocks, work, i, code)
