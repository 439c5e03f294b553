"""Best projective trees with sibling parts; O(n³).

Beside arcs, two parts of a tree may be scored:

    sibling      the arc h → d together with s, the next child of h towards h on the
                 same side; s = h when d is the innermost child on its side
    grandparent  the arc h → d together with g, the head of h (h > 0)

Second-order scores come in rows, one per arc, so that dense and pruned tables look the
same: ``row[h, d]`` (N, N) int32 is the row of an arc, ``sibling[row[h, d], s]`` and
``grandparent[row[h, d], g]`` its scores. Dense: ``row[h, d] = h·N + d``
(`dense_rows`). Pruned: number only the arcs that are kept and set the other scores to
−inf: no row of a forbidden arc is ever read, and programs skip it before any inner
loop, so time falls with the number of arcs kept. Of a row only the columns that can
occur are read: s between h and d, or h itself; g ≠ d with an allowed arc g → h.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from partwise.structures._tree_programs import (
    ARC_LEFT,
    ARC_RIGHT,
    EMPTY,
    FIRST_WORD,
    LEFT,
    PAIR,
    RIGHT,
    ROOT,
    push_span,
)


class SiblingWork(NamedTuple):
    """Charts of `eisner_siblings`; spans i…j as in `Charts`, in row j and column i."""

    right: np.ndarray  # (N, N)
    left: np.ndarray  # (N, N)
    pair: np.ndarray  # (N, N) both i and j are heads and meet; also in row i, column j
    arc: np.ndarray  # (N, N) in row of the head, column of the dependent
    arc_right: np.ndarray  # (N, N) arcs to the right again, in row j and column i
    stack: np.ndarray  # (3·N, 3)


def new_sibling_work(longest):
    """Buffers of `eisner_siblings` for sentences of at most `longest` words."""
    size = longest + 1
    right, left, pair, arc, arc_right = np.empty((5, size, size))
    stack = np.empty((3 * size, 3), dtype=np.int64)
    return SiblingWork(right, left, pair, arc, arc_right, stack)


def dense_rows(longest):
    """Rows for dense tables: a cube (N, N, N) is reshaped to (N·N, N).

    Examples
    --------
    >>> dense_rows(1)
    array([[0, 1],
           [2, 3]], dtype=int32)
    """
    size = longest + 1
    return np.arange(size * size, dtype=np.int32).reshape(size, size)


@njit(cache=True, nogil=True)
def inner_sibling(heads, d):
    """The next child of d's head towards the head, or the head."""
    h = heads[d - 1]
    step = 1 if h > d else -1
    s = d + step
    while s != h and heads[s - 1] != h:
        s += step
    return s


@njit(cache=True, nogil=True)
def sibling_score(score, row, sibling, n, heads):
    """Score of any heads under arcs and siblings."""
    total = 0.0
    for d in range(1, n + 1):
        h = heads[d - 1]
        if score[h, d] == -np.inf:
            return -np.inf
        total += score[h, d] + sibling[row[h, d], inner_sibling(heads, d)]
    return total


