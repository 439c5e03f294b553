"""Second-order parts of candidate arcs: scores of siblings and grandparents.

Beside arcs, a part is an arc with the next sibling towards its head, or with the head
of its head. Only arcs from a few candidate heads of each word are looked at, so that a
sentence of n words with K candidates each has about n·K² parts of either kind.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import address_of, called_at, kernel
from partwise.scorers._arc_rows import (
    ARRAYS,
    ONE_INT,
    THREE,
    TWO,
    bind_rows,
    touch_made,
    touch_part,
    unpacked,
)
from partwise.scorers._arc_scoring import (
    ArcScores,
    score_label,
    score_pair,
    sum_label_tokens,
    sum_tokens,
)
from partwise.scorers._arc_touching import (
    DOT,
    GRANDPARENT,
    SIBLING,
    touch_between,
    touch_third,
    with_arcs,
)

PAIRS = types.int32[:, ::1]
SCORES = (types.int64, PAIRS, TWO, TWO, THREE, TWO, TWO, ONE_INT, PAIRS, TWO, TWO)
SCORE_SOME = types.void(*ARRAYS, *SCORES)
SINGLE = (*ARRAYS[:-1], types.float32[::1])  # with a model in single precision
SCORE_NARROW = types.void(*SINGLE, *SCORES)
TOUCH_NARROW = types.float64(*SINGLE, *(types.int64,) * 6, types.float64)

call_score, call_narrow = called_at(SCORE_SOME), called_at(SCORE_NARROW)
call_touch_narrow = called_at(TOUCH_NARROW)


class PartScores(NamedTuple):
    """Buffers of one thread: arcs, then rows of second-order scores.

    Row d·K + c belongs to the arc from candidate c of word d + 1.
    """

    arcs: ArcScores
    row: np.ndarray  # (N, N) int32, row of an arc
    sibling: np.ndarray  # (longest·K, N)
    grandparent: np.ndarray  # (longest·K, N), or (0, 0) without grandparents


@with_arcs
class CandidateRows(NamedTuple):
    """Features of arcs, labels and second-order parts, and candidate heads."""

    offset: np.ndarray  # as in `ArcRows`
    single: np.ndarray
    shares: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    layout: np.ndarray
    n_labels: int
    width: int
    heads: np.ndarray  # (n_words, K) int32 candidates; −1 for none
    w32: np.ndarray  # (n_weights,) float32, the model of a narrow tag; else (0,)
    score: Any  # the address of `score_some`
    score_narrow: Any  # the same for float32
    touch: Any  # that of `touch_part`
    touch_narrow: Any

    def score_arcs(rows, w, i, scores):
        arcs = scores.arcs
        if rows.w32.shape[0] > 0:
            call_narrow(rows.score_narrow, (
                rows.offset, rows.single, rows.shares, rows.slots, rows.keys,
                rows.layout, rows.w32, i, rows.heads, arcs.arc, arcs.total, arcs.label,
                arcs.sums, arcs.label_sums, arcs.near, scores.row, scores.sibling,
                scores.grandparent,
            ))  # fmt: skip
        else:
            call_score(rows.score, (
                rows.offset, rows.single, rows.shares, rows.slots, rows.keys,
                rows.layout, w, i, rows.heads, arcs.arc, arcs.total, arcs.label,
                arcs.sums, arcs.label_sums, arcs.near, scores.row, scores.sibling,
                scores.grandparent,
            ))  # fmt: skip

    def touch_rows(rows, w, i, h, d, part, other, mode, coef):
        if rows.w32.shape[0] > 0:
            return call_touch_narrow(rows.touch_narrow, (
                rows.offset, rows.single, rows.shares, rows.slots, rows.keys,
                rows.layout, rows.w32, i, h, d, part, other, mode, coef,
            ))  # fmt: skip
        return touch_made(rows, w, i, h, d, part, other, mode, coef)

    def candidates(rows):
        """Heads that each word may have, (n_words, K) int32."""
        return rows.heads

    def narrowed(rows, heads, w32):
        """The tag of fewer candidates and a model in single precision."""
        return rows._replace(heads=heads, w32=w32)


def bind_candidates(features, n_labels, heads):
    """The tag of features and candidate heads, (n_words, K) with −1 for none."""
    rows = bind_rows(features, n_labels)
    return CandidateRows(  # type: ignore[call-arg]
        *rows[:8], np.ascontiguousarray(heads, np.int32), np.zeros(0, np.float32),
        address_of(SCORE_SOME, score_some), address_of(SCORE_NARROW, score_some),
        rows.touch, address_of(TOUCH_NARROW, touch_part),
    )  # fmt: skip


@kernel
def score_some(
    offset, single, shares, slots, keys, layout, w, i, heads, arc, total, label, sums,
    label_sums, near, row, sibling, grandparent,
):  # fmt: skip
    """Scores of candidate arcs and of their second-order parts; −inf elsewhere."""
    features = unpacked(offset, single, shares, slots, keys, layout)
    scores = ArcScores(arc, total, label, sums, label_sums, near)
    begin = offset[i]
    word = begin - i
    n = offset[i + 1] - begin - 1
    size = heads.shape[1]
    sum_tokens(features, w, begin, n, sums)
    if layout[15] > 0:
        sum_label_tokens(features, layout[15], w, begin, n, label_sums)
    for h in range(n + 1):
        for d in range(n + 1):
            total[h, d] = -np.inf
    for d in range(1, n + 1):
        for c in range(size):
            h = heads[word + d - 1, c]
            if h < 0:
                continue
            value = score_pair(features, w, begin, h, d, scores)
            value += touch_between(features, w, begin, h, d, DOT, 0.0)
            arc[h, d] = value
            if layout[15] > 0:
                value += score_label(
                    features, layout[14], layout[15], w, begin, h, d, scores
                )
            total[h, d] = value
            row[h, d] = (d - 1) * size + c
    for d in range(1, n + 1):
        for c in range(size):
            h = heads[word + d - 1, c]
            if h >= 0:
                score_third(features, w, begin, n, h, d, total, row, sibling, heads,
                            word, grandparent)  # fmt: skip


@kernel
def score_third(
    features, w, begin, n, h, d, total, row, sibling, heads, word, grandparent
):  # fmt: skip
    """Scores of the siblings and grandparents that the arc h → d may have."""
    r = row[h, d]
    for s in range(n + 1):
        sibling[r, s] = 0.0
    sibling[r, h] = touch_third(features, w, begin, h, d, SIBLING, h, DOT, 0.0)
    low, high = min(h, d), max(h, d)
    for s in range(low + 1, high):
        if total[h, s] > -np.inf:
            sibling[r, s] = touch_third(features, w, begin, h, d, SIBLING, s, DOT, 0.0)
    if grandparent.shape[0] == 0:
        return
    for g in range(n + 1):
        grandparent[r, g] = 0.0
    if h == 0:
        return
    for c in range(heads.shape[1]):
        g = heads[word + h - 1, c]
        if g >= 0 and g != d:
            grandparent[r, g] = touch_third(
                features, w, begin, h, d, GRANDPARENT, g, DOT, 0.0
            )
