"""Best projective trees with sibling parts; O(n³).

Beside arcs, two parts of a tree may be scored:

    sibling      the arc h → d together with s, the next child of h towards h on the
                 same side; s = h when d is the innermost child on its side
    grandparent  the arc h → d together with g, the head of h (h > 0)

Second-order scores come in rows, one per arc, so that dense and pruned tables look the
same: ``row[h, d]`` (N, N) int32 is the row of an arc, ``sibling[row[h, d], s]`` and
``grandparent[row[h, d], g]`` its scores. Dense: ``row[h, d] = h·N + d``. Pruned: number
only the arcs that are kept and set the other scores to −inf: no row of a forbidden arc
is ever read, and programs skip it before any inner loop, so time falls with the number
of arcs kept. Of a row only the columns that can occur are read: s between h and d, or h
itself; g ≠ d with an allowed arc g → h.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures._semirings import MAX_PLUS, plus, times
from partwise.structures.dependency._eisner import (
    ARC_LEFT,
    ARC_RIGHT,
    EMPTY,
    FIRST_WORD,
    LEFT,
    PAIR,
    RIGHT,
    ROOT,
    push_span,
    split_span,
    spread_arcs,
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


@kernel
def sibling_of(codes, at, size, d):
    """The next child of d's head towards the head, or the head.

    Of the tree whose codes begin at place `at`: head · size + label of each word.
    """
    h = codes[at + d - 1] // size
    step = 1 if h > d else -1
    s = d + step
    while s != h and codes[at + s - 1] // size != h:
        s += step
    return s


@kernel
def eisner_siblings(score, row, sibling, n, single_root, work, heads):
    """The best projective tree under arcs and adjacent siblings."""
    total, root_word = inside_siblings(
        MAX_PLUS, score, row, sibling, n, single_root, work
    )
    if total > -np.inf:
        trace_siblings(row, sibling, n, root_word, work, heads)
    return total


@kernel
def inside_siblings(sr, score, row, sibling, n, single_root, work):
    """Sum all spans in the semiring: (total, best word below a single root, or 0).

    arc(i → j) = score ⊗ ( left(i + 1, j) ⊗ none
                           ⊕_k arc(i → k) ⊗ pair(k, j) ⊗ sibling(k) )
    arc(j → i) = score ⊗ ( right(i, j − 1) ⊗ none
                           ⊕_k pair(i, k) ⊗ arc(j → k) ⊗ sibling(k) )

    with i < k < j; `right`, `left` and `pair` (there `meet`) as in `inside`.
    """
    right, left, pair, arc, arc_right = work[:5]
    for j in range(n + 1):
        for i in range(j):
            right[j, i] = sr.zero
            left[j, i] = sr.zero
            pair[j, i] = right[j - 1, i]
        right[j, j] = sr.one
        left[j, j] = sr.one
        for i in range(j - 1, -1, -1):
            pair[i, j] = pair[j, i]
            a = b = sr.zero
            if score[i, j] != sr.zero:
                r = row[i, j]
                a = times(sr, left[j, i + 1], sibling[r, i])
                for k in range(i + 1, j):
                    step = times(sr, times(sr, arc[i, k], pair[j, k]), sibling[r, k])
                    a = plus(sr, a, step)
                a = times(sr, a, score[i, j])
            if i > 0 and score[j, i] != sr.zero:
                r = row[j, i]
                b = times(sr, right[j - 1, i], sibling[r, j])
                for k in range(i + 1, j):
                    step = times(sr, times(sr, pair[i, k], arc[j, k]), sibling[r, k])
                    b = plus(sr, b, step)
                b = times(sr, b, score[j, i])
            arc[i, j] = a
            arc_right[j, i] = a
            arc[j, i] = b
            c = spread_arcs(sr, right, left, arc_right, i, j, a, b)
            if c != sr.zero:
                for k in range(i):
                    pair[j, k] = plus(sr, pair[j, k], times(sr, c, right[i - 1, k]))
    if not single_root:
        return right[n, 0], ROOT
    total, highest, root_word = sr.zero, sr.zero, FIRST_WORD
    for d in range(1, n + 1):
        if score[0, d] != sr.zero:
            above = times(sr, score[0, d], sibling[row[0, d], 0])
            value = times(sr, times(sr, left[d, 1], right[n, d]), above)
            if value > highest:
                highest, root_word = value, d
            total = plus(sr, total, value)
    return total, root_word


@kernel
def trace_siblings(row, sibling, n, root_word, work, heads):
    """Heads of the best tree, from the charts; the first of equal splits."""
    right, left, pair, arc, arc_right, stack = work
    size = push_span(stack, EMPTY, RIGHT, root_word, n)
    if root_word > 0:
        heads[root_word - 1] = 0
        size = push_span(stack, size, LEFT, FIRST_WORD, root_word)
    while size > 0:
        size -= 1
        kind, i, j = stack[size, 0], stack[size, 1], stack[size, 2]
        split = i
        if kind in (RIGHT, LEFT, PAIR):
            # arcs to the left stand in the row of their head in both tables
            size = split_span(right, left, arc_right, arc, stack, size, kind, i, j)
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
