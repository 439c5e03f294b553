"""The k best dependency trees, labels included, with any decoder.

The space of trees is split after each tree found (Lawler 1972): of the trees that
agree with it on the words before d, those with another (head, label) at word d, for
each d. The best tree of such a part comes from the decoder itself, with arcs before d
fixed and choices at d forbidden by editing scores. Exact for every exact decoder;
O(k·n) calls.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.structures.dependency._decoders import decode_tree
from partwise.structures.dependency._eisner import EMPTY, FIRST_WORD

NO_SOURCE, ONE = np.int64(-1), np.int64(1)  # see the note in `_eisner.py`


class KBestWork(NamedTuple):
    """Buffers for up to k trees. A candidate is the best tree of a part not yet taken.

    ``first`` is the word d of the part, ``source`` the found tree it was split from.
    """

    score: np.ndarray  # (N, N) edited copy
    heads: np.ndarray  # (k + 1, n) of candidates, the last row being scratch
    ranks: np.ndarray  # (k + 1, n)
    value: np.ndarray  # (k + 1,)
    first: np.ndarray  # (k + 1,)
    source: np.ndarray  # (k + 1,)
    found_first: np.ndarray  # (k,) the same of the trees already found
    found_source: np.ndarray  # (k,)
    level: np.ndarray  # (N,) how many labels of an arc are used up


def new_k_best_work(longest, k):
    """Buffers for the k best trees of sentences of at most `longest` words."""
    size = longest + 1
    heads, ranks = np.zeros((2, k + 1, longest), dtype=np.int32)
    first, source, found_first, found_source = np.empty((4, k + 1), dtype=np.int32)
    return KBestWork(
        score=np.empty((size, size)),
        heads=heads,
        ranks=ranks,
        value=np.empty(k + 1),
        first=first,
        source=source,
        found_first=found_first,
        found_source=found_source,
        level=np.empty(size, dtype=np.int32),
    )


@kernel
def k_best_trees(decoder, options, n, k, work, heads, ranks, values):
    """The k trees of highest score, best first; returns how many there are.

    Parameters
    ----------
    options : (K, N, N)
        options[r, h, d] is the score of the arc h → d with its label of rank r,
        falling in r; −inf where there is none. K = 1 for trees without labels; K = k
        is always enough.
    heads, ranks : (k, n)
        Written: head of each word, and the rank of the label of its arc.
    values : (k,)
        Written: scores, falling. Second-order scores of the decoder are included.
    """
    if k == 0:
        return 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            work.score[h, d] = options[0, h, d]
    n_candidates = keep(decoder, n, FIRST_WORD, NO_SOURCE, ONE, EMPTY, work)
    for n_trees in range(k):
        if n_candidates == 0:
            return n_trees
        best = 0
        for c in range(1, n_candidates):
            if work.value[c] > work.value[best]:
                best = c
        for d in range(n):
            heads[n_trees, d] = work.heads[best, d]
            ranks[n_trees, d] = work.ranks[best, d]
        values[n_trees] = work.value[best]
        work.found_first[n_trees] = work.first[best]
        work.found_source[n_trees] = work.source[best]
        n_candidates -= 1
        move(n, n_candidates, best, work)
        room = k - n_trees - 1
        if room > 0:
            n_candidates = split(
                decoder, options, n, n_trees, room, n_candidates, work, heads, ranks
            )
    return k


@kernel
def split(decoder, options, n, n_trees, room, n_candidates, work, heads, ranks):
    """Split the part of a found tree; returns the new number of candidates."""
    score, level = work.score, work.level
    for h in range(n + 1):
        for d in range(1, n + 1):
            score[h, d] = options[0, h, d]
    scratch = work.heads.shape[0] - 1
    for d in range(1, n + 1):
        chosen, rank = heads[n_trees, d - 1], ranks[n_trees, d - 1]
        if d >= work.found_first[n_trees]:
            for h in range(n + 1):
                level[h] = 0
            level[chosen] = rank + 1
            tree = n_trees
            while work.found_first[tree] == d and work.found_source[tree] >= 0:
                tree = work.found_source[tree]
                h = heads[tree, d - 1]
                level[h] = max(level[h], ranks[tree, d - 1] + 1)
            for h in range(n + 1):
                is_left = level[h] < options.shape[0]
                score[h, d] = options[level[h], h, d] if is_left else -np.inf
            for t in range(d - 1):
                work.ranks[scratch, t] = ranks[n_trees, t]
            n_candidates = keep(decoder, n, d, n_trees, room, n_candidates, work)
        for h in range(n + 1):
            score[h, d] = -np.inf
        score[chosen, d] = options[rank, chosen, d]
    return n_candidates


@kernel
def keep(decoder, n, d, source, room, n_candidates, work):
    """Decode a part and keep its tree if it is among the best `room` candidates."""
    scratch = work.heads.shape[0] - 1
    value = decode_tree(decoder, work.score, n, work.heads[scratch])
    if value == -np.inf:
        return n_candidates
    place = n_candidates
    if n_candidates >= room:
        place = 0
        for c in range(1, n_candidates):
            if work.value[c] <= work.value[place]:
                place = c
        if value <= work.value[place]:
            return n_candidates
    for t in range(d - 1, n):
        work.ranks[scratch, t] = 0
    if source != NO_SOURCE:
        work.ranks[scratch, d - 1] = work.level[work.heads[scratch, d - 1]]
    work.value[scratch] = value
    work.first[scratch], work.source[scratch] = d, source
    move(n, scratch, place, work)
    return max(n_candidates, place + 1)


@kernel
def move(n, c, place, work):
    """Copy candidate c to another place."""
    for t in range(n):
        work.heads[place, t] = work.heads[c, t]
        work.ranks[place, t] = work.ranks[c, t]
    work.value[place] = work.value[c]
    work.first[place], work.source[place] = work.first[c], work.source[c]
