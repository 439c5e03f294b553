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

AT, ROWS, LOW, HIGH = 0, 1, 2, 3  # columns of an entry: place, rows, range of p


class Row(NamedTuple):
    """States over the spans that begin at one word."""

    begin: np.ndarray  # (n + 2,) int64, first item of each end
    state: np.ndarray  # int32
    entry: np.ndarray  # (items, 4) int64
    table: np.ndarray  # arena of tables


class Symbols(NamedTuple):
    """Tables of all symbols over all spans."""

    entry: np.ndarray  # (cells · n_symbols, 4) int64; place −1: not possible
    table: np.ndarray


@inner_allocating
def longer(table, size):
    """The same numbers with room for `size`."""
    if size <= table.shape[0]:
        return table
    more = np.empty(max(size, 2 * table.shape[0]))
    for k in range(table.shape[0]):
        more[k] = table[k]
    return more


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


@inner
def convolve(one, e, other, f, extra, out, at, width):
    """out[c + c', p + p'] = max(…, one[c, p] + other[c', p'] + extra)."""
    wide, wide2 = e[HIGH] - e[LOW], f[HIGH] - f[LOW]
    for c in range(e[ROWS]):
        for c2 in range(f[ROWS]):
            right = f[AT] + c2 * wide2
            for z in range(wide):
                value = one[e[AT] + c * wide + z] + extra
                if value == -np.inf:
                    continue
                into = at + (c + c2) * width + e[LOW] + z + f[LOW]
                for z2 in range(wide2):
                    total = value + other[right + z2]
                    if total > out[into + z2]:
                        out[into + z2] = total


@inner
def shift(table, e, extra, dc, dp, out, at, width):
    """out[c + dc, p + dp] = max(…, table[c, p] + extra)."""
    wide = e[HIGH] - e[LOW]
    for c in range(e[ROWS]):
        into = at + (c + dc) * width + e[LOW] + dp
        for z in range(wide):
            total = table[e[AT] + c * wide + z] + extra
            if total > out[into + z]:
                out[into + z] = total


@inner
def pack(source, at, rows, width, table, size, entry):
    """Copy the possible part of a table; fills its entry, returns the new size."""
    n_rows, low, high = 0, width, 0
    for c in range(rows):
        for p in range(width):
            if source[at + c * width + p] > -np.inf:
                n_rows = c + 1
                low = min(low, p)
                high = max(high, p + 1)
    entry[AT], entry[ROWS], entry[LOW], entry[HIGH] = size, n_rows, low, high
    for c in range(n_rows):
        for p in range(low, high):
            table[size] = source[at + c * width + p]
            size += 1
    return size


@inner
def look(table, e, c, p):
    """The number at (c, p) of an entry, −inf outside."""
    if c < 0 or c >= e[ROWS] or p < e[LOW] or p >= e[HIGH]:
        return -np.inf
    return table[e[AT] + c * (e[HIGH] - e[LOW]) + p - e[LOW]]


@inner_allocating
def with_slot(scratch, n_slots, area):
    """Room for `n_slots` tables of this size, the last of them empty."""
    scratch = longer(scratch, n_slots * area)
    for x in range((n_slots - 1) * area, n_slots * area):
        scratch[x] = -np.inf
    return scratch


@inner_allocating
def close_slots(
    row, slot_of, touched, n_touched, scratch, n_rows, width, n_items, size
):
    """Pack the tables of all states that were touched; the row and its size."""
    area = n_rows * width
    row = longer_row(row, n_items + n_touched, size + n_touched * area)
    for z in range(n_touched):
        slot_of[touched[z]] = -1
        row.state[n_items + z] = touched[z]
        size = pack(
            scratch, z * area, n_rows, width, row.table, size, row.entry[n_items + z]
        )
    return row, size


