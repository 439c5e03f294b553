"""Best trees, and the most violated ones where the loss does not merely add to scores.

They enter the blocks by their address, so that sweeps are compiled once for all of
them, and each of them only when a setting needs it.
"""

import numpy as np
from numba import types

from partwise.compiled import address_of, allocating, called_at, inlined, kernel
from partwise.objective import MARGIN_ROOT
from partwise.scorers._arc_rows import THREE, TWO, TWO_INT
from partwise.structures._formulations import plane
from partwise.structures.dependency._decoders import FirstOrder
from partwise.structures.dependency._eisner import Charts, eisner
from partwise.structures.dependency._frontier import (
    FrontierWork,
    trace_tree_frontier,
    tree_frontier,
)
from partwise.structures.dependency._k_best import KBestWork, k_best_trees
from partwise.structures.dependency._programs import (
    Contraction,
    TreeWork,
    best_heads,
    chu_liu_edmonds,
)
from partwise.structures.losses import FRONTIER, TWO_BEST

TREE, PROJECTIVE, BEST_HEADS, GIVEN = 0, 1, 2, 3  # which heads are allowed together

INTS, NODES = types.int32[::1], types.int32[:, ::1]
DECODE = types.float64(
    TWO,  # (N, N) scores of arcs
    types.int64,  # number of words
    types.boolean,  # exactly one word below the root
    THREE, TWO, TWO_INT, NODES,  # buffers, see `new_buffers`
    INTS,  # (n,) receives heads
)  # fmt: skip
SEARCH = types.void(
    TWO, THREE, TWO,  # scores: arcs alone, labels, arcs with their best label
    types.float64,  # loss of a wrong head
    types.float64,  # that of a wrong label at the right head, as a share of it
    types.int64,  # number of labels; 1 without
    types.boolean, types.boolean,  # projective, single_root
    types.int64,  # rule, as in `ArcBlocks`
    INTS,  # (n,) true codes
    INTS,  # (n,) receives the code
)  # fmt: skip


def new_buffers(longest):
    """What decoders work on, for sentences of at most `longest` words."""
    size = longest + 1
    return (
        np.empty((5, size, size)),
        np.empty((2, 2 * size)),
        np.empty((3 * size, 3), np.int64),
        np.empty((6, 2 * size), np.int32),
    )


@inlined
def tree_work(tables, lines, stack, nodes):
    """The same buffers by their names."""
    t = tables
    charts = Charts(t[0], t[1], t[2], t[3], lines[0], stack)
    rest = Contraction(
        t[4], lines[1], nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5]
    )
    return TreeWork(charts, rest)


@kernel
def decode_projective(score, n, single_root, tables, lines, stack, nodes, heads):
    """The best tree without crossing arcs."""
    work = tree_work(tables, lines, stack, nodes)
    return eisner(score, n, single_root, work, heads)


@kernel
def decode_crossing(score, n, single_root, tables, lines, stack, nodes, heads):
    """The best tree, crossing arcs allowed."""
    work = tree_work(tables, lines, stack, nodes)
    return chu_liu_edmonds(score, n, single_root, work, heads)


@kernel
def decode_heads(score, n, single_root, tables, lines, stack, nodes, heads):
    """The best head of each word."""
    work = tree_work(tables, lines, stack, nodes)
    value, _ = best_heads(score, n, work, heads)
    return value


def decode_by(construction):
    """The address of the decoder of a construction."""
    decoders = {TREE: decode_crossing, PROJECTIVE: decode_projective}
    return address_of(DECODE, decoders.get(construction, decode_heads))


call_decoder = called_at(DECODE)


@kernel
def next_label(label, h, d, n_labels, last):
    """The label that follows `last` in falling order (−1: the first; −2: no more)."""
    best = -2
    for k in range(n_labels):
        if last == -2 or k == last:
            continue
        if last >= 0:
            if label[h, d, k] > label[h, d, last]:
                continue
            if label[h, d, k] == label[h, d, last] and k < last:
                continue
        if best < 0 or label[h, d, k] > label[h, d, best]:
            best = k
    return best


@kernel
def rank_labels(arc, label, total, n_labels, n, options):
    """options[r, h, d]: score of an arc with its label of rank r, falling in r."""
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h == d:
                continue
            if n_labels == 1:
                options[0, h, d] = total[h, d]
                continue
            last = -1
            for r in range(options.shape[0]):
                last = next_label(label, h, d, n_labels, last)
                options[r, h, d] = -np.inf
                if last >= 0 and total[h, d] > -np.inf:
                    options[r, h, d] = arc[h, d] + label[h, d, last]


@kernel
def write_code(label, n_labels, n, heads, ranks, r, code):
    """Code of tree r, whose labels are known by rank."""
    for t in range(n):
        h = heads[r, t]
        code[t] = h * n_labels
        if n_labels > 1:
            last = -1
            for _ in range(ranks[r, t] + 1):
                last = next_label(label, h, t + 1, n_labels, last)
            code[t] += last


