"""Clusterings as numba blocks: the structure's side of `partwise.compiled`.

The rows of a block are candidate links between its items. A code has a 1 for each link
of an output, else 0: of a spanning forest, or of all pairs within clusters.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures._radix_sort import SortWork, new_sort_work, order_descending
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)

SEARCH, PREDICT, COMPLETE = range(3)  # most violated output, best one, best true one


class LinkWork(NamedTuple):
    """Buffers of one thread, for blocks of at most n links and m items."""

    score: np.ndarray  # (n,) <w, x>
    spare: np.ndarray  # (n,)
    order: np.ndarray  # (n,) int32
    parent: np.ndarray  # (m,) int32
    sort: SortWork
    table: np.ndarray  # (m, m) values between clusters; (1, 1) for forests
    partner: np.ndarray  # (m,) int32, the best cluster to merge with, −1: merged


def new_link_work(n: int, m: int, is_forest: bool) -> LinkWork:
    """Buffers for n links and m items."""
    size = 1 if is_forest else m
    return LinkWork(
        np.empty(n),
        np.empty(n),
        np.empty(n, np.int32),
        np.empty(m, np.int32),
        new_sort_work(n),
        np.empty((size, size)),
        np.empty(size, np.int32),
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
    """Kruskal's forest over the values in ``work.spare``.

    Of true links alone, or of all; of positive values alone, or of all.
    """
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    for item in range(blocks.n_items[i]):
        work.parent[item] = item
    order_descending(work.spare, n, work.sort, work.order)
    for r in range(n):
        code[r] = 0
    for k in range(n):
        r = int(work.order[k])
        if is_positive and work.spare[r] <= 0.0:
            break
        if is_true and not blocks.y[begin + r] > 0:
            continue
        a = root_of(work.parent, np.int64(blocks.one[begin + r]))
        b = root_of(work.parent, np.int64(blocks.other[begin + r]))
        if a != b:
            work.parent[a] = b
            code[r] = 1


@uncounted
@row_operations
class LinkBlocks(NamedTuple):
    """Packed documents: candidate links over rows of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, links of each block
    y: np.ndarray  # (n_links,) 1 within a true cluster, else 0
    one: np.ndarray  # (n_links,) int32, items of a link, from 0 in each block
    other: np.ndarray  # (n_links,) int32
    n_items: np.ndarray  # (n_blocks,) int64
    truth: np.ndarray  # (n_links,) 1.0 in the completed truth
    best: np.ndarray  # (n_blocks,) links of the truth
    penalty: float  # of a link between two true clusters
    is_forest: int  # outputs are forests; else all pairs within clusters
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
        return search_links(blocks, work, i, code)


@kernel
def search_links(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    for r in range(n):
        work.spare[r] = work.score[r]
        if blocks.way == SEARCH:
            work.spare[r] += -1.0 if blocks.y[begin + r] > 0 else blocks.penalty
    excess = 0.0  # of the bound over the value found
    if blocks.is_forest:
        is_complete = blocks.way == COMPLETE
        span(blocks, work, i, code, is_complete, not is_complete)
    else:
        excess = bound_partitions(blocks, work, i)
        merge(blocks, work, i, code)
        for r in range(n):
            excess -= code[r] * work.spare[r]
        excess = max(excess, 0.0)
    b = output_loss(blocks, i, code) if blocks.way == SEARCH else 0.0
    violation = b - weighted_score(blocks, work.score, i, code)
    bound = violation + excess
    if violation < 0.0 and blocks.way == SEARCH:  # the truth is better than that
        for r in range(n):
            code[r] = np.int32(blocks.truth[begin + r])
        return 0.0, 1.0, 0.0, max(bound, 0.0)
    return b, 1.0, violation, bound


# ----------------------------------------------------------------- all pairs count


@kernel
def fill_table(blocks, work, i):
    """Sum the values of ``work.spare`` by pairs of items."""
    begin, m, table = blocks.offset[i], blocks.n_items[i], work.table
    for a in range(m):
        for b in range(m):
            table[a, b] = 0.0
    for r in range(blocks.offset[i + 1] - begin):
        a, b = blocks.one[begin + r], blocks.other[begin + r]
        table[a, b] += work.spare[r]
        table[b, a] = table[a, b]


@kernel
def bound_partitions(blocks, work, i):
    """No partition has a larger sum of values within clusters.

    Positive values, less what triangles with one negative value −v must lose: of two
    positive values p, q beside it, t = min(p, q, v) cannot both be kept for nothing.
    Each t is taken off the three values, so that no two triangles count the same.
    """
    m, table = blocks.n_items[i], work.table
    fill_table(blocks, work, i)
    total = 0.0
    for a in range(m):
        for b in range(a):
            total += max(table[a, b], 0.0)
    for a in range(m):
        for b in range(a):
            if table[a, b] >= 0.0:
                continue
            for c in range(m):
                t = min(table[a, c], table[b, c])
                if t > 0.0:
                    t = min(t, -table[a, b])
                    for x, y, sign in ((a, b, 1.0), (a, c, -1.0), (b, c, -1.0)):
                        table[x, y] += sign * t
                        table[y, x] = table[x, y]
                    total -= t
                    if table[a, b] >= 0.0:
                        break
    return total


@kernel
def find_partner(work, m, a):
    """Remember the cluster that gains most when it is merged with cluster a."""
    best = -1
    for b in range(m):
        is_open = b != a and work.partner[b] >= 0
        if is_open and (best < 0 or work.table[a, b] > work.table[a, best]):
            best = b
    work.partner[a] = a if best < 0 else best  # itself: there is no other


@kernel
def merge(blocks, work, i, code):
    """Greedy: merge the two clusters that gain most, as long as there is a gain."""
    begin, m = blocks.offset[i], blocks.n_items[i]
    table, partner = work.table, work.partner
    fill_table(blocks, work, i)
    for a in range(m):
        work.parent[a], partner[a] = a, 0
    for a in range(m):
        find_partner(work, m, a)
    while True:
        gain, a = 0.0, -1
        for c in range(m):
            if partner[c] >= 0 and partner[c] != c and table[c, partner[c]] > gain:
                gain, a = table[c, partner[c]], c
        if a < 0:
            break
        b = np.int64(partner[a])
        work.parent[b], partner[b] = a, -1
        for c in range(m):
            if partner[c] >= 0 and c != a:
                table[a, c] += table[b, c]
                table[c, a] = table[a, c]
        find_partner(work, m, a)
        for c in range(m):
            if partner[c] < 0 or c == a:
                continue
            if partner[c] == a or partner[c] == b:
                find_partner(work, m, c)
            elif table[c, a] > table[c, partner[c]]:
                partner[c] = a
    for r in range(blocks.offset[i + 1] - begin):
        a = root_of(work.parent, np.int64(blocks.one[begin + r]))
        b = root_of(work.parent, np.int64(blocks.other[begin + r]))
        code[r] = np.int32(a == b)
