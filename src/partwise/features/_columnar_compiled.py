"""Numba kernels of the columnar featurizer: open addressing over integer keys.

A table is an int32 array `slots`, a power of two long, of positions in an array of
keys; -1 is free. Positions are short and frequent keys stand first in the array of
keys, so that both stay in cache. Keys below 0 mean "no feature" and are passed over.
"""

from partwise.jit import njit


@njit(cache=True, nogil=True, inline="always")
def first_slot(key, mask):
    """Mix the key; all products stay below 2**63, with and without JIT."""
    mixed = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 0x9E3779B1
    return (mixed ^ (mixed >> 29)) & mask


@njit(cache=True, nogil=True)
def count_keys(keys, slots, distinct, counts):
    """Write the distinct keys and how often each occurs; return how many."""
    mask = len(slots) - 1
    n_distinct = 0
    for key in keys:
        if key < 0:
            continue
        slot = first_slot(key, mask)
        while slots[slot] >= 0 and distinct[slots[slot]] != key:
            slot = (slot + 1) & mask
        position = slots[slot]
        if position < 0:
            position = n_distinct
            slots[slot] = position
            distinct[position] = key
            counts[position] = 0
            n_distinct += 1
        counts[position] += 1
    return n_distinct


@njit(cache=True, nogil=True)
def fill_slots(positions, known, slots):
    """Enter the keys ``known[positions]``, which differ from each other."""
    mask = len(slots) - 1
    for position in positions:
        slot = first_slot(known[position], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = position


@njit(cache=True, nogil=True)
def look_up(keys, slots, known, column, out):
    """Write the position in `known` of each key to ``out[:, column]``, -1 for none.

    The matrix is passed whole: its only column would be contiguous, one of several is
    not, and each of the two would be compiled.
    """
    mask = len(slots) - 1
    for t in range(len(keys)):
        position = -1
        if keys[t] >= 0:
            slot = first_slot(keys[t], mask)
            while slots[slot] >= 0 and known[slots[slot]] != keys[t]:
                slot = (slot + 1) & mask
            position = slots[slot]
        out[t, column] = position
