"""Second-order parts whose rows of weights are listed, as a numba tag.

Operations and model are those of `CandidateRows`, with rows numbered anew as those of
`StoredRows`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import address_of, called_at, kernel
from partwise.features._arc_compiled import N_VARIANTS
from partwise.scorers._arc_candidates import PAIRS
from partwise.scorers._arc_lists import ArcLists, third_code
from partwise.scorers._arc_rows import ONE, ONE_INT, TWO
from partwise.scorers._arc_touching import (
    ARC,
    GRANDPARENT,
    SIBLING,
    third_variant,
    touch_rows,
    with_arcs,
)
from partwise.scorers._stored_arcs import (
    BUFFERS,
    LISTS,
    NUMBERS,
    SINGLES,
    TABLE,
    StoredRows,
    bind_lists,
    bind_local,
    score_stored,
    table_length,
    touch_list,
    turn_to,
)

THIRDS = (NUMBERS, NUMBERS, NUMBERS)
PARTS = (PAIRS, TWO, TWO)
SCORE_PARTS = types.void(*LISTS, *THIRDS, ONE, types.int64, TABLE, *BUFFERS, *PARTS)
SCORE_NARROW = types.void(
    *LISTS, *THIRDS, SINGLES, types.int64, TABLE, *BUFFERS, *PARTS
)
TOUCH_THIRD = types.float64(
    ONE_INT, ONE_INT, NUMBERS, ONE_INT, *THIRDS, ONE, SINGLES, *(types.int64,) * 6,
    types.float64,
)  # fmt: skip
call_parts, call_narrow = called_at(SCORE_PARTS), called_at(SCORE_NARROW)
call_touch = called_at(TOUCH_THIRD)


@with_arcs
class StoredParts(NamedTuple):
    """Features of arcs, labels and second-order parts of candidates, as lists."""

    arcs: StoredRows  # with the candidates as its heads
    first: np.ndarray  # these three as in `ThirdLists`
    other: np.ndarray
    ptr: np.ndarray
    n_labels: int  # 1 without labels
    width: int
    score: Any  # the address of `score_parts`
    score_narrow: Any  # the same for float32
    touch: Any  # the address of `touch_stored`

    def score_arcs(rows, w, i, scores):
        arcs, s = rows.arcs, scores.arcs
        if arcs.is_narrow:
            call_narrow(rows.score_narrow, (
                arcs.offset, arcs.single, arcs.first, arcs.ptr, arcs.row, arcs.layout,
                rows.first, rows.other, rows.ptr, arcs.w32, i, arcs.heads, s.arc,
                s.total, s.label, s.sums, s.label_sums, scores.row, scores.sibling,
                scores.grandparent,
            ))  # fmt: skip
        else:
            call_parts(rows.score, (
                arcs.offset, arcs.single, arcs.first, arcs.ptr, arcs.row, arcs.layout,
                rows.first, rows.other, rows.ptr, w, i, arcs.heads, s.arc, s.total,
                s.label, s.sums, s.label_sums, scores.row, scores.sibling,
                scores.grandparent,
            ))  # fmt: skip

    def touch_rows(rows, w, i, h, d, part, other, mode, coef):
        arcs = rows.arcs
        if part >= ARC:
            return touch_rows(arcs, w, i, h, d, part, other, mode, coef)
        return call_touch(rows.touch, (
            arcs.offset, arcs.first, arcs.row, arcs.layout, rows.first, rows.other,
            rows.ptr, w, arcs.w32, i, h, d, part, other, mode, coef,
        ))  # fmt: skip

    def candidates(rows):
        """Heads that each word may have, (n_words, K) int32."""
        return rows.arcs.heads

    def narrowed(rows, heads, w32):
        """The tag of fewer candidates and a model in single precision."""
        return rows._replace(arcs=rows.arcs._replace(heads=heads, w32=w32, is_narrow=1))


def bind_parts(features, lists: ArcLists, n_labels, heads):
    """The tag of lists of candidate arcs and their third tokens."""
    arcs = bind_lists(features, lists, n_labels)
    arcs = arcs._replace(heads=np.ascontiguousarray(heads, np.int32))
    return StoredParts(
        arcs, *lists.thirds, arcs.n_labels, arcs.width,
        address_of(SCORE_PARTS, score_parts), address_of(SCORE_NARROW, score_parts),
        address_of(TOUCH_THIRD, touch_stored),
    )  # fmt: skip


def bind_local_parts(rows):
    """The tag of a small model."""
    arcs, touch = bind_local(rows.arcs), address_of(TOUCH_THIRD, touch_local)
    return rows._replace(arcs=arcs, touch=touch)


@kernel
def score_parts(
    offset, single, first, ptr, row, layout, third_first, third_other, third_ptr, w, i,
    heads, arc, total, label, sums, label_sums, arc_row, sibling, grandparent,
):  # fmt: skip
    """Scores of candidate arcs and of their second-order parts; −inf elsewhere."""
    score_stored(
        offset, single, first, ptr, row, layout, w, i, heads, arc, total, label, sums,
        label_sums,
    )  # fmt: skip
    word = offset[i] - i
    n = offset[i + 1] - offset[i] - 1
    size = heads.shape[1]
    zero = w.dtype.type(0)  # sums are made in the precision of w
    has_grandparents = grandparent.shape[0] > 0
    for d in range(1, n + 1):
        for c in range(size):
            h = np.int64(heads[word + d - 1, c])
            if h < 0:
                continue
            r = (d - 1) * size + c
            arc_row[h, d] = r
            for s in range(n + 1):
                sibling[r, s] = 0.0
            for g in range(n + 1 if has_grandparents else 0):
                grandparent[r, g] = 0.0
            a = first[i] + (d - 1) * (n + 1) + h
            for k in range(third_first[a], third_first[a + 1]):
                code = np.int64(third_other[k])
                if code >= 0:
                    part, other, above, below = SIBLING, code, h, code
                else:
                    part, other, above, below = GRANDPARENT, -1 - code, -1 - code, h
                # the arc of the third token may be none of fewer candidates
                if above != below and total[above, below] == -np.inf:
                    continue
                v = third_variant(h, d, part, other)
                plain, varied = zero, zero
                for j in range(third_ptr[k], third_ptr[k + 1]):
                    at = np.int64(row[j]) * N_VARIANTS
                    plain += w[at]
                    varied += w[at + v]
                if part == SIBLING:
                    sibling[r, other] = plain + varied
                elif has_grandparents:
                    grandparent[r, other] = plain + varied


@kernel
def touch_stored(
    offset, first, row, layout, third_first, third_other, third_ptr, w, w32, i, h, d,
    part, other, mode, coef,
):  # fmt: skip
    """`touch_third` of `_arc_touching.py`."""
    slots = row[:0]
    if w32.shape[0] > 0:
        return touch_third(
            offset, first, row, third_first, third_other, third_ptr, w32, slots, i, h,
            d, part, other, mode, coef,
        )  # fmt: skip
    return touch_third(
        offset, first, row, third_first, third_other, third_ptr, w, slots, i, h, d,
        part, other, mode, coef,
    )  # fmt: skip


@kernel
def touch_local(
    offset, first, row, layout, third_first, third_other, third_ptr, w, w32, i, h, d,
    part, other, mode, coef,
):  # fmt: skip
    """`touch_stored` of a small model, see `partwise.scorers._stored_arcs`."""
    n_table = table_length(layout)
    slots = w[:n_table].view(np.int32)
    turn_to(i, layout, slots)
    return touch_third(
        offset, first, row, third_first, third_other, third_ptr, w[n_table:], slots, i,
        h, d, part, other, mode, coef,
    )  # fmt: skip


@kernel
def touch_third(
    offset, first, row, third_first, third_other, third_ptr, w, slots, i, h, d, part,
    other, mode, coef,
):  # fmt: skip
    """Sum the weights of a part's features, add to them, or erase them."""
    n = offset[i + 1] - offset[i] - 1
    a = first[i] + (d - 1) * (n + 1) + h
    code = third_code(part, other)
    for k in range(third_first[a], third_first[a + 1]):
        if third_other[k] == code:
            return touch_list(
                row, third_ptr[k], third_ptr[k + 1], w, slots, np.int64(0), np.int64(0),
                np.int64(N_VARIANTS), third_variant(h, d, part, other), mode, coef,
            )  # fmt: skip
    return 0.0
