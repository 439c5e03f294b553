"""Dependency trees by enumeration: what every program on trees is compared with."""

import itertools
from collections.abc import Iterator

from partwise.readers.trees import is_projective

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
