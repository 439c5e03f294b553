"""Label vectors as numba blocks: the structure's side of `partwise.compiled`.

A model is one flat array (n_features,). A code is a bit per row, 32 in a number: 1
where the row is predicted positive.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.objective import HARD
from partwise.structures._radix_sort import SortWork, new_sort_work, order_descending
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)
from partwise.structures.label_vector._searches import (
    CONCAVE,
    EACH,
    FIXED,
    PREDICT,
    block_loss,
    plane,
    search_boxes,
    search_concave,
    search_fixed,
    violation_of,
)


class LabelWork(NamedTuple):
    """Buffers of one thread, for blocks of at most n rows."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32, positive rows by score, then negative ones
    gain_positive: np.ndarray  # (n + 1,) F of `_searches.py`
    gain_negative: np.ndarray  # (n + 1,) G
    bound: np.ndarray  # (most boxes,)
    cell: np.ndarray  # (2,) int64, true and false positives
    sort: SortWork


def new_label_work(n: int, n_boxes: int) -> LabelWork:
    """Buffers for blocks of n rows and so many boxes."""
    return LabelWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(n + 1),
        np.empty(n + 1),
        np.empty(n_boxes),
        np.empty(2, np.int64),
        new_sort_work(n),
    )


@kernel
def loss_of_weights(blocks, i, code):
    """Δ of rows with weights: u or v for each wrong one, as much as it counts."""
    begin = blocks.offset[i]
    total = 0.0
    for r in range(blocks.offset[i + 1] - begin):
        is_predicted = (np.int64(code[r >> 5]) >> (r & 31)) & 1
        if is_predicted != blocks.y[begin + r]:
            loss = blocks.v[i] if is_predicted else blocks.u[i]
            total += loss * blocks.weight[begin + r]
    return total


@uncounted
@row_operations
class LabelBlocks(NamedTuple):
    """Packed label vectors over rows of any scorer; `_searches.py` explains."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, rows of each block
    y: np.ndarray  # (n_rows,) uint8, 1 where positive
    member: np.ndarray  # (n_rows,) int32, positive rows of a block, then negative ones
    n_positive: np.ndarray  # (n_blocks,) int64
    size: np.ndarray  # (n_blocks,) int64, predicted positives, or −1
    kind: int  # how a loss is computed, see `measures.py`
    u: np.ndarray  # (n_blocks,)
    v: np.ndarray  # (n_blocks,)
    function: Any  # address of a user's measure
    weight: np.ndarray  # (n_rows,) weights of rows, for LINEAR alone, or (1,)
    weight_step: int  # 0 where all rows count alike
    way: int  # EACH, FIXED, CONCAVE, BOXES or PREDICT
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    shape: np.ndarray  # (n_blocks, 3) int64: rows and columns of a box, boxes in a row
    box_first: np.ndarray  # (n_blocks + 1,) int64
    box_loss: np.ndarray  # (n_boxes,) largest loss of each box

    def code_length(blocks, i):
        return (blocks.offset[i + 1] - blocks.offset[i] + 31) // 32

    def row_weight(blocks, i, r, code):
        begin = blocks.offset[i]
        bit = (np.int64(code[r >> 5]) >> (r & 31)) & 1
        y = np.int64(blocks.y[begin + r])
        if y == bit:
            return 0.0
        weight = blocks.weight[(begin + r) * blocks.weight_step]
        return 2.0 * weight * (y - bit) / (blocks.offset[i + 1] - begin)

    def output_loss(blocks, i, code):
        if blocks.weight_step:
            return loss_of_weights(blocks, i, code)
        begin = blocks.offset[i]
        a, b = np.int64(0), np.int64(0)
        for r in range(blocks.offset[i + 1] - begin):
            if (np.int64(code[r >> 5]) >> (r & 31)) & 1:
                if blocks.y[begin + r]:
                    a += 1
                else:
                    b += 1
        if b == 0 and a == blocks.n_positive[i]:
            return 0.0
        return block_loss(blocks, i, a, b)

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_labels(blocks, work, i, code)


@kernel
def search_labels(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    way, rule = blocks.way, blocks.rule
    if way == PREDICT:
        predict_labels(blocks, work, i, code)
        lead = -weighted_score(blocks, work.score, i, code)
        return 0.0, 1.0, lead, lead
    if way == EACH:
        choose_each(blocks, work.score, i, code)
    else:
        sort_rows(blocks, work, i)
        if way == FIXED:
            best = search_fixed(blocks, work, i, work.cell)
        elif way == CONCAVE:
            best = search_concave(blocks, work, i, work.cell)
        else:
            best = search_boxes(blocks, work, i, work.cell)
        if best < 0.0 and rule != HARD:  # nothing is violated: the truth is returned
            work.cell[0], work.cell[1] = blocks.n_positive[i], 0
        write_labels(blocks, work.order, i, work.cell, code)
    b, scale = plane(rule, output_loss(blocks, i, code))
    margin = weighted_score(blocks, work.score, i, code)
    violation = violation_of(rule, b, scale, margin)
    return b, scale, violation, violation


@kernel
def write_bit(code, r):
    """Set the bit of row r."""
    bit = np.int64(1) << (r & 31)
    if (r & 31) == 31:
        bit = -bit  # the sign of a number of 32 bits
    code[r >> 5] = np.int32(np.int64(code[r >> 5]) | bit)


@kernel
def choose_each(blocks, score, i, code):
    """Each row decides: its loss u or v against the margin (2/n)·y·s.

    A row's weight is a factor of both.
    """
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    for k in range(code.shape[0]):
        code[k] = 0
    for r in range(n):
        margin = 2.0 * score[r] / n
        if blocks.y[begin + r]:
            if blocks.u[i] <= margin:
                write_bit(code, r)
        elif blocks.v[i] > -margin:
            write_bit(code, r)


@kernel
def predict_labels(blocks, work, i, code):
    """Rows of positive score, or so many as every labelling has, ties by number."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    size = blocks.size[i]
    for k in range(code.shape[0]):
        code[k] = 0
    if size < 0:
        for r in range(n):
            if work.score[r] > 0.0:
                write_bit(code, r)
        return
    order_descending(work.score, n, work.sort, work.order)
    for k in range(size):
        write_bit(code, np.int64(work.order[k]))


@kernel
def sort_rows(blocks, work, i):
    """Order positive and negative rows by score; write F and G of `_searches.py`."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    n_positive = blocks.n_positive[i]
    for k in range(n):
        work.spare[k] = work.score[blocks.member[begin + k]]
    order_descending(work.spare, n_positive, work.sort, work.order)
    order_descending(
        work.spare[n_positive:n], n - n_positive, work.sort, work.order[n_positive:n]
    )
    gain = work.gain_positive
    gain[n_positive] = 0.0
    for a in range(n_positive - 1, -1, -1):
        gain[a] = gain[a + 1] - 2.0 * work.spare[work.order[a]] / n
    gain = work.gain_negative
    gain[0] = 0.0
    for b in range(n - n_positive):
        score = work.spare[n_positive + work.order[n_positive + b]]
        gain[b + 1] = gain[b] + 2.0 * score / n


@kernel
def write_labels(blocks, order, i, cell, code):
    """The rows of highest score, so many of each class as the cell says."""
    begin, n_positive = blocks.offset[i], blocks.n_positive[i]
    for k in range(code.shape[0]):
        code[k] = 0
    for a in range(cell[0]):
        write_bit(code, np.int64(blocks.member[begin + order[a]]))
    for b in range(cell[1]):
        place = n_positive + order[n_positive + b]
        write_bit(code, np.int64(blocks.member[begin + place]))
