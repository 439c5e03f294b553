"""Arcs as a numba tag: scores of all arcs of a sentence, and of single arcs.

A model is one flat array: rows of `N_VARIANTS` weights for the features of arcs, then,
for labelled arcs, rows of 2 × `width` weights: one per label, for arcs to the right and
to the left.

The tag reaches its two programs by their address: numba optimises all that a sweep
calls again with every sweep, except what lies behind an address.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import address_of, called_at, inlined, kernel
from partwise.features._arc_compiled import ArcFeatures
from partwise.scorers._arc_scoring import (
    ArcScores,
    score_between,
    score_labels,
    score_pairs,
)
from partwise.scorers._arc_touching import (
    ARC,
    touch_arc,
    touch_label,
    touch_third,
    with_arcs,
)


@with_arcs
class ArcRows(NamedTuple):
    """Features of arcs and of labelled arcs."""

    offset: np.ndarray  # the arrays of `ArcFeatures`
    single: np.ndarray
    shares: np.ndarray
    slots: np.ndarray
    keys: np.ndarray
    layout: np.ndarray  # (17,) int64: its numbers with n_labels, width before the last
    n_labels: int  # 1 without labels
    width: int  # labels padded to whole vectors; 0 without labels
    score: Any  # the address of `score_all`
    touch: Any  # that of `touch_part`

    def score_arcs(rows, w, i, scores):
        call_score(rows.score, (
            rows.offset, rows.single, rows.shares, rows.slots, rows.keys, rows.layout,
            w, i, scores.arc, scores.total, scores.label, scores.sums,
            scores.label_sums, scores.near,
        ))  # fmt: skip

    def touch_rows(rows, w, i, h, d, part, other, mode, coef):
        return touch_made(rows, w, i, h, d, part, other, mode, coef)


def bind_rows(features, n_labels):
    """The tag of features; `n_labels` is 0 for arcs without labels."""
    width = -(-n_labels // 4) * 4
    numbers = [*features[5:-1], max(n_labels, 1), width, features.n_counted]
    layout = np.array(numbers, np.int64)
    return ArcRows(  # type: ignore[call-arg]
        *features[:5], layout, max(n_labels, 1), width, address_of(SCORE, score_all),
        address_of(TOUCH, touch_part),
    )  # fmt: skip


ONE_INT, TWO_INT = types.int64[::1], types.int64[:, ::1]
ONE, TWO, THREE = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
ARRAYS = (
    ONE_INT, types.int32[:, ::1], TWO_INT, types.uint32[::1], ONE_INT, ONE_INT, ONE,
)  # fmt: skip
SCORE = types.void(*ARRAYS, types.int64, TWO, TWO, THREE, TWO, TWO, ONE_INT)
TOUCH = types.float64(*ARRAYS, *(types.int64,) * 6, types.float64)


call_score, call_touch = called_at(SCORE), called_at(TOUCH)


@kernel
def touch_made(rows, w, i, h, d, part, other, mode, coef):
    """`touch_part` of a tag whose features are made on the fly."""
    return call_touch(rows.touch, (
        rows.offset, rows.single, rows.shares, rows.slots, rows.keys, rows.layout, w, i,
        h, d, part, other, mode, coef,
    ))  # fmt: skip


@inlined
def unpacked(offset, single, shares, slots, keys, layout):
    """The features by name."""
    return ArcFeatures(
        offset, single, shares, slots, keys, layout[0], layout[1], layout[2], layout[3],
        layout[4], layout[5], layout[6], layout[7], layout[8], layout[9], layout[10],
        layout[11], layout[12], layout[13], layout[16],
    )  # fmt: skip


@kernel
def score_all(
    offset, single, shares, slots, keys, layout, w, i, arc, total, label, sums,
    label_sums, near,
):  # fmt: skip
    """Scores of all arcs of sentence i, with and without labels."""
    features = unpacked(offset, single, shares, slots, keys, layout)
    scores = ArcScores(arc, total, label, sums, label_sums, near)
    score_pairs(features, w, i, scores)
    if features.n_between > 0:
        score_between(features, w, i, scores)
    if layout[15] > 0:
        score_labels(features, layout[14], layout[15], w, i, scores)
    else:
        n = offset[i + 1] - offset[i] - 1
        for h in range(n + 1):
            for d in range(n + 1):
                total[h, d] = arc[h, d]


@kernel
def touch_part(
    offset, single, shares, slots, keys, layout, w, i, h, d, part, other, mode, coef
):  # fmt: skip
    """`touch_arc`, or `touch_label` where `part` is a label, or `touch_third`."""
    features = unpacked(offset, single, shares, slots, keys, layout)
    if part == ARC:
        return touch_arc(features, w, i, h, d, mode, coef)
    if part < ARC:
        return touch_third(features, w, offset[i], h, d, part, other, mode, coef)
    return touch_label(features, layout[15], w, i, h, d, part, mode, coef)
