"""Arcs whose rows of weights are listed (`_arc_lists.py`), as a numba tag.

Operations and model are those of `ArcRows`, with rows numbered anew.

Most of the time is spent waiting for weights, so two tags have smaller models. A narrow
one has a float32 model of its own, in which a row of an arc is one cache line; its
operations work on that instead of the model that they are given. A local one, for inner
products of the planes of one sentence, has a small model with a row for each row that
these planes have, which is found by a table that lies before the weights.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import address_of, called_at, kernel
from partwise.features._arc_compiled import N_VARIANTS, variant
from partwise.scorers._arc_lists import ArcLists
from partwise.scorers._arc_rows import ONE, ONE_INT, THREE, TWO
from partwise.scorers._arc_touching import ADD, ARC, DOT, touch, with_arcs

NUMBERS = types.int32[::1]
TABLE = types.int32[:, ::1]
SINGLES = types.float32[::1]
LISTS = (ONE_INT, TABLE, ONE_INT, NUMBERS, NUMBERS, ONE_INT)
BUFFERS = (TWO, TWO, THREE, TWO, TWO)
SCORE_ALL = types.void(*LISTS, ONE, types.int64, TABLE, *BUFFERS)
SCORE_NARROW = types.void(*LISTS, SINGLES, types.int64, TABLE, *BUFFERS)
TOUCH_STORED = types.float64(*LISTS, ONE, SINGLES, *(types.int64,) * 5, types.float64)
call_all, call_narrow = called_at(SCORE_ALL), called_at(SCORE_NARROW)
call_touch = called_at(TOUCH_STORED)
# places of numbers in `layout`
ROWS, HEAD, DEP, LABEL_HEAD, LABEL_DEP, LABELS, WIDTH, LABEL_ROWS = range(8)


@with_arcs
class StoredRows(NamedTuple):
    """Features of arcs and of labelled arcs, as lists of rows."""

    offset: np.ndarray  # (n_sentences + 1,) int64 positions, roots included
    single: np.ndarray  # (n_positions, ·) int32: head, dep, label head, label dep
    first: np.ndarray  # these three as in `ArcLists`
    ptr: np.ndarray
    row: np.ndarray
    layout: np.ndarray  # (8,) int64, see above
    heads: np.ndarray  # (n_words, K) int32 candidates in order, −1: none; or (0, 0)
    n_labels: int  # 1 without labels
    width: int  # labels padded to whole vectors; 0 without labels
    used: np.ndarray  # as in `ArcLists`: the rows of a featurizer's model
    label_used: np.ndarray
    frequency: np.ndarray
    w32: np.ndarray  # (n_weights,) float32, the model of a narrow tag; else (0,)
    is_narrow: int  # 1: other heads than the candidates are forbidden
    n_table: int  # length of the table of a small model; 0 for other models
    score: Any  # the address of `score_stored`, for float64
    score_narrow: Any  # for float32
    touch: Any  # the address of `touch_stored`

    def score_arcs(rows, w, i, scores):
        if rows.is_narrow:
            call_narrow(rows.score_narrow, (
                rows.offset, rows.single, rows.first, rows.ptr, rows.row, rows.layout,
                rows.w32, i, rows.heads, scores.arc, scores.total, scores.label,
                scores.sums, scores.label_sums,
            ))  # fmt: skip
        else:
            call_all(rows.score, (
                rows.offset, rows.single, rows.first, rows.ptr, rows.row, rows.layout,
                w, i, rows.heads[:0], scores.arc, scores.total, scores.label,
                scores.sums, scores.label_sums,
            ))  # fmt: skip

    def knows_all(rows):
        return rows.is_narrow == 0

    def touch_rows(rows, w, i, h, d, part, other, mode, coef):
        return call_touch(rows.touch, (
            rows.offset, rows.single, rows.first, rows.ptr, rows.row, rows.layout, w,
            rows.w32, i, h, d, part, mode, coef,
        ))  # fmt: skip


def bind_lists(features, lists: ArcLists, n_labels):
    """The tag of lists; `n_labels` is 0 for arcs without labels."""
    width = -(-n_labels // 4) * 4
    layout = np.array(
        [
            len(lists.used), features.n_head, features.n_dep, features.n_label_head,
            features.n_label_dep, max(n_labels, 1), width, len(lists.label_used),
        ],
        np.int64,
    )  # fmt: skip
    return StoredRows(
        features.offset, lists.single, lists.first, lists.ptr, lists.row, layout,
        np.zeros((0, 0), np.int32), max(n_labels, 1), width, lists.used,
        lists.label_used, lists.frequency, np.zeros(0, np.float32), 0, 0,
        address_of(SCORE_ALL, score_stored), address_of(SCORE_NARROW, score_stored),
        address_of(TOUCH_STORED, touch_stored),
    )  # fmt: skip


def bind_local(rows):
    """The tag of a small model."""
    n_table = table_length(rows.layout)
    return rows._replace(touch=address_of(TOUCH_STORED, touch_local), n_table=n_table)


@kernel
def table_length(layout):
    """Numbers of eight bytes of the table that finds rows of a small model."""
    return layout[ROWS] + max(layout[LABEL_ROWS], 1)


@kernel
def score_stored(
    offset, single, first, ptr, row, layout, w, i, heads, arc, total, label, sums,
    label_sums,
):  # fmt: skip
    """Scores of all arcs of sentence i, or of the candidates `heads` alone.

    Sums are made in the precision of w.
    """
    begin = offset[i]
    n = offset[i + 1] - begin - 1
    width, start = layout[WIDTH], layout[ROWS] * N_VARIANTS
    # a table, because loops over ``w[at + k]`` do not vectorise: see `MaxPlus.absorb`
    size = (w.shape[0] - start) // max(width, 1)
    weights = w[start : start + size * width].reshape(size, width)
    token_sums, token_label_sums = sums.view(w.dtype), label_sums.view(w.dtype)
    sum_singles(single, layout, w, weights, begin, n, token_sums, token_label_sums)
    is_narrow = heads.shape[0] > 0
    if is_narrow:
        for h in range(n + 1):
            for d in range(n + 1):
                total[h, d] = -np.inf
    n_heads = heads.shape[1] if is_narrow else n + 1
    for d in range(1, n + 1):
        for c in range(n_heads):
            h = int(heads[begin - i + d - 1, c]) if is_narrow else c
            if h < 0 or h == d:
                continue
            a = 2 * (first[i] + (d - 1) * (n + 1) + h)
            v = variant(h, d)
            plain = token_sums[2 * h, 0] + token_sums[2 * d + 1, 0]
            varied = token_sums[2 * h, v] + token_sums[2 * d + 1, v]
            for k in range(ptr[a], ptr[a + 1]):
                at = np.int64(row[k]) * N_VARIANTS
                plain += w[at]
                varied += w[at + v]
            arc[h, d] = plain + varied
            total[h, d] = plain + varied
            if width > 0:
                total[h, d] += score_label(
                    row, ptr[a + 1], ptr[a + 2], layout[LABELS], weights, h, d,
                    token_label_sums, label[h, d],
                )  # fmt: skip


@kernel
def sum_singles(single, layout, w, weights, begin, n, sums, label_sums):
    """Sums over the features of each token alone, as head and as dependent."""
    width = layout[WIDTH]
    for p in range(n + 1):
        last = np.int64(0)
        for end in range(2):
            begun, last = last, last + layout[HEAD + end]
            r = 2 * p + end
            for v in range(N_VARIANTS):
                sums[r, v] = 0.0
            for t in range(begun, last):
                at = np.int64(single[begin + p, t]) * N_VARIANTS
                if at > 0:
                    for v in range(N_VARIANTS):
                        sums[r, v] += w[at + v]
        for end in range(2 if width > 0 else 0):
            begun, last = last, last + layout[LABEL_HEAD + end]
            r = 4 * p + 2 * end
            for k in range(width):
                label_sums[r, k] = 0.0
                label_sums[r + 1, k] = 0.0
            for t in range(begun, last):
                at = 2 * np.int64(single[begin + p, t])
                if at > 0:
                    for k in range(width):
                        label_sums[r, k] += weights[at, k]
                        label_sums[r + 1, k] += weights[at + 1, k]


@kernel
def score_label(row, begun, last, n_labels, weights, h, d, sums, label):
    """Scores of all labels of one arc into `label`; returns the best."""
    width = weights.shape[1]
    side = 0 if d > h else 1
    p, q = 4 * h + side, 4 * d + 2 + side
    line = sums[sums.shape[0] - 1]
    for k in range(width):
        line[k] = sums[p, k] + sums[q, k]
    # two rows at a time: the scores are loaded and stored half as often
    for j in range(begun, last - 1, 2):
        one, two = 2 * np.int64(row[j]) + side, 2 * np.int64(row[j + 1]) + side
        for k in range(width):
            line[k] += weights[one, k] + weights[two, k]
    if (last - begun) % 2 == 1:
        one = 2 * np.int64(row[last - 1]) + side
        for k in range(width):
            line[k] += weights[one, k]
    for k in range(width):
        label[k] = line[k]
    # four maxima side by side, because a single one waits for itself at every step
    best = second = third = fourth = line[0]
    fours = n_labels // 4 * 4
    for k in range(0, fours, 4):
        best = max_of(best, line[k])
        second = max_of(second, line[k + 1])
        third = max_of(third, line[k + 2])
        fourth = max_of(fourth, line[k + 3])
    for k in range(fours, n_labels):
        best = max_of(best, line[k])
    return max_of(max_of(best, second), max_of(third, fourth))


@kernel
def max_of(one, other):
    """The larger one of two numbers; `max` also looks for NaN."""
    return one if one > other else other


@kernel
def touch_stored(
    offset, single, first, ptr, row, layout, w, w32, i, h, d, part, mode, coef
):  # fmt: skip
    """Sum the weights of an arc's features, or its label's; add to them; erase them."""
    slots = ptr[:0]
    if w32.shape[0] > 0:
        return touch_listed(
            offset, single, first, ptr, row, layout, w32, slots, i, h, d, part, mode,
            coef,
        )  # fmt: skip
    return touch_listed(
        offset, single, first, ptr, row, layout, w, slots, i, h, d, part, mode, coef
    )


@kernel
def touch_local(
    offset, single, first, ptr, row, layout, w, w32, i, h, d, part, mode, coef
):  # fmt: skip
    """`touch_stored` of a small model, whose weights are zero between sentences.

    The table has two int32 for each row of the model, see `place`. Row 0 of arcs has
    the stamp of the present sentence and the number of rows in use; row 0 of labels,
    the number of the sentence and that of rows for labels.
    """
    n_table = table_length(layout)
    slots = w[:n_table].view(np.int32)
    turn_to(i, layout, slots)
    return touch_listed(
        offset, single, first, ptr, row, layout, w[n_table:], slots, i, h, d, part,
        mode, coef,
    )  # fmt: skip


@kernel
def turn_to(i, layout, slots):
    """Forget the rows of a small model when another sentence is looked at."""
    labels = 2 * layout[ROWS]
    if slots[labels] != i + 1:
        slots[labels] = i + 1
        slots[0] += 1
        slots[1] = slots[labels + 1] = 0


@kernel
def touch_listed(
    offset, single, first, ptr, row, layout, w, slots, i, h, d, part, mode, coef
):  # fmt: skip
    """`touch_stored` of a model, and with `slots` of a small one.

    One text for all modes, so that they cannot disagree about what an arc has.
    """
    begin = offset[i]
    n = offset[i + 1] - begin - 1
    a = 2 * (first[i] + (d - 1) * (n + 1) + h)
    step, start, base = np.int64(N_VARIANTS), np.int64(0), np.int64(0)
    second = variant(h, d)  # a row of an arc has two weights, that of a label one
    column, n_head, n_dep = np.int64(0), layout[HEAD], layout[DEP]
    if part != ARC:
        step, base = 2 * layout[WIDTH], layout[ROWS]
        start = layout[ROWS] * N_VARIANTS + part + (0 if d > h else layout[WIDTH])
        second = np.int64(0)
        column, n_head, n_dep = n_head + n_dep, layout[LABEL_HEAD], layout[LABEL_DEP]
        a += 1
    total = 0.0
    for t in range(column, column + n_head):
        r = place(slots, base, np.int64(single[begin + h, t]), mode)
        if r > 0:
            total += touch_two(w, start + r * step, second, mode, coef)
    for t in range(column + n_head, column + n_head + n_dep):
        r = place(slots, base, np.int64(single[begin + d, t]), mode)
        if r > 0:
            total += touch_two(w, start + r * step, second, mode, coef)
    rest = touch_list(
        row, ptr[a], ptr[a + 1], w, slots, base, start, step, second, mode, coef
    )
    return total + rest


@kernel
def touch_list(row, begun, last, w, slots, base, start, step, second, mode, coef):
    """`touch_two` of the rows in [begun, last) of a list."""
    total = 0.0
    if mode == DOT and second > 0 and slots.shape[0] == 0:
        varied = 0.0  # most of the work: two sums at a time
        for k in range(begun, last):
            at = start + np.int64(row[k]) * step
            total += w[at]
            varied += w[at + second]
        return total + varied
    for k in range(begun, last):
        r = place(slots, base, np.int64(row[k]), mode)
        total += touch_two(w, start + r * step, second, mode, coef)
    return total


@kernel
def place(slots, base, r, mode):
    """The row of a small model for row r, 0 for none; r itself without a table.

    In the table a row has the stamp of the sentence that used it last, and its place.
    """
    if slots.shape[0] == 0 or r == 0:
        return r
    k = 2 * (base + r)
    if slots[k] != slots[0]:
        if mode != ADD:
            return np.int64(0)
        slots[k] = slots[0]
        slots[2 * base + 1] += 1
        slots[k + 1] = slots[2 * base + 1]
    return np.int64(slots[k + 1])


@kernel
def touch_two(w, at, second, mode, coef):
    """`touch` one weight, and the one so much further unless `second` is 0."""
    total = np.float64(touch(w, at, mode, coef))
    if second > 0:
        total += touch(w, at + second, mode, coef)
    return total
