"""Dependency trees as numba blocks: the structure's side of `partwise.compiled`.

A code has one integer per word, head · n_labels + label. The rows of any scorer with
the operations of `partwise.scorers.arcs` serve.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, uncounted
from partwise.scorers._arc_scoring import new_arc_scores
from partwise.scorers.arcs import knows_all, score_arcs
from partwise.structures.dependency._oracles import (
    add_losses,
    cut_of,
    find_heads,
    find_labels,
    name_labels,
    score_sentence,
    tree_operations,
)
from partwise.structures.dependency._planes import (
    many_margins,
    one_margin,
    push_many,
    push_one,
    wipe_one,
)
from partwise.structures.dependency._searches import (
    GIVEN,
    PROJECTIVE,
    best_trees,
    call_decoder,
    call_search,
    new_buffers,
)
from partwise.structures.losses import ADDITIVE


class ArcWork(NamedTuple):
    """Buffers of one thread."""

    scores: tuple  # ArcScores
    tables: np.ndarray  # these four: see `new_buffers`
    lines: np.ndarray
    stack: np.ndarray
    nodes: np.ndarray
    heads: np.ndarray  # (longest,) int32


def new_arc_work(longest, width):
    """Buffers for sentences of at most `longest` words."""
    heads = np.zeros(longest, np.int32)
    scores = new_arc_scores(longest, width)
    return ArcWork(scores, *new_buffers(longest), heads)  # type: ignore[call-arg]


@uncounted
@tree_operations
class ArcBlocks(NamedTuple):
    """Packed sentences with their true trees."""

    rows: Any  # a tag with the operations of `partwise.scorers.arcs`
    offset: np.ndarray  # (n_blocks + 1,) int64, words of each sentence
    y: np.ndarray  # (n_words,) int32 true codes
    unit: np.ndarray  # (n_blocks,) loss of one wrong head
    label_cost: float  # loss of a wrong label at the right head, in units
    n_labels: int  # 1 without labels
    construction: int  # TREE, PROJECTIVE, BEST_HEADS, or GIVEN: only labels are free
    single_root: int
    decode: Any  # the address of the decoder, see `_searches.py`
    oracle: int  # ADDITIVE, TWO_BEST or FRONTIER
    search: Any  # its address, for the other two
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    hidden: np.ndarray  # (n_words,) uint8 bits of what is not known; (0,) for nothing

    def find_output(blocks, work, w, i, code):
        begin, end = blocks.offset[i], blocks.offset[i + 1]
        if blocks.construction == GIVEN:
            find_labels(blocks, work, w, i, code)
        else:
            scores = work.scores
            score_sentence(blocks, work, w, i)
            if blocks.oracle == ADDITIVE:
                add_losses(blocks, work, i)
                find_heads(blocks, work, i)
                name_labels(blocks, work, i, code)
            else:
                call_search(blocks.search, (
                    scores.arc, scores.label, scores.total, blocks.unit[i],
                    blocks.label_cost, blocks.n_labels,
                    blocks.construction == PROJECTIVE, blocks.single_root == 1,
                    blocks.rule, blocks.y[begin:end], code[: end - begin],
                ))  # fmt: skip
        b, scale, violation = cut_of(blocks, work, i, code)
        if knows_all(blocks.rows):
            return b, scale, violation, violation
        return b, scale, violation, np.inf

    def score_sentence(blocks, work, w, i):
        score_arcs(blocks.rows, w, i, work.scores)

    def find_heads(blocks, work, i):
        n = blocks.offset[i + 1] - blocks.offset[i]
        return call_decoder(blocks.decode, (
            work.scores.total, n, blocks.single_root == 1, work.tables, work.lines,
            work.stack, work.nodes, work.heads,
        ))  # fmt: skip

    def find_trees(blocks, work, options, n, k, heads, ranks, values):
        return best_trees(
            blocks.construction == PROJECTIVE, blocks.single_root == 1, options, n, k,
            heads, ranks, values,
        )  # fmt: skip

    def rule_of(blocks):
        return blocks.rule

    def recall_margin(blocks, work, i, code):
        return recalled(blocks, work, i, code)

    def margin(blocks, w, i, code):
        return one_margin(blocks, w, i, code)

    def margins(blocks, work, w, i, codes, at, n, out):
        many_margins(blocks, w, i, codes, at, n, out)

    def push(blocks, w, i, code, coef):
        push_one(blocks, w, i, code, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, w, i, codes, at, n, coef)

    def wipe(blocks, w, i, code):
        wipe_one(blocks, w, i, code)


@kernel
def recalled(blocks, work, i, code):
    """<w, δ(code)> from the scores in `work`."""
    begin = blocks.offset[i]
    arc, label = work.scores.arc, work.scores.label
    size = blocks.n_labels
    total = 0.0
    for t in range(blocks.offset[i + 1] - begin):
        y, hat = blocks.y[begin + t], code[t]
        if y != hat:
            h, h_hat, d = y // size, hat // size, t + 1
            total += arc[h, d] - arc[h_hat, d]
            if size > 1:
                total += label[h, d, y % size] - label[h_hat, d, hat % size]
    return total
