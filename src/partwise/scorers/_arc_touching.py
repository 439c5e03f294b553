"""Single arcs: sum the weights of their features, add to them, or erase them."""

import numpy as np

from partwise.compiled import kernel, operation
from partwise.features._arc_compiled import (
    N_VARIANTS,
    find_label_row,
    find_row,
    variant,
)
from partwise.scorers._arc_scoring import label_columns
from partwise.scorers._touch import ADD, DOT, WIPE, touch

ARC, SIBLING, GRANDPARENT = np.int64(-1), np.int64(-2), np.int64(-3)  # not labels
NO_THIRD = np.int64(0)  # in the place of a third token


@operation
def touch_rows(rows, w, i, h, d, part, other, mode, coef):
    """`touch` all weights of a part: an arc, its label, or a part of second order."""


class ArcOperations:
    """The operations of `partwise.scorers.arcs` on single parts, by `touch_rows`."""

    width: int  # of rows of labels; 0 without labels

    def dot_arc(rows, w, i, h, d):
        return touch_rows(rows, w, i, h, d, ARC, NO_THIRD, DOT, 0.0)

    def add_arc(rows, w, i, h, d, coef):
        touch_rows(rows, w, i, h, d, ARC, NO_THIRD, ADD, coef)

    def wipe_arc(rows, w, i, h, d):
        touch_rows(rows, w, i, h, d, ARC, NO_THIRD, WIPE, 0.0)

    def dot_label(rows, w, i, h, d, label):
        if rows.width == 0:
            return 0.0
        return touch_rows(rows, w, i, h, d, label, NO_THIRD, DOT, 0.0)

    def add_label(rows, w, i, h, d, label, coef):
        if rows.width > 0:
            touch_rows(rows, w, i, h, d, label, NO_THIRD, ADD, coef)

    def wipe_label(rows, w, i, h, d, label):
        if rows.width > 0:
            touch_rows(rows, w, i, h, d, label, NO_THIRD, WIPE, 0.0)


def with_arcs(tag):
    """Give a class of tags the methods of `ArcOperations`.

    A NamedTuple cannot have another base.
    """
    for name, method in vars(ArcOperations).items():
        if not name.startswith("_"):
            setattr(tag, name, method)
    return tag


@kernel
def is_first_of_kind(shares, begin, low, b, column):
    """Whether no token between `low` and b has the same share as b."""
    for a in range(low + 1, b):
        if shares[begin + a, column] == shares[begin + b, column]:
            return False
    return True


@kernel
def touch_row(w, row, v, mode, coef):
    """`touch` the weights of a feature without and with its variant."""
    if row == 0:
        return 0.0
    total = touch(w, row * N_VARIANTS, mode, coef)
    return total + touch(w, row * N_VARIANTS + v, mode, coef)


@kernel
def touch_arc(features, w, i, h, d, mode, coef):
    """Sum the weights of an arc's features, add to them, or erase them.

    One text for the three, so that they cannot disagree about what an arc has.
    """
    begin = features.offset[i]
    single, shares = features.single, features.shares
    n_pair = features.n_pair
    v = variant(h, d)
    total = 0.0
    for t in range(features.n_head):
        total += touch_row(w, single[begin + h, t], v, mode, coef)
    for t in range(features.n_head, features.n_head + features.n_dep):
        total += touch_row(w, single[begin + d, t], v, mode, coef)
    for t in range(n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        total += touch_row(w, find_row(features, key), v, mode, coef)
    return total + touch_between(features, w, begin, h, d, mode, coef)


@kernel
def touch_between(features, w, begin, h, d, mode, coef):
    """`touch_arc` for the features of what lies between, each kind once or counted."""
    shares, n_pair, n_between = features.shares, features.n_pair, features.n_between
    v = variant(h, d)
    low, high = min(h, d), max(h, d)
    total = 0.0
    first_counted = 2 * n_pair + n_between - features.n_counted
    for t in range(2 * n_pair, 2 * n_pair + n_between):
        middle = t + n_between
        both = shares[begin + h, t] + shares[begin + d, middle + n_between]
        for b in range(low + 1, high):
            if t >= first_counted or is_first_of_kind(shares, begin, low, b, middle):
                row = find_row(features, both + shares[begin + b, middle])
                total += touch_row(w, row, v, mode, coef)
    return total


@kernel
def touch_label(features, width, w, i, h, d, label, mode, coef):
    """`touch_arc` for the features of a label."""
    single, shares, n_pair = (
        features.single,
        features.shares,
        features.n_label_pair,
    )
    begin = features.offset[i]
    first, pairs = label_columns(features)
    start = features.n_rows * N_VARIANTS + label + (0 if d > h else width)
    step = 2 * width
    total = 0.0
    for t in range(first, first + features.n_label_head):
        row = single[begin + h, t]
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    first += features.n_label_head
    for t in range(first, first + features.n_label_dep):
        row = single[begin + d, t]
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    for t in range(pairs, pairs + n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        row = find_label_row(features, key)
        if row > 0:
            total += touch(w, start + row * step, mode, coef)
    return total


@kernel
def touch_third(features, w, begin, h, d, part, other, mode, coef):
    """`touch_arc` for an arc with its next sibling towards the head, or grandparent."""
    first, n, one, two = third_columns(features, h, part, other)
    v = third_variant(h, d, part, other)
    total = 0.0
    for t in range(first, first + n):
        row = find_third(features, begin, t, n, one, two, d)
        total += touch_row(w, row, v, mode, coef)
    return total


@kernel
def third_variant(h, d, part, other):
    """Place in a row of weights of an arc with a sibling or grandparent."""
    if part == SIBLING:
        return variant(other, d)
    return 1 + (2 if h > other else 0) + (1 if d > h else 0)


@kernel
def third_columns(features, h, part, other):
    """Columns of a part's first token, how many, and its first and second token.

    The sibling of the innermost dependent is the head itself; its place is taken by
    the root, which is never a sibling.
    """
    first = 2 * features.n_pair + 3 * features.n_between
    if part == SIBLING:
        return first, features.n_sib, h, (np.int64(0) if other == h else other)
    return first + 3 * features.n_sib, features.n_grand, other, h


@kernel
def find_third(features, begin, t, n, one, two, d):
    """Row of the feature of three tokens in the n columns of each that t is among."""
    shares = features.shares
    key = shares[begin + one, t] + shares[begin + two, n + t]
    return find_row(features, key + shares[begin + d, 2 * n + t])
