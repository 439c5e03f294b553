"""The outside pass: scores of the rest of a tree around a symbol or state over a span.

With `MaxPlus`, inside ⊗ outside is the score of the best tree through an entry of the
chart (max-marginals); with `SumTimes`, divided by the sum over all trees, its
probability, and the expected number of times that each rule and each bracket is used.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import inlined, inner
from partwise.structures._semirings import plus, times
from partwise.structures.phrase._cky_programs import gather_base


class Outside(NamedTuple):
    """Outside scores, and expected counts on demand."""

    symbol: np.ndarray  # (cells, n_symbols)
    item: np.ndarray  # (items,)
    base: np.ndarray  # (n_symbols + n_tags,) of one cell; zero between cells
    state: np.ndarray  # (Q,) of one cell; zero between cells
    weight: np.ndarray  # (n_weights + 2,) Σ over trees of their use, or (0,)
    span: np.ndarray  # (cells, n_labels) the same of brackets


@inner
def outside(sr, tables, scores, chart, items, first, n, out):
    """Fill `out` after an inside pass over the same scores."""
    n_symbols = tables.n_symbols
    counts = out.weight.shape[0] > 0
    for cell in range((n + 1) * (n + 1)):
        for a in range(n_symbols):
            out.symbol[cell, a] = sr.zero
    for at in range(chart.end[n]):
        out.item[at] = sr.zero
    for a in range(n_symbols):
        if tables.root_weight[a] >= 0:
            root_score = scores.weight[tables.root_weight[a]]
            out.symbol[n, a] = root_score
            if counts:
                use = times(sr, root_score, chart.symbol[n, a])
                out.weight[tables.root_weight[a]] += use
    for i in range(n):
        for j in range(n, i, -1):
            cell = i * (n + 1) + j
            n_live = gather_base(sr, tables, scores, chart, items, first, i, j, n)
            close_first(sr, tables, scores, chart, items, out, cell, counts)
            close_base(sr, tables, scores, chart, items, out, n_live, cell, counts)
            for z in range(n_live):
                b = chart.live[z]
                if b >= n_symbols and counts:  # the word itself
                    for leaf in range(
                        scores.leaf_ptr[first + i], scores.leaf_ptr[first + i + 1]
                    ):
                        if n_symbols + scores.leaf_tag[leaf] == b:
                            use = times(sr, out.base[b], chart.base[b])
                            out.weight[scores.leaf_weight[leaf]] += use
                out.base[b] = sr.zero
                chart.base[b] = sr.zero
            for at in range(chart.begin[cell], chart.end[cell]):
                out.state[items.state[at]] = out.item[at]
            if j > i + 1:
                split(sr, tables, scores, chart, items, out, first, i, j, n, counts)
            for at in range(chart.begin[cell], chart.end[cell]):
                out.state[items.state[at]] = sr.zero


@inlined
def close_first(sr, tables, scores, chart, items, out, cell, counts):
    """From states to the first children that opened them."""
    for at in range(chart.grows[cell], chart.end[cell]):
        q = items.state[at]
        if out.item[at] == sr.zero:
            continue
        for o in range(tables.opened_ptr[q], tables.opened_ptr[q + 1]):
            a = tables.opened_by[o]
            value = times(sr, out.item[at], scores.weight[tables.opened_weight[o]])
            if a < tables.n_symbols:
                inner = chart.symbol[cell, a]
                out.symbol[cell, a] = plus(sr, out.symbol[cell, a], value)
            else:
                inner = chart.base[a]
                if inner != sr.zero:
                    out.base[a] = plus(sr, out.base[a], value)
            if counts:
                out.weight[tables.opened_weight[o]] += times(sr, value, inner)


@inlined
def close_base(sr, tables, scores, chart, items, out, n_live, cell, counts):
    """From symbols through chains to bases, and from those to finished states."""
    for z in range(n_live):
        b = chart.live[z]
        if b < tables.n_symbols:
            out.base[b] = plus(sr, out.base[b], out.symbol[cell, b])
        for c in range(tables.chain_ptr[b], tables.chain_ptr[b + 1]):
            value = out.symbol[cell, tables.chain_top[c]]
            if value == sr.zero:
                continue
            value = times(sr, value, scores.chain[c])
            for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
                value = times(sr, value, scores.span[cell, tables.chain_label[s]])
            out.base[b] = plus(sr, out.base[b], value)
            if counts:
                use = times(sr, value, chart.base[b])
                for s in range(tables.chain_step[c], tables.chain_step[c + 1]):
                    out.weight[tables.chain_rule[s]] += use
                    out.span[cell, tables.chain_label[s]] += use
    for at in range(chart.begin[cell], chart.end[cell]):
        q = items.state[at]
        for d in range(tables.done_ptr[q], tables.done_ptr[q + 1]):
            a = tables.done_symbol[d]
            value = times(sr, out.base[a], scores.weight[tables.done_weight[d]])
            value = times(sr, value, scores.span[cell, tables.label[a]])
            out.item[at] = plus(sr, out.item[at], value)
            if counts:
                use = times(sr, value, items.score[at])
                out.weight[tables.done_weight[d]] += use
                out.span[cell, tables.label[a]] += use


@inlined
def split(sr, tables, scores, chart, items, out, first, i, j, n, counts):
    """From states over [i, j) to their left parts and last children."""
    weight = scores.weight
    for k in range(i + 1, j):
        left, right = i * (n + 1) + k, k * (n + 1) + j
        for at in range(chart.grows[left], chart.end[left]):
            p = items.state[at]
            for e in range(tables.edge_ptr[p], tables.edge_ptr[p + 1]):
                around = out.state[tables.edge_to[e]]
                child = tables.edge_child[e]
                inner = chart.symbol[right, child]
                if around == sr.zero or inner == sr.zero:
                    continue
                around = times(sr, around, weight[tables.edge_weight[e]])
                value = times(sr, around, inner)
                out.item[at] = plus(sr, out.item[at], value)
                other = times(sr, around, items.score[at])
                out.symbol[right, child] = plus(sr, out.symbol[right, child], other)
                if counts:
                    use = times(sr, value, items.score[at])
                    out.weight[tables.edge_weight[e]] += use
            if k < j - 1:
                continue
            for leaf in range(scores.leaf_ptr[first + k], scores.leaf_ptr[first + j]):
                e = tables.tag_edge[p, scores.leaf_tag[leaf]]
                if e < 0 or out.state[tables.edge_to[e]] == sr.zero:
                    continue
                around = times(
                    sr, out.state[tables.edge_to[e]], weight[tables.edge_weight[e]]
                )
                value = times(sr, around, weight[scores.leaf_weight[leaf]])
                out.item[at] = plus(sr, out.item[at], value)
                if counts:
                    use = times(sr, value, items.score[at])
                    out.weight[tables.edge_weight[e]] += use
                    out.weight[scores.leaf_weight[leaf]] += use
