"""The best tree for every value of a whole-number loss.

Scores come by loss: ``options[c, h, d]`` (C, N, N) is the best score of the arc h → d
among its labels of loss c, −inf where there is none. With the loss "number of wrong
words" C = 2; a wrong label at the right head may also count less than a wrong head,
both in whole units. A tree is then `heads` and `losses` (n,), the loss of each word,
and its loss is their sum, 0 … (C − 1)·n.

The program is Eisner's with the loss as one more coordinate: projective trees only.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.dependency._eisner import (
    ARC_LEFT,
    ARC_RIGHT,
    EMPTY,
    FIRST_WORD,
    LEFT,
    RIGHT,
    ROOT,
    push_valued_span,
)


class FrontierWork(NamedTuple):
    """Charts of `tree_frontier`: as `Charts`, with the loss of the span at the end."""

    right: np.ndarray  # (N, N, E)
    left: np.ndarray  # (N, N, E)
    arc_right: np.ndarray  # (N, N, E)
    arc_left: np.ndarray  # (N, N, E)
    meet: np.ndarray  # (N, N, E)
    best: np.ndarray  # (E,) the best score of each loss, after `tree_frontier`
    stack: np.ndarray  # (3·N, 4)


def new_frontier_work(longest, n_levels=2):
    """Buffers for sentences of at most `longest` words and losses below `n_levels`."""
    size = longest + 1
    width = (n_levels - 1) * longest + 1
    right, left, arc_right, arc_left, meet = np.empty((5, size, size, width))
    stack = np.empty((3 * size, 4), dtype=np.int64)
    best = np.empty(width)
    return FrontierWork(right, left, arc_right, arc_left, meet, best, stack)


@kernel
def join(one, j, i, n_one, other, k, m, n_other, into, t, s):
    """into[t, s] gains the best sum for each total loss; n is the largest of each."""
    for a in range(n_one + 1):
        value = one[j, i, a]
        if value == -np.inf:
            continue
        for b in range(n_other + 1):
            total = value + other[k, m, b]
            if total > into[t, s, a + b]:
                into[t, s, a + b] = total


@kernel
def attach(options, h, d, meet, j, i, n_meet, into):
    """into[j, i] = the arc h → d, with each loss, above what lies between."""
    steps = options.shape[0] - 1
    for e in range(n_meet + steps + 1):
        into[j, i, e] = -np.inf
    for c in range(steps + 1):
        if options[c, h, d] > -np.inf:
            for e in range(n_meet + 1):
                value = meet[j, i, e] + options[c, h, d]
                into[j, i, e + c] = max(into[j, i, e + c], value)


@kernel
def tree_frontier(options, n, single_root, work):
    """The best score of a projective tree for every loss, into ``work.best``.

    −inf where no tree has that loss. O(n³·(Cn)²) at most; a span of m words joins
    only losses up to (C − 1)·m, which makes it about n⁵/40 additions for C = 2.
    """
    right, left, arc_right, arc_left, meet, best, _ = work
    steps = options.shape[0] - 1
    for j in range(n + 1):
        right[j, j, 0] = 0.0
        left[j, j, 0] = 0.0
        for i in range(j - 1, -1, -1):
            largest = steps * (j - i)
            for e in range(largest + 1):
                right[j, i, e] = -np.inf
                left[j, i, e] = -np.inf
                meet[j, i, e] = -np.inf
            for k in range(i, j):
                m, rest = steps * (k - i), steps * (j - k - 1)
                join(right, k, i, m, left, j, k + 1, rest, meet, j, i)
            between = largest - steps
            attach(options, i, j, meet, j, i, between, arc_right)
            for k in range(i + 1, j + 1):
                m, rest = steps * (k - i), steps * (j - k)
                join(arc_right, k, i, m, right, j, k, rest, right, j, i)
            if i > 0:
                attach(options, j, i, meet, j, i, between, arc_left)
                for k in range(i, j):
                    m, rest = steps * (k - i), steps * (j - k)
                    join(left, k, i, m, arc_left, j, k, rest, left, j, i)
    for e in range(steps * n + 1):
        best[e] = -np.inf if single_root else right[n, 0, e]
    if single_root:
        for d in range(1, n + 1):
            for c in range(steps + 1):
                if options[c, 0, d] > -np.inf:
                    for a in range(steps * (d - 1) + 1):
                        value = left[d, 1, a] + options[c, 0, d]
                        for b in range(steps * (n - d) + 1):
                            total = value + right[n, d, b]
                            best[a + b + c] = max(best[a + b + c], total)


@kernel
def best_split(one, other, kind, i, j, loss, steps):
    """Where the best span of this loss was joined: (k, loss of the first part)."""
    highest, split, part = -np.inf, i, 0
    first = i + 1 if kind == RIGHT else i
    last = j if kind == RIGHT else j - 1
    gap = 1 if kind >= ARC_RIGHT else 0
    for k in range(first, last + 1):
        rest = steps * (j - k - gap)
        for a in range(max(0, loss - rest), min(loss, steps * (k - i)) + 1):
            value = one[k, i, a] + other[j, k + gap, loss - a]
            if value > highest:
                highest, split, part = value, k, a
    return split, part


@kernel
def best_level(options, h, d, meet, j, i, loss):
    """The loss of the arc itself in the best span of this loss."""
    steps = options.shape[0] - 1
    between = steps * (j - i - 1)
    highest, level = -np.inf, 0
    for c in range(max(0, loss - between), min(loss, steps) + 1):
        value = meet[j, i, loss - c] + options[c, h, d]
        if value > highest:
            highest, level = value, c
    return level


@kernel
def trace_tree_frontier(options, n, single_root, work, loss, heads, losses):
    """The tree behind ``work.best[loss]``, which must be finite."""
    right, left, arc_right, arc_left, meet, _, stack = work
    steps = options.shape[0] - 1
    size, root_word = EMPTY, ROOT
    if single_root:
        root_word, level, part = best_root(options, n, work, loss)
        heads[root_word - 1], losses[root_word - 1] = 0, level
        size = push_valued_span(stack, size, LEFT, FIRST_WORD, root_word, part)
        loss -= level + part
    size = push_valued_span(stack, size, RIGHT, root_word, n, loss)
    while size > 0:
        size -= 1
        kind, i = stack[size, 0], stack[size, 1]
        j, e = stack[size, 2], stack[size, 3]
        if kind == RIGHT:
            k, a = best_split(arc_right, right, kind, i, j, e, steps)
            size = push_valued_span(stack, size, ARC_RIGHT, i, k, a)
            size = push_valued_span(stack, size, RIGHT, k, j, e - a)
        elif kind == LEFT:
            k, a = best_split(left, arc_left, kind, i, j, e, steps)
            size = push_valued_span(stack, size, LEFT, i, k, a)
            size = push_valued_span(stack, size, ARC_LEFT, k, j, e - a)
        else:
            h, d = (i, j) if kind == ARC_RIGHT else (j, i)
            level = best_level(options, h, d, meet, j, i, e)
            heads[d - 1], losses[d - 1] = h, level
            k, a = best_split(right, left, kind, i, j, e - level, steps)
            size = push_valued_span(stack, size, RIGHT, i, k, a)
            size = push_valued_span(stack, size, LEFT, k + 1, j, e - level - a)


@kernel
def best_root(options, n, work, loss):
    """Single root of the best tree of this loss: (word, its loss, loss on its left)."""
    steps = options.shape[0] - 1
    highest, root_word, level, part = -np.inf, 1, 0, 0
    for d in range(1, n + 1):
        for c in range(min(loss, steps) + 1):
            for a in range(steps * (d - 1) + 1):
                b = loss - c - a
                if 0 <= b <= steps * (n - d):
                    value = work.left[d, 1, a] + options[c, 0, d]
                    value += work.right[n, d, b]
                    if value > highest:
                        highest, root_word, level, part = value, d, c, a
    return root_word, level, part
