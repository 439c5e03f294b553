"""Spanning forests as numba blocks: the structure's side of `partwise.compiled`.

The rows of a block are candidate links between its items. A code has a 1 for each link
of a forest, else 0.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel, uncounted
from partwise.structures import _weighted_rows_compiled as weighted
from partwise.structures._descending import SortWork, new_sort_work, order_descending

# Numba compiles a call of these by their name alone.
one_margin, wipe_one = weighted.one_margin, weighted.wipe_one
push_one, push_many = weighted.push_one, weighted.push_many
score_block, weighted_score = weighted.score_block, weighted.weighted_score
weighted_scores = weighted.weighted_scores

SEARCH, PREDICT, COMPLETE = range(3)  # most violated forest, best one, best true one


class ForestWork(NamedTuple):
    """Buffers of one thread, for blocks of at most n links and m items."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    parent: np.ndarray  # (m,) int32
    sort: SortWork


def new_forest_work(n: int, m: int) -> ForestWork:
    """Buffers for n links and m items."""
    return ForestWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        new_sort_work(n),
    )


@kernel
def root_of(parent, item):
    """The root of an item's tree; paths are halved on the way."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = np.int64(parent[item])
    return item


@kernel
def span(blocks, work, i, code, is_true, is_positive):
    """Kruskal's forest over the values in ``work.spare``; returns (right, wrong) links.

    Of true links alone, or of all; of positive values alone, or of all.
    """
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    for item in range(blocks.n_items[i]):
        work.parent[item] = item
    order_descending(work.spare, n, work.sort, work.order)
    for r in range(n):
        code[r] = 0
    right, wrong = 0, 0
    for k in range(n):
        r = int(work.order[k])
        if is_positive and work.spare[r] <= 0.0:
            break
        is_right = blocks.y[begin + r] > 0
        if is_true and not is_right:
            continue
        a = root_of(work.parent, np.int64(blocks.one[begin + r]))
        b = root_of(work.parent, np.int64(blocks.other[begin + r]))
        if a != b:
            work.parent[a] = b
            code[r] = 1
            if is_right:
                right += 1
            else:
                wrong += 1
    return right, wrong


@uncounted
@weighted.row_operations
class ForestBlocks(NamedTuple):
    """Packed documents: candidate links over rows of any scorer."""

    rows: tuple  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, links of each block
    y: np.ndarray  # (n_links,) 1 within a true cluster, else 0
    one: np.ndarray  # (n_links,) int32, items of a link, from 0 in each block
    other: np.ndarray  # (n_links,) int32
    n_items: np.ndarray  # (n_blocks,) int64
    truth: np.ndarray  # (n_links,) 1.0 in the completed truth
    best: np.ndarray  # (n_blocks,) links of a true forest
    penalty: float  # of a link between two true clusters
    way: int

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i]

    def row_weight(blocks, i, r, code):
        return blocks.truth[blocks.offset[i] + r] - np.float64(code[r])

    def output_loss(blocks, i, code):
        begin = blocks.offset[i]
        total = blocks.best[i]
        for r in range(blocks.offset[i + 1] - begin):
            if code[r]:
                total += -1.0 if blocks.y[begin + r] > 0 else blocks.penalty
        return max(total, 0.0)

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_forest(blocks, work, i, code)


@kernel
def search_forest(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    begin = blocks.offset[i]
    for r in range(blocks.offset[i + 1] - begin):
        work.spare[r] = work.score[r]
        if blocks.way == SEARCH:
            work.spare[r] += -1.0 if blocks.y[begin + r] > 0 else blocks.penalty
    is_complete = blocks.way == COMPLETE
    right, wrong = span(blocks, work, i, code, is_complete, not is_complete)
    margin = weighted_score(blocks, work.score, i, code)
    if blocks.way != SEARCH:
        return 0.0, 1.0, -margin, -margin
    b = max(blocks.best[i] - right + blocks.penalty * wrong, 0.0)
    return b, 1.0, b - margin, b - margin
