"""Second-order trees with crossing arcs: hill climbing, approximate.

With sibling or grandparent parts the best tree with crossing arcs is NP-hard to find.
As in McDonald and Pereira (2006) we begin with the best projective tree and give one
word after another a new head, each time the change that raises the score most, until no
change does; here a second climb begins with the best tree of first order. The result is
at least as good as the best projective tree; `constraints.py` tells how far it is
from the optimum (``benchmarks/trees.py --climbing``).
Tables as in `_grandparents.py`.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.dependency._grandparents import (
    GrandparentWork,
    eisner_grandparents,
    new_grandparent_work,
    second_order_score,
)
from partwise.structures.dependency._programs import (
    TreeWork,
    chu_liu_edmonds,
    new_tree_work,
)
from partwise.structures.dependency._second_order import (
    SiblingWork,
    eisner_siblings,
    new_sibling_work,
)

UNATTACHED = -1
LEAST_GAIN = 1e-12  # below that a gain may be rounding


class ClimbWork(NamedTuple):
    """Buffers of the programs that give `climb_trees` its first tree."""

    trees: TreeWork
    siblings: SiblingWork
    grandparents: GrandparentWork
    heads: np.ndarray  # (longest,)


def new_climb_work(longest, grandparents=True):
    """Buffers for sentences of at most `longest` words."""
    return ClimbWork(
        new_tree_work(longest),
        new_sibling_work(longest),
        new_grandparent_work(longest if grandparents else 0),
        np.empty(longest, dtype=np.int32),
    )


@kernel
def climb_trees(score, row, sibling, grandparent, n, single_root, work, heads):
    """A tree of high second-order score, crossing arcs allowed; returns its score.

    Climbs from the best projective tree of second order and from the best tree of
    first order, and keeps the better end.
    """
    other = work.heads
    second = chu_liu_edmonds(score, n, single_root, work.trees, other)
    if second == -np.inf:
        return second
    second = climb(score, row, sibling, grandparent, n, single_root, other)
    if grandparent.shape[0] == 0:
        first = eisner_siblings(
            score, row, sibling, n, single_root, work.siblings, heads
        )
    else:
        first = eisner_grandparents(
            score, row, sibling, grandparent, n, single_root, work.grandparents, heads
        )
    if first > -np.inf:
        first = climb(score, row, sibling, grandparent, n, single_root, heads)
    if first < second:
        for d in range(n):
            heads[d] = other[d]
    return max(first, second)


@kernel
def nearest_child(heads, n, h, d, step):
    """The child of h nearest to d in direction `step`; h when h comes first, or −1."""
    v = d + step
    while 1 <= v <= n and v != h:
        if heads[v - 1] == h:
            return v
        v += step
    return h if v == h else UNATTACHED


@kernel
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


@kernel
def is_below(heads, v, d):
    """Whether v is d or hangs below it."""
    while v > 0 and v != d:
        v = heads[v - 1]
    return v == d


@kernel
def best_new_head(score, row, sibling, grandparent, n, single_root, heads, d):
    """The head that gains most over the present one of word d: (gain, head)."""
    old = heads[d - 1]
    heads[d - 1] = UNATTACHED
    old_gain = attachment_gain(score, row, sibling, grandparent, n, heads, old, d)
    highest, winner = old_gain, old
    for h in range(1 if single_root else 0, n + 1):
        if score[h, d] == -np.inf or h == old or is_below(heads, h, d):
            continue
        gain = attachment_gain(score, row, sibling, grandparent, n, heads, h, d)
        if gain > highest:
            highest, winner = gain, h
    heads[d - 1] = old
    return highest - old_gain, winner


@kernel
def climb(score, row, sibling, grandparent, n, single_root, heads):
    """Improve a tree in place until no single new head helps; returns its score.

    A round takes O(n³), and less where arcs are forbidden. With a single root, the word
    below the root can only be exchanged: another word takes its place, and the old one
    becomes a child of the new one.
    """
    for _ in range(n * n):  # a limit, in case rounding lets changes look good for ever
        best_gain, word, head = 0.0, 0, 0
        for d in range(1, n + 1):
            if single_root and heads[d - 1] == 0:
                continue
            gain, h = best_new_head(
                score, row, sibling, grandparent, n, single_root, heads, d
            )
            if gain > best_gain:
                best_gain, word, head = gain, d, h
        if single_root:
            gain, d = best_exchange(score, row, sibling, grandparent, n, heads)
            if gain > best_gain:
                best_gain, word, head = gain, d, 0
        if best_gain <= LEAST_GAIN:
            break
        if single_root and head == 0:
            exchange_root(n, heads, word)
        else:
            heads[word - 1] = head
    return second_order_score(score, row, sibling, grandparent, n, heads)


@kernel
def exchange_root(n, heads, word):
    """Put `word` below the root and the former root word below `word`."""
    former = 0
    for d in range(1, n + 1):
        if heads[d - 1] == 0:
            former = d
    heads[former - 1] = word
    heads[word - 1] = 0
    return former


@kernel
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
