"""Programs that look at all cells: sums over alignments, and the k best.

The recurrences are those of `_programs.py`, over a semiring and cell by cell. Tables
have the shape (n, m); cells that are none have the scores −inf.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures._heap import sift_down, sift_up
from partwise.structures._semirings import LOG_PLUS, MAX_PLUS, plus, times
from partwise.structures.alignment._programs import end_score, start_score

MATCH, DELETE, INSERT, START = range(4)


class Chart(NamedTuple):
    """Scores of one pair of sequences."""

    score: np.ndarray  # (n, m) of matches
    start: np.ndarray  # (n, m) of what lies before a first pair
    end: np.ndarray  # (n, m) of what lies behind a last pair
    empty: float  # of no pair at all
    a_open: np.ndarray  # (n,)
    a_extend: np.ndarray
    b_open: np.ndarray  # (m,)
    b_extend: np.ndarray
    low: np.ndarray  # (n,) int32, columns [low, high) of each row
    high: np.ndarray


class Cells(NamedTuple):
    """A value for each cell and state."""

    match: np.ndarray  # (n, m)
    delete: np.ndarray
    insert: np.ndarray


@allocating
def make_chart(
    scores, symbol, m, forbid_first, forbid, given, a_open, a_extend, b_open, b_extend,
    low, high, ends,
):  # fmt: skip
    """Scores of all cells, from those that `prepare` left; masks are applied."""
    n, n_given = symbol.shape[0], given.shape[0]
    score = np.full((n, m), -np.inf)
    start = np.full((n, m), -np.inf)
    end = np.full((n, m), -np.inf)
    for t in range(n):
        for c in range(low[t], high[t]):
            score[t, c] = scores[symbol[t], c]
            is_first = n_given == 0 or t < given[0, 0]
            if is_first or (t == given[0, 0] and c == given[0, 1]):
                start[t, c] = start_score(ends, t, c)
            if n_given == 0 or t >= given[n_given - 1, 0]:
                end[t, c] = end_score(ends, n, m, t, c)
        if forbid.shape[0] > 0:
            for p in range(forbid_first[t], forbid_first[t + 1]):
                score[t, forbid[p]] = -np.inf
    empty = start_score(ends, n, m) if n_given == 0 else -np.inf
    return Chart(
        score, start, end, empty, a_open[:n].copy(), a_extend[:n].copy(),
        b_open[:m].copy(), b_extend[:m].copy(), low[:n].copy(), high[:n].copy(),
    )  # fmt: skip


@kernel
def lower_matches(chart, y, counted, unit, tolerance):
    """Take the loss that a match avoids off its score."""
    n, m = chart.score.shape
    for t in range(n):
        if counted[t]:
            for c in range(max(0, y[t] - tolerance), min(m, y[t] + tolerance + 1)):
                chart.score[t, c] -= unit


@kernel
def total_before(sr, cells, t, c):
    """⊕ over the states of the cell (t, c); zero outside of the table."""
    if t < 0 or c < 0:
        return sr.zero
    either = plus(sr, cells.match[t, c], cells.delete[t, c])
    return plus(sr, either, cells.insert[t, c])


@allocating
def fill_forward(sr, chart):
    """All that leads to each cell and state, its own score included."""
    n, m = chart.score.shape
    cells = Cells(
        np.full((n, m), sr.zero), np.full((n, m), sr.zero), np.full((n, m), sr.zero)
    )
    match, delete, insert = cells
    for t in range(n):
        for c in range(chart.low[t], chart.high[t]):
            source = plus(sr, chart.start[t, c], total_before(sr, cells, t - 1, c - 1))
            match[t, c] = times(sr, chart.score[t, c], source)
            if t > 0:
                opened = times(sr, match[t - 1, c], chart.a_open[t])
                gap = plus(sr, opened, delete[t - 1, c])
                delete[t, c] = times(sr, gap, chart.a_extend[t])
            if c > 0:
                either = plus(sr, match[t, c - 1], delete[t, c - 1])
                opened = times(sr, either, chart.b_open[c])
                gap = plus(sr, opened, insert[t, c - 1])
                insert[t, c] = times(sr, gap, chart.b_extend[c])
    return cells


@allocating
def fill_backward(sr, chart):
    """All that follows each cell and state, its own score excluded."""
    n, m = chart.score.shape
    cells = Cells(
        np.full((n, m), sr.zero), np.full((n, m), sr.zero), np.full((n, m), sr.zero)
    )
    match, delete, insert = cells
    for t in range(n - 1, -1, -1):
        for c in range(chart.high[t] - 1, chart.low[t] - 1, -1):
            paired = sr.zero
            if t + 1 < n and c + 1 < m:
                paired = times(sr, chart.score[t + 1, c + 1], match[t + 1, c + 1])
            longer_a, opened_a, longer_b, opened_b = sr.zero, sr.zero, sr.zero, sr.zero
            if t + 1 < n:
                longer_a = times(sr, chart.a_extend[t + 1], delete[t + 1, c])
                opened_a = times(sr, chart.a_open[t + 1], longer_a)
            if c + 1 < m:
                longer_b = times(sr, chart.b_extend[c + 1], insert[t, c + 1])
                opened_b = times(sr, chart.b_open[c + 1], longer_b)
            insert[t, c] = plus(sr, paired, longer_b)
            closed = plus(sr, paired, opened_b)
            delete[t, c] = plus(sr, closed, longer_a)
            ended = plus(sr, chart.end[t, c], opened_a)
            match[t, c] = plus(sr, closed, ended)
    return cells


@kernel
def log_partition(chart, forward):
    """Log of the sum of exp(score) over all alignments."""
    total = chart.empty
    for t in range(chart.score.shape[0]):
        for c in range(chart.low[t], chart.high[t]):
            total = plus(LOG_PLUS, total, forward.match[t, c] + chart.end[t, c])
    return total


@kernel
def source_score(chart, cells, t, c, state, source):
    """Value of reaching a cell and state from one of its sources, −inf for none."""
    if state == MATCH:
        if source == START:
            return chart.start[t, c]
        if t == 0 or c == 0:
            return -np.inf
        return cells[source][t - 1, c - 1]
    if state == DELETE:
        if t == 0 or source > DELETE:
            return -np.inf
        value = cells[source][t - 1, c]
        return value + chart.a_open[t] if source == MATCH else value
    if c == 0 or source == START:
        return -np.inf
    value = cells[source][t, c - 1]
    return value + chart.b_open[c] if source != INSERT else value


@allocating
def _best_ends(chart, cells, k):
    """Places t·m + c of the k last pairs of highest value, in order of place.

    None of the k best alignments ends elsewhere.
    """
    n, m = chart.score.shape
    value = (cells.match + chart.end).ravel()
    least = -np.inf
    if k < n * m:
        least = np.partition(value, n * m - k)[n * m - k]
    n_above = np.sum(value > least)
    room = k - n_above
    places = np.empty(min(k, n * m), np.int64)
    size = 0
    for place in range(n * m):
        if value[place] == -np.inf or value[place] < least:
            continue
        if value[place] == least:
            if room <= 0:
                continue
            room -= 1
        places[size] = place
        size += 1
    return places[:size]


@allocating
def k_best(chart, k, codes, values):
    """The k alignments of highest score, best first; returns how many there are.

    Best-first search from the last pair; forward scores are exactly what is still to
    come, so the first k completions are the k best. Completing a candidate means going
    back by best sources; each step on the way offers its other sources as candidates.
    """
    n, m = chart.score.shape
    cells = fill_forward(MAX_PLUS, chart)
    tables = (cells.match, cells.delete, cells.insert)
    ends = _best_ends(chart, cells, k)
    room = (k * (n + m) + 1) * 4 + ends.shape[0]
    at_t, at_c = np.empty(room, np.int32), np.empty(room, np.int32)
    at_state, follows = np.empty(room, np.int32), np.empty(room, np.int64)
    key, item = np.empty(room), np.empty(room, np.int64)
    n_nodes, size = 0, 0
    for place in ends:
        t, c = place // m, place % m
        at_t[n_nodes], at_c[n_nodes] = t, c
        at_state[n_nodes], follows[n_nodes] = MATCH, -1
        key[size], item[size] = cells.match[t, c] + chart.end[t, c], n_nodes
        sift_up(key, item, size)
        n_nodes += 1
        size += 1
    if chart.empty > -np.inf:
        key[size], item[size] = chart.empty, -1
        sift_up(key, item, size)
        size += 1
    n_best = 0
    while n_best < k and size > 0:
        total, node = key[0], item[0]
        size -= 1
        key[0], item[0] = key[size], item[size]
        sift_down(key, item, size)
        for t in range(n):
            codes[n_best, t] = -1
        values[n_best] = total
        while node >= 0 and at_state[node] != START:
            t, c, state = at_t[node], at_c[node], at_state[node]
            best, winner = -np.inf, START
            for source in range(4):
                value = source_score(chart, tables, t, c, state, source)
                if value > best:
                    best, winner = value, source
            t_before = t - 1 if state != INSERT else t
            c_before = c - 1 if state != DELETE else c
            after = node
            for source in range(4):
                value = source_score(chart, tables, t, c, state, source)
                if value == -np.inf:
                    continue
                at_t[n_nodes], at_c[n_nodes] = t_before, c_before
                at_state[n_nodes], follows[n_nodes] = source, after
                if source == winner:
                    node = n_nodes
                else:
                    key[size], item[size] = total - best + value, n_nodes
                    sift_up(key, item, size)
                    size += 1
                n_nodes += 1
        while node >= 0:
            if at_state[node] == MATCH:
                codes[n_best, at_t[node]] = at_c[node]
            node = follows[node]
        n_best += 1
    return n_best
