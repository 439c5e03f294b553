"""Tracing a chart: the best tree, found again without back-pointers."""

import numpy as np

from partwise.compiled import inlined, inner
from partwise.structures._semirings import MAX_PLUS
from partwise.structures.phrase._cky_programs import gather_base


@inner
def best_root(tables, scores, chart, n):
    """The best symbol over the whole sentence, −1 when there is none."""
    best, root = -np.inf, -1
    for a in range(tables.n_symbols):
        if tables.root_weight[a] >= 0:
            value = chart.symbol[n, a] + scores.weight[tables.root_weight[a]]
            if value > best:
                best, root = value, a
    return root, best


@inlined
def best_chain(tables, scores, chart, n_live, cell, a):
    """The chain that gave symbol a its score, −1 for none; bases are gathered."""
    best = chart.base[a]
    chain = -1
    for z in range(n_live):
        b = chart.live[z]
        for c in range(tables.chain_ptr[b], tables.chain_ptr[b + 1]):
            if tables.chain_top[c] == a:
                value = chart.base[b] + scores.chain[c]
                if b >= tables.n_symbols and scores.node.shape[0] > 0:
                    value += scores.node[cell]
                for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
                    value += scores.span[cell, tables.chain_label[s]]
                if value > best:
                    best, chain = value, c
    return chain


@inlined
def best_end(tables, scores, chart, items, cell, a):
    """The item of a cell that ends best in symbol a, and the number of that end."""
    best, item, end = -np.inf, -1, -1
    for at in range(chart.begin[cell], chart.end[cell]):
        q = items.state[at]
        for d in range(tables.done_ptr[q], tables.done_ptr[q + 1]):
            if tables.done_symbol[d] == a:
                value = items.score[at] + scores.weight[tables.done_weight[d]]
                if value > best:
                    best, item, end = value, at, d
    return item, end


@inner
def item_of(chart, items, cell, p):
    """Number of the item of state p in a cell, −1 without."""
    state = items.state
    for at in range(chart.grows[cell], chart.end[cell]):
        if state[at] == p:
            return at
    return -1


@inner
def leaf_of(scores, token, tag):
    """Number of the leaf with this tag at a token, −1 without."""
    for leaf in range(scores.leaf_ptr[token], scores.leaf_ptr[token + 1]):
        if scores.leaf_tag[leaf] == tag:
            return leaf
    return -1


@inlined
def best_step(tables, scores, chart, items, first, i, j, n, q):
    """The best way into state q over [i, j): edge and split, or −1 and a first child.

    Returns (edge, split, first child's number in `opened_by`).
    """
    best, edge, split, opened = -np.inf, -1, -1, -1
    for e0 in range(tables.into_ptr[q], tables.into_ptr[q + 1]):
        e = tables.into[e0]
        p, child = tables.edge_from[e], tables.edge_child[e]
        edge_score = scores.weight[tables.edge_weight[e]]
        is_tag = child >= tables.n_symbols
        for k in range(j - 1 if is_tag else i + 1, j):
            at = -1
            if is_tag:
                leaf = leaf_of(scores, first + k, child - tables.n_symbols)
                if leaf < 0:
                    continue
                value = scores.weight[scores.leaf_weight[leaf]]
            else:
                value = chart.symbol[k * (n + 1) + j, child]
            if value == -np.inf or k == i:
                continue
            at = item_of(chart, items, i * (n + 1) + k, p)
            if at >= 0 and items.score[at] + value + edge_score > best:
                best, edge, split = items.score[at] + value + edge_score, e, k
    for o in range(tables.opened_ptr[q], tables.opened_ptr[q + 1]):
        child = tables.opened_by[o]
        value = -np.inf
        if child < tables.n_symbols:
            value = chart.symbol[i * (n + 1) + j, child]
        elif j == i + 1:
            leaf = leaf_of(scores, first + i, child - tables.n_symbols)
            if leaf >= 0:
                value = scores.weight[scores.leaf_weight[leaf]]
        value += scores.weight[tables.opened_weight[o]]
        if value > best:
            best, edge, opened = value, -1, o
    return edge, split, opened


@inner
def write(code, size, part, cell):
    """Append a part to a code."""
    code[size] = part
    code[size + 1] = cell
    return size + 2


@inner
def trace(tables, scores, chart, items, first, n, stack, code):
    """Write the best tree after a MaxPlus inside pass; returns its score.

    A code lists pairs (part, cell), −1 after the last. Parts below the number of
    chains are chains, the others weights plus that number: first the root, then each
    node from the top and the left: its chain, and either the word's weight or the end
    of the branching, its steps from right to left and its first child. Without a tree
    the score is −inf and the code empty. `stack` has room for 2n + 2 rows.
    """
    n_chains = tables.chain_top.shape[0]
    none = tables.n_weights
    for t in range(code.shape[0]):
        code[t] = -1
    a, total = best_root(tables, scores, chart, n)
    if a < 0:
        return -np.inf
    # np.int64: numba would compile a callee again for a literal number
    size = write(code, np.int64(0), n_chains + tables.root_weight[a], n)
    stack[0, 0], stack[0, 1], stack[0, 2] = a, 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        a, i, j = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        cell = i * (n + 1) + j
        if a < tables.n_symbols:
            n_live = gather_base(MAX_PLUS, tables, scores, chart, items, first, i, j, n)
            c = best_chain(tables, scores, chart, n_live, cell, a)
            for z in range(n_live):
                chart.base[chart.live[z]] = -np.inf
            if c >= 0:
                size = write(code, size, c, cell)
                a = tables.chain_bottom[c]
        if a >= tables.n_symbols:
            leaf = leaf_of(scores, first + i, a - tables.n_symbols)
            if scores.leaf_weight[leaf] < none:
                size = write(code, size, n_chains + scores.leaf_weight[leaf], cell)
            continue
        item, end = best_end(tables, scores, chart, items, cell, a)
        size = write(code, size, n_chains + tables.done_weight[end], cell)
        q = items.state[item]
        while True:
            e, k, o = best_step(tables, scores, chart, items, first, i, j, n, q)
            if e < 0:
                if tables.opened_weight[o] != none:
                    part = n_chains + tables.opened_weight[o]
                    size = write(code, size, part, i * (n + 1) + j)
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = (
                    tables.opened_by[o], i, j,
                )  # fmt: skip
                depth += 1
                break
            if tables.edge_weight[e] != none:
                part = n_chains + tables.edge_weight[e]
                size = write(code, size, part, k * (n + 1) + j)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = (
                tables.edge_child[e], k, j,
            )  # fmt: skip
            depth += 1
            q = tables.edge_from[e]
            j = k
    return total
