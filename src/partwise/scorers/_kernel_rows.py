"""Parts scored through the index, as numba tags: arcs, labels of tokens, phrases.

All look up the slots of a part in one table; how a model is kept stands in
`postings.py`.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.scorers.postings import (
    Postings,
    add_part,
    part_score,
    touch_part,
    wipe_part,
)


class ArcSlots(NamedTuple):
    """Arcs by their slots; whole sentences are inputs."""

    offset: np.ndarray  # (n_sentences + 1,) int64 words
    first: np.ndarray  # (n_sentences + 1,) int64 parts of each sentence, see `ArcKeys`
    slot: np.ndarray  # (n_parts, n_hashes) int32; −1 for no key
    postings: Postings
    width: int  # no labels: 0

    def score_arcs(rows, w, i, scores):
        n = rows.offset[i + 1] - rows.offset[i]
        arc, total = scores.arc, scores.total
        slot, n_slots = rows.slot, rows.postings.n_slots
        part = rows.first[i]
        for h in range(n + 1):
            for d in range(1, n + 1):
                value = 0.0
                for k in range(slot.shape[1]):
                    s = slot[part, k]
                    if s >= 0:
                        value += w[n_slots + s]
                arc[h, d] = value
                total[h, d] = value
                part += 1

    def dot_arc(rows, w, i, h, d):
        return part_score(rows.postings, w, rows.slot, arc_part(rows, i, h, d))

    def add_arc(rows, w, i, h, d, coef):
        add_part(rows.postings, w, rows.slot, arc_part(rows, i, h, d), i, coef)

    def wipe_arc(rows, w, i, h, d):
        wipe_part(rows.postings, w, rows.slot, arc_part(rows, i, h, d))

    def dot_label(rows, w, i, h, d, label):
        return 0.0

    def add_label(rows, w, i, h, d, label, coef):
        pass

    def wipe_label(rows, w, i, h, d, label):
        pass


@kernel
def arc_part(rows, i, h, d):
    """The part that an arc is."""
    return rows.first[i] + h * (rows.offset[i + 1] - rows.offset[i]) + d - 1


class TokenSlots(NamedTuple):
    """Labels of tokens, and pairs of labels, by their slots.

    Inputs are single tokens, whole sequences, or one for all.
    """

    first: np.ndarray  # (n_sequences + 1,) int64 parts of each sequence: `LabelKeys`
    token: np.ndarray  # (n_tokens,) int64 first part of each token
    row: np.ndarray  # (n_tokens,) int64 input of each token
    slot: np.ndarray  # (n_parts, n_hashes) int32; −1 for no key
    postings: Postings
    n_labels: int
    n_pairs: int  # parts of a sequence that are pairs of labels: all or none
    width: int  # labels in a row of weights
    n_features: int  # rows of weights that coefficients and scores fill

    def score_rows(rows, weights, first, last, out):
        width = weights.shape[1]
        w = weights.reshape(weights.shape[0] * width)
        slot, n_slots = rows.slot, rows.postings.n_slots
        for t in range(first, last):
            part = rows.token[t]
            for label in range(rows.n_labels):
                value = 0.0
                for k in range(slot.shape[1]):
                    s = slot[part + label, k]
                    if s >= 0:
                        value += w[n_slots + s]
                out[t - first, label] = value
            for label in range(rows.n_labels, width):
                out[t - first, label] = 0.0

    def dot_row(rows, w, width, t, label):
        return part_score(rows.postings, w, rows.slot, rows.token[t] + label)

    def add_row(rows, w, width, t, label, coef):
        part = rows.token[t] + label
        add_part(rows.postings, w, rows.slot, part, rows.row[t], coef)

    def wipe_row(rows, w, width, t, label):
        wipe_part(rows.postings, w, rows.slot, rows.token[t] + label)

    def has_pairs(rows):
        return rows.n_pairs > 0

    def score_pairs(rows, w, i, out):
        if rows.n_pairs > 0:
            for a in range(rows.n_labels):
                for b in range(rows.n_labels):
                    part = pair_part(rows, i, a, b)
                    out[a, b] += part_score(rows.postings, w, rows.slot, part)

    def dot_pair(rows, w, i, a, b):
        return part_score(rows.postings, w, rows.slot, pair_part(rows, i, a, b))

    def add_pair(rows, w, i, t, a, b, coef):
        part = pair_part(rows, i, a, b)
        add_part(rows.postings, w, rows.slot, part, rows.row[t], coef)

    def wipe_pair(rows, w, i, a, b):
        wipe_part(rows.postings, w, rows.slot, pair_part(rows, i, a, b))


@kernel
def pair_part(rows, i, a, b):
    """The part that label a before label b is, in sequence i."""
    return rows.first[i + 1] - rows.n_pairs + a * rows.n_labels + b


class PhraseSlots(NamedTuple):
    """Rules and brackets by their slots; whole sentences are inputs."""

    offset: np.ndarray  # (n_sentences + 1,) int64 words
    first: np.ndarray  # (n_sentences + 1,) int64 parts, see `PhraseKeys`
    slot: np.ndarray  # (n_parts, n_hashes) int32; −1 for no key
    postings: Postings
    n_rules: int
    n_labels: int

    def score_phrases(rows, w, i, work):
        weight, plain = work.weight, work.plain
        postings, slot = rows.postings, rows.slot
        n = rows.offset[i + 1] - rows.offset[i]
        part = rows.first[i]
        for k in range(rows.n_rules):
            weight[k] = part_score(postings, w, slot, part + k)
        part += rows.n_rules
        for a in range(n):
            for cell in range(a * (n + 1) + a + 1, a * (n + 1) + n + 1):
                for label in range(rows.n_labels):
                    plain[cell, label] = part_score(postings, w, slot, part + label)
                part += rows.n_labels

    def touch_rule(rows, w, i, rule, mode, coef):
        part = rows.first[i] + rule
        return touch_part(rows.postings, w, rows.slot, part, i, mode, coef)

    def touch_bracket(rows, w, i, begin, end, label, mode, coef):
        part = bracket_part(rows, i, begin, end, label)
        return touch_part(rows.postings, w, rows.slot, part, i, mode, coef)

    def add_expected(rows, w, i, rule, bracket):
        pass  # likelihood has no kernel form


@kernel
def bracket_part(rows, i, begin, end, label):
    """The part that a label over the words [begin, end) is."""
    n = rows.offset[i + 1] - rows.offset[i]
    span = begin * n - begin * (begin - 1) // 2 + end - begin - 1
    return rows.first[i] + rows.n_rules + span * rows.n_labels + label
