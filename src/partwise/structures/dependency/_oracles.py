"""Loss-augmented scores of arcs, and labels of the heads that a decoder chose.

`blocks` and `work` are those of first order (`_compiled.py`) or of second order
(`_second_order_compiled.py`); scores of arcs stand in ``work.scores``. What the two do
differently are the operations below.
"""

import numpy as np

from partwise.compiled import kernel, operation, output_loss, recall_margin
from partwise.scorers.arcs import dot_label
from partwise.structures._formulations import cut

# what is not known of a word, bits of `hidden`; all three: it is not looked at
NO_HEAD = 1
NO_LABEL = 2
FROZEN = 4


@kernel
def is_hidden(blocks, word, part):
    """Whether this part of a word is not known; words count over all sentences."""
    return blocks.hidden.shape[0] > 0 and (blocks.hidden[word] & part) != 0


@kernel
def word_loss(blocks, t, hat):
    """Loss of a word in units: 1 for a wrong head, `label_cost` for a label.

    What is not known of the truth costs nothing.
    """
    y, size = blocks.y[t], blocks.n_labels
    if y == hat:
        return 0.0
    if y // size != hat // size and not is_hidden(blocks, t, NO_HEAD):
        return 1.0
    if y % size == hat % size or is_hidden(blocks, t, NO_LABEL):
        return 0.0
    return blocks.label_cost


def n_words(blocks, i):
    """Words of sentence i."""
    return blocks.offset[i + 1] - blocks.offset[i]


def tree_loss(blocks, i, code):
    """Sum of the losses of words."""
    begin = blocks.offset[i]
    total = 0.0
    for t in range(blocks.offset[i + 1] - begin):
        total += word_loss(blocks, begin + t, code[t])
    return total * blocks.unit[i]


def tree_operations(tag):
    """Give a tag of trees the two operations above, which are alike for all orders."""
    tag.code_length, tag.output_loss = n_words, tree_loss
    return tag


@operation
def score_sentence(blocks, work, w, i):
    """Scores of all parts of sentence i into `work`."""


@operation
def find_heads(blocks, work, i):
    """Best heads by the scores in `work`; returns their score, −inf for none."""


@operation
def find_trees(blocks, work, options, n, k, heads, ranks, values):
    """The k best trees of ranked arcs, see `k_best_trees`; returns how many."""


@operation
def rule_of(blocks):
    """How a loss becomes a plane, see `Formulation.rule`."""


@kernel
def cut_of(blocks, work, i, code):
    """Offset, scale and violation of an output, from the scores in `work`."""
    loss = output_loss(blocks, i, code)
    return cut(rule_of(blocks), loss, recall_margin(blocks, work, i, code))


@kernel
def add_losses(blocks, work, i):
    """Loss-augmented scores: instead of raising all wrong arcs, lower the true ones."""
    begin = blocks.offset[i]
    unit = blocks.unit[i]
    scores = work.scores
    for t in range(blocks.offset[i + 1] - begin):
        y = blocks.y[begin + t]
        h, d = y // blocks.n_labels, t + 1
        if is_hidden(blocks, begin + t, NO_HEAD):
            raise_wrong_labels(blocks, scores, i, d)
        elif blocks.n_labels == 1:
            scores.total[h, d] -= unit
        else:
            k = augmented_label(blocks, scores.label, i, h, d)
            is_right = k == y % blocks.n_labels or is_hidden(
                blocks, begin + t, NO_LABEL
            )
            loss = unit if is_right else unit * (1.0 - blocks.label_cost)
            scores.total[h, d] = scores.arc[h, d] + scores.label[h, d, k] - loss


@kernel
def raise_wrong_labels(blocks, scores, i, d):
    """Loss-augmented scores of a word whose head is not known: labels alone count."""
    at = blocks.offset[i] + d - 1
    if blocks.n_labels == 1 or is_hidden(blocks, at, NO_LABEL):
        return
    truth = blocks.y[at] % blocks.n_labels
    extra = blocks.unit[i] * blocks.label_cost
    for h in range(blocks.offset[i + 1] - blocks.offset[i] + 1):
        if scores.total[h, d] > -np.inf:
            k = augmented_label(blocks, scores.label, i, h, d)
            loss = extra if k != truth else 0.0
            scores.total[h, d] = scores.arc[h, d] + scores.label[h, d, k] + loss


@kernel
def augmented_label(blocks, label, i, h, d):
    """Best label of an arc, with its loss unless the head is a wrong one."""
    at = blocks.offset[i] + d - 1
    y, truth = blocks.y[at], -1
    if y // blocks.n_labels == h or is_hidden(blocks, at, NO_HEAD):
        truth = -1 if is_hidden(blocks, at, NO_LABEL) else y % blocks.n_labels
    extra = blocks.unit[i] * blocks.label_cost
    best, highest = 0, -np.inf
    for k in range(blocks.n_labels):
        value = label[h, d, k]
        if truth >= 0 and k != truth:
            value += extra
        if value > highest:
            best, highest = k, value
    return best


@kernel
def name_labels(blocks, work, i, code):
    """Code of the heads in `work`, each with its best label."""
    begin = blocks.offset[i]
    for t in range(blocks.offset[i + 1] - begin):
        h = work.heads[t]
        code[t] = h * blocks.n_labels
        if is_hidden(blocks, begin + t, FROZEN):
            code[t] = blocks.y[begin + t]
        elif blocks.n_labels > 1:
            code[t] += augmented_label(blocks, work.scores.label, i, h, t + 1)


@kernel
def find_labels(blocks, work, w, i, code):
    """The best labels, loss included, of the true heads; only their scores are made."""
    begin = blocks.offset[i]
    arc, label = work.scores.arc, work.scores.label
    for t in range(blocks.offset[i + 1] - begin):
        h, d = blocks.y[begin + t] // blocks.n_labels, t + 1
        work.heads[t] = h
        arc[h, d] = 0.0
        for k in range(blocks.n_labels):
            label[h, d, k] = dot_label(blocks.rows, w, i, h, d, k)
    name_labels(blocks, work, i, code)