@allocating
def best_trees(projective, single_root, options, n, k, heads, ranks, values):
    """The k best trees of ranked arcs: how many there are."""
    size = n + 1
    tables, lines = np.empty((5, size, size)), np.empty((2, 2 * size))
    stack = np.empty((3 * size, 3), np.int64)
    nodes = np.empty((6, 2 * size), np.int32)
    work = tree_work(tables, lines, stack, nodes)
    decoder = FirstOrder(projective, single_root, work)
    return rank_trees(decoder, options, n, k, heads, ranks, values)


@allocating
def rank_trees(decoder, options, n, k, heads, ranks, values):
    """`k_best_trees` with buffers of its own."""
    trees = np.zeros((2, k + 1, n), np.int32)
    numbers = np.empty((4, k + 1), np.int32)
    work = KBestWork(
        np.empty((n + 1, n + 1)), trees[0], trees[1], np.empty(k + 1), numbers[0],
        numbers[1], numbers[2], numbers[3], np.empty(n + 1, np.int32),
    )  # fmt: skip
    return k_best_trees(decoder, options, n, k, work, heads, ranks, values)


@allocating
def search_two_best(
    arc, label, total, unit, label_cost, n_labels, projective, single_root, rule, y,
    code,
):  # fmt: skip
    """The best tree with a loss; the true one where it has no rival.

    Where labels cost nothing, each arc has its best one and heads alone tell trees
    apart.
    """
    n = y.shape[0]
    is_labelled = n_labels > 1 and label_cost > 0.0
    options = np.empty((2 if is_labelled else 1, n + 1, n + 1))
    rank_labels(arc, label, total, n_labels, n, options)
    room = np.zeros((4, n), np.int32)
    heads, ranks, values = room[:2], room[2:], np.empty(2)
    k = best_trees(projective, single_root, options, n, 2, heads, ranks, values)
    write_code(label, n_labels, n, heads, ranks, 0, code)
    is_true = True
    for t in range(n):
        if is_labelled:
            is_true = is_true and code[t] == y[t]
        else:
            is_true = is_true and code[t] // n_labels == y[t] // n_labels
    if is_true and k == 2:
        write_code(label, n_labels, n, heads, ranks, 1, code)


@allocating
def search_frontier(
    arc, label, total, unit, label_cost, n_labels, projective, single_root, rule, y,
    code,
):  # fmt: skip
    """Maximise b(e) − s(e)·margin over the best projective tree of every loss e.

    Losses are counted in wrong labels when those cost less than wrong heads. Trees with
    e = 0 are planes under margin rescaling alone; the true one is among them.
    """
    n = y.shape[0]
    top = 1  # loss of a wrong head in steps
    if n_labels > 1 and label_cost > 0.0:
        top = round(1.0 / label_cost)
    options = np.full((top + 1, n + 1, n + 1), -np.inf)
    truth = 0.0
    for d in range(1, n + 1):
        for h in range(n + 1):
            options[top, h, d] = total[h, d]
        h, true_label = y[d - 1] // n_labels, y[d - 1] % n_labels
        options[top, h, d] = -np.inf
        truth += arc[h, d] + (label[h, d, true_label] if n_labels > 1 else 0.0)
        for k in range(n_labels):
            value = arc[h, d] + (label[h, d, k] if n_labels > 1 else 0.0)
            c = 0 if k == true_label else round(label_cost * top)
            options[c, h, d] = max(options[c, h, d], value)
    tables = np.empty((5, n + 1, n + 1, top * n + 1))
    work = FrontierWork(
        tables[0], tables[1], tables[2], tables[3], tables[4],
        np.empty(top * n + 1), np.empty((3 * n + 3, 4), np.int64),
    )  # fmt: skip
    tree_frontier(options, n, single_root, work)
    chosen, highest = 0, -np.inf
    for e in range(0 if rule <= MARGIN_ROOT else 1, top * n + 1):
        if work.best[e] > -np.inf:
            b, scale = plane(rule, e * unit / top)
            violation = b - scale * (truth - work.best[e])
            if violation > highest:
                chosen, highest = e, violation
    for t in range(n):
        code[t] = y[t]
    if highest == -np.inf:
        return
    heads, losses = np.empty(n, np.int32), np.empty(n, np.int64)
    trace_tree_frontier(options, n, single_root, work, chosen, heads, losses)
    for t in range(n):
        h, d = heads[t], t + 1
        best, reached = 0, -np.inf
        for k in range(n_labels):
            c = top
            if h == y[t] // n_labels:
                c = 0 if k == y[t] % n_labels else round(label_cost * top)
            if c == losses[t] and (n_labels == 1 or label[h, d, k] > reached):
                best = k
                reached = label[h, d, k] if n_labels > 1 else 0.0
        code[t] = h * n_labels + best


def search_by(oracle):
    """The address of the search that an oracle needs; 0 where losses add to scores."""
    searches = {TWO_BEST: search_two_best, FRONTIER: search_frontier}
    return address_of(SEARCH, searches[oracle]) if oracle in searches else 0


call_search = called_at(SEARCH)
