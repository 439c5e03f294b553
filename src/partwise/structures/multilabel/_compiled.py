"""Sets of labels as numba blocks: the structure's side of `partwise.compiled`.

A model is a matrix (n_features, width), a column of weights for each label, padded to
whole vectors, and behind it a weight for each pair of labels. A code has a 0 or 1 for
each label.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, uncounted
from partwise.structures._formulations import cut
from partwise.structures._radix_sort import SortWork, new_sort_work
from partwise.structures._set_compiled import score_labels, set_margin, set_operations
from partwise.structures.multilabel._branching import branch
from partwise.structures.multilabel._searches import (
    EACH,
    LIST,
    SWEEP,
    TREE,
    best_in_forest,
    list_all,
    set_loss,
    sweep,
    take_each,
)
from partwise.structures.packed import aligned_zeros


class LabelWork(NamedTuple):
    """Buffers of one thread."""

    parts: np.ndarray  # (1, width) scores of labels, left for `recall_margin`
    pair: np.ndarray  # (E,) scores of pairs, left for `recall_margin`
    spare: np.ndarray  # (1, width)
    score: np.ndarray  # (K,) with what the loss adds
    clamp: np.ndarray  # (K,) int32: 0 or 1 where a label is given, else −1
    sort: SortWork
    order: np.ndarray  # (K,) int32 labels by falling score, or open ones as branched
    low: np.ndarray  # (K,) sums: below a label that is out, or over false labels
    high: np.ndarray  # (K,) sums: below a label that is in, or over true labels
    chosen: np.ndarray  # (K,) int32 a set for `leads`
    # branch and bound; at depth d the label order[d] is decided
    state: np.ndarray  # (K,) int32: 0 or 1 where a label is decided, else −1
    field: np.ndarray  # (K,) scores of labels, with pairs of labels in the set
    table: np.ndarray  # (K, K) scores of pairs
    share: np.ndarray  # (K + 1, K) halves of positive pairs with labels from depth on
    old: np.ndarray  # (K, K) fields before the decision at a depth
    n_required: np.ndarray  # (K,) int32 labels in the set that imply this one
    n_excluded: np.ndarray  # (K,) int32 labels out of it that this one implies
    total: np.ndarray  # (K + 1,) sum of the set decided before a depth
    ceiling: np.ndarray  # (K + 1, 2) bounds without and with the label at a depth
    turn: np.ndarray  # (K + 1,) int32 children of a node that were looked at
    taken: np.ndarray  # (K + 1,) int32 labels in the set before a depth
    first: np.ndarray  # (K + 1,) int32 the value with the higher bound
    best: np.ndarray  # (1,) sum of the best set


def new_label_work(size: int, width: int, n_pairs: int, has_tables: bool) -> LabelWork:
    """Buffers; tables of pairs only where a search needs them."""
    side = size if has_tables else 0
    return LabelWork(
        parts=aligned_zeros(1, width), pair=np.zeros(n_pairs),
        spare=aligned_zeros(1, width), score=np.zeros(size),
        clamp=np.full(size, -1, np.int32), sort=new_sort_work(size),
        order=np.zeros(size, np.int32), low=np.zeros(size), high=np.zeros(size),
        chosen=np.zeros(size, np.int32), state=np.zeros(size, np.int32),
        field=np.zeros(size), table=np.zeros((side, side)),
        share=np.zeros((side + 1, side)), old=np.zeros((side, side)),
        n_required=np.zeros(size, np.int32), n_excluded=np.zeros(size, np.int32),
        total=np.zeros(size + 1), ceiling=np.zeros((size + 1, 2)),
        turn=np.zeros(size + 1, np.int32), taken=np.zeros(size + 1, np.int32),
        first=np.zeros(size + 1, np.int32), best=np.zeros(1),
    )  # fmt: skip


@uncounted
@set_operations
class LabelBlocks(NamedTuple):
    """Examples with a set of labels each, over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    y: np.ndarray  # (n_blocks, K) int32, 1 for the labels of the true set
    pairs: np.ndarray  # (E, 2) int32
    order: np.ndarray  # (K,) int32 labels of a forest, roots first
    parent: np.ndarray  # (K,) int32, −1 for roots
    link: np.ndarray  # (K,) int32 the pair of a label and its parent
    needs: np.ndarray  # (K, K) bool: the row's label implies the column's
    has_needs: int
    most: int  # labels in a set
    search: int  # EACH, TREE, BRANCH, SWEEP or LIST
    limit: int  # nodes of branch and bound
    kind: int  # of the loss
    rule: int  # of the formulation
    has_loss: int  # 0 for predictions
    square: np.ndarray  # (n_blocks,) <Φ(x), Φ(x)>, for exact steps alone
    width: int  # columns of weights, padding included

    def output_loss(blocks, i, code):
        return loss_of(blocks, i, code)

    def find_output(blocks, work, w, i, code):
        score_labels(blocks, w, i, work.parts)
        begin = blocks.rows.n_features * blocks.width
        for e in range(work.pair.shape[0]):
            work.pair[e] = w[begin + e]
        for k in range(code.shape[0]):
            work.score[k] = work.parts[0, k]
        bound = find_set(blocks, work, i, code)
        loss = loss_of(blocks, i, code) if blocks.has_loss else 0.0
        margin = set_margin(blocks, i, work.parts, work.pair, code)
        b, scale, violation = cut(blocks.rule, loss, margin)
        # what branch and bound left open, beyond its best sum
        return b, scale, violation, violation + bound


