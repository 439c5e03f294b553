"""Numba kernels of arc features: keys, their rows of weights, variants.

A feature of an arc is known by a key, the sum of one share per token that it looks at.
Shares are numbers per token and template, so a key costs one or two additions. Keys
below zero mean "no feature". A key leads to a row of weights by an exact table (open
addressing) or by its low bits; row 0 belongs to no feature and stays zero.

Two of three features of candidate arcs were on no true arc, and finding that out must
be cheap: hashed features have a bit each in a table that fits into the cache, so that
what was never seen costs no access to the weights.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.features._columnar_compiled import first_slot
from partwise.jit import njit

# Called once per arc and template from kernels that do not count references.
UNCOUNTED: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

MISSING = -(1 << 61)  # three shares below 2**60 cannot lift it above zero
N_VARIANTS = 16  # a row: plain, 7 distances to the right, 7 to the left, 1 to align


class ArcFeatures(NamedTuple):
    """Tokens of sentences, each with its root first, as kernels want them.

    Few arrays, because numba's compile time grows with the fields of a tag. `single`
    has the rows of features of single tokens, `shares` the shares of the others, both
    by columns: those of arcs, then those of labels. A group of k templates over tokens
    of several roles has k columns per role, role after role.
    """

    offset: np.ndarray  # (n_sentences + 1,) int64 positions, roots included
    single: np.ndarray  # (n_positions, ·) int32: head, dep, label head, label dep
    shares: np.ndarray  # (n_positions, ·) int64: pair, between, sib, grand, label pair
    slots: np.ndarray  # (power of two,) uint32 rows, 0 is free; hashed: bits of keys
    keys: np.ndarray  # (n_rows,) int64 key of each row
    mask: int
    label_mask: int
    is_hashed: int
    n_rows: int  # of arcs, row 0 included
    n_label_rows: int  # row 0 included; 0 without labels
    n_head: int  # templates by group
    n_dep: int
    n_pair: int
    n_between: int
    n_sib: int
    n_grand: int
    n_label_head: int
    n_label_dep: int
    n_label_pair: int
    n_counted: int  # of n_between, the last ones: tokens between count one by one


@njit(**UNCOUNTED)
def variant(h, d):
    """Place in a row for direction and distance; 0 is the feature without them.

    Distances are 1, 2, 3, 4, 5, above 5 and above 10, to the right, then to the left.
    """
    distance = d - h if d > h else h - d
    step = distance if distance <= 5 else (6 if distance <= 10 else 7)
    return step if d > h else step + 7


@njit(**UNCOUNTED)
def find_row(features, key):
    """Row of the feature of an arc; 0 for none."""
    if key < 0:
        return 0
    if features.is_hashed:
        return ((key & features.mask) + 1) * is_seen(features.slots, key)
    return probe(features.slots, features.keys, key)


@njit(**UNCOUNTED)
def find_label_row(features, key):
    """Row of the feature of a label; 0 for none. Rows of labels are numbered apart."""
    if key < 0:
        return 0
    if features.is_hashed:
        return ((key & features.label_mask) + 1) * is_seen(features.slots, key)
    row = probe(features.slots, features.keys, key)
    return row - features.n_rows + 1 if row > 0 else 0


@njit(**UNCOUNTED)
def is_seen(slots, key):
    """1 if the bit of a key is set, else 0."""
    word = np.int64(slots[(key >> 5) & (slots.shape[0] - 1)])
    return (word >> (key & 31)) & 1


@njit(**UNCOUNTED)
def mark_seen(keys, slots):
    """Set the bits of keys; those below zero are passed over."""
    for k in range(keys.shape[0]):
        if keys[k] >= 0:
            place = (keys[k] >> 5) & (slots.shape[0] - 1)
            slots[place] = np.int64(slots[place]) | (1 << (keys[k] & 31))


@njit(**UNCOUNTED)
def probe(slots, keys, key):
    """Place of a key in `keys`; 0 for none."""
    mask = slots.shape[0] - 1
    slot = first_slot(key, mask)
    row = np.int64(slots[slot])
    while row > 0 and keys[row] != key:
        slot = (slot + 1) & mask
        row = np.int64(slots[slot])
    return row


@njit(**UNCOUNTED)
def fill_table(keys, slots):
    """Enter the keys of rows 1, 2, …; they differ from each other."""
    mask = slots.shape[0] - 1
    for row in range(1, keys.shape[0]):
        slot = first_slot(keys[row], mask)
        while slots[slot] > 0:
            slot = (slot + 1) & mask
        slots[slot] = row


@njit(**UNCOUNTED)
def find_rows(features, share, is_label, first, out):
    """Rows of features of single tokens into the columns of `out` from `first`."""
    for p in range(share.shape[0]):
        for t in range(share.shape[1]):
            if is_label:
                out[p, first + t] = find_label_row(features, share[p, t])
            else:
                out[p, first + t] = find_row(features, share[p, t])


@njit(**UNCOUNTED)
def between_keys(offset, heads, head, between, dep, out):
    """Keys of in-between features of given arcs into `out`; returns how many.

    heads (n_positions,) are positions, −1 at roots and where they are not known. An
    `out` that is too short is filled as far as it goes, and the number is still right.
    """
    count = 0
    for s in range(offset.shape[0] - 1):
        for d in range(offset[s] + 1, offset[s + 1]):
            h = heads[d]
            low, high = min(h, d), max(h, d) if h >= 0 else 0
            for t in range(between.shape[1]):
                for b in range(low + 1, high):
                    is_new = True
                    for a in range(low + 1, b):
                        if between[a, t] == between[b, t]:
                            is_new = False
                            break
                    if is_new:
                        if count < out.shape[0]:
                            out[count] = head[h, t] + between[b, t] + dep[d, t]
                        count += 1
    return count
