"""Best projective dependency trees, first order: Eisner's program in any semiring.

Scores, trees and `single_root` are as in `_programs.py`. The programs with a loss, a
sibling or a grandparent as one more coordinate use the same names of spans.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures._semirings import MAX_PLUS, plus, times

# Numbers that are passed to functions have a type of their own, because numba compiles
# a function anew for each literal argument.
ROOT: Any = np.int64(0)
FIRST_WORD: Any = np.int64(1)
EMPTY: Any = np.int64(0)
RIGHT, LEFT, ARC_RIGHT, ARC_LEFT, PAIR = (np.int64(kind) for kind in range(5))


class Charts(NamedTuple):
    """Spans i…j of a projective tree, in row j and column i; only i ≤ j is used.

    ==========  =======================================================
    right       word i heads all of it, and is complete
    left        word j heads all of it, and is complete
    arc_right   the arc i → j, and all between
    arc_left    the arc j → i, and all between
    ==========  =======================================================
    """

    right: np.ndarray  # (N, N)
    left: np.ndarray  # (N, N)
    arc_right: np.ndarray  # (N, N)
    arc_left: np.ndarray  # (N, N)
    meet: np.ndarray  # (N,) halves that meet, for the row at work
    stack: np.ndarray  # (3·N, 3) spans to trace


@kernel
def eisner(score, n, single_root, work, heads):
    """The best projective tree; O(n³)."""
    charts = work.charts
    total, root_word = inside(MAX_PLUS, score, n, single_root, charts)
    if total > -np.inf:
        trace(score, n, root_word, charts, heads)
    return total


@kernel
def spread_arcs(sr, right, left, arc_right, i, j, a, b):
    """Add arcs a (i → j) and b (j → i) to `right` and `left` of the spans up to j.

    Returns left(i, j), which is then final.
    """
    a = plus(sr, right[j, i], a)
    right[j, i] = a
    if a != sr.zero:
        for k in range(i):
            step = times(sr, a, arc_right[i, k])
            right[j, k] = plus(sr, right[j, k], step)
    if b != sr.zero:
        for k in range(i):
            left[j, k] = plus(sr, left[j, k], times(sr, b, left[i, k]))
    c = plus(sr, left[j, i], b)
    left[j, i] = c
    return c


@kernel
def inside(sr, score, n, single_root, charts):
    """Sum all spans in the semiring: (total, best word below a single root, or 0).

    right(i, j) = ⊕_k arc_right(i, k) ⊗ right(k, j)     i < k ≤ j
    left(i, j)  = ⊕_k left(i, k) ⊗ arc_left(k, j)       i ≤ k < j
    arc(i, j)   = score ⊗ ⊕_k right(i, k − 1) ⊗ left(k, j)   i < k ≤ j

    The row of j is filled from i = j down. As soon as a cell is final it is spread to
    the cells further left: the inner loop runs over targets from 0, so everything is
    read and written in order. (Maxima over splits are reductions, which do not
    vectorise; loops that do not begin at 0 do not either. Twice as slow at n = 40.)
    """
    right, left = charts.right, charts.left
    arc_right, arc_left, meet = charts.arc_right, charts.arc_left, charts.meet
    for j in range(n + 1):
        for i in range(j):
            right[j, i] = sr.zero
            left[j, i] = sr.zero
            meet[i] = right[j - 1, i]
        right[j, j] = sr.one
        left[j, j] = sr.one
        for i in range(j - 1, -1, -1):
            a = times(sr, meet[i], score[i, j])
            b = times(sr, meet[i], score[j, i]) if i > 0 else sr.zero
            arc_right[j, i] = a
            arc_left[j, i] = b
            c = spread_arcs(sr, right, left, arc_right, i, j, a, b)
            if c != sr.zero:
                for k in range(i):
                    meet[k] = plus(sr, meet[k], times(sr, c, right[i - 1, k]))
    if not single_root:
        return right[n, 0], ROOT
    total, highest, root_word = sr.zero, sr.zero, FIRST_WORD
    for d in range(1, n + 1):
        value = times(sr, times(sr, left[d, 1], right[n, d]), score[0, d])
        if value > highest:
            highest, root_word = value, d
        total = plus(sr, total, value)
    return total, root_word


@kernel
def trace(score, n, root_word, charts, heads):
    """Heads of the best tree after `inside` with MaxPlus.

    Splits are found again from the charts, the first one where several are equal.
    """
    right, left = charts.right, charts.left
    arc_right, arc_left, stack = charts.arc_right, charts.arc_left, charts.stack
    size = push_span(stack, EMPTY, RIGHT, root_word, n)
    if root_word > 0:
        heads[root_word - 1] = 0
        size = push_span(stack, size, LEFT, FIRST_WORD, root_word)
    while size > 0:
        size -= 1
        kind, i, j = stack[size, 0], stack[size, 1], stack[size, 2]
        if kind == ARC_RIGHT:
            heads[j - 1] = i
        elif kind == ARC_LEFT:
            heads[i - 1] = j
        size = split_span(right, left, arc_right, arc_left, stack, size, kind, i, j)


@kernel
def split_span(right, left, arc_right, arc_left, stack, size, kind, i, j):
    """Put the two best parts of a span on the stack; the first of equal splits.

    Beside `RIGHT` and `LEFT`, a span of any other kind is one to the right and one to
    the left that meet.
    """
    split, highest = i, -np.inf
    if kind == RIGHT:
        for k in range(i + 1, j + 1):
            value = arc_right[k, i] + right[j, k]
            if value > highest:
                highest, split = value, k
        size = push_span(stack, size, ARC_RIGHT, i, split)
        return push_span(stack, size, RIGHT, split, j)
    if kind == LEFT:
        for k in range(i, j):
            value = left[k, i] + arc_left[j, k]
            if value > highest:
                highest, split = value, k
        size = push_span(stack, size, LEFT, i, split)
        return push_span(stack, size, ARC_LEFT, split, j)
    for k in range(i, j):
        value = right[k, i] + left[j, k + 1]
        if value > highest:
            highest, split = value, k
    size = push_span(stack, size, RIGHT, i, split)
    return push_span(stack, size, LEFT, split + 1, j)


@kernel
def push_span(stack, size, kind, i, j):
    """Add a span that still has words to attach; returns the new size."""
    if i == j:
        return size
    stack[size, 0], stack[size, 1], stack[size, 2] = kind, i, j
    return size + 1


@kernel
def push_valued_span(stack, size, kind, i, j, value):
    """As `push_span`, with a number of its own for the span."""
    if i == j:
        return size
    stack[size, 0], stack[size, 1] = kind, i
    stack[size, 2], stack[size, 3] = j, value
    return size + 1
