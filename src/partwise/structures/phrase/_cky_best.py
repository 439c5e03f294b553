"""The k best trees of a chart, exactly.

Best-first search from the root downwards. A candidate is a partial derivation with a
stack of open tasks; inside scores are the exact best of the rest, so the first k
that are completed are the k best. Following a candidate takes the best choice of every
task and offers the other choices as new candidates.

Tasks are: a symbol over a span (choose a chain, or none), a branching symbol (choose
the state that ends it), a state (choose the last child and where it begins). They come
up in the order in which `trace` writes its code.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import inner, inner_allocating
from partwise.structures._heap import sift_down, sift_up
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.phrase._cky_programs import gather_base
from partwise.structures.phrase._cky_trace import item_of, leaf_of

SYMBOL, BASE, STATE = 0, 1, 2


class Search(NamedTuple):
    """Candidates, tasks and parts as linked records; a heap over the candidates."""

    key: np.ndarray  # heap
    item: np.ndarray  # int32 heap: numbers of candidates
    candidate: np.ndarray  # (…, 7) int32: parts, tasks below, kind, x, i, j, choice
    second: np.ndarray  # int32 second half of the choice
    task: np.ndarray  # (…, 5) int32: kind, x, i, j, next
    part: np.ndarray  # (…, 3) int32: part, cell, before


@inner_allocating
def longer_rows(table, size):
    """The same rows with room for `size`."""
    if size <= table.shape[0]:
        return table
    more = np.empty((max(size, 2 * table.shape[0]), table.shape[1]), np.int32)
    for k in range(table.shape[0]):
        for z in range(table.shape[1]):
            more[k, z] = table[k, z]
    return more


@inner_allocating
def longer_search(search, n_candidates, n_tasks, n_parts):
    """The same search with room for more of everything."""
    key, item, second = search.key, search.item, search.second
    if n_candidates > key.shape[0]:
        room = max(n_candidates, 2 * key.shape[0])
        key, item = np.empty(room), np.empty(room, np.int32)
        second = np.empty(room, np.int32)
        for k in range(search.key.shape[0]):
            key[k], item[k] = search.key[k], search.item[k]
            second[k] = search.second[k]
    return Search(
        key, item, longer_rows(search.candidate, n_candidates), second,
        longer_rows(search.task, n_tasks), longer_rows(search.part, n_parts),
    )  # fmt: skip


@inner
def choices(tables, scores, chart, items, first, n, kind, x, i, j, value, choice):
    """All choices of a task with their values; returns how many there are.

    choice[:, 0] is a chain or −1; an item; an edge, or −1 − a first child's number.
    choice[:, 1] is unused; the number of the end; where the last child begins.
    """
    cell = i * (n + 1) + j
    size = 0
    if kind == SYMBOL:
        n_live = gather_base(MAX_PLUS, tables, scores, chart, items, first, i, j, n)
        for z in range(n_live):
            b = chart.live[z]
            if b == x:
                value[size], choice[size, 0] = chart.base[b], -1
                size += 1
            for c in range(tables.chain_ptr[b], tables.chain_ptr[b + 1]):
                if tables.chain_top[c] == x:
                    total = chart.base[b] + scores.chain[c]
                    for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
                        total += scores.span[cell, tables.chain_label[s]]
                    value[size], choice[size, 0] = total, c
                    size += 1
        for z in range(n_live):
            chart.base[chart.live[z]] = -np.inf
    elif kind == BASE:
        gain = scores.span[cell, tables.label[x]]
        for at in range(chart.begin[cell], chart.end[cell]):
            q = items.state[at]
            for d in range(tables.done_ptr[q], tables.done_ptr[q + 1]):
                if tables.done_symbol[d] == x:
                    total = items.score[at] + scores.weight[tables.done_weight[d]]
                    value[size] = total + gain
                    choice[size, 0], choice[size, 1] = at, d
                    size += 1
    else:
        for e0 in range(tables.into_ptr[x], tables.into_ptr[x + 1]):
            e = tables.into[e0]
            child = tables.edge_child[e]
            gain = scores.weight[tables.edge_weight[e]]
            is_tag = child >= tables.n_symbols
            for k in range(max(i + 1, j - 1) if is_tag else i + 1, j):
                if is_tag:
                    leaf = leaf_of(scores, first + k, child - tables.n_symbols)
                    if leaf < 0:
                        continue
                    right = scores.weight[scores.leaf_weight[leaf]]
                else:
                    right = chart.symbol[k * (n + 1) + j, child]
                at = item_of(chart, items, i * (n + 1) + k, tables.edge_from[e])
                if at >= 0 and right > -np.inf:
                    value[size] = items.score[at] + right + gain
                    choice[size, 0], choice[size, 1] = e, k
                    size += 1
        for o in range(tables.opened_ptr[x], tables.opened_ptr[x + 1]):
            child = tables.opened_by[o]
            right = -np.inf
            if child < tables.n_symbols:
                right = chart.symbol[cell, child]
            elif j == i + 1:
                leaf = leaf_of(scores, first + i, child - tables.n_symbols)
                if leaf >= 0:
                    right = scores.weight[scores.leaf_weight[leaf]]
            if right > -np.inf:
                value[size] = right + scores.weight[tables.opened_weight[o]]
                choice[size, 0], choice[size, 1] = -1 - o, 0
                size += 1
    return size


@inner
def add_task(search, n_tasks, kind, x, i, j, after):
    """Put a task before others; returns its number."""
    task = search.task[n_tasks]
    task[0], task[1], task[2], task[3], task[4] = kind, x, i, j, after
    return n_tasks


@inner
def take_choice(
    tables, items, search, n, n_tasks, n_parts, tasks, parts, kind, x, i, j, one, two
):
    """Carry out a choice: new tasks and parts; returns their numbers and counts."""
    n_chains, none = tables.chain_top.shape[0], tables.n_weights
    cell = i * (n + 1) + j
    part = -1
    if kind == SYMBOL:
        b = x
        if one >= 0:
            part = one
            b = tables.chain_bottom[one]
        next_kind = BASE if b < tables.n_symbols else SYMBOL
        tasks = add_task(search, n_tasks, next_kind, b, i, j, tasks)
        n_tasks += 1
    elif kind == BASE:
        part = n_chains + tables.done_weight[two]
        tasks = add_task(search, n_tasks, STATE, items.state[one], i, j, tasks)
        n_tasks += 1
    elif one >= 0:
        if tables.edge_weight[one] != none:
            part = n_chains + tables.edge_weight[one]
            cell = two * (n + 1) + j
        child = tables.edge_child[one]
        tasks = add_task(search, n_tasks, SYMBOL, child, two, j, tasks)
        source = tables.edge_from[one]
        tasks = add_task(search, n_tasks + 1, STATE, source, i, two, tasks)
        n_tasks += 2
    else:
        o = -1 - one
        if tables.opened_weight[o] != none:
            part = n_chains + tables.opened_weight[o]
        child = tables.opened_by[o]
        tasks = add_task(search, n_tasks, SYMBOL, child, i, j, tasks)
        n_tasks += 1
    if part >= 0:
        record = search.part[n_parts]
        record[0], record[1], record[2] = part, cell, parts
        parts = n_parts
        n_parts += 1
    return tasks, parts, n_tasks, n_parts


@inner
def offer(search, n_candidates, heap, value, parts, tasks, kind, x, i, j, one, two):
    """Add a candidate that carries out a choice (one, two) of a task first."""
    c = search.candidate[n_candidates]
    c[0], c[1], c[2], c[3], c[4], c[5], c[6] = parts, tasks, kind, x, i, j, one
    search.second[n_candidates] = two
    search.key[heap], search.item[heap] = value, n_candidates
    sift_up(search.key, search.item, heap)


@inner
def offer_roots(search, tables, scores, chart, n):
    """Add a candidate for each root, with a part and a task; returns how many."""
    zero = np.int64(0)  # not a literal: each would compile its callees again
    size = zero
    for a in range(tables.n_symbols):
        if tables.root_weight[a] < 0 or chart.symbol[n, a] == -np.inf:
            continue
        part = search.part[size]
        part[0] = tables.chain_top.shape[0] + tables.root_weight[a]
        part[1], part[2] = n, -1
        tasks = add_task(search, size, zero + SYMBOL, a, zero, n, zero - 1)
        value = chart.symbol[n, a] + scores.weight[tables.root_weight[a]]
        nothing = zero - 1
        offer(
            search, size, size, value, size, tasks, nothing, zero, zero, zero, zero,
            zero,
        )  # fmt: skip
        size += 1
    return size


@inner_allocating
def k_best(tables, scores, chart, items, first, n, k, codes, values):
    """The k trees of highest score, best first; returns how many there are.

    Needs a MaxPlus inside pass. Row r of `codes` is written as by `trace`.
    """
    n_chains, none = tables.chain_top.shape[0], tables.n_weights
    search = Search(
        np.empty(1024), np.empty(1024, np.int32), np.empty((1024, 7), np.int32),
        np.empty(1024, np.int32), np.empty((1024, 5), np.int32),
        np.empty((1024, 3), np.int32),
    )  # fmt: skip
    most = 0
    for q in range(tables.is_open.shape[0]):
        most = max(most, tables.into_ptr[q + 1] - tables.into_ptr[q])
    room = most * n + tables.opened_by.shape[0] + tables.done_symbol.shape[0] + n_chains
    room += 1
    value, choice = np.empty(room), np.zeros((room, 2), np.int64)
    zero = np.int64(0)  # not a literal: each would compile its callees again
    search = longer_search(search, tables.n_symbols, tables.n_symbols, tables.n_symbols)
    n_roots = offer_roots(search, tables, scores, chart, n)
    n_candidates, n_tasks, n_parts, heap = n_roots, n_roots, n_roots, n_roots
    n_found = zero
    while n_found < k and heap > 0:
        total, at = search.key[0], search.item[0]
        heap -= 1
        search.key[0], search.item[0] = search.key[heap], search.item[heap]
        sift_down(search.key, search.item, heap)
        c = search.candidate[at]
        parts, tasks = np.int64(c[0]), np.int64(c[1])
        kind, x, i, j = c[2], c[3], np.int64(c[4]), np.int64(c[5])
        one, two = np.int64(c[6]), np.int64(search.second[at])
        search = longer_search(search, n_candidates, n_tasks + 2, n_parts + 1)
        if kind >= 0:
            tasks, parts, n_tasks, n_parts = take_choice(
                tables, items, search, n, n_tasks, n_parts, tasks, parts, kind, x, i, j,
                one, two,
            )  # fmt: skip
        while tasks >= 0:
            task = search.task[tasks]
            kind, x, i, j = task[0], task[1], np.int64(task[2]), np.int64(task[3])
            tasks = np.int64(task[4])
            if x >= tables.n_symbols and kind == SYMBOL:
                leaf = leaf_of(scores, first + i, x - tables.n_symbols)
                if scores.leaf_weight[leaf] < none:
                    search = longer_search(search, zero, zero, n_parts + 1)
                    record = search.part[n_parts]
                    record[0] = n_chains + scores.leaf_weight[leaf]
                    record[1], record[2] = i * (n + 1) + j, parts
                    parts, n_parts = n_parts, n_parts + 1
                continue
            size = choices(
                tables, scores, chart, items, first, n, kind, x, i, j, value, choice
            )
            best = 0
            for z in range(1, size):
                if value[z] > value[best]:
                    best = z
            search = longer_search(
                search, n_candidates + size, n_tasks + 2, n_parts + 1
            )
            for z in range(size):
                if z == best or n_found == k - 1:
                    continue
                offer(
                    search, n_candidates, heap, total - value[best] + value[z], parts,
                    tasks, kind, x, i, j, choice[z, 0], choice[z, 1],
                )  # fmt: skip
                n_candidates, heap = n_candidates + 1, heap + 1
            tasks, parts, n_tasks, n_parts = take_choice(
                tables, items, search, n, n_tasks, n_parts, tasks, parts, kind, x, i, j,
                choice[best, 0], choice[best, 1],
            )  # fmt: skip
        values[n_found] = total
        write_code(search, parts, codes, n_found)
        n_found += 1
    return n_found


@inner
def write_code(search, parts, codes, row):
    """The parts of a finished candidate, first to last."""
    size = 0
    at = parts
    while at >= 0:
        size += 2
        at = np.int64(search.part[at, 2])
    for t in range(size, codes.shape[1]):
        codes[row, t] = -1
    at = parts
    while at >= 0:
        size -= 2
        codes[row, size], codes[row, size + 1] = search.part[at, 0], search.part[at, 1]
        at = np.int64(search.part[at, 2])
