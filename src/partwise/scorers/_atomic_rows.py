"""Arcs scored through keys and a kernel, as a numba tag, and its index.

A slot is a pair (key, anchor): an arc with that key is a candidate in the anchor's
sentence. Slots of one key lie side by side, in the order of their anchors; they are the
postings of an inverted index. A model is one flat array of two halves,

    β[s], the coefficient of slot s = (κ, a), and
    v[s] = Σ_{s' = (κ, a')} β[s'] K[a', a], the score of an arc with key κ in a:

the sufficient weights, kept up to date. A sentence is then scored by look-up, and a
change of one coefficient runs along the postings of one key. Were the second half not
kept, every score would cost a product of a posting list with a column of K; a sentence
has some three hundred candidate keys, and a step of a solver changes about twenty.

The same tag serves other uses with other arrays, so that sweeps are compiled once:

========================= ============= ==================== ========================
use                       slots         anchors              gram
========================= ============= ==================== ========================
training                  (key, i)      sentences            K, (n, n)
without an input kernel   key           one for all          ones, (n, 1)
within one sentence       its own keys  one                  K[i, i], (n, 1)
coefficients only         as training   none is reached      (begin is all zero)
prediction                (key, j)      none is reached      β = 0, v is given
========================= ============= ==================== ========================
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from partwise.compiled import kernel


class AtomicRows(NamedTuple):
    """Arcs by their slots; K is single precision, which halves its memory."""

    offset: np.ndarray  # (n_sentences + 1,) int64 words
    first: np.ndarray  # (n_sentences + 1,) int64 rows of `slot`, see `ArcKeys`
    slot: np.ndarray  # (n_rows, n_hashes) int32; −1 for no key
    key: np.ndarray  # (n_slots,) int32 number of the slot's key
    begin: np.ndarray  # (n_keys + 1,) int64 first slot of each key
    anchor: np.ndarray  # (n_slots,) int32 column of `gram`
    gram: np.ndarray  # (n_sentences, n_anchors) float32
    n_slots: int
    width: int  # no labels: 0

    def score_arcs(rows, w, i, scores):
        n = rows.offset[i + 1] - rows.offset[i]
        arc, total = scores.arc, scores.total
        slot, n_slots = rows.slot, rows.n_slots
        r = rows.first[i]
        for h in range(n + 1):
            for d in range(1, n + 1):
                value = 0.0
                for t in range(slot.shape[1]):
                    s = slot[r, t]
                    if s >= 0:
                        value += w[n_slots + s]
                arc[h, d] = value
                total[h, d] = value
                r += 1

    def dot_arc(rows, w, i, h, d):
        r = arc_row(rows, i, h, d)
        value = 0.0
        for t in range(rows.slot.shape[1]):
            s = rows.slot[r, t]
            if s >= 0:
                value += w[rows.n_slots + s]
        return value

    def add_arc(rows, w, i, h, d, coef):
        r = arc_row(rows, i, h, d)
        for t in range(rows.slot.shape[1]):
            s = rows.slot[r, t]
            if s >= 0:
                w[s] += coef
                run_along(rows, w, i, s, coef)

    def wipe_arc(rows, w, i, h, d):
        r = arc_row(rows, i, h, d)
        for t in range(rows.slot.shape[1]):
            s = rows.slot[r, t]
            if s >= 0:
                w[s] = 0.0
                key = rows.key[s]
                for p in range(rows.begin[key], rows.begin[key + 1]):
                    w[rows.n_slots + p] = 0.0

    def dot_label(rows, w, i, h, d, label):
        return 0.0

    def add_label(rows, w, i, h, d, label, coef):
        pass

    def wipe_label(rows, w, i, h, d, label):
        pass


@kernel
def arc_row(rows, i, h, d):
    """Row of `slot` of one arc."""
    return rows.first[i] + h * (rows.offset[i + 1] - rows.offset[i]) + d - 1


@kernel
def run_along(rows, w, i, s, coef):
    """Add coef·K[i, anchor] to the scores of all slots of the key of slot s."""
    key = rows.key[s]
    anchor, gram, n_slots = rows.anchor, rows.gram, rows.n_slots
    for p in range(rows.begin[key], rows.begin[key + 1]):
        w[n_slots + p] += coef * gram[i, anchor[p]]


@njit(cache=True, nogil=True)
def number_slots(order, flat, sentence, by_sentence, slot, key, anchor, begin):
    """Number the slots: rows of `flat` by rising key, within a key by sentence.

    `order` sorts `flat`, keeping the order of equal keys. Writes the slot of each row,
    and the key and anchor of each slot; returns (n_slots, n_keys). With `by_sentence`
    zero all sentences share anchor 0.
    """
    n_slots, n_keys = 0, 0
    last, last_anchor = -1, -1
    for k in range(order.shape[0]):
        r = order[k]
        if flat[r] < 0:
            slot[r] = -1
            continue
        here = sentence[r] if by_sentence else 0
        is_new = flat[r] != last
        if is_new:
            begin[n_keys] = n_slots
            n_keys += 1
            last = flat[r]
        if is_new or here != last_anchor:
            key[n_slots] = n_keys - 1
            anchor[n_slots] = here
            n_slots += 1
            last_anchor = here
        slot[r] = n_slots - 1
    begin[n_keys] = n_slots
    return n_slots, n_keys


@njit(cache=True, nogil=True)
def number_locally(first, slot, seen_in, number, local):
    """Number the slots of each sentence 0, 1, …; returns the largest count.

    `seen_in` (n_slots,) begins as −1; `number` (n_slots,) is room.
    """
    largest = 0
    for i in range(first.shape[0] - 1):
        count = 0
        for r in range(first[i], first[i + 1]):
            for t in range(slot.shape[1]):
                s = slot[r, t]
                if s < 0:
                    local[r, t] = -1
                    continue
                if seen_in[s] != i:
                    seen_in[s] = i
                    number[s] = count
                    count += 1
                local[r, t] = number[s]
        largest = max(largest, count)
    return largest


@njit(cache=True, nogil=True)
def complete_keys(begin, anchor, gram, w, n_slots, first, last):
    """Scores of the slots of keys [first, last) from their coefficients.

    Algorithm 7 of the thesis for all candidate arcs at once: each key on its own, only
    slots that carry a coefficient, each with one row of K.
    """
    for key in range(first, last):
        for p in range(begin[key], begin[key + 1]):
            w[n_slots + p] = 0.0
        for s in range(begin[key], begin[key + 1]):
            coef = w[s]
            if coef != 0.0:
                row = anchor[s]
                for p in range(begin[key], begin[key + 1]):
                    w[n_slots + p] += coef * gram[row, anchor[p]]


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def weigh_keys(keys, known, begin, anchor, beta, row, column, gram, out):
    """Sufficient weights of new sentences: out[k] = Σ_s β[s] K[row[k], anchor[s]].

    keys (m,) are looked up in `known`, rising; slots s run over the key's postings,
    whose anchors are the columns ``column[anchor[s]]`` of `gram`.
    """
    for k in range(keys.shape[0]):
        out[k] = 0.0
        at = find_key(known, keys[k])
        if at >= 0:
            total = 0.0
            for s in range(begin[at], begin[at + 1]):
                total += beta[s] * gram[row[k], column[anchor[s]]]
            out[k] = total


@njit(cache=True, nogil=True)
def mark_anchors(keys, known, begin, anchor, is_needed):
    """Set ``is_needed`` for the anchors in the postings of any of the keys."""
    for k in range(keys.shape[0]):
        at = find_key(known, keys[k])
        if at >= 0:
            for s in range(begin[at], begin[at + 1]):
                is_needed[anchor[s]] = 1
