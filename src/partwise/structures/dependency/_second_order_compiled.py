"""Dependency trees with second-order parts as numba blocks.

As `_compiled.py`, over candidate arcs. A tree has, beside its labelled
arcs, one part per word for the next sibling towards the head (the head itself if there
is none) and, below words, one for the head of the head.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import (
    address_of,
    allocating,
    called_at,
    inner_allocating,
    kernel,
    output_loss,
    recall_margin,
    uncounted,
)
from partwise.objective import MARGIN
from partwise.scorers._arc_candidates import PAIRS, PartScores
from partwise.scorers._arc_rows import TWO
from partwise.scorers._arc_scoring import new_arc_scores
from partwise.scorers._arc_touching import ADD, DOT, WIPE
from partwise.scorers.arcs import score_arcs
from partwise.structures.dependency._climb import ClimbWork, climb_trees
from partwise.structures.dependency._grandparents import (
    GrandparentWork,
    eisner_grandparents,
    most_candidates,
)
from partwise.structures.dependency._oracles import (
    add_losses,
    find_heads,
    name_labels,
    score_sentence,
    tree_operations,
)
from partwise.structures.dependency._part_planes import (
    touch_many_parts,
    touch_parts,
)
from partwise.structures.dependency._planes import (
    many_margins,
    one_margin,
    push_many,
    push_one,
    wipe_one,
)
from partwise.structures.dependency._searches import (
    PROJECTIVE,
    rank_trees,
    tree_work,
)
from partwise.structures.dependency._second_order import (
    SiblingWork,
    eisner_siblings,
    sibling_of,
)

DECODE_PARTS = types.float64(
    TWO,  # (N, N) scores of arcs
    PAIRS, TWO, TWO,  # row, sibling, grandparent: see `_second_order.py`
    types.int64, types.boolean,  # number of words, single_root
    types.int32[::1],  # (n,) receives heads
)  # fmt: skip


class SecondOrderWork(NamedTuple):
    """Buffers of one thread; `scores` as first-order oracles want them."""

    parts: tuple  # PartScores
    scores: tuple  # its ArcScores
    heads: np.ndarray  # (longest,) int32
    nodes: np.ndarray  # (1, N) int32


def new_second_order_work(longest, width, n_candidates, has_grandparents):
    """Buffers for sentences of at most `longest` words."""
    arcs = new_arc_scores(longest, width)
    size = longest + 1
    shape = (longest * n_candidates, size)
    grand = np.zeros(shape if has_grandparents else (0, 0))
    row = np.zeros((size, size), np.int32)
    parts = PartScores(arcs, row, np.zeros(shape), grand)
    heads, nodes = np.zeros(longest, np.int32), np.zeros((1, size), np.int32)
    return SecondOrderWork(parts, arcs, heads, nodes)


@allocating
def decode_siblings(score, row, sibling, grandparent, n, single_root, heads):
    """The best projective tree under arcs and siblings."""
    size = n + 1
    t = np.empty((5, size, size))
    stack = np.empty((3 * size, 3), np.int64)
    work = SiblingWork(t[0], t[1], t[2], t[3], t[4], stack)
    return eisner_siblings(score, row, sibling, n, single_root, work, heads)


@inner_allocating
def allocate_grandparents(n, width):
    """`new_grandparent_work` in compiled code."""
    size = n + 1
    t = np.empty((3, size, size, width))
    return GrandparentWork(
        t[0], t[1], t[2], np.empty((size, width), np.int32), np.empty(size, np.int32),
        np.empty((size, size), np.int32), np.empty((3 * size, 4), np.int64),
    )  # fmt: skip


@allocating
def decode_grandparents(score, row, sibling, grandparent, n, single_root, heads):
    """The best projective tree under arcs, siblings and grandparents."""
    work = allocate_grandparents(n, most_candidates(score, n))
    return eisner_grandparents(
        score, row, sibling, grandparent, n, single_root, work, heads
    )


@allocating
def decode_climbing(score, row, sibling, grandparent, n, single_root, heads):
    """A tree of high score, crossing arcs allowed."""
    size = n + 1
    spans = np.empty((3 * size, 3), np.int64)
    trees = tree_work(
        np.empty((5, size, size)), np.empty((2, 2 * size)), spans,
        np.empty((6, 2 * size), np.int32),
    )  # fmt: skip
    s = np.empty((5, size, size))
    siblings = SiblingWork(s[0], s[1], s[2], s[3], s[4], spans)
    deepest = n if grandparent.shape[0] > 0 else 0
    grand = allocate_grandparents(deepest, most_candidates(score, n))
    work = ClimbWork(trees, siblings, grand, np.empty(n, np.int32))
    return climb_trees(score, row, sibling, grandparent, n, single_root, work, heads)


def decode_parts_by(projective, has_grandparents):
    """The address of the decoder of these settings."""
    decoder = decode_grandparents if has_grandparents else decode_siblings
    return address_of(DECODE_PARTS, decoder if projective else decode_climbing)


call_decoder = called_at(DECODE_PARTS)


class Parts(NamedTuple):
    """Any of the above as a decoder of `_decoders.py`."""

    decode: Any
    row: np.ndarray
    sibling: np.ndarray
    grandparent: np.ndarray
    single_root: bool

    def decode_tree(decoder, score, n, heads):
        return call_decoder(decoder.decode, (
            score, decoder.row, decoder.sibling, decoder.grandparent, n,
            decoder.single_root, heads,
        ))  # fmt: skip


@uncounted
@tree_operations
class SecondOrderBlocks(NamedTuple):
    """Packed sentences with their true trees."""

    rows: Any  # CandidateRows, or StoredParts, which lists their features
    offset: np.ndarray  # (n_blocks + 1,) int64, words of each sentence
    y: np.ndarray  # (n_words,) int32 true codes
    unit: np.ndarray  # (n_blocks,) loss of one wrong head
    label_cost: float  # loss of a wrong label at the right head, in units
    n_labels: int  # 1 without labels
    construction: int  # PROJECTIVE or TREE
    single_root: int
    decode: Any  # the address of the decoder
    is_narrow: int  # 1: the rows have a part of the candidates
    hidden: np.ndarray  # (0,): all truths are known

    def find_output(blocks, work, w, i, code):
        score_sentence(blocks, work, w, i)
        add_losses(blocks, work, i)
        is_found = find_heads(blocks, work, i) > -np.inf
        loss, violation = 0.0, 0.0
        if is_found:
            name_labels(blocks, work, i, code)
            loss = output_loss(blocks, i, code)
            violation = loss - recall_margin(blocks, work, i, code)
        is_exact = blocks.construction == PROJECTIVE and blocks.is_narrow == 0
        if not is_found or (violation < 0.0 and not is_exact):
            # no tree of these arcs, or climbing ended below the true tree
            begin = blocks.offset[i]
            for t in range(blocks.offset[i + 1] - begin):
                code[t] = blocks.y[begin + t]
            loss, violation = 0.0, 0.0
        return loss, 1.0, violation, violation if is_exact else np.inf

    def score_sentence(blocks, work, w, i):
        score_arcs(blocks.rows, w, i, work.parts)

    def find_heads(blocks, work, i):
        parts = work.parts
        return call_decoder(blocks.decode, (
            work.scores.total, parts.row, parts.sibling, parts.grandparent,
            blocks.offset[i + 1] - blocks.offset[i], blocks.single_root == 1,
            work.heads,
        ))  # fmt: skip

    def find_trees(blocks, work, options, n, k, heads, ranks, values):
        parts = work.parts
        decoder = Parts(
            blocks.decode, parts.row, parts.sibling, parts.grandparent,
            blocks.single_root == 1,
        )  # fmt: skip
        return rank_trees(decoder, options, n, k, heads, ranks, values)

    def rule_of(blocks):
        return MARGIN

    def recall_margin(blocks, work, i, code):
        return recall_parts(blocks, work, i, code)

    def margin(blocks, w, i, code):
        parts = touch_parts(blocks, w, i, code, DOT, 1.0)
        return one_margin(blocks, w, i, code) + parts

    def margins(blocks, work, w, i, codes, at, n, out):
        many_margins(blocks, w, i, codes, at, n, out)
        touch_many_parts(blocks, w, i, codes, at, n, DOT, out)

    def push(blocks, w, i, code, coef):
        push_one(blocks, w, i, code, coef)
        touch_parts(blocks, w, i, code, ADD, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        push_many(blocks, w, i, codes, at, n, coef)
        touch_many_parts(blocks, w, i, codes, at, n, ADD, coef)

    def wipe(blocks, w, i, code):
        wipe_one(blocks, w, i, code)
        touch_parts(blocks, w, i, code, WIPE, 0.0)


@kernel
def recall_parts(blocks, work, i, code):
    """<w, δ(code)> from the scores in `work`."""
    y, begin, size = blocks.y, blocks.offset[i], blocks.n_labels
    arc, label = work.scores.arc, work.scores.label
    row, sibling, grand = work.parts.row, work.parts.sibling, work.parts.grandparent
    total = 0.0
    for d in range(1, blocks.offset[i + 1] - begin + 1):
        here, hat = y[begin + d - 1], code[d - 1]
        h, h_hat = here // size, hat // size
        if h != h_hat:
            total += arc[h, d] - arc[h_hat, d]
        if size > 1 and here != hat:
            total += label[h, d, here % size] - label[h_hat, d, hat % size]
        s, s_hat = sibling_of(y, begin, size, d), sibling_of(code, 0, size, d)
        if h != h_hat or s != s_hat:
            total += sibling[row[h, d], s] - sibling[row[h_hat, d], s_hat]
        if grand.shape[0] > 0:
            if h > 0:
                total += grand[row[h, d], y[begin + h - 1] // size]
            if h_hat > 0:
                total -= grand[row[h_hat, d], code[h_hat - 1] // size]
    return total
