"""Best projective trees with grandparent and sibling parts; O(n⁴).

Model 1 of Koo and Collins (2010). Tables as in `_second_order.py`; an empty table
of shape (0, 0) leaves its part out, so grandparents alone are their model 0. Here whole
rows are read, from column 0 to n: columns that cannot occur may hold any finite number.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted
from partwise.structures.dependency._eisner import (
    ARC_LEFT,
    ARC_RIGHT,
    EMPTY,
    FIRST_WORD,
    LEFT,
    PAIR,
    RIGHT,
    ROOT,
    push_valued_span,
)
from partwise.structures.dependency._second_order import inner_sibling


class GrandparentWork(NamedTuple):
    """Spans i…j in row j and column i, as in `Charts`; then the head of their head.

    That is the innermost coordinate, over which loops run. For the root itself, i = 0,
    there is none, and only its first cell is used.
    """

    right: np.ndarray  # (N, N, N)
    left: np.ndarray  # (N, N, N)
    pair: np.ndarray  # (N, N, N) children i and j of one head, and all between
    arc_right: np.ndarray  # (N, N, N)
    arc_left: np.ndarray  # (N, N, N)
    stack: np.ndarray  # (3·N, 4)


def new_grandparent_work(longest):
    """Buffers of `eisner_grandparents` for sentences of at most `longest` words."""
    size = longest + 1
    right, left, pair, arc_right, arc_left = np.empty((5, size, size, size))
    stack = np.empty((3 * size, 4), dtype=np.int64)
    return GrandparentWork(right, left, pair, arc_right, arc_left, stack)


@jitted
def table_score(table, r, column):
    """A second-order score, 0 from an empty table."""
    return table[r, column] if table.shape[0] > 0 else 0.0


@jitted
def second_order_score(score, row, sibling, grandparent, n, heads):
    """Score of any heads under arcs, siblings and grandparents."""
    total = 0.0
    for d in range(1, n + 1):
        h = heads[d - 1]
        if score[h, d] == -np.inf:
            return -np.inf
        total += score[h, d]
        total += table_score(sibling, row[h, d], inner_sibling(heads, d))
        if h > 0:
            total += table_score(grandparent, row[h, d], heads[h - 1])
    return total


@jitted
def fill(table, j, i, n, value):
    """table[j, i, g] = value for all g."""
    for g in range(n + 1):
        table[j, i, g] = value


@jitted
def absorb(into, j, i, table, k, m, constant, n):
    """into[j, i, g] = max(into[j, i, g], table[k, m, g] + constant) for all g."""
    if constant > -np.inf:
        for g in range(n + 1):
            value = table[k, m, g] + constant
            into[j, i, g] = value if value > into[j, i, g] else into[j, i, g]


@jitted
def finish_arc(into, j, i, arc, grandparent, r, n):
    """Add an arc's score, and its score below each grandparent outside the span."""
    if grandparent.shape[0] > 0:
        for g in range(n + 1):
            into[j, i, g] += arc + grandparent[r, g]
    else:
        for g in range(n + 1):
            into[j, i, g] += arc
    for g in range(i, j + 1):
        into[j, i, g] = -np.inf


@jitted
def fill_word_spans(score, row, sibling, grandparent, n, j, i, work):
    """All spans i…j of words, 0 < i < j, for all heads of their heads."""
    right, left, pair, arc_right, arc_left, _ = work
    fill(pair, j, i, n, -np.inf)
    for k in range(i, j):
        for h in range(n + 1):
            value = right[k, i, h] + left[j, k + 1, h]
            pair[j, i, h] = value if value > pair[j, i, h] else pair[j, i, h]
    fill(arc_right, j, i, n, -np.inf)
    if score[i, j] > -np.inf:
        r = row[i, j]
        fill(arc_right, j, i, n, left[j, i + 1, i] + table_score(sibling, r, i))
        for k in range(i + 1, j):
            if score[i, k] > -np.inf:
                step = pair[j, k, i] + table_score(sibling, r, k)
                absorb(arc_right, j, i, arc_right, k, i, step, n)
        finish_arc(arc_right, j, i, score[i, j], grandparent, r, n)
    fill(arc_left, j, i, n, -np.inf)
    if score[j, i] > -np.inf:
        r = row[j, i]
        fill(arc_left, j, i, n, right[j - 1, i, j] + table_score(sibling, r, j))
        for k in range(i + 1, j):
            if score[j, k] > -np.inf:
                step = pair[k, i, j] + table_score(sibling, r, k)
                absorb(arc_left, j, i, arc_left, j, k, step, n)
        finish_arc(arc_left, j, i, score[j, i], grandparent, r, n)
    fill(right, j, i, n, -np.inf)
    for k in range(i + 1, j + 1):
        if score[i, k] > -np.inf:
            absorb(right, j, i, arc_right, k, i, right[j, k, i], n)
    fill(left, j, i, n, -np.inf)
    for k in range(i, j):
        if score[j, k] > -np.inf:
            absorb(left, j, i, arc_left, j, k, left[k, i, j], n)
    for g in range(i, j + 1):
        right[j, i, g] = -np.inf
        left[j, i, g] = -np.inf
        pair[j, i, g] = -np.inf


