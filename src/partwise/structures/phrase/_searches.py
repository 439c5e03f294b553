"""The most violated tree where one chart is enough.

* brackets, L1 margin: the loss adds to scores of spans; one inside pass.
* 0/1 loss and hard margins: the two best trees.

What needs every value of the loss is in `_count_searches.py`. Searches enter the sweeps
by their addresses (`_compiled.py`), so each compiles only when it is needed.
"""

import numpy as np

from partwise.compiled import inlined
from partwise.structures._formulations import cut
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.losses import PLAIN
from partwise.structures.phrase._cky_best import k_best
from partwise.structures.phrase._cky_programs import Scores, inside
from partwise.structures.phrase._cky_trace import trace
from partwise.structures.phrase._parts import (
    count_brackets,
    edit_spans,
    loss_of,
    recalled,
)


@inlined
def scores_with(data, work, span, node):
    """Scores of a sentence: those in `work`, and the given ones of brackets."""
    return Scores(
        work.weight, work.chain, span, node, data.leaf_ptr, data.leaf_tag,
        data.leaf_weight,
    )  # fmt: skip


@inlined
def decode(data, work, block, span, node, code):
    """The best tree under the given scores of spans; returns its score."""
    scores = scores_with(data, work, span, node)
    first = data.offset[block]
    n = data.offset[block + 1] - first
    items = inside(MAX_PLUS, data.tables, scores, work.chart, first, n)
    return trace(data.tables, scores, work.chart, items, first, n, work.stack, code)


@inlined
def violated(data, work, block, code):
    """(b, scale, violation) of an output, from the scores in `work`."""
    loss = loss_of(data, block, code)
    return cut(data.rule, loss, recalled(data, work, block, code))


def search_best(data, work, i, code):
    """The best tree of block i under its scores alone, or with brackets as loss."""
    is_plain = data.oracle == PLAIN
    wrong, right = (0.0, 0.0) if is_plain else (data.spurious, -data.missed)
    if data.is_partial[i]:
        wrong = 0.0
    edit_spans(data, work, i, wrong, right)
    decode(data, work, i, work.span, work.node, code)
    if is_plain:
        lead = -recalled(data, work, i, code)
        return 0.0, 1.0, lead, lead
    b, scale, violation = violated(data, work, i, code)
    return b, scale, violation, violation


@inlined
def search_known(data, work, i, bonus, code):
    """The best tree with all known brackets; returns whether there is one.

    `bonus` is what each known bracket adds, more than two trees can differ by.
    """
    edit_spans(data, work, i, 0.0, bonus)
    decode(data, work, i, work.span, work.node, code)
    n_correct, _ = count_brackets(data, i, code)
    return code[0] >= 0 and n_correct == data.n_gold[i]


def search_two(data, work, i, code):
    """The best of the two best trees of block i that has a loss.

    When neither has one (the second best is another derivation with the same brackets),
    no tree was found, and all others score at most as high as the second.
    """
    scores = scores_with(data, work, work.plain, work.none)
    first = data.offset[i]
    n = data.offset[i + 1] - first
    items = inside(MAX_PLUS, data.tables, scores, work.chart, first, n)
    codes = np.empty((2, code.shape[0]), np.int32)
    n_trees = k_best(
        data.tables, scores, work.chart, items, first, n, np.int64(2), codes,
        np.empty(2),
    )  # fmt: skip
    chosen = n_trees - 1
    if n_trees == 2 and loss_of(data, i, codes[0]) > 0.0:
        chosen = 0
    for t in range(code.shape[0]):
        code[t] = codes[chosen, t]
    b, scale, violation = violated(data, work, i, code)
    bound = violation
    if b == 0.0 and n_trees == 2:
        bound = 1.0 - recalled(data, work, i, code)
    return b, scale, violation, bound
