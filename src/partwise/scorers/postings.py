"""The index of kernel models: keys with their postings, in numba.

A slot is a pair (key, anchor): the anchor has a part with that key. Anchors are inputs
of the kernel, whole sequences or single tokens; slots of one key lie side by side, in
the order of their anchors, and are the postings of an inverted index. A model begins
with one flat array of two halves,

    β[s], the coefficient of slot s = (κ, a), and
    v[s] = Σ_{s' = (κ, a')} β[s'] K[a', a], the score of a part with key κ in a:

the sufficient weights of the thesis, kept up to date (003 section 4.4.2; β(i, t, σ) of
002 eq. 10 when the key is a label). All parts of training data are then scored by
look-up, and a change of one coefficient runs along the postings of one key. Were the
second half not kept, every score would cost a product of a posting list with a column
of K; a sentence has some three hundred keys, and a step of a solver changes twenty.

The same arrays serve other uses, so that sweeps are compiled once:

========================= =============== ======================= ====================
use                       slots           anchors                 gram
========================= =============== ======================= ====================
training                  (key, a)        inputs                  K, (n, n)
without an input kernel   key             one for all             ones, (n, 1)
within one block          its keys, times the inputs of one block K of each with those
                          most inputs
coefficients only         as training     none is reached         (begin is all zero)
prediction                (key, a)        none is reached         β = 0, v is given
========================= =============== ======================= ====================
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted, kernel
from partwise.scorers._touch import ADD, DOT


class Postings(NamedTuple):
    """Slots by their keys; a Gram matrix in single precision takes half the memory."""

    key: np.ndarray  # (n_slots,) int32 number of the slot's key
    begin: np.ndarray  # (n_keys + 1,) int64 first slot of each key
    anchor: np.ndarray  # (n_slots,) int32 column of `gram`
    gram: np.ndarray  # (n_inputs, n_anchors) float32 or float64
    n_slots: int


@kernel
def add_coefficient(postings, w, row, s, coef):
    """Add `coef` to slot s of input `row`, and what follows to all slots of its key."""
    w[s] += coef
    key = postings.key[s]
    anchor, gram = postings.anchor, postings.gram
    begin, end = postings.begin[key], postings.begin[key + 1]
    n = end - begin
    scores = w[postings.n_slots + begin : postings.n_slots + end]
    if n == gram.shape[1]:  # every anchor has the key: no look-up, and it vectorises
        for p in range(n):
            scores[p] += coef * gram[row, p]
    else:
        for p in range(n):
            scores[p] += coef * gram[row, anchor[begin + p]]


@kernel
def wipe_coefficient(postings, w, s):
    """Set slot s to zero, and all scores that it may have changed."""
    w[s] = 0.0
    key = postings.key[s]
    for p in range(postings.begin[key], postings.begin[key + 1]):
        w[postings.n_slots + p] = 0.0


@kernel
def part_score(postings, w, slot, part):
    """Score of a part: that of its slots, one per hash function; −1 is none."""
    value = 0.0
    for h in range(slot.shape[1]):
        s = slot[part, h]
        if s >= 0:
            value += w[postings.n_slots + s]
    return value


@kernel
def add_part(postings, w, slot, part, row, coef):
    """Add coef·φ(part) to a model; the part belongs to input `row`."""
    for h in range(slot.shape[1]):
        s = slot[part, h]
        if s >= 0:
            add_coefficient(postings, w, row, s, coef)


@kernel
def wipe_part(postings, w, slot, part):
    """Set to zero what φ(part) touches."""
    for h in range(slot.shape[1]):
        s = slot[part, h]
        if s >= 0:
            wipe_coefficient(postings, w, s)


@kernel
def touch_part(postings, w, slot, part, row, mode, coef):
    """Score of a part (DOT), or `add_part`, or `wipe_part`."""
    if mode == DOT:
        return part_score(postings, w, slot, part)
    if mode == ADD:
        add_part(postings, w, slot, part, row, coef)
    else:
        wipe_part(postings, w, slot, part)
    return 0.0


@jitted
def number_slots(order, flat, unit, slot, key, anchor, begin):
    """Number the slots: entries of `flat` by rising key, within a key by anchor.

    `order` sorts `flat`, keeping the order of equal keys; unit[e] is the anchor of
    entry e, rising. Writes the slot of each entry, and the key and anchor of each slot;
    returns (n_slots, n_keys).
    """
    n_slots, n_keys = 0, 0
    last, last_anchor = -1, -1
    for k in range(order.shape[0]):
        e = order[k]
        if flat[e] < 0:
            slot[e] = -1
            continue
        here = unit[e]
        is_new = flat[e] != last
        if is_new:
            begin[n_keys] = n_slots
            n_keys += 1
            last = flat[e]
        if is_new or here != last_anchor:
            key[n_slots] = n_keys - 1
            anchor[n_slots] = here
            n_slots += 1
            last_anchor = here
        slot[e] = n_slots - 1
    begin[n_keys] = n_slots
    return n_slots, n_keys


@jitted
def number_keys(first, slot, key, place, n_places, seen_in, number, local):
    """Number the keys of each block 0, 1, …, and its slots key · n_places + place.

    place[p] is the input of its block that part p belongs to. `seen_in`
    (n_keys,) begins as −1; `number` (n_keys,) is room. Returns the largest number of
    keys of a block.
    """
    largest = 0
    for i in range(first.shape[0] - 1):
        count = 0
        for part in range(first[i], first[i + 1]):
            for h in range(slot.shape[1]):
                s = slot[part, h]
                if s < 0:
                    local[part, h] = -1
                    continue
                k = key[s]
                if seen_in[k] != i:
                    seen_in[k] = i
                    number[k] = count
                    count += 1
                local[part, h] = number[k] * n_places + place[part]
        largest = max(largest, count)
    return largest


@jitted
def complete_keys(begin, anchor, gram, w, n_slots, first, last):
    """Scores of the slots of keys [first, last) from their coefficients.

    Algorithm 7 of the thesis for all parts at once: each key on its own, only slots
    that carry a coefficient, each with one row of K.
    """
    for key in range(first, last):
        scores = w[n_slots + begin[key] : n_slots + begin[key + 1]]
        here = anchor[begin[key] : begin[key + 1]]
        n = scores.shape[0]
        for p in range(n):
            scores[p] = 0.0
        for s in range(begin[key], begin[key + 1]):
            coef = w[s]
            if coef == 0.0:
                continue
            row = anchor[s]
            if n == gram.shape[1]:
                for p in range(n):
                    scores[p] += coef * gram[row, p]
            else:
                for p in range(n):
                    scores[p] += coef * gram[row, here[p]]


@jitted
def find_key(known, key):
    """Place of a key among rising ones; −1 for none."""
    low, high = 0, known.shape[0]
    while low < high:
        middle = (low + high) // 2
        if known[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < known.shape[0] and known[low] == key else -1


@jitted
def weigh_keys(keys, known, begin, anchor, beta, row, column, gram, first, last, out):
    """Sufficient weights of new inputs: out[k] = Σ_s β[s] K[row[k], anchor[s]].

    keys[first:last] are looked up in `known`, rising; slots s run over the key's
    postings, whose anchors are the columns ``column[anchor[s]]`` of `gram`.
    """
    key, at = -1, -1
    for k in range(first, last):
        out[k] = 0.0
        if keys[k] != key:
            key = keys[k]
            at = find_key(known, key)
        if at >= 0:
            total = 0.0
            r = row[k]
            for s in range(begin[at], begin[at + 1]):
                total += beta[s] * gram[r, column[anchor[s]]]
            out[k] = total


@jitted
def mark_anchors(keys, known, begin, anchor, is_needed):
    """Set ``is_needed`` for the anchors in the postings of any of the keys."""
    key = -1
    for k in range(keys.shape[0]):
        if keys[k] == key:
            continue
        key = keys[k]
        at = find_key(known, key)
        if at >= 0:
            for s in range(begin[at], begin[at + 1]):
                is_needed[anchor[s]] = 1
