"""Second-order trees with crossing arcs: hill climbing, approximate.

With sibling or grandparent parts the best tree with crossing arcs is NP-hard to find.
As in McDonald and Pereira (2006) we begin with a tree, usually the best projective one,
and give one word after another a new head, each time the change that raises the score
most, until no change does. The result is a tree at least as good as the first; it is
exact for no class of scores, and `_tree_milp.py` tells how far it is from the optimum.
Tables as in `_tree_grandparents.py`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from partwise.structures._tree_grandparents import (
    GrandparentWork,
    eisner_grandparents,
    new_grandparent_work,
    second_order_score,
)
from partwise.structures._tree_programs import (
    TreeWork,
    chu_liu_edmonds,
    new_tree_work,
)
from partwise.structures._tree_second_order import (
    SiblingWork,
    eisner_siblings,
    new_sibling_work,
)

UNATTACHED = -1


class ClimbWork(NamedTuple):
    """Buffers of the programs that give `climb_trees` its first tree."""

    trees: TreeWork
    siblings: SiblingWork
    grandparents: GrandparentWork


def new_climb_work(longest, grandparents=True):
    """Buffers for sentences of at most `longest` words."""
    return ClimbWork(
        new_tree_work(longest),
        new_sibling_work(longest),
        new_grandparent_work(longest if grandparents else 0),
    )


@njit(cache=True, nogil=True)
def climb_trees(score, row, sibling, grandparent, n, single_root, work, heads):
    """A tree of high second-order score, crossing arcs allowed; returns its score.

    Begins with the best projective tree, or the best first-order tree when forbidden
    arcs leave no projective one.
    """
    if grandparent.shape[0] == 0:
        total = eisner_siblings(
            score, row, sibling, n, single_root, work.siblings, heads
        )
    else:
        total = eisner_grandparents(
            score, row, sibling, grandparent, n, single_root, work.grandparents, heads
        )
    if total == -np.inf:
        total = chu_liu_edmonds(score, n, single_root, work.trees, heads)
    if total == -np.inf:
        return total
    return climb(score, row, sibling, grandparent, n, single_root, heads)


@njit(cache=True, nogil=True)
def nearest_child(heads, n, h, d, step):
    """The child of h nearest to d in direction `step`; h when h comes first, or −1."""
    v = d + step
    while 1 <= v <= n and v != h:
        if heads[v - 1] == h:
            return v
        v += step
    return h if v == h else UNATTACHED


@njit(cache=True, nogil=True)
def attachment_gain(score, row, sibling, grandparent, n, heads, h, d):
    """What the arc h → d adds to the score of a forest in which d has no head."""
    total = score[h, d]
    if sibling.shape[0] > 0:
        inward = 1 if h > d else -1
        inner = nearest_child(heads, n, h, d, inward)
        outer = nearest_child(heads, n, h, d, -inward)
        total += sibling[row[h, d], inner]
        if outer != UNATTACHED:
            total += sibling[row[h, outer], d] - sibling[row[h, outer], inner]
    if grandparent.shape[0] > 0:
        if h > 0:
            total += grandparent[row[h, d], heads[h - 1]]
        for child in range(1, n + 1):
            if heads[child - 1] == d:
                total += grandparent[row[d, child], h]
    return total


@njit(cache=True, nogil=True)
def is_below(heads, v, d):
    """Whether v is d or hangs below it."""
    while v > 0 and v != d:
        v = heads[v - 1]
    return v == d


@njit(cache=True, nogil=True)
def climb(score, row, sibling, grandparent, n, single_root, heads):
    """Improve a tree in place until no single new head helps; returns its score.

    Each round costs O(n³), less the forbidden arcs. With a single root the word below
    the root keeps its place, unless another word takes it over in the same move: then
    the old one becomes its child.
    """
    for _ in range(n * n):  # a guard: rounding might let a change look good forever
        best_gain, best_word, best_head = 0.0, 0, 0
        for d in range(1, n + 1):
            old = heads[d - 1]
            if single_root and old == 0:
                continue
            heads[d - 1] = UNATTACHED
            kept = attachment_gain(score, row, sibling, grandparent, n, heads, old, d)
            for h in range(1 if single_root else 0, n + 1):
                if h == d or h == old or score[h, d] == -np.inf:
                    continue
                heads[d - 1] = old
                if is_below(heads, h, d):
                    continue
                heads[d - 1] = UNATTACHED
                gain = attachment_gain(score, row, sibling, grandparent, n, heads, h, d)
                if gain - kept > best_gain:
                    best_gain, best_word, best_head = gain - kept, d, h
            heads[d - 1] = old
        if single_root:
            gain, word = best_exchange(score, row, sibling, grandparent, n, heads)
            if gain > best_gain:
                best_gain, best_word, best_head = gain, word, 0
        if best_gain <= 1e-12:
            break
        if single_root and best_head == 0:
            exchange_root(n, heads, best_word)
        else:
            heads[best_word - 1] = best_head
    return second_order_score(score, row, sibling, grandparent, n, heads)


@njit(cache=True, nogil=True)
def exchange_root(n, heads, word):
    """Put `word` below the root and the former root word below `word`."""
    former = 0
    for d in range(1, n + 1):
        if heads[d - 1] == 0:
            former = d
    heads[former - 1] = word
    heads[word - 1] = 0
    return former


@njit(cache=True, nogil=True)
def best_exchange(score, row, sibling, grandparent, n, heads):
    """The word that gains most as the only one below the root: (gain, word)."""
    before = second_order_score(score, row, sibling, grandparent, n, heads)
    best_gain, best_word = 0.0, 0
    for d in range(1, n + 1):
        old = heads[d - 1]
        if old == 0 or score[0, d] == -np.inf:
            continue
        former = exchange_root(n, heads, d)
        after = second_order_score(score, row, sibling, grandparent, n, heads)
        if after - before > best_gain:
            best_gain, best_word = after - before, d
        heads[d - 1] = old
        heads[former - 1] = 0
    return best_gain, best_word
