"""Features of single arcs in plain Python: what kernels are compared with."""

from collections.abc import Iterator

import numpy as np

from partwise.features._arc_compiled import ArcFeatures


def variant_of(h: int, d: int) -> int:
    """Place in a row of weights: direction and distance 1, 2, 3, 4, 5, > 5, > 10.

    Examples
    --------
    >>> [variant_of(0, d) for d in (1, 5, 6, 10, 11)], variant_of(3, 2)
    ([1, 5, 6, 6, 7], 8)
    """
    distance = abs(h - d)
    step = distance if distance <= 5 else 6 if distance <= 10 else 7
    return step if d > h else step + 7


def row_of(x: ArcFeatures, key: int, is_label: bool = False) -> int:
    """Row of weights of a key; 0 for none."""
    if key < 0:
        return 0
    if x.is_hashed:
        word = int(x.slots[(key >> 5) % len(x.slots)])
        row = (key & (x.label_mask if is_label else x.mask)) + 1
        return row if word >> (key % 32) & 1 else 0
    places = np.flatnonzero(x.keys == key)
    if not len(places):
        return 0
    return int(places[0]) - (x.n_rows - 1 if is_label else 0)


def arc_rows(x: ArcFeatures, h: int, d: int) -> Iterator[tuple[int, int]]:
    """(row, variant) of the features of an arc in the only sentence of x.

    A feature of value k, the count of a tag between head and dependent, comes k times.
    """
    v = variant_of(h, d)
    ends = x.n_head + x.n_dep
    rows = [*x.single[h, : x.n_head], *x.single[d, x.n_head : ends]]
    p, b = x.n_pair, x.n_between
    one, other = x.shares[h], x.shares[d]
    rows += [row_of(x, int(one[t] + other[p + t])) for t in range(p)]
    low, high = min(h, d), max(h, d)
    for t in range(2 * p, 2 * p + b):
        kinds = [int(kind) for kind in x.shares[low + 1 : high, t + b]]
        if t < 2 * p + b - x.n_counted:
            kinds = list(set(kinds))
        both = int(one[t] + other[t + 2 * b])
        rows += [row_of(x, both + kind) for kind in kinds]
    return ((int(row), v) for row in rows if row > 0)


def label_rows(x: ArcFeatures, h: int, d: int) -> Iterator[int]:
    """Rows of the label features of an arc in the only sentence of x."""
    first = x.n_head + x.n_dep
    middle = first + x.n_label_head
    last = middle + x.n_label_dep
    rows = [*x.single[h, first:middle], *x.single[d, middle:last]]
    begin = 2 * x.n_pair + 3 * (x.n_between + x.n_sib + x.n_grand)
    n = x.n_label_pair
    for t in range(begin, begin + n):
        key = int(x.shares[h, t] + x.shares[d, n + t])
        rows.append(row_of(x, key, is_label=True))
    return (int(row) for row in rows if row > 0)
