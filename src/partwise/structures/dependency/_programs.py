"""Best dependency trees, first order: Chu-Liu/Edmonds, and best heads.

Eisner's program for projective trees is in `_eisner.py`.

A sentence of n words has the nodes 1…n; node 0 is the root above them. All programs
read

    score (N, N), N > n    score[h, d] of the arc from head h to dependent d

where −inf forbids an arc; column 0 and the diagonal are never looked at. Losses, fixed
arcs and the best label of each arc are in the scores. A tree is `heads` (n,) int32,
``heads[d − 1]`` being the head of word d. Functions return the score of the tree, or
−inf when no tree exists (`heads` then has no meaning). Equal scores are decided the
same way every time. With `single_root` exactly one word hangs from the root.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.dependency._eisner import ROOT, Charts


class Contraction(NamedTuple):
    """Nodes of Chu-Liu/Edmonds: words 1…n, then contracted cycles from n + 1."""

    column: np.ndarray  # (N, N) of a cycle: gain of each head outside over the inside
    best: np.ndarray  # (2N,) score of the best way into a node
    head: np.ndarray  # (2N,) the word or root it comes from
    place: np.ndarray  # (2N,) position on the path, or NEW or DONE
    path: np.ndarray  # (2N,) the nodes from which we came
    component: np.ndarray  # (N,) outermost node that contains a word
    member: np.ndarray  # (2N,) nodes of all cycles
    first: np.ndarray  # (2N,) where the members of a cycle begin


class TreeWork(NamedTuple):
    """Buffers of the first-order programs for sentences up to a length."""

    charts: Charts
    contraction: Contraction


NEW, DONE = -1, -2


def new_tree_work(longest):
    """Buffers for sentences of at most `longest` words."""
    size = longest + 1
    right, left, arc_right, arc_left, column = np.empty((5, size, size))
    stack = np.empty((3 * size, 3), dtype=np.int64)
    head, place, path, member, first = np.empty((5, 2 * size), dtype=np.int32)
    return TreeWork(
        Charts(right, left, arc_right, arc_left, np.empty(size), stack),
        Contraction(
            column=column,
            best=np.empty(2 * size),
            head=head,
            place=place,
            path=path,
            component=np.empty(size, dtype=np.int32),
            member=member,
            first=first,
        ),
    )


@kernel
def tree_score(score, n, heads):
    """Sum of the scores of a tree's arcs, in the order of words."""
    total = 0.0
    for d in range(1, n + 1):
        total += score[heads[d - 1], d]
    return total


@kernel
def count_roots(n, heads):
    """How many words hang from the root."""
    count = 0
    for d in range(n):
        if heads[d] == 0:
            count += 1
    return count


@kernel
def is_tree(n, place, heads):
    """Whether every word reaches the root; `place` (N,) is overwritten."""
    for v in range(n + 1):
        place[v] = NEW
    place[0] = 0
    for start in range(1, n + 1):
        v = start
        while place[v] == NEW:
            place[v] = start
            v = heads[v - 1]
        if place[v] == start:  # came back to this walk: a cycle
            return False
    return True


@kernel
def pick_heads(score, n, lowest, work):
    """The best head ≥ `lowest` of each word, into `work`; 0 if all are forbidden."""
    best, head = work.contraction.best, work.contraction.head
    for d in range(1, n + 1):
        best[d] = -np.inf
        head[d] = 0
    for h in range(lowest, n + 1):
        diagonal, diagonal_head = best[h], head[h]  # the diagonal is no arc
        for d in range(1, n + 1):
            is_better = score[h, d] > best[d]
            best[d] = score[h, d] if is_better else best[d]
            head[d] = h if is_better else head[d]
        best[h], head[h] = diagonal, diagonal_head


@kernel
def best_heads(score, n, work, heads):
    """The best head of each word on its own, tree or not: (score, is it a tree).

    The approximate construction: exact for the relaxed output space in which cycles
    are allowed, so its score is an upper bound for that of the best tree.
    """
    pick_heads(score, n, ROOT, work)
    for d in range(n):
        heads[d] = work.contraction.head[d + 1]
    return tree_score(score, n, heads), is_tree(n, work.contraction.place, heads)