@inner_allocating
def fill_row(
    tables, scores, chart, keep_items, alive, gold, with_correct, symbols, symbol_size,
    row, first, i, last, n, keep,
):  # fmt: skip
    """Items of row i up to the end `last`; with `keep`, its symbols as well.

    Only states of the chart with `alive` set are visited. Returns the row, the symbols
    and how much of their table is used.
    """
    n_symbols = tables.n_symbols
    n_states = tables.is_open.shape[0]
    slot_of = np.full(n_states, -1, np.int64)
    touched = np.empty(n_states, np.int32)
    allowed = np.zeros(n_states, np.uint8)
    scratch = np.empty(1024)
    blank = np.zeros(4, np.int64)  # a tag: one row, no bracket
    blank[ROWS], blank[HIGH] = 1, 1
    word = np.zeros(1)
    zero = np.int64(0)
    n_items, size = zero, zero
    symbol_entry, symbol_table = symbols.entry, symbols.table
    rows_of, high_of = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    row.begin[i + 1] = 0
    for j in range(i + 1, last + 1):
        cell = i * (n + 1) + j
        n_rows, width = zero + 1, zero + 1  # room of tables in this cell
        for k in range(i + 1, j):
            for a in range(n_symbols):
                f = symbol_entry[(k * (n + 1) + j) * n_symbols + a]
                if f[AT] >= 0:
                    n_rows = max(n_rows, rows_of[k] + f[ROWS] - 1)
                    width = max(width, high_of[k] + f[HIGH] - 1)
            if k == j - 1:
                n_rows, width = max(n_rows, rows_of[k]), max(width, high_of[k])
        area = n_rows * width
        begin, end = chart.begin[cell], chart.end[cell]
        for at in range(begin, end):
            allowed[keep_items.state[at]] = alive[at]
        n_touched = 0
        for k in range(i + 1, j):
            for item in range(row.begin[k], row.begin[k + 1]):
                p = row.state[item]
                e = row.entry[item]
                # edges of symbols, then the tag of the last word
                n_edges = tables.edge_ptr[p + 1] - tables.edge_ptr[p]
                leaf_begin, leaf_end = 0, 0
                if k == j - 1:
                    leaf_begin = scores.leaf_ptr[first + k]
                    leaf_end = scores.leaf_ptr[first + j]
                for z in range(n_edges + leaf_end - leaf_begin):
                    f = blank
                    other = word
                    extra = 0.0
                    if z < n_edges:
                        edge = tables.edge_ptr[p] + z
                        child = (k * (n + 1) + j) * n_symbols + tables.edge_child[edge]
                        f = symbol_entry[child]
                        other = symbol_table
                        if f[AT] < 0:
                            continue
                    else:
                        leaf = leaf_begin + z - n_edges
                        edge = np.int64(tables.tag_edge[p, scores.leaf_tag[leaf]])
                        if edge < 0:
                            continue
                        extra = scores.weight[scores.leaf_weight[leaf]]
                    extra += scores.weight[tables.edge_weight[edge]]
                    q = tables.edge_to[edge]
                    if not allowed[q]:
                        continue
                    if slot_of[q] < 0:
                        slot_of[q], touched[n_touched] = n_touched, q
                        n_touched += 1
                        scratch = with_slot(scratch, n_touched, area)
                    convolve(
                        row.table, e, other, f, extra, scratch, slot_of[q] * area, width
                    )
        row, size = close_slots(
            row, slot_of, touched, n_touched, scratch, n_rows, width, n_items, size
        )
        n_items += n_touched
        row.begin[j + 1] = n_items
        if keep:
            symbol_table, symbol_size = finish_cell(
                tables, scores, gold, with_correct, row, symbol_entry, symbol_table,
                symbol_size, first, i, j, n, n_rows, width,
            )  # fmt: skip
        # first children open states
        leaf_begin, leaf_end = scores.leaf_ptr[first + i], scores.leaf_ptr[first + i]
        if j == i + 1:
            leaf_end = scores.leaf_ptr[first + j]
        n_rows, width = zero + 1, zero + 1
        for a in range(n_symbols):
            f = symbol_entry[cell * n_symbols + a]
            if f[AT] >= 0:
                n_rows, width = max(n_rows, f[ROWS]), max(width, f[HIGH])
        area = n_rows * width
        n_touched = 0
        for z in range(n_symbols + leaf_end - leaf_begin):
            a = z
            f = blank
            other = word
            extra = 0.0
            if z < n_symbols:
                f = symbol_entry[cell * n_symbols + a]
                other = symbol_table
                if f[AT] < 0:
                    continue
            else:
                leaf = leaf_begin + z - n_symbols
                a = n_symbols + scores.leaf_tag[leaf]
                extra = scores.weight[scores.leaf_weight[leaf]]
            for o in range(tables.first_ptr[a], tables.first_ptr[a + 1]):
                q = tables.first_state[o]
                if not allowed[q]:
                    continue
                if slot_of[q] < 0:
                    slot_of[q], touched[n_touched] = n_touched, q
                    n_touched += 1
                    scratch = with_slot(scratch, n_touched, area)
                gain = extra + scores.weight[tables.first_weight[o]]
                shift(other, f, gain, zero, zero, scratch, slot_of[q] * area, width)
        row, size = close_slots(
            row, slot_of, touched, n_touched, scratch, n_rows, width, n_items, size
        )
        n_items += n_touched
        for at in range(begin, end):
            allowed[keep_items.state[at]] = 0
        row.begin[j + 1] = n_items
        for item in range(row.begin[j], n_items):
            rows_of[j] = max(rows_of[j], row.entry[item, ROWS])
            high_of[j] = max(high_of[j], row.entry[item, HIGH])
    return row, Symbols(symbol_entry, symbol_table), symbol_size


