"""Tracing a chart with counts: the best tree for given (c, p)."""

from typing import Any

import numpy as np

from partwise.compiled import inner, inner_allocating
from partwise.structures.phrase._cky_counts import chain_counts, fill_row, new_row
from partwise.structures.phrase._cky_trace import leaf_of, write
from partwise.structures.phrase._count_tables import AT, HIGH, LOW, ROWS, look


@inner_allocating
def root_table(sentence, symbols):
    """Best score of a whole tree with (c, p) brackets, (rows, columns)."""
    tables, scores, n = sentence.tables, sentence.scores, sentence.n
    rows, high = 1, 1
    for a in range(tables.n_symbols):
        e = symbols.entry[n * tables.n_symbols + a]
        if tables.root_weight[a] >= 0 and e[AT] >= 0:
            rows, high = max(rows, e[ROWS]), max(high, e[HIGH])
    best = np.full((rows, high), -np.inf)
    for a in range(tables.n_symbols):
        e = symbols.entry[n * tables.n_symbols + a]
        if tables.root_weight[a] >= 0 and e[AT] >= 0:
            gain = scores.weight[tables.root_weight[a]]
            for c in range(e[ROWS]):
                for p in range(e[LOW], e[HIGH]):
                    value = look(symbols.table, e, c, p) + gain
                    best[c, p] = max(best[c, p], value)
    return best


@inner
def base_counts(sentence, row, i, j, b, c, p):
    """Best base score of b over [i, j) at (c, p): value, item, end (−1: a tag)."""
    tables, scores, first = sentence.tables, sentence.scores, sentence.first
    cell = i * (sentence.n + 1) + j
    best, item_found, end_found = -np.inf, -1, -1
    if b >= tables.n_symbols:
        if j == i + 1 and c == 0 and p == 0:
            leaf = leaf_of(scores, first + i, b - tables.n_symbols)
            if leaf >= 0:
                best = scores.weight[scores.leaf_weight[leaf]]
        return best, item_found, end_found
    for item in range(row.begin[j], row.begin[j + 1]):
        q = row.state[item]
        for d in range(tables.done_ptr[q], tables.done_ptr[q + 1]):
            if tables.done_symbol[d] != b:
                continue
            label = tables.label[b]
            dc = sentence.gold[cell, label] if sentence.with_correct else 0
            value = look(row.table, row.entry[item], c - dc, p - 1)
            value += scores.weight[tables.done_weight[d]] + scores.span[cell, label]
            if value > best:
                best, item_found, end_found = value, item, d
    return best, item_found, end_found


@inner
def step_counts(sentence, symbols, row, i, j, q, c, p, out):
    """The best way into state q over [i, j) at (c, p), into `out`.

    out = (edge or −1, split, first child's number, c and p of the child).
    """
    tables, scores = sentence.tables, sentence.scores
    first, n = sentence.first, sentence.n
    best = -np.inf
    out[0], out[2] = -1, -1
    for e0 in range(tables.into_ptr[q], tables.into_ptr[q + 1]):
        edge = tables.into[e0]
        source, child = tables.edge_from[edge], tables.edge_child[edge]
        gain = scores.weight[tables.edge_weight[edge]]
        is_tag = child >= tables.n_symbols
        for k in range(j - 1 if is_tag else i + 1, j):
            if k == i:
                continue
            item = -1
            for z in range(row.begin[k], row.begin[k + 1]):
                if row.state[z] == source:
                    item = z
                    break
            if item < 0:
                continue
            left = row.entry[item]
            if is_tag:
                leaf = leaf_of(scores, first + k, child - tables.n_symbols)
                if leaf >= 0:
                    value = look(row.table, left, c, p) + gain
                    value += scores.weight[scores.leaf_weight[leaf]]
                    if value > best:
                        best = value
                        out[0], out[1], out[3], out[4] = edge, k, 0, 0
                continue
            f = symbols.entry[(k * (n + 1) + j) * tables.n_symbols + child]
            if f[AT] < 0:
                continue
            for c2 in range(min(c + 1, f[ROWS])):
                for p2 in range(f[LOW], min(p + 1, f[HIGH])):
                    value = look(row.table, left, c - c2, p - p2) + gain
                    value += look(symbols.table, f, c2, p2)
                    if value > best:
                        best = value
                        out[0], out[1], out[3], out[4] = edge, k, c2, p2
    for o in range(tables.opened_ptr[q], tables.opened_ptr[q + 1]):
        child = tables.opened_by[o]
        value = -np.inf
        if child < tables.n_symbols:
            f = symbols.entry[(i * (n + 1) + j) * tables.n_symbols + child]
            if f[AT] >= 0:
                value = look(symbols.table, f, c, p)
        elif j == i + 1 and c == 0 and p == 0:
            leaf = leaf_of(scores, first + i, child - tables.n_symbols)
            if leaf >= 0:
                value = scores.weight[scores.leaf_weight[leaf]]
        value += scores.weight[tables.opened_weight[o]]
        if value > best:
            best = value
            out[0], out[2], out[3], out[4] = -1, o, c, p


