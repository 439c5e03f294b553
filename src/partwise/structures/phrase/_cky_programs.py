"""Charts over spans: inside scores, the best tree, outside scores.

A cell is a span [i, j) of n words, numbered i·(n + 1) + j. It holds the score of each
symbol over it (`symbol`, dense) and a list of *items*: states of unfinished branchings
(see `_tables.py`) with their scores, those that can grow first. Rows i are
filled from the last to the first, so all that starts later is known:

    item[q, i, j] = ⊕_k ⊕_{edges p –X→ q}  item[p, i, k] ⊗ symbol[X, k, j] ⊗ w[edge]
    base[A, i, j] = ⊕_{q ends in A}  item[q, i, j] ⊗ w[rule] ⊗ span[label of A, i, j]
    symbol[A, i, j] = base[A] ⊕ ⊕_{chains A → … → B}  base[B] ⊗ Π w[step] ⊗ span[label]

Losses and features of spans are in `span`. Only symbols and states that are possible
over a span are visited: given the tags, a few hundred of the thousands in a cell. No
back-pointers are kept; the best way is found again while tracing (`_cky_trace.py`).
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import inlined, inner, inner_allocating
from partwise.structures._semirings import adds, plus, times


class Scores(NamedTuple):
    """Scores of one sentence in the semiring's own units."""

    weight: np.ndarray  # (n_weights + 2,) of rules, roots, words; no weight; no word
    chain: np.ndarray  # (C,) product of the weights of a chain's rules
    span: np.ndarray  # (cells, n_labels)
    node: np.ndarray  # (cells,) of having any bracket, MaxPlus only; or empty
    leaf_ptr: np.ndarray  # (n_tokens + 1,) int64, tags that a token may have
    leaf_tag: np.ndarray  # int32
    leaf_weight: np.ndarray  # int32 weight of the word with this tag, or no word


class Chart(NamedTuple):
    """Buffers of one thread."""

    symbol: np.ndarray  # (cells, n_symbols)
    base: np.ndarray  # (S,) scores before chains, of one cell; zero between cells
    live: np.ndarray  # (S,) int32 symbols with a base in that cell
    sum: np.ndarray  # (Q,) scores of states in one cell; zero between cells
    touched: np.ndarray  # (Q,) int32
    begin: np.ndarray  # (cells,) int64, first item of a cell
    grows: np.ndarray  # (cells,) int64, first item that can grow
    end: np.ndarray  # (cells,) int64, one after the last item
    links: np.ndarray  # (longest + 2,) int64, first link of each end j of a row
    room: np.ndarray  # (2,) int64, items and links that a sentence has needed so far


class Items(NamedTuple):
    """States over spans with their scores, cell by cell."""

    state: np.ndarray  # int32
    score: np.ndarray


class Links(NamedTuple):
    """Edges that leave the items of one row, with the score so far.

    They are laid out once and read for every later end of the row: the inner loop of
    the chart runs over them alone.
    """

    child: np.ndarray  # int32
    to: np.ndarray  # int32
    score: np.ndarray


@inner
def gather_base(sr, tables, scores, chart, items, first, i, j, n):
    """Base scores of a cell from its items and tags; returns how many there are."""
    done_ptr, done_symbol = tables.done_ptr, tables.done_symbol
    done_weight, label = tables.done_weight, tables.label
    weight, span = scores.weight, scores.span
    base, live = chart.base, chart.live
    state, score = items.state, items.score
    cell = i * (n + 1) + j
    n_live = 0
    for at in range(chart.begin[cell], chart.end[cell]):
        q = state[at]
        for d in range(done_ptr[q], done_ptr[q + 1]):
            a = done_symbol[d]
            value = times(sr, score[at], weight[done_weight[d]])
            value = times(sr, value, span[cell, label[a]])
            if base[a] == sr.zero:
                live[n_live] = a
                n_live += 1
            base[a] = plus(sr, base[a], value)
    if scores.node.shape[0] > 0:
        for z in range(n_live):
            base[live[z]] = times(sr, base[live[z]], scores.node[cell])
    if j == i + 1:
        leaf_tag, leaf_weight = scores.leaf_tag, scores.leaf_weight
        for leaf in range(scores.leaf_ptr[first + i], scores.leaf_ptr[first + j]):
            a = tables.n_symbols + leaf_tag[leaf]
            base[a] = weight[leaf_weight[leaf]]
            live[n_live] = a
            n_live += 1
    return n_live