@kernel
def loss_of(blocks, i, code):
    """Δ of a set."""
    n_true, tp, fp = 0, 0, 0
    for k in range(code.shape[0]):
        n_true += blocks.y[i, k]
        tp += blocks.y[i, k] * code[k]
        fp += (1 - blocks.y[i, k]) * code[k]
    return set_loss(blocks.kind, n_true, tp, fp)


@kernel
def find_set(blocks, work, i, code):
    """Write the best set for ``work.score``; returns what the search left open."""
    if blocks.search == SWEEP:
        sweep(work.score, blocks, i, work, code)
        return 0.0
    if blocks.search == LIST:
        list_all(work.score, work.pair, blocks, i, work, code)
        return 0.0
    if blocks.has_loss:
        for k in range(code.shape[0]):
            work.score[k] += 1.0 - 2.0 * blocks.y[i, k]
    _, bound = best_additive(blocks, work, code)
    return bound


@kernel
def best_additive(blocks, work, code):
    """The best sum of ``work.score`` and pairs under ``work.clamp``; what is open."""
    if blocks.search == EACH:
        return take_each(work.score, work.clamp, blocks.most, work, code), 0.0
    if blocks.search == TREE:
        best = best_in_forest(
            blocks.order, blocks.parent, blocks.link, work.score, work.pair, work.clamp,
            work, code,
        )  # fmt: skip
        return best, 0.0
    bound = branch(work.score, work.pair, blocks, work.clamp, work, code)
    best = work.best[0]
    return best, (bound - best if bound > best else 0.0)


@kernel
def leads(blocks, work, w, first, last, best, out):
    """Best score with each label less the best without it, of rows [first, last).

    The labels of the best set have positive leads; a label that no valid set has, or
    that all have, leads by −inf or inf.
    """
    size = blocks.y.shape[1]
    begin = blocks.rows.n_features * blocks.width
    for e in range(work.pair.shape[0]):
        work.pair[e] = w[begin + e]
    for i in range(first, last):
        score_labels(blocks, w, i, work.parts)
        for k in range(size):
            work.score[k] = work.parts[0, k]
        if blocks.search == EACH and blocks.most >= size:
            best[i] = 0.0
            for k in range(size):
                out[i, k] = work.score[k]
                best[i] += max(work.score[k], 0.0)
            continue
        code = work.chosen
        best[i], _ = best_additive(blocks, work, code)
        for k in range(size):
            out[i, k] = 2.0 * code[k] - 1.0
        for k in range(size):
            sign = out[i, k]
            work.clamp[k] = np.int32(sign < 0.0)
            other, _ = best_additive(blocks, work, code)
            work.clamp[k] = -1
            out[i, k] = sign * max(best[i] - other, 0.0)
