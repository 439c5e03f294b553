"""Dependency trees by enumeration: what every program on trees is compared with.

Plain Python, in the order of the definitions; n ≤ 6 or so.
"""

import itertools
from collections.abc import Iterator

import numpy as np

Heads = tuple[int, ...]


def reaches_root(heads: Heads) -> bool:
    """Whether every word has the root above it.

    Examples
    --------
    >>> reaches_root((2, 0)), reaches_root((2, 1))
    (True, False)
    """
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word else 0
        if word:
            return False
    return True


def is_projective(heads: Heads) -> bool:
    """Whether no two arcs cross, arcs from the root (left of all words) included.

    Examples
    --------
    >>> is_projective((2, 0, 2)), is_projective((3, 4, 0, 3))
    (True, False)
    """
    spans = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    return not any(
        i < k < j < end for i, j in spans for k, end in spans if (i, j) != (k, end)
    )


def all_trees(
    n: int, *, projective: bool = False, single_root: bool = False
) -> Iterator[Heads]:
    """All trees over n words, in the order of their heads.

    Examples
    --------
    >>> [sum(1 for _ in all_trees(n)) for n in (1, 2, 3, 4)]
    [1, 3, 16, 125]
    >>> [sum(1 for _ in all_trees(n, projective=True)) for n in (1, 2, 3, 4)]
    [1, 3, 12, 55]
    >>> list(all_trees(2, single_root=True))
    [(0, 1), (2, 0)]
    """
    for heads in itertools.product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        if reaches_root(heads) and (not projective or is_projective(heads)):
            yield heads


def first_order_score(score: np.ndarray, heads: Heads) -> float:
    """Sum of score[h, d] over the arcs of a tree."""
    return float(sum(score[h, d] for d, h in enumerate(heads, 1)))


def inner_sibling(heads: Heads, d: int) -> int:
    """Next child of d's head towards the head, on the same side; the head if none.

    Examples
    --------
    >>> [inner_sibling((3, 3, 0, 3, 3), d) for d in (1, 2, 4, 5)]
    [2, 3, 3, 4]
    """
    h = heads[d - 1]
    step = 1 if h > d else -1
    return next((s for s in range(d + step, h, step) if heads[s - 1] == h), h)


def second_order_score(
    score: np.ndarray,
    heads: Heads,
    sibling: np.ndarray | None = None,
    grandparent: np.ndarray | None = None,
) -> float:
    """Arcs, adjacent siblings and grandparents, from dense cubes.

    sibling[h, d, s] is that of the arc h → d with inner sibling s (h if none),
    grandparent[h, d, g] that of the arc h → d below g; arcs of the root have none.
    """
    total = first_order_score(score, heads)
    for d, h in enumerate(heads, 1):
        if sibling is not None:
            total += sibling[h, d, inner_sibling(heads, d)]
        if grandparent is not None and h > 0:
            total += grandparent[h, d, heads[h - 1]]
    return float(total)