@inlined
def close_chains(sr, tables, scores, chart, n_live, cell):
    """Symbols of a cell from its base scores."""
    n_symbols = tables.n_symbols
    chain_ptr, chain_top = tables.chain_ptr, tables.chain_top
    chain_step, chain_label = tables.chain_step, tables.chain_label
    chain, span = scores.chain, scores.span
    symbol, base, live = chart.symbol, chart.base, chart.live
    for a in range(n_symbols):
        symbol[cell, a] = sr.zero
    for z in range(n_live):
        b = live[z]
        if b < n_symbols:
            symbol[cell, b] = plus(sr, symbol[cell, b], base[b])
        for c in range(chain_ptr[b], chain_ptr[b + 1]):
            value = times(sr, base[b], chain[c])
            if b >= n_symbols and scores.node.shape[0] > 0:
                value = times(sr, value, scores.node[cell])
            for s in range(chain_step[c], chain_step[c + 1]):
                value = times(sr, value, span[cell, chain_label[s]])
            a = chain_top[c]
            symbol[cell, a] = plus(sr, symbol[cell, a], value)


@inner_allocating
def inside(sr, tables, scores, chart, first, n):
    """Fill the chart of the n words from token `first`; returns its items."""
    chart.room[0] = max(chart.room[0], 64 * n * n + 1024)
    chart.room[1] = max(chart.room[1], 64 * n + 1024)
    while True:
        room = chart.room[0]
        items = Items(np.empty(room, np.int32), np.empty(room))
        room = chart.room[1]
        links = Links(
            np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
        )
        if fill_chart(sr, tables, scores, chart, items, links, first, n):
            return items


@inner
def fill_chart(sr, tables, scores, chart, items, links, first, n):
    """As `inside` into given arrays; False when they, and `room`, were too small.

    A function of its own because it makes no arrays (see `kernel`): a second start is
    rare, as `room` is kept.
    """
    size = np.int64(0)
    for i in range(n - 1, -1, -1):
        chart.links[i + 1] = 0
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            n_touched = np.int64(0)
            if j > i + 1:
                n_touched = add_tags(sr, tables, scores, chart, items, first + j, cell)
                n_touched = add_symbols(sr, chart, links, n_touched, i, j, n)
            needed = size + n_touched + tables.first_state.shape[0]
            if needed > items.state.shape[0]:
                chart.room[0] = 2 * needed
                for z in range(n_touched):
                    chart.sum[chart.touched[z]] = sr.zero
                return False
            size = store(sr, tables, chart, items, size, n_touched, cell)
            n_live = gather_base(sr, tables, scores, chart, items, first, i, j, n)
            close_chains(sr, tables, scores, chart, n_live, cell)
            size = open_states(sr, tables, scores, chart, items, size, n_live, cell)
            for z in range(n_live):
                chart.base[chart.live[z]] = sr.zero
            if j < n:
                needed = count_links(tables, chart, items, cell, j)
                if needed > links.child.shape[0]:
                    chart.room[1] = 2 * needed
                    return False
                link(sr, tables, scores, chart, items, links, cell, j)
    return True


@inlined
def add_tags(sr, tables, scores, chart, items, after, cell):
    """Items of the cell one word shorter with the tags of the token before `after`."""
    tag_edge, edge_to, edge_weight = tables.tag_edge, tables.edge_to, tables.edge_weight
    leaf_tag, leaf_weight = scores.leaf_tag, scores.leaf_weight
    weight, total, touched = scores.weight, chart.sum, chart.touched
    state, score = items.state, items.score
    n_touched = 0
    for leaf in range(scores.leaf_ptr[after - 1], scores.leaf_ptr[after]):
        tag = leaf_tag[leaf]
        here = weight[leaf_weight[leaf]]
        for at in range(chart.grows[cell - 1], chart.end[cell - 1]):
            e = tag_edge[state[at], tag]
            if e >= 0:
                q = edge_to[e]
                value = times(sr, times(sr, score[at], here), weight[edge_weight[e]])
                if total[q] == sr.zero:
                    touched[n_touched] = q
                    n_touched += 1
                total[q] = plus(sr, total[q], value)
    return n_touched


