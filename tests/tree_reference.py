"""Parts of dependency trees in plain Python: what programs are compared with."""

from collections.abc import Iterator

import numpy as np

from partwise.features._arc_compiled import ArcFeatures
from partwise.features.arc_reference import row_of, variant_of

Heads = tuple[int, ...]


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


def sibling_rows(x: ArcFeatures, h: int, d: int, s: int) -> Iterator[tuple[int, int]]:
    """(row, variant) of an arc with its next sibling towards the head; s = h: none."""
    first = 2 * x.n_pair + 3 * x.n_between
    places = (h, 0 if s == h else s, d)
    return _third_rows(x, first, x.n_sib, places, variant_of(s, d))


def grandparent_rows(
    x: ArcFeatures, h: int, d: int, g: int
) -> Iterator[tuple[int, int]]:
    """(row, variant) of an arc with the head of its head."""
    first = 2 * x.n_pair + 3 * (x.n_between + x.n_sib)
    return _third_rows(x, first, x.n_grand, (g, h, d), 1 + 2 * (h > g) + (d > h))


def _third_rows(
    x: ArcFeatures, first: int, n: int, places: tuple[int, int, int], v: int
) -> Iterator[tuple[int, int]]:
    for t in range(first, first + n):
        key = sum(int(x.shares[p, t + k * n]) for k, p in enumerate(places))
        row = row_of(x, key)
        if row > 0:
            yield row, v