@inner
def best_chain(sentence, row, i, j, a, c, p):
    """How symbol a over [i, j) has its score at (c, p): chain or −1, item, end."""
    tables = sentence.tables
    cell = i * (sentence.n + 1) + j
    best, item, end = base_counts(sentence, row, i, j, a, c, p)
    chain = -1
    for x in range(tables.chain_top.shape[0]):
        b = tables.chain_bottom[x]
        if tables.chain_top[x] != a or (b >= tables.n_symbols and j > i + 1):
            continue
        gain, dc, dp = chain_counts(sentence, x, cell)
        value, item_below, end_below = base_counts(
            sentence, row, i, j, b, c - dc, p - dp
        )
        if value + gain > best:
            best, item, end, chain = value + gain, item_below, end_below, x
    return chain, item, end


@inner_allocating
def trace_counts(sentence, symbols, c, p, code):
    """Write the best tree with these counts, as `trace` does."""
    tables, scores, n = sentence.tables, sentence.scores, sentence.n
    n_symbols, n_chains = tables.n_symbols, tables.chain_top.shape[0]
    none = tables.n_weights
    for t in range(code.shape[0]):
        code[t] = -1
    zero: Any = np.int64(0)  # not a literal: each would compile its callees again
    a, best = zero, -np.inf
    for s in range(n_symbols):
        e = symbols.entry[n * n_symbols + s]
        if tables.root_weight[s] >= 0 and e[AT] >= 0:
            value = look(symbols.table, e, c, p) + scores.weight[tables.root_weight[s]]
            if value > best:
                best, a = value, s
    size = write(code, zero, n_chains + tables.root_weight[a], n)
    stack = np.empty((2 * n + 2, 5), np.int64)
    put(stack, zero, a, zero, n, c, p)
    depth = 1
    row = new_row(n)
    filled = -1
    step = np.empty(5, np.int64)
    while depth > 0:
        depth -= 1
        a, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        c, p = stack[depth, 3], stack[depth, 4]
        cell = i * (n + 1) + j
        item, end = np.int64(-1), np.int64(-1)
        if a < n_symbols:
            if filled != i:
                row, symbols, _ = fill_row(sentence, symbols, zero, row, i, j, zero)
                filled = i
            chain, item, end = best_chain(sentence, row, i, j, a, c, p)
            if chain >= 0:
                _, dc, dp = chain_counts(sentence, chain, cell)
                c, p = c - dc, p - dp
                size = write(code, size, chain, cell)
                a = np.int64(tables.chain_bottom[chain])
        if a >= n_symbols:
            leaf = leaf_of(scores, sentence.first + i, a - n_symbols)
            if scores.leaf_weight[leaf] < none:
                size = write(code, size, n_chains + scores.leaf_weight[leaf], cell)
            continue
        size = write(code, size, n_chains + tables.done_weight[end], cell)
        if sentence.with_correct:
            c -= sentence.gold[cell, tables.label[a]]
        p -= 1
        q = row.state[item]
        while True:
            step_counts(sentence, symbols, row, i, j, q, c, p, step)
            if step[0] < 0:
                o = step[2]
                if tables.opened_weight[o] != none:
                    part = n_chains + tables.opened_weight[o]
                    size = write(code, size, part, i * (n + 1) + j)
                put(stack, depth, tables.opened_by[o], i, j, c, p)
                depth += 1
                break
            edge, k = step[0], step[1]
            if tables.edge_weight[edge] != none:
                part = n_chains + tables.edge_weight[edge]
                size = write(code, size, part, k * (n + 1) + j)
            put(stack, depth, tables.edge_child[edge], k, j, step[3], step[4])
            depth += 1
            c, p = c - step[3], p - step[4]
            q = tables.edge_from[edge]
            j = k


@inner
def put(stack, depth, a, i, j, c, p):
    """Remember a node to visit."""
    stack[depth, 0], stack[depth, 1], stack[depth, 2] = a, i, j
    stack[depth, 3], stack[depth, 4] = c, p
