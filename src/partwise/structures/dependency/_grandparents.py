"""Best projective trees with grandparent and sibling parts; O(n⁴), less when pruned.

Model 1 of Koo and Collins (2010). Tables as in `_second_order.py`; an empty table
of shape (0, 0) leaves its part out, so grandparents alone are their model 0.

A span depends on the head of its head, which must be a candidate: only those of the
allowed arcs have a place in the charts. With K candidates per word and s heads that two
words have in common on average, the time is O(n²·K² + n³·s).
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.dependency._eisner import (
    EMPTY,
    FIRST_WORD,
    ROOT,
    push_valued_span,
)
from partwise.structures.dependency._second_order import sibling_of

FULL, ARC, PAIR = 0, 1, 2  # kinds of spans


class GrandparentWork(NamedTuple):
    """Charts of spans, and the candidate heads of each word.

    The last coordinate of a chart is the place of a head among the candidates: of the
    first word in `full` and `arc`, of the later one in `pair`. The root has one place.
    """

    full: np.ndarray  # (N, N, K) all below a word, as far as another
    arc: np.ndarray  # (N, N, K) in row of the head, column of the dependent
    pair: np.ndarray  # (N, N, K) children j > i of one head, and all between
    heads: np.ndarray  # (N, K) int32 candidates
    n_heads: np.ndarray  # (N,) int32, how many
    place: np.ndarray  # (N, N) int32 of the arc's head among those of its dependent
    stack: np.ndarray  # (3·N, 4)


def new_grandparent_work(longest, n_candidates=None):
    """Buffers of `eisner_grandparents` for sentences of at most `longest` words."""
    size = longest + 1
    width = size if n_candidates is None else n_candidates
    full, arc, pair = np.empty((3, size, size, width))
    return GrandparentWork(
        full, arc, pair, np.empty((size, width), np.int32), np.empty(size, np.int32),
        np.empty((size, size), np.int32), np.empty((3 * size, 4), dtype=np.int64),
    )  # fmt: skip


@kernel
def table_score(table, r, column):
    """A second-order score, 0 from an empty table."""
    return table[r, column] if table.shape[0] > 0 else 0.0


@kernel
def second_order_score(score, row, sibling, grandparent, n, heads):
    """Score of any heads under arcs, siblings and grandparents."""
    total = 0.0
    for d in range(1, n + 1):
        h = heads[d - 1]
        if score[h, d] == -np.inf:
            return -np.inf
        total += score[h, d]
        total += table_score(sibling, row[h, d], sibling_of(heads, 0, 1, d))
        if h > 0:
            total += table_score(grandparent, row[h, d], heads[h - 1])
    return total


@kernel
def most_candidates(score, n):
    """The largest number of allowed heads of a word, at least 1."""
    most = 1
    for d in range(1, n + 1):
        count = 0
        for h in range(n + 1):
            count += score[h, d] > -np.inf and h != d
        most = max(most, count)
    return most


@kernel
def list_candidates(score, n, work):
    """Number the allowed heads of each word."""
    heads, n_heads, place = work.heads, work.n_heads, work.place
    n_heads[ROOT], heads[ROOT, 0] = 1, -1
    for d in range(1, n + 1):
        c = 0
        for h in range(n + 1):
            if h != d and score[h, d] > -np.inf:
                heads[d, c] = h
                place[h, d] = c
                c += 1
        n_heads[d] = c


@kernel
def absorb(into, h, e, table, k, constant, n):
    """into[h, e, c] = max(into[h, e, c], table[h, k, c] + constant) for all c."""
    for c in range(n):
        value = table[h, k, c] + constant
        into[h, e, c] = value if value > into[h, e, c] else into[h, e, c]


@kernel
def fill_pair(score, i, j, work):
    """Children i < j of one head, with all words between them."""
    full, pair, place = work.full, work.pair, work.place
    for c in range(work.n_heads[j]):
        h = work.heads[j, c]
        best = -np.inf
        if (h < i or h > j) and score[h, i] > -np.inf:
            first = place[h, i]
            for k in range(i, j):
                value = full[i, k, first] + full[j, k + 1, c]
                best = value if value > best else best
        pair[j, i, c] = best


@kernel
def fill_arc(score, row, sibling, grandparent, h, d, work):
    """The arc h → d with all words between them, for all heads of h."""
    full, arc, pair, place = work.full, work.arc, work.pair, work.place
    n = work.n_heads[h]
    if score[h, d] == -np.inf:
        for c in range(n):
            arc[h, d, c] = -np.inf
        return
    r = row[h, d]
    low, high = min(h, d), max(h, d)
    inner = h + 1 if d > h else h - 1
    alone = full[d, inner, place[h, d]] + table_score(sibling, r, h)
    for c in range(n):
        arc[h, d, c] = alone
    for k in range(low + 1, high):
        if score[h, k] > -np.inf:
            later = max(k, d)
            step = pair[later, min(k, d), place[h, later]] + table_score(sibling, r, k)
            if step > -np.inf:
                absorb(arc, h, d, arc, k, step, n)
    for c in range(n):
        g = work.heads[h, c]
        arc[h, d, c] += score[h, d]
        if h > ROOT:
            arc[h, d, c] += table_score(grandparent, r, g)
        if low <= g <= high:
            arc[h, d, c] = -np.inf


@kernel
def fill_full(score, h, e, work):
    """All that is below h as far as e, for all heads of h."""
    full, arc = work.full, work.arc
    n = work.n_heads[h]
    for c in range(n):
        full[h, e, c] = -np.inf
    low, high = min(h, e), max(h, e)
    for k in range(low, high + 1):
        if k != h and score[h, k] > -np.inf:
            absorb(full, h, e, arc, k, full[k, e, work.place[h, k]], n)
    for c in range(n):
        if low <= work.heads[h, c] <= high:
            full[h, e, c] = -np.inf


@kernel
def eisner_grandparents(score, row, sibling, grandparent, n, single_root, work, heads):
    """The best projective tree under arcs, adjacent siblings and grandparents.

    With g the head of h, which lies outside the span, and k between h and d or e:

        arc_g(h → d)  = score + grandparent(g) + max( full_h(d, next to h) + none,
                        max_k arc_g(h → k) + pair_h(k, d) + sibling(k) )
        full_g(h, e)  = max_k arc_g(h → k) + full_h(k, e)          k = e allowed
        pair_h(i, j)  = max_k full_h(i, k) + full_h(j, k + 1)      k = i allowed
    """
    list_candidates(score, n, work)
    full, place = work.full, work.place
    for j in range(1, n + 1):
        for c in range(work.n_heads[j]):
            full[j, j, c] = 0.0
        for i in range(j - 1, 0, -1):
            fill_pair(score, i, j, work)
            fill_arc(score, row, sibling, grandparent, i, j, work)
            fill_arc(score, row, sibling, grandparent, j, i, work)
            fill_full(score, i, j, work)
            fill_full(score, j, i, work)
        fill_arc(score, row, sibling, grandparent, ROOT, j, work)
        fill_full(score, ROOT, j, work)
    total, root_word = full[ROOT, n, 0], ROOT
    if single_root:
        total = -np.inf
        for d in range(1, n + 1):
            if score[ROOT, d] > -np.inf:
                value = score[ROOT, d] + table_score(sibling, row[ROOT, d], ROOT)
                c = place[ROOT, d]
                value += full[d, 1, c] + full[d, n, c]
                if value > total:
                    total, root_word = value, d
    if total > -np.inf:
        trace_grandparents(score, row, sibling, n, root_word, work, heads)
    return total


@kernel
def trace_grandparents(score, row, sibling, n, root_word, work, heads):
    """Heads of the best tree, from the charts; the first of equal splits."""
    full, arc, pair, place = work.full, work.arc, work.pair, work.place
    stack = work.stack
    c = 0
    if root_word > ROOT:
        heads[root_word - 1] = ROOT
        c = place[ROOT, root_word]
    size = push_valued_span(stack, EMPTY, FULL, root_word, n, c)
    if root_word > ROOT:
        size = push_valued_span(stack, size, FULL, root_word, FIRST_WORD, c)
    while size > 0:
        size -= 1
        kind, i = stack[size, 0], stack[size, 1]
        j, c = stack[size, 2], stack[size, 3]
        split, highest = i, -np.inf
        if kind == FULL:
            for k in range(min(i, j), max(i, j) + 1):
                if k != i and score[i, k] > -np.inf:
                    value = arc[i, k, c] + full[k, j, place[i, k]]
                    if value > highest:
                        highest, split = value, k
            size = push_valued_span(stack, size, ARC, i, split, c)
            size = push_valued_span(stack, size, FULL, split, j, place[i, split])
        elif kind == PAIR:
            first = place[c, i]  # c is the head of both
            last = place[c, j]
            for k in range(i, j):
                value = full[i, k, first] + full[j, k + 1, last]
                if value > highest:
                    highest, split = value, k
            size = push_valued_span(stack, size, FULL, i, split, first)
            size = push_valued_span(stack, size, FULL, j, split + 1, last)
        else:
            heads[j - 1] = i
            r = row[i, j]
            inner = i + 1 if j > i else i - 1
            highest = full[j, inner, place[i, j]] + table_score(sibling, r, i)
            for k in range(min(i, j) + 1, max(i, j)):
                if score[i, k] > -np.inf:
                    later = max(k, j)
                    value = arc[i, k, c] + table_score(sibling, r, k)
                    value += pair[later, min(k, j), place[i, later]]
                    if value > highest:
                        highest, split = value, k
            if split == i:
                size = push_valued_span(stack, size, FULL, j, inner, place[i, j])
            else:
                size = push_valued_span(stack, size, ARC, i, split, c)
                size = push_valued_span(
                    stack, size, PAIR, min(split, j), max(split, j), i
                )