@njit(cache=True, nogil=True)
def eisner_siblings(score, row, sibling, n, single_root, work, heads):
    """The best projective tree under arcs and adjacent siblings.

    arc(i → j) = score + max( left(i + 1, j) + none,
                              max_k arc(i → k) + pair(k, j) + sibling(k) )
    arc(j → i) = score + max( right(i, j − 1) + none,
                              max_k pair(i, k) + arc(j → k) + sibling(k) )

    with i < k < j; `right`, `left` and `pair` (there `meet`) as in `inside`.
    """
    right, left, pair, arc, arc_right = work[:5]
    for j in range(n + 1):
        for i in range(j):
            right[j, i] = -np.inf
            left[j, i] = -np.inf
            pair[j, i] = right[j - 1, i]
        right[j, j] = 0.0
        left[j, j] = 0.0
        for i in range(j - 1, -1, -1):
            pair[i, j] = pair[j, i]
            a = b = -np.inf
            if score[i, j] > -np.inf:
                r = row[i, j]
                a = left[j, i + 1] + sibling[r, i]
                for k in range(i + 1, j):
                    value = arc[i, k] + pair[j, k] + sibling[r, k]
                    a = value if value > a else a
                a += score[i, j]
            if i > 0 and score[j, i] > -np.inf:
                r = row[j, i]
                b = right[j - 1, i] + sibling[r, j]
                for k in range(i + 1, j):
                    value = pair[i, k] + arc[j, k] + sibling[r, k]
                    b = value if value > b else b
                b += score[j, i]
            arc[i, j] = a
            arc_right[j, i] = a
            arc[j, i] = b
            a = right[j, i] if right[j, i] > a else a
            right[j, i] = a
            if a > -np.inf:
                for k in range(i):
                    value = a + arc_right[i, k]
                    right[j, k] = value if value > right[j, k] else right[j, k]
            if b > -np.inf:
                for k in range(i):
                    value = b + left[i, k]
                    left[j, k] = value if value > left[j, k] else left[j, k]
            c = left[j, i] if left[j, i] > b else b
            left[j, i] = c
            if c > -np.inf:
                for k in range(i):
                    value = c + right[i - 1, k]
                    pair[j, k] = value if value > pair[j, k] else pair[j, k]
    total, root_word = right[n, 0], ROOT
    if single_root:
        total = -np.inf
        for d in range(1, n + 1):
            if score[0, d] > -np.inf:
                value = score[0, d] + sibling[row[0, d], 0] + left[d, 1] + right[n, d]
                if value > total:
                    total, root_word = value, d
    if total > -np.inf:
        trace_siblings(score, row, sibling, n, root_word, work, heads)
    return total


@njit(cache=True, nogil=True)
def trace_siblings(score, row, sibling, n, root_word, work, heads):
    """Heads of the best tree, from the charts; the first of equal splits."""
    right, left, pair, arc, _, stack = work
    size = push_span(stack, EMPTY, RIGHT, root_word, n)
    if root_word > 0:
        heads[root_word - 1] = 0
        size = push_span(stack, size, LEFT, FIRST_WORD, root_word)
    while size > 0:
        size -= 1
        kind, i, j = stack[size, 0], stack[size, 1], stack[size, 2]
        split, highest = i, -np.inf
        if kind == RIGHT:
            for k in range(i + 1, j + 1):
                value = arc[i, k] + right[j, k]
                if value > highest:
                    highest, split = value, k
            size = push_span(stack, size, ARC_RIGHT, i, split)
            size = push_span(stack, size, RIGHT, split, j)
        elif kind == LEFT:
            for k in range(i, j):
                value = left[k, i] + arc[j, k]
                if value > highest:
                    highest, split = value, k
            size = push_span(stack, size, LEFT, i, split)
            size = push_span(stack, size, ARC_LEFT, split, j)
        elif kind == PAIR:
            for k in range(i, j):
                value = right[k, i] + left[j, k + 1]
                if value > highest:
                    highest, split = value, k
            size = push_span(stack, size, RIGHT, i, split)
            size = push_span(stack, size, LEFT, split + 1, j)
        elif kind == ARC_RIGHT:
            heads[j - 1] = i
            r = row[i, j]
            highest = left[j, i + 1] + sibling[r, i]
            for k in range(i + 1, j):
                value = arc[i, k] + pair[j, k] + sibling[r, k]
                if value > highest:
                    highest, split = value, k
            if split == i:
                size = push_span(stack, size, LEFT, i + 1, j)
            else:
                size = push_span(stack, size, ARC_RIGHT, i, split)
                size = push_span(stack, size, PAIR, split, j)
        else:
            heads[i - 1] = j
            r = row[j, i]
            split, highest = j, right[j - 1, i] + sibling[r, j]
            for k in range(i + 1, j):
                value = pair[i, k] + arc[j, k] + sibling[r, k]
                if value > highest:
                    highest, split = value, k
            if split == j:
                size = push_span(stack, size, RIGHT, i, j - 1)
            else:
                size = push_span(stack, size, PAIR, i, split)
                size = push_span(stack, size, ARC_LEFT, split, j)
