"""How the best and the most violated tree of a sentence are found.

`blocks` and `work` are `ArcBlocks` and `ArcWork` of `_arborescence_kernels.py`; scores
of arcs stand in ``work.scores``. Constructions and oracles are branches at run time,
not types: a sweep takes a minute to compile and should do so once.
"""

import numpy as np
from numba import njit

from partwise.compiled import kernel, output_loss
from partwise.scorers.arcs import dot_label
from partwise.structures._tree_decoders import FirstOrder
from partwise.structures._tree_frontier import trace_tree_frontier, tree_frontier
from partwise.structures._tree_k_best import k_best_trees
from partwise.structures._tree_programs import best_heads, chu_liu_edmonds, eisner

ADDITIVE, TWO_BEST, FRONTIER = 0, 1, 2  # how the most violated tree is found
TREE, PROJECTIVE, BEST_HEADS, GIVEN = 0, 1, 2, 3  # which heads are allowed together


@kernel
def word_loss(blocks, y, hat):
    """Loss of one word in units: 1 for a wrong head, `label_cost` for a label."""
    if y == hat:
        return 0.0
    if y // blocks.n_labels != hat // blocks.n_labels:
        return 1.0
    return blocks.label_cost


@kernel
def plane(blocks, loss):
    """Offset and scale of an output with this loss (see `Formulation`)."""
    if loss <= 0.0:
        return 0.0, 1.0
    b = 1.0 if blocks.constant else loss
    if blocks.square_root:
        b = np.sqrt(b)
    return b, (b if blocks.slack_scaled else 1.0)


@kernel
def decode(blocks, work, i):
    """Best heads by the scores in `total`; returns their score, −inf for none."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    total, trees, heads = work.scores.total, work.trees, work.heads
    if blocks.construction == PROJECTIVE:
        return eisner(total, n, blocks.single_root == 1, trees, heads)
    if blocks.construction == BEST_HEADS:
        value, _ = best_heads(total, n, trees, heads)
        return value
    return chu_liu_edmonds(total, n, blocks.single_root == 1, trees, heads)


@kernel
def add_losses(blocks, work, i):
    """Loss-augmented scores: instead of raising all wrong arcs, lower the true ones."""
    begin = blocks.offset[i]
    unit = blocks.unit[i]
    scores = work.scores
    for t in range(blocks.offset[i + 1] - begin):
        y = blocks.y[begin + t]
        h, d = y // blocks.n_labels, t + 1
        if blocks.n_labels == 1:
            scores.total[h, d] -= unit
        else:
            k = augmented_label(blocks, work, i, h, d)
            is_right = k == y % blocks.n_labels
            loss = unit if is_right else unit * (1.0 - blocks.label_cost)
            scores.total[h, d] = scores.arc[h, d] + scores.label[h, d, k] - loss


@kernel
def augmented_label(blocks, work, i, h, d):
    """Best label of an arc, with its loss when the head is the true one."""
    label = work.scores.label
    y = blocks.y[blocks.offset[i] + d - 1]
    truth = y % blocks.n_labels if y // blocks.n_labels == h else -1
    extra = blocks.unit[i] * blocks.label_cost
    best, highest = 0, -np.inf
    for k in range(blocks.n_labels):
        value = label[h, d, k]
        if truth >= 0 and k != truth:
            value += extra
        if value > highest:
            best, highest = k, value
    return best


@kernel
def name_labels(blocks, work, i, code):
    """Code of the heads in `work`, each with its best label."""
    for t in range(blocks.offset[i + 1] - blocks.offset[i]):
        h = work.heads[t]
        code[t] = h * blocks.n_labels
        if blocks.n_labels > 1:
            code[t] += augmented_label(blocks, work, i, h, t + 1)


@kernel
def find_labels(blocks, work, w, i, code):
    """The best labels, loss included, of the true heads; only their scores are made."""
    begin = blocks.offset[i]
    arc, label = work.scores.arc, work.scores.label
    for t in range(blocks.offset[i + 1] - begin):
        h, d = blocks.y[begin + t] // blocks.n_labels, t + 1
        work.heads[t] = h
        arc[h, d] = 0.0
        for k in range(blocks.n_labels):
            label[h, d, k] = dot_label(blocks.rows, w, i, h, d, k)
    name_labels(blocks, work, i, code)


@kernel
def search_loss(blocks, work, i, code):
    """The most violated tree where the loss does not merely add to scores."""
    if blocks.oracle == TWO_BEST:
        search_two_best(blocks, work, i, code)
    else:
        search_frontier(blocks, work, i, code)


@kernel
def rank_labels(blocks, work, i, n_ranks):
    """options[r, h, d]: score of an arc with its label of rank r, falling in r."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    arc, label, options = work.scores.arc, work.scores.label, work.options
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h == d:
                continue
            if blocks.n_labels == 1:
                options[0, h, d] = work.scores.total[h, d]
                continue
            is_forbidden = work.scores.total[h, d] == -np.inf
            last = -1
            for r in range(n_ranks):
                last = next_label(label, h, d, blocks.n_labels, last)
                options[r, h, d] = -np.inf
                if last >= 0 and not is_forbidden:
                    options[r, h, d] = arc[h, d] + label[h, d, last]


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
def ranked_label(label, h, d, n_labels, rank):
    """The label of a rank."""
    last = -1
    for _ in range(rank + 1):
        last = next_label(label, h, d, n_labels, last)
    return last


