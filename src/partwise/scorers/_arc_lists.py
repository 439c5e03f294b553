"""Rows of weights of every arc, listed once when a problem is packed.

Making the keys of an arc takes several times as long as summing its weights, and a
treebank is scored ten times and more while a model is trained. An arc has a list of
numbers: rows of its features of several tokens, then those of its labels. Features that
count have their row as often as they occur. Where words have candidate heads, the arcs
from other heads have empty lists, and every sibling and grandparent that candidate arcs
may have (`_arc_candidates.py`) has a list too.

Rows are numbered anew, frequent ones first and then by first appearance. A quarter of
2**20 hashed rows is in use for 2,000 sentences, so that models shrink, and what one
sentence needs lies together.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.features._arc_compiled import ArcFeatures, find_label_row, find_row
from partwise.scorers._arc_scoring import label_columns
from partwise.scorers._arc_touching import (
    GRANDPARENT,
    SIBLING,
    find_third,
    is_first_of_kind,
    third_columns,
)

ENTRY = 4  # bytes of a number in a list
MOST_ENTRIES = (1 << 31) - 1


class ArcLists(NamedTuple):
    """Lists of all arcs; the arc h → d of a sentence of n words is (d − 1)·(n + 1) + h.

    The rows of arc a are ``row[ptr[2a]:ptr[2a + 1]]``, those of its labels
    ``row[ptr[2a + 1]:ptr[2a + 2]]``.
    """

    first: np.ndarray  # (n_sentences + 1,) int64, the first arc of each sentence
    ptr: np.ndarray  # (2·n_arcs + 1,) int32
    row: np.ndarray  # (n_entries,) int32
    single: np.ndarray  # as in `ArcFeatures`, with the new numbers
    used: np.ndarray  # (n_rows,) int64, the old number of each row; 0 stays 0
    label_used: np.ndarray  # (n_label_rows,) int64; empty without labels
    frequency: np.ndarray  # (n_rows,) int32, how often each row of an arc occurs
    thirds: "ThirdLists"


class ThirdLists(NamedTuple):
    """Lists of the third tokens of arcs, which are siblings or grandparents.

    Those of arc a are ``range(first[a], first[a + 1])``; the rows of third k are
    ``row[ptr[k]:ptr[k + 1]]`` of `ArcLists`. Empty without candidate heads.
    """

    first: np.ndarray  # (n_arcs + 1,) int32
    other: np.ndarray  # (n_thirds,) int32: see `third_code`
    ptr: np.ndarray  # (n_thirds + 1,) int32


@kernel
def third_code(part, other):
    """One number for a sibling and for a grandparent: s, or −1 − g."""
    return other if part == SIBLING else -1 - other


def list_arcs(features: ArcFeatures, memory: float, heads=None) -> ArcLists | None:
    """Lists of all arcs, or None where they take more than `memory` bytes.

    With candidate `heads`, (n_words, K) and −1 for none, of the arcs from these alone
    and of their third tokens.
    """
    n_words = np.diff(features.offset) - 1
    first = np.append(0, np.cumsum(n_words * (n_words + 1))).astype(np.int64)
    n_arcs = int(first[-1])
    none = np.zeros(0, np.int32)
    thirds = ThirdLists(none, none, none)
    if heads is None:
        heads = none.reshape(0, 0)
    else:
        thirds = list_thirds(features.offset, first, heads)
    memory -= 8 * n_arcs + sum(part.nbytes for part in thirds)
    room = int(min(memory // ENTRY, MOST_ENTRIES))
    if room <= 0:
        return None
    distance = (n_words + 1) * n_words * (n_words - 1) // 3  # of all arcs, less 1 each
    most = n_arcs * (features.n_pair + features.n_label_pair)
    most += int(distance.sum()) * features.n_between
    most += len(thirds.other) * max(features.n_sib, features.n_grand)
    ptr = np.zeros(2 * n_arcs + 1, np.int32)
    # Memory that is not touched costs none, and `resize` gives it back. Counting first
    # would make all keys twice.
    longest = int(n_words.max(initial=0)) * features.n_between  # asked for in advance
    row = np.empty(min(room, most + longest), np.int32)
    n_entries = fill_lists(features, first, heads, ptr, row)
    if n_entries >= 0 and len(thirds.other):
        n_entries = fill_thirds(features, first, thirds, row, n_entries)
    if n_entries < 0:
        return None
    row.resize(n_entries, refcheck=False)
    # rows of labels are numbered behind those of arcs, so that one pass does both
    n_rows, singles = features.n_rows, features.n_head + features.n_dep
    single = features.single.copy()
    single[:, singles:] += np.where(single[:, singles:] > 0, n_rows, 0).astype(np.int32)
    size = n_rows + features.n_label_rows
    count, order = np.zeros(size, np.int32), np.empty(size, np.int32)
    order = order[: count_rows(single, row, count, order)].astype(np.int64)
    # frequent rows first, in steps of a factor of two, then by first appearance
    step = np.frexp(count[order].astype(np.float64))[1]
    is_label = order >= n_rows
    order = order[np.lexsort((-step, is_label))]
    n_used = int(np.sum(~is_label))
    used = np.append(0, order[:n_used])
    label_used = np.append(0, order[n_used:] - n_rows)
    new = np.zeros(size, np.int32)
    new[used] = np.arange(len(used))
    new[order[n_used:]] = np.arange(1, len(label_used))
    rename_rows(single, row, new)
    if features.n_label_rows == 0:
        label_used = label_used[:0]
    return ArcLists(first, ptr, row, single, used, label_used, count[used], thirds)


def list_thirds(offset, first, heads):
    """The third tokens of all candidate arcs, without rows."""
    begun = np.zeros(first[-1] + 1, np.int32)
    n_thirds = name_thirds(offset, first, heads, begun, begun[:0])
    other = np.empty(n_thirds, np.int32)
    name_thirds(offset, first, heads, begun, other)
    return ThirdLists(begun, other, np.zeros(n_thirds + 1, np.int32))


@kernel
def name_thirds(offset, first, heads, begun, other):
    """Count the third tokens of all arcs, and write them where `other` has room."""
    k = np.int64(0)
    for i in range(offset.shape[0] - 1):
        word = offset[i] - i
        n = offset[i + 1] - offset[i] - 1
        a = first[i]
        for d in range(1, n + 1):
            for h in range(n + 1):
                if is_candidate(heads, word, h, d):
                    k = add_third(other, k, third_code(SIBLING, h))
                    for s in range(min(h, d) + 1, max(h, d)):
                        if is_candidate(heads, word, h, s):
                            k = add_third(other, k, third_code(SIBLING, s))
                    for c in range(heads.shape[1] if h > 0 else 0):
                        g = np.int64(heads[word + h - 1, c])
                        if g >= 0 and g != d:
                            k = add_third(other, k, third_code(GRANDPARENT, g))
                a += 1
                begun[a] = k
    return k


@kernel
def add_third(other, k, code):
    """Write a third token where there is room; returns how many there are."""
    if k < other.shape[0]:
        other[k] = code
    return k + 1


@kernel
def is_candidate(heads, word, h, d):
    """Whether the arc h → d of a sentence has lists; all have without candidates."""
    if heads.shape[0] == 0:
        return h != d
    for c in range(heads.shape[1]):
        if heads[word + d - 1, c] == h:
            return True
    return False


@kernel
def fill_lists(features, first, heads, ptr, row):
    """Write the rows of all arcs; returns how many, or −1 where they have no room."""
    n = np.int64(0)
    for i in range(features.offset.shape[0] - 1):
        begin = features.offset[i]
        n_words = features.offset[i + 1] - begin - 1
        a = first[i]
        most = features.n_pair + features.n_label_pair + n_words * features.n_between
        for d in range(1, n_words + 1):
            for h in range(n_words + 1):
                if n + most > row.shape[0]:
                    return np.int64(-1)
                is_listed = is_candidate(heads, begin - i, h, d)
                if is_listed:
                    n = list_pairs(features, begin, h, d, row, n)
                    n = list_between(features, begin, h, d, row, n)
                ptr[2 * a + 1] = n
                if is_listed:
                    n = list_labels(features, begin, h, d, row, n)
                a += 1
                ptr[2 * a] = n
    return n


@kernel
def fill_thirds(features, first, thirds, row, n):
    """`fill_lists` for third tokens, after the n rows of arcs."""
    ptr = thirds.ptr
    ptr[0] = n
    most = max(features.n_sib, features.n_grand)
    for i in range(features.offset.shape[0] - 1):
        begin = features.offset[i]
        n_words = features.offset[i + 1] - begin - 1
        for a in range(first[i], first[i + 1]):
            h, d = (a - first[i]) % (n_words + 1), (a - first[i]) // (n_words + 1) + 1
            for k in range(thirds.first[a], thirds.first[a + 1]):
                if n + most > row.shape[0]:
                    return np.int64(-1)
                code = np.int64(thirds.other[k])
                part, other = (SIBLING, code) if code >= 0 else (GRANDPARENT, -1 - code)
                column, n_columns, one, two = third_columns(features, h, part, other)
                for t in range(column, column + n_columns):
                    row[n] = find_third(features, begin, t, n_columns, one, two, d)
                    n += row[n] > 0
                ptr[k + 1] = n
    return n


@kernel
def list_pairs(features, begin, h, d, row, n):
    """Append the rows of features of head and dependent; returns the new length."""
    shares, n_pair = features.shares, features.n_pair
    for t in range(n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        row[n] = find_row(features, key)
        n += row[n] > 0
    return n


@kernel
def list_between(features, begin, h, d, row, n):
    """`list_pairs` for features of what lies between, each kind once or counted."""
    shares, n_pair, n_between = features.shares, features.n_pair, features.n_between
    low, high = min(h, d), max(h, d)
    first_counted = 2 * n_pair + n_between - features.n_counted
    for t in range(2 * n_pair, 2 * n_pair + n_between):
        middle = t + n_between
        both = shares[begin + h, t] + shares[begin + d, middle + n_between]
        for b in range(low + 1, high):
            if t >= first_counted or is_first_of_kind(shares, begin, low, b, middle):
                row[n] = find_row(features, both + shares[begin + b, middle])
                n += row[n] > 0
    return n


@kernel
def list_labels(features, begin, h, d, row, n):
    """`list_pairs` for features of labels, whose rows come after those of arcs."""
    shares, n_pair = features.shares, features.n_label_pair
    _, pairs = label_columns(features)
    for t in range(pairs, pairs + n_pair):
        key = shares[begin + h, t] + shares[begin + d, n_pair + t]
        r = find_label_row(features, key)
        row[n] = features.n_rows + r
        n += r > 0
    return n


@kernel
def count_rows(single, row, count, order):
    """Count each row, and list them in `order` of first appearance; how many."""
    n = 0
    for p in range(single.shape[0]):
        for t in range(single.shape[1]):
            r = single[p, t]
            if r > 0:
                if count[r] == 0:
                    order[n] = r
                    n += 1
                count[r] += 1
    for k in range(row.shape[0]):
        r = row[k]
        if count[r] == 0:
            order[n] = r
            n += 1
        count[r] += 1
    return n


@kernel
def rename_rows(single, row, new):
    """Put new numbers in the place of old ones."""
    for p in range(single.shape[0]):
        for t in range(single.shape[1]):
            single[p, t] = new[single[p, t]]
    for k in range(row.shape[0]):
        row[k] = new[row[k]]
