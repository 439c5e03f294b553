"""Dependency trees as numba blocks: the structure's side of `compiled.py`.

A code has one integer per word, head · n_labels + label. The rows of any scorer with
the operations of `partwise.scorers.arcs` serve.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, recall_margin
from partwise.scorers.arcs import score_arcs
from partwise.structures._arborescence_oracles import (
    ADDITIVE,
    GIVEN,
    add_losses,
    decode,
    find_labels,
    name_labels,
    plane,
    search_loss,
    word_loss,
)
from partwise.structures._arborescence_planes import (
    add_lead,
    lead,
    many_margins,
    push_many,
    wipe_lead,
)


class ArcWork(NamedTuple):
    """Buffers of one thread; those of oracles that are not in use are small."""

    scores: tuple  # ArcScores
    trees: tuple  # TreeWork
    heads: np.ndarray  # (longest,) int32
    options: np.ndarray  # (K, N, N) scores by rank of the label, or by loss
    frontier: tuple  # FrontierWork
    k_best: tuple  # KBestWork, for two trees
    two: np.ndarray  # (4, longest) int32, heads of two trees, then ranks of labels
    values: np.ndarray  # (2,)
    losses: np.ndarray  # (longest,) int64


class ArcBlocks(NamedTuple):
    """Packed sentences with their true trees."""

    rows: tuple  # a tag with the operations of `partwise.scorers.arcs`
    offset: np.ndarray  # (n_blocks + 1,) int64, words of each sentence
    y: np.ndarray  # (n_words,) int32 true codes
    unit: np.ndarray  # (n_blocks,) loss of one wrong head
    label_cost: float  # loss of a wrong label at the right head, in units
    n_labels: int  # 1 without labels
    construction: int  # TREE, PROJECTIVE, BEST_HEADS, or GIVEN: only labels are free
    single_root: int
    oracle: int  # ADDITIVE, TWO_BEST or FRONTIER
    slack_scaled: int  # the offset also scales the plane
    square_root: int  # L2 penalties see √Δ
    constant: int  # the offset is 1 whatever the loss (hard margin)

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def output_loss(blocks, i, code):
        begin = blocks.offset[i]
        total = 0.0
        for t in range(blocks.offset[i + 1] - begin):
            total += word_loss(blocks, blocks.y[begin + t], code[t])
        return total * blocks.unit[i]

    def find_output(blocks, work, w, i, code):
        if blocks.construction == GIVEN:
            find_labels(blocks, work, w, i, code)
        else:
            score_arcs(blocks.rows, w, i, work.scores)
            if blocks.oracle == ADDITIVE:
                add_losses(blocks, work, i)
                decode(blocks, work, i)
                name_labels(blocks, work, i, code)
            else:
                search_loss(blocks, work, i, code)
        b, scale = plane(blocks, output_loss(blocks, i, code))
        return b, scale, b - scale * recall_margin(blocks, work, i, code)

    def recall_margin(blocks, work, i, code):
        return recalled(blocks, work, i, code)

    def margin(blocks, w, i, code):
        begin = blocks.offset[i]
        total = 0.0
        for t in range(blocks.offset[i + 1] - begin):
            if blocks.y[begin + t] != code[t]:
                total += lead(blocks, w, i, t, code[t])
        return total

    def margins(blocks, work, w, i, codes, at, n, out):
        many_margins(blocks, w, i, codes, at, n, out)

    def push(blocks, w, i, code, coef):
        begin = blocks.offset[i]
        for t in range(blocks.offset[i + 1] - begin):
            if blocks.y[begin + t] != code[t]:
                add_lead(blocks, w, i, t, code[t], coef, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, w, i, codes, at, n, coef)

    def wipe(blocks, w, i, code):
        begin = blocks.offset[i]
        for t in range(blocks.offset[i + 1] - begin):
            if blocks.y[begin + t] != code[t]:
                wipe_lead(blocks, w, i, t, code[t])


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
