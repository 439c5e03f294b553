"""Charts with counts: the best tree for every number of brackets.

For losses that do not add up over brackets, F1 above all. Each entry of the chart is a
table over (c, p): the best score with c correct and p predicted brackets inside. Where
only p matters (``with_correct=0``) tables have one row. Counting rules:

* a finished branching is a bracket: p grows by one, and c too if the truth has it;
* so is every step of a chain, with its own label: a chain of m steps adds m to p;
* unfinished branchings (states) and tags add nothing.

No label occurs twice over one span, so a gold bracket is matched at most once.

Combining two entries is a max-plus convolution. Tables keep the range of p that is
possible; only tables of symbols are kept for all spans, those of states for one row i
at a time. Tracing visits the rows again: all nodes that begin at i follow each
other, so no row is filled more than twice.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import inlined, inner, inner_allocating
from partwise.structures.phrase._cky_programs import Chart, Items, Scores
from partwise.structures.phrase._count_tables import (
    AT,
    HIGH,
    ROWS,
    convolve,
    longer,
    pack,
    shift,
)
from partwise.structures.phrase._tables import GrammarTables


class CountedSentence(NamedTuple):
    """What charts with counts of a sentence are made from."""

    tables: GrammarTables
    scores: Scores
    chart: Chart  # of a plain inside pass
    items: Items  # of that pass
    alive: np.ndarray  # (items,) uint8, those that an output worth finding may use
    gold: np.ndarray  # (cells, n_labels) uint8, 1 for the brackets of the truth
    with_correct: int  # whether correct brackets are counted
    first: int  # token
    n: int  # words


class Row(NamedTuple):
    """States over the spans that begin at one word."""

    begin: np.ndarray  # (n + 2,) int64, first item of each end
    state: np.ndarray  # int32
    entry: np.ndarray  # (items, 4) int64
    table: np.ndarray  # arena of tables


class Slots(NamedTuple):
    """Tables of the states over one span while they are made, all of one size."""

    of_state: np.ndarray  # (Q,) int64, −1 for none
    state: np.ndarray  # (Q,) int32
    table: np.ndarray  # arena: the tables of slots, end to end


class Symbols(NamedTuple):
    """Tables of all symbols over all spans."""

    entry: np.ndarray  # (cells · n_symbols, 4) int64; place −1: not possible
    table: np.ndarray


@inner_allocating
def longer_row(row, n_items, size):
    """The same row with room for more items and tables."""
    state, entry = row.state, row.entry
    if n_items > state.shape[0]:
        room = max(n_items, 2 * state.shape[0])
        state = np.empty(room, np.int32)
        entry = np.empty((room, 4), np.int64)
        for k in range(row.state.shape[0]):
            state[k] = row.state[k]
            for z in range(4):
                entry[k, z] = row.entry[k, z]
    return Row(row.begin, state, entry, longer(row.table, size))


@inner_allocating
def open_slot(slots, n_slots, q, area):
    """The same slots with one more, an empty table of state q."""
    slots.of_state[q], slots.state[n_slots] = n_slots, q
    table = longer(slots.table, (n_slots + 1) * area)
    for x in range(n_slots * area, (n_slots + 1) * area):
        table[x] = -np.inf
    return Slots(slots.of_state, slots.state, table)


@inner_allocating
def close_slots(row, slots, n_slots, n_rows, width, n_items, size):
    """Append the tables of all slots as items; the row, its items and its size."""
    area = n_rows * width
    row = longer_row(row, n_items + n_slots, size + n_slots * area)
    for z in range(n_slots):
        slots.of_state[slots.state[z]] = -1
        row.state[n_items + z] = slots.state[z]
        size = pack(
            slots.table, z * area, n_rows, width, row.table, size,
            row.entry[n_items + z],
        )  # fmt: skip
    return row, n_items + n_slots, size


@inner_allocating
def extend_states(sentence, symbols, row, slots, allowed, i, j, n_rows, width):
    """Tables of states over [i, j): shorter ones with a symbol, or the last word's tag.

    Returns the slots and how many there are.
    """
    tables, scores, n = sentence.tables, sentence.scores, sentence.n
    leaf_begin = scores.leaf_ptr[sentence.first + j - 1]
    leaf_end = scores.leaf_ptr[sentence.first + j]
    area, zero = n_rows * width, np.int64(0)
    n_slots = zero
    for k in range(i + 1, j):
        below = (k * (n + 1) + j) * tables.n_symbols
        for item in range(row.begin[k], row.begin[k + 1]):
            p = row.state[item]
            e = row.entry[item]
            for edge in range(tables.edge_ptr[p], tables.edge_ptr[p + 1]):
                f = symbols.entry[below + tables.edge_child[edge]]
                q = tables.edge_to[edge]
                if f[AT] < 0 or not allowed[q]:
                    continue
                if slots.of_state[q] < 0:
                    slots = open_slot(slots, n_slots, q, area)
                    n_slots += 1
                extra = scores.weight[tables.edge_weight[edge]]
                into = slots.of_state[q] * area
                convolve(
                    row.table, e, symbols.table, f, extra, slots.table, into, width
                )
            for leaf in range(leaf_begin, leaf_end if k == j - 1 else leaf_begin):
                tag_edge = np.int64(tables.tag_edge[p, scores.leaf_tag[leaf]])
                if tag_edge < 0:
                    continue
                q = tables.edge_to[tag_edge]
                if not allowed[q]:
                    continue
                if slots.of_state[q] < 0:
                    slots = open_slot(slots, n_slots, q, area)
                    n_slots += 1
                extra = scores.weight[scores.leaf_weight[leaf]]
                extra += scores.weight[tables.edge_weight[tag_edge]]
                into = slots.of_state[q] * area
                shift(row.table, e, extra, zero, zero, slots.table, into, width)
    return slots, n_slots


@inner_allocating
def open_states(sentence, symbols, slots, allowed, i, j, n_rows, width):
    """Tables of the states that first children over [i, j) open; as `extend_states`."""
    tables, scores, n = sentence.tables, sentence.scores, sentence.n
    n_symbols = tables.n_symbols
    leaf_begin = scores.leaf_ptr[sentence.first + i]
    n_leaves = scores.leaf_ptr[sentence.first + i + 1] - leaf_begin
    area, zero = n_rows * width, np.int64(0)
    n_slots = zero
    for z in range(n_symbols + n_leaves if j == i + 1 else n_symbols):
        a, leaf = z, leaf_begin + z - n_symbols
        if z >= n_symbols:
            a = n_symbols + scores.leaf_tag[leaf]
        elif symbols.entry[(i * (n + 1) + j) * n_symbols + a, AT] < 0:
            continue
        for o in range(tables.first_ptr[a], tables.first_ptr[a + 1]):
            q = tables.first_state[o]
            if not allowed[q]:
                continue
            if slots.of_state[q] < 0:
                slots = open_slot(slots, n_slots, q, area)
                n_slots += 1
            gain = scores.weight[tables.first_weight[o]]
            into = slots.of_state[q] * area
            if z < n_symbols:
                f = symbols.entry[(i * (n + 1) + j) * n_symbols + a]
                shift(symbols.table, f, gain, zero, zero, slots.table, into, width)
            else:  # a tag has no bracket: one number
                gain = scores.weight[scores.leaf_weight[leaf]] + gain
                slots.table[into] = max(slots.table[into], gain)
    return slots, n_slots


@inner_allocating
def fill_row(sentence, symbols, symbol_size, row, i, last, keep):
    """Items of row i up to the end `last`; with `keep`, its symbols as well.

    Only states of the chart that are alive are visited. Returns the row, the symbols
    and how much of their table is used.
    """
    tables, chart, n = sentence.tables, sentence.chart, sentence.n
    n_symbols = tables.n_symbols
    n_states = tables.is_open.shape[0]
    slots = Slots(
        np.full(n_states, -1, np.int64), np.empty(n_states, np.int32), np.empty(1024)
    )
    allowed = np.zeros(n_states, np.uint8)
    zero = np.int64(0)
    n_items, size = zero, zero
    rows_of, high_of = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    row.begin[i + 1] = 0
    for j in range(i + 1, last + 1):
        cell = i * (n + 1) + j
        n_rows, width = zero + 1, zero + 1  # room of tables over this span
        for k in range(i + 1, j):
            for a in range(n_symbols):
                f = symbols.entry[(k * (n + 1) + j) * n_symbols + a]
                if f[AT] >= 0:
                    n_rows = max(n_rows, rows_of[k] + f[ROWS] - 1)
                    width = max(width, high_of[k] + f[HIGH] - 1)
            if k == j - 1:
                n_rows, width = max(n_rows, rows_of[k]), max(width, high_of[k])
        for at in range(chart.begin[cell], chart.end[cell]):
            allowed[sentence.items.state[at]] = sentence.alive[at]
        slots, n_slots = extend_states(
            sentence, symbols, row, slots, allowed, i, j, n_rows, width
        )
        row, n_items, size = close_slots(
            row, slots, n_slots, n_rows, width, n_items, size
        )
        row.begin[j + 1] = n_items
        if keep:
            symbols, symbol_size = finish_cell(
                sentence, symbols, symbol_size, row, i, j, n_rows, width
            )
        n_rows, width = zero + 1, zero + 1
        for a in range(n_symbols):
            f = symbols.entry[cell * n_symbols + a]
            if f[AT] >= 0:
                n_rows, width = max(n_rows, f[ROWS]), max(width, f[HIGH])
        slots, n_slots = open_states(
            sentence, symbols, slots, allowed, i, j, n_rows, width
        )
        row, n_items, size = close_slots(
            row, slots, n_slots, n_rows, width, n_items, size
        )
        for at in range(chart.begin[cell], chart.end[cell]):
            allowed[sentence.items.state[at]] = 0
        row.begin[j + 1] = n_items
        for item in range(row.begin[j], n_items):
            rows_of[j] = max(rows_of[j], row.entry[item, ROWS])
            high_of[j] = max(high_of[j], row.entry[item, HIGH])
    return row, symbols, symbol_size


@inner_allocating
def finish_cell(sentence, symbols, size, row, i, j, n_rows, width):
    """Tables of the symbols of a cell: ends of branchings, then chains.

    Returns the symbols and how much of their table is used.
    """
    tables, scores, first = sentence.tables, sentence.scores, sentence.first
    gold, with_correct = sentence.gold, sentence.with_correct
    n_symbols = tables.n_symbols
    n_all = n_symbols + tables.n_tags
    cell = i * (sentence.n + 1) + j
    one = np.int64(1)
    n_steps = 1
    for c in range(tables.chain_top.shape[0]):
        n_steps = max(n_steps, tables.chain_step[c + 1] - tables.chain_step[c])
    wide = width + 1 + n_steps
    high = n_rows + (1 + n_steps if with_correct else 0)
    area = high * wide
    base = np.full(n_all * area, -np.inf)
    top = np.full(n_symbols * area, -np.inf)
    is_live = np.zeros(n_all, np.uint8)
    for item in range(row.begin[j], row.begin[j + 1]):
        q = row.state[item]
        for d in range(tables.done_ptr[q], tables.done_ptr[q + 1]):
            a = tables.done_symbol[d]
            label = tables.label[a]
            gain = scores.weight[tables.done_weight[d]] + scores.span[cell, label]
            dc = np.int64(gold[cell, label]) * with_correct
            is_live[a] = 1
            shift(row.table, row.entry[item], gain, dc, one, base, a * area, wide)
    if j == i + 1:
        for leaf in range(scores.leaf_ptr[first + i], scores.leaf_ptr[first + j]):
            a = n_symbols + scores.leaf_tag[leaf]
            is_live[a] = 1
            base[a * area] = scores.weight[scores.leaf_weight[leaf]]
    for b in range(n_all):
        if not is_live[b]:
            continue
        if b < n_symbols:
            for x in range(area):
                if base[b * area + x] > top[b * area + x]:
                    top[b * area + x] = base[b * area + x]
        for c in range(tables.chain_ptr[b], tables.chain_ptr[b + 1]):
            gain, dc, dp = chain_counts(sentence, c, cell)
            # what would be shifted beyond the table is −inf already
            a = tables.chain_top[c]
            for r in range(high - dc):
                for p in range(wide - dp):
                    total = base[b * area + r * wide + p] + gain
                    into = a * area + (r + dc) * wide + p + dp
                    if total > top[into]:
                        top[into] = total
    table = longer(symbols.table, size + n_symbols * area)
    for a in range(n_symbols):
        e = symbols.entry[cell * n_symbols + a]
        size = pack(top, a * area, high, wide, table, size, e)
        if e[ROWS] == 0:
            e[AT] = -1
    return Symbols(symbols.entry, table), size


@inner
def chain_counts(sentence, c, cell):
    """Score of a chain over a cell, its correct and its predicted brackets."""
    tables, scores = sentence.tables, sentence.scores
    gain = scores.chain[c]
    dc, dp = 0, 0
    for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
        label = tables.chain_label[s]
        gain += scores.span[cell, label]
        dp += 1
        if sentence.with_correct:
            dc += sentence.gold[cell, label]
    return gain, dc, dp


@inlined
def inside_counts(sentence):
    """Tables of all symbols over all spans of a sentence."""
    n = sentence.n
    entry = np.full(((n + 1) * (n + 1) * sentence.tables.n_symbols, 4), -1, np.int64)
    symbols = Symbols(entry, np.empty(4096))
    size, keep = np.int64(0), np.int64(1)
    row = new_row(n)
    for i in range(n - 1, -1, -1):
        row, symbols, size = fill_row(sentence, symbols, size, row, i, n, keep)
    return symbols


@inner_allocating
def new_row(n):
    """An empty row."""
    begin = np.zeros(n + 2, np.int64)
    return Row(
        begin, np.empty(256, np.int32), np.empty((256, 4), np.int64), np.empty(4096)
    )