@jitted
def fill_root_spans(score, row, sibling, j, work):
    """The spans 0…j below the root."""
    right, left, pair, arc_right = work[:4]
    a = -np.inf
    if score[0, j] > -np.inf:
        r = row[0, j]
        a = left[j, 1, 0] + table_score(sibling, r, 0)
        for k in range(1, j):
            step = pair[j, k, 0] + table_score(sibling, r, k)
            a = max(a, arc_right[k, 0, 0] + step)
        a += score[0, j]
    arc_right[j, 0, 0] = a
    best = -np.inf
    for k in range(1, j + 1):
        best = max(best, arc_right[k, 0, 0] + right[j, k, 0])
    right[j, 0, 0] = best


@jitted
def eisner_grandparents(score, row, sibling, grandparent, n, single_root, work, heads):
    """The best projective tree under arcs, adjacent siblings and grandparents.

    With g the head of the span's head, which lies outside the span, and i < k < j:

        arc_g(i → j) = score + grandparent(g) + max( left_i(i + 1, j) + none,
                       max_k arc_g(i → k) + pair_i(k, j) + sibling(k) )
        right_g(i, j) = max_k arc_g(i → k) + right_i(k, j)         k = j allowed
        pair_h(i, j)  = max_k right_h(i, k) + left_h(k + 1, j)     k = i allowed

    and the mirror images. Forbidden arcs are skipped before the loops over g.
    """
    right, left = work.right, work.left
    for j in range(1, n + 1):
        fill(right, j, j, n, 0.0)
        fill(left, j, j, n, 0.0)
        for i in range(j - 1, 0, -1):
            fill_word_spans(score, row, sibling, grandparent, n, j, i, work)
        fill_root_spans(score, row, sibling, j, work)
    total, root_word = right[n, 0, 0], ROOT
    if single_root:
        total = -np.inf
        for d in range(1, n + 1):
            if score[0, d] > -np.inf:
                value = score[0, d] + table_score(sibling, row[0, d], 0)
                value += left[d, 1, 0] + right[n, d, 0]
                if value > total:
                    total, root_word = value, d
    if total > -np.inf:
        trace_grandparents(row, sibling, n, root_word, work, heads)
    return total


@jitted
def trace_grandparents(row, sibling, n, root_word, work, heads):
    """Heads of the best tree, from the charts; the first of equal splits."""
    right, left, pair, arc_right, arc_left, stack = work
    size = push_valued_span(stack, EMPTY, RIGHT, root_word, n, ROOT)
    if root_word > 0:
        heads[root_word - 1] = 0
        size = push_valued_span(stack, size, LEFT, FIRST_WORD, root_word, ROOT)
    while size > 0:
        size -= 1
        kind, i = stack[size, 0], stack[size, 1]
        j, g = stack[size, 2], stack[size, 3]
        split, highest = i, -np.inf
        if kind == RIGHT:
            for k in range(i + 1, j + 1):
                value = arc_right[k, i, g] + right[j, k, i]
                if value > highest:
                    highest, split = value, k
            size = push_valued_span(stack, size, ARC_RIGHT, i, split, g)
            size = push_valued_span(stack, size, RIGHT, split, j, i)
        elif kind == LEFT:
            for k in range(i, j):
                value = left[k, i, j] + arc_left[j, k, g]
                if value > highest:
                    highest, split = value, k
            size = push_valued_span(stack, size, LEFT, i, split, j)
            size = push_valued_span(stack, size, ARC_LEFT, split, j, g)
        elif kind == PAIR:
            for k in range(i, j):
                value = right[k, i, g] + left[j, k + 1, g]
                if value > highest:
                    highest, split = value, k
            size = push_valued_span(stack, size, RIGHT, i, split, g)
            size = push_valued_span(stack, size, LEFT, split + 1, j, g)
        elif kind == ARC_RIGHT:
            heads[j - 1] = i
            r = row[i, j]
            highest = left[j, i + 1, i] + table_score(sibling, r, i)
            for k in range(i + 1, j):
                value = arc_right[k, i, g] + pair[j, k, i] + table_score(sibling, r, k)
                if value > highest:
                    highest, split = value, k
            if split == i:
                size = push_valued_span(stack, size, LEFT, i + 1, j, i)
            else:
                size = push_valued_span(stack, size, ARC_RIGHT, i, split, g)
                size = push_valued_span(stack, size, PAIR, split, j, i)
        else:
            heads[i - 1] = j
            r = row[j, i]
            split, highest = j, right[j - 1, i, j] + table_score(sibling, r, j)
            for k in range(i + 1, j):
                value = arc_left[j, k, g] + pair[k, i, j] + table_score(sibling, r, k)
                if value > highest:
                    highest, split = value, k
            if split == j:
                size = push_valued_span(stack, size, RIGHT, i, j - 1, j)
            else:
                size = push_valued_span(stack, size, PAIR, i, split, j)
                size = push_valued_span(stack, size, ARC_LEFT, split, j, g)