@njit(cache=True, nogil=True)
def best_trees(blocks, work, k_best, i, k, heads, ranks, values):
    """The k best trees of ranked arcs: how many there are."""
    n = blocks.offset[i + 1] - blocks.offset[i]
    is_projective = blocks.construction == PROJECTIVE
    decoder = FirstOrder(is_projective, blocks.single_root == 1, work.trees)
    return k_best_trees(decoder, work.options, n, k, k_best, heads, ranks, values)


@kernel
def write_code(blocks, work, i, heads, ranks, r, code):
    """Code of tree r of `best_trees`."""
    for t in range(blocks.offset[i + 1] - blocks.offset[i]):
        h = heads[r, t]
        code[t] = h * blocks.n_labels
        if blocks.n_labels > 1:
            code[t] += ranked_label(
                work.scores.label, h, t + 1, blocks.n_labels, ranks[r, t]
            )


@kernel
def search_two_best(blocks, work, i, code):
    """The best tree that is not the true one."""
    rank_labels(blocks, work, i, 2 if blocks.n_labels > 1 else 1)
    heads, ranks = work.two[:2], work.two[2:]
    found = best_trees(blocks, work, work.k_best, i, 2, heads, ranks, work.values)
    write_code(blocks, work, i, heads, ranks, 0, code)
    if found == 2 and output_loss(blocks, i, code) == 0.0:
        write_code(blocks, work, i, heads, ranks, 1, code)


@kernel
def search_frontier(blocks, work, i, code):
    """Maximise b(e) − s(e)·margin over the best projective tree of every loss e.

    Losses are counted in wrong labels when those cost less than wrong heads.
    """
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    arc, label, options = work.scores.arc, work.scores.label, work.options
    top = options.shape[0] - 1  # loss of a wrong head
    size = blocks.n_labels
    truth = 0.0
    for d in range(1, n + 1):
        y = blocks.y[begin + d - 1]
        for h in range(n + 1):
            for c in range(top):
                options[c, h, d] = -np.inf
            options[top, h, d] = work.scores.total[h, d]
        h = y // size
        options[top, h, d] = -np.inf
        truth += arc[h, d]
        if size > 1:
            truth += label[h, d, y % size]
        for k in range(size):
            value = arc[h, d] + (label[h, d, k] if size > 1 else 0.0)
            c = 0 if k == y % size else round(blocks.label_cost * top)
            options[c, h, d] = max(options[c, h, d], value)
    tree_frontier(options, n, blocks.single_root == 1, work.frontier)
    chosen, highest = 0, -np.inf
    for e in range(1, top * n + 1):
        value = work.frontier.best[e]
        if value > -np.inf:
            b, scale = plane(blocks, e * blocks.unit[i] / top)
            violation = b - scale * (truth - value)
            if violation > highest:
                chosen, highest = e, violation
    for t in range(n):
        code[t] = blocks.y[begin + t]
    if highest == -np.inf:
        return
    trace_tree_frontier(
        options, n, blocks.single_root == 1, work.frontier, chosen, work.heads,
        work.losses,
    )  # fmt: skip
    for t in range(n):
        h, d = work.heads[t], t + 1
        y = blocks.y[begin + t]
        best, reached = 0, -np.inf
        for k in range(size):
            c = top
            if h == y // size:
                c = 0 if k == y % size else round(blocks.label_cost * top)
            if c == work.losses[t] and (size == 1 or label[h, d, k] > reached):
                best = k
                reached = label[h, d, k] if size > 1 else 0.0
        code[t] = h * size + best