@inlined
def add_symbols(sr, chart, links, n_touched, i, j, n):
    """Items of shorter cells with symbols that end at j: the inner loop."""
    symbol, total, touched = chart.symbol, chart.sum, chart.touched
    link_child, link_to, link_score = links.child, links.to, links.score
    bounds = chart.links
    for k in range(i + 1, j):
        right = k * (n + 1) + j
        for at in range(bounds[k], bounds[k + 1]):
            value = times(sr, link_score[at], symbol[right, link_child[at]])
            q = link_to[at]
            old = total[q]
            if adds(sr, value, old):
                if old == sr.zero:
                    touched[n_touched] = q
                    n_touched += 1
                total[q] = plus(sr, old, value)
    return n_touched


@inlined
def store(sr, tables, chart, items, size, n_touched, cell):
    """Items of a cell, those that cannot grow first; returns the new size."""
    is_open, total, touched = tables.is_open, chart.sum, chart.touched
    state, score = items.state, items.score
    chart.begin[cell] = size
    n_open = 0
    for z in range(n_touched):
        q = touched[z]
        if is_open[q]:
            touched[n_open] = q
            n_open += 1
        else:
            state[size] = q
            score[size] = total[q]
            total[q] = sr.zero
            size += 1
    chart.grows[cell] = size
    for z in range(n_open):
        q = touched[z]
        state[size] = q
        score[size] = total[q]
        total[q] = sr.zero
        size += 1
    chart.end[cell] = size
    return size


@inlined
def open_states(sr, tables, scores, chart, items, size, n_live, cell):
    """Items of the states that symbols and tags of a cell open as first children."""
    n_symbols = tables.n_symbols
    first_ptr, first_state = tables.first_ptr, tables.first_state
    first_weight, weight = tables.first_weight, scores.weight
    total, touched = chart.sum, chart.touched
    n_touched = 0
    for z in range(n_symbols + n_live):
        a = z
        if z >= n_symbols:
            a = chart.live[z - n_symbols]
            if a < n_symbols:
                continue
            value = chart.base[a]
        else:
            value = chart.symbol[cell, a]
        if value != sr.zero:
            for f in range(first_ptr[a], first_ptr[a + 1]):
                q = first_state[f]
                if total[q] == sr.zero:
                    touched[n_touched] = q
                    n_touched += 1
                total[q] = plus(sr, total[q], times(sr, value, weight[first_weight[f]]))
    for z in range(n_touched):
        q = touched[z]
        items.state[size] = q
        items.score[size] = total[q]
        total[q] = sr.zero
        size += 1
    chart.end[cell] = size
    return size


@inlined
def count_links(tables, chart, items, cell, j):
    """Links of a row after those of a cell which ends at j."""
    size = chart.links[j]
    for at in range(chart.grows[cell], chart.end[cell]):
        p = items.state[at]
        size += tables.edge_ptr[p + 1] - tables.edge_ptr[p]
    return size


@inlined
def link(sr, tables, scores, chart, items, links, cell, j):
    """Lay out the edges that leave the items of a cell which ends at j."""
    edge_ptr, edge_child = tables.edge_ptr, tables.edge_child
    edge_to, edge_weight, weight = tables.edge_to, tables.edge_weight, scores.weight
    state, score = items.state, items.score
    child, to, link_score = links.child, links.to, links.score
    size = chart.links[j]
    for at in range(chart.grows[cell], chart.end[cell]):
        p = state[at]
        for e in range(edge_ptr[p], edge_ptr[p + 1]):
            child[size] = edge_child[e]
            to[size] = edge_to[e]
            link_score[size] = times(sr, score[at], weight[edge_weight[e]])
            size += 1
    chart.links[j + 1] = size
