"""The best set of labels, from scores of labels and of pairs.

The score of a set S is Σ_{k ∈ S} s_k + Σ_{pairs jk ⊆ S} p_jk. A loss that counts wrong
labels is added to s, and three searches find the largest sum over valid sets:

* no pairs: each label decides for itself, or the best `max_labels` of them do;
* a forest of pairs: from the leaves up, m1 and m0 of a label are the best sums of the
  labels below it when it is in the set and when it is not;
* any pairs and any constraints: branch and bound, see `_branching.py`.

Losses that are no sums over labels depend on the numbers of true and false labels in
the set. Without pairs, the best set of a true and b false ones takes those of highest
score: a sweep over all (a, b). With pairs, all 2^K sets are listed in Gray code.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.structures._formulations import cut
from partwise.structures._radix_sort import order_descending
from partwise.structures.multilabel import set_losses
from partwise.structures.multilabel._branching import fill_pairs

set_loss = kernel(set_losses.set_loss)

EACH, TREE, BRANCH, SWEEP, LIST = range(5)  # ways to search


@kernel
def take_each(score, clamp, most, work, code):
    """The best labels without pairs, `most` at most; returns the sum."""
    size = score.shape[0]
    total, n_taken = 0.0, 0
    for k in range(size):
        is_in = clamp[k] == 1 or (clamp[k] < 0 and score[k] > 0.0)
        code[k] = np.int32(is_in)
        if is_in:
            total += score[k]
            n_taken += 1
    if n_taken <= most:
        return total
    order_descending(score, size, work.sort, work.order)
    for q in range(size - 1, -1, -1):
        k = work.order[q]
        if code[k] == 1 and clamp[k] < 0 and n_taken > most:
            code[k] = 0
            total -= score[k]
            n_taken -= 1
    return total if n_taken <= most else -np.inf


@kernel
def best_in_forest(order, parent, link, score, pair, clamp, work, code):
    """The best set where pairs make a forest; returns the sum."""
    size = score.shape[0]
    off, on = work.low, work.high
    for k in range(size):
        off[k] = -np.inf if clamp[k] == 1 else 0.0
        on[k] = -np.inf if clamp[k] == 0 else score[k]
    total = 0.0
    for q in range(size - 1, -1, -1):
        k = order[q]
        up = parent[k]
        if up < 0:
            total += max(off[k], on[k])
        else:
            off[up] += max(off[k], on[k])
            on[up] += max(off[k], on[k] + pair[link[k]])
    for q in range(size):
        k = order[q]
        up = parent[k]
        gain = on[k] + (pair[link[k]] if up >= 0 and code[up] == 1 else 0.0)
        code[k] = np.int32(gain > off[k])
    return total


# ------------------------------------------------- losses that are no sums over labels


@kernel
def sweep(score, blocks, i, work, code):
    """The most violated set without pairs: over numbers of true and false labels.

    Returns its loss and score less that of the truth; −inf where no set is violated.
    """
    size = score.shape[0]
    order_descending(score, size, work.sort, work.order)
    order, high, low = work.order, work.high, work.low
    n_true, n_false = 0, 0  # sums of the best true and false labels
    truth = 0.0
    for q in range(size):
        k = order[q]
        if blocks.y[i, k] == 1:
            truth += score[k]
            high[n_true] = truth
            n_true += 1
        else:
            low[n_false] = score[k] + (low[n_false - 1] if n_false > 0 else 0.0)
            n_false += 1
    best, tp, fp = -np.inf, n_true, 0
    for a in range(n_true + 1):
        gain = (high[a - 1] if a > 0 else 0.0) - truth
        for b in range(min(n_false, blocks.most - a) + 1):
            lead = gain + (low[b - 1] if b > 0 else 0.0)
            loss = set_loss(blocks.kind, n_true, a, b)
            _, _, value = cut(blocks.rule, loss, -lead)
            if value > best:
                best, tp, fp = value, a, b
    for q in range(size):
        k = order[q]
        if blocks.y[i, k] == 1:
            code[k] = np.int32(tp > 0)
            tp -= 1
        else:
            code[k] = np.int32(fp > 0)
            fp -= 1
    return best


@kernel
def is_valid(blocks, code):
    """Whether a set keeps the constraints."""
    n_in, size = 0, code.shape[0]
    for k in range(size):
        n_in += code[k]
        if blocks.has_needs and code[k] == 1:
            for j in range(size):
                if blocks.needs[k, j] and code[j] == 0:
                    return False
    return n_in <= blocks.most


@kernel
def list_all(score, pair, blocks, i, work, code):
    """The most violated of all sets, each differing from the last in one label."""
    size, table, now = score.shape[0], work.table, work.state
    fill_pairs(blocks.pairs, pair, table)
    for k in range(size):
        now[k] = 0
    truth, n_true = 0.0, 0
    for k in range(size):
        if blocks.y[i, k] == 1:
            truth += score[k]
            n_true += 1
            for j in range(k):
                truth += table[k, j] * blocks.y[i, j]
    total, tp, fp = 0.0, 0, 0
    best = -np.inf
    for k in range(size):
        code[k] = np.int32(blocks.y[i, k])
    for number in range(1 << size):
        if number > 0:
            k = 0
            while not (number >> k) & 1:
                k += 1
            gain = score[k]
            for j in range(size):
                gain += table[k, j] * now[j]
            sign = 1 - 2 * now[k]
            total += sign * gain
            now[k] += sign
            tp += sign * blocks.y[i, k]
            fp += sign * (1 - blocks.y[i, k])
        loss = set_loss(blocks.kind, n_true, tp, fp)
        _, _, value = cut(blocks.rule, loss, truth - total)
        if value > best and is_valid(blocks, now):
            best = value
            for k in range(size):
                code[k] = np.int32(now[k])
    return best