@inner_allocating
def finish_cell(
    tables, scores, gold, with_correct, row, entry, table, size, first, i, j, n, n_rows,
    width,
):  # fmt: skip
    """Tables of the symbols of a cell: ends of branchings, then chains."""
    n_symbols = tables.n_symbols
    n_all = n_symbols + tables.n_tags
    cell = i * (n + 1) + j
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
            gain, dc, dp = chain_counts(tables, scores, gold, with_correct, c, cell)
            # what would be shifted beyond the table is −inf already
            a = tables.chain_top[c]
            for r in range(high - dc):
                for p in range(wide - dp):
                    total = base[b * area + r * wide + p] + gain
                    into = a * area + (r + dc) * wide + p + dp
                    if total > top[into]:
                        top[into] = total
    table = longer(table, size + n_symbols * area)
    for a in range(n_symbols):
        e = entry[cell * n_symbols + a]
        size = pack(top, a * area, high, wide, table, size, e)
        if e[ROWS] == 0:
            e[AT] = -1
    return table, size


@inner
def chain_counts(tables, scores, gold, with_correct, c, cell):
    """Score of a chain over a cell, its correct and its predicted brackets."""
    gain = scores.chain[c]
    dc, dp = 0, 0
    for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
        label = tables.chain_label[s]
        gain += scores.span[cell, label]
        dp += 1
        if with_correct:
            dc += gold[cell, label]
    return gain, dc, dp


@inlined
def inside_counts(tables, scores, chart, items, alive, gold, with_correct, first, n):
    """Tables of all symbols over all spans of a sentence.

    `chart` and `items` come from a plain inside pass; `alive` marks the items that an
    output worth finding may use.
    """
    entry = np.full(((n + 1) * (n + 1) * tables.n_symbols, 4), -1, np.int64)
    symbols = Symbols(entry, np.empty(4096))
    size, keep = np.int64(0), np.int64(1)
    row = new_row(n)
    for i in range(n - 1, -1, -1):
        row, symbols, size = fill_row(
            tables, scores, chart, items, alive, gold, with_correct, symbols, size, row,
            first, i, n, n, keep,
        )  # fmt: skip
    return symbols


@inner_allocating
def new_row(n):
    """An empty row."""
    begin = np.zeros(n + 2, np.int64)
    return Row(
        begin, np.empty(256, np.int32), np.empty((256, 4), np.int64), np.empty(4096)
    )