@kernel
def chu_liu_edmonds(score, n, single_root, work, heads):
    """The best tree, crossing arcs allowed; O(n²).

    When the best heads form a tree nothing else is done. A single root is asked for
    in a second run in which the root is taken only where there is no other head, as
    if its arcs cost more than any tree: if one root is possible, one comes out.
    """
    total, is_done = best_heads(score, n, work, heads)
    if total == -np.inf:
        return total
    for lowest in range(2):  # first with all heads, then with the root as last resort
        if lowest == 1:
            if not single_root or count_roots(n, heads) == 1:
                return total
            pick_heads(score, n, lowest, work)
        if lowest == 1 or not is_done:
            total = contract(score, n, lowest, work, heads)
            if total == -np.inf:
                return total
    return total if count_roots(n, heads) == 1 else -np.inf


@kernel
def contract(score, n, lowest, work, heads):
    """Chu-Liu/Edmonds from picked heads; heads below `lowest` are the last resort.

    Follow best heads from a word until the root, a finished node or the path itself
    is met; in the last case the cycle becomes one node and the walk goes on from it.
    Heads stay words for ever, only dependents are contracted: a cycle keeps one
    column over all words, the maximum of its members' columns, each minus the score
    of the arc it would replace. At most n − 1 cycles with at most 2n − 2 members give
    O(n²). Which member a head enters is found again on the way back.
    """
    best, head = work.contraction.best, work.contraction.head
    place, path = work.contraction.place, work.contraction.path
    component = work.contraction.component
    member, first = work.contraction.member, work.contraction.first
    for v in range(1, n + 1):
        if best[v] == -np.inf:
            best[v], head[v] = score[0, v], 0
            if lowest == 0 or best[v] == -np.inf:
                return -np.inf
        place[v] = NEW
        component[v] = v
    component[0] = 0
    place[0] = DONE
    n_nodes = n + 1
    first[n_nodes] = 0
    for start in range(1, n + 1):
        v = component[start]
        length = 0
        while place[v] != DONE:
            if place[v] == NEW:
                place[v] = length
                path[length] = v
                length += 1
                v = component[head[v]]
                continue
            begin = place[v]
            end = first[n_nodes]
            for p in range(begin, length):
                member[end + p - begin] = path[p]
            v = n_nodes
            n_nodes += 1
            first[n_nodes] = end + length - begin
            merge(score, n, lowest, v, begin, work)
            if best[v] == -np.inf:
                return -np.inf
            place[v] = NEW
            length = begin
        for p in range(length):
            place[path[p]] = DONE
    for cycle in range(n_nodes - 1, n, -1):
        h = head[cycle]
        entered = member[first[cycle]]
        highest = -np.inf
        for p in range(first[cycle], first[cycle + 1]):
            v = member[p]
            gain = score[h, v] if v <= n else work.contraction.column[v - n - 1, h]
            gain -= best[v]
            if gain > highest:
                entered, highest = v, gain
        head[entered] = h
    for d in range(n):
        heads[d] = head[d + 1]
    return tree_score(score, n, heads)


@kernel
def merge(score, n, lowest, cycle, begin, work):
    """Column and best head of a new cycle: the nodes on the path from `begin`."""
    best, head, place, _, component = work.contraction[1:6]
    member, first = work.contraction.member, work.contraction.first
    column = work.contraction.column
    c = cycle - n - 1
    for h in range(n + 1):
        column[c, h] = -np.inf
    for p in range(first[cycle], first[cycle + 1]):
        v = member[p]
        replaced = best[v]
        if v <= n:
            for h in range(n + 1):
                gain = score[h, v] - replaced
                column[c, h] = gain if gain > column[c, h] else column[c, h]
        else:
            m = v - n - 1
            for h in range(n + 1):
                gain = column[m, h] - replaced
                column[c, h] = gain if gain > column[c, h] else column[c, h]
    highest, winner = -np.inf, 0
    for h in range(1, n + 1):
        if place[component[h]] >= begin:
            component[h] = cycle
            column[c, h] = -np.inf
        elif column[c, h] > highest:
            highest, winner = column[c, h], h
    if (lowest == 0 and column[c, 0] >= highest) or highest == -np.inf:
        highest, winner = column[c, 0], 0
    best[cycle], head[cycle] = highest, winner
