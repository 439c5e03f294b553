"""The best set of labels, from scores of labels and of pairs.

The score of a set S is Σ_{k ∈ S} s_k + Σ_{pairs jk ⊆ S} p_jk. A loss that counts wrong
labels is added to s, and four searches find the largest sum over valid sets:

* no pairs: each label decides for itself, or the best `max_labels` of them do;
* a forest of pairs: from the leaves up, m1 and m0 of a label are the best sums of the
  labels below it when it is in the set and when it is not;
* any pairs and any constraints: branch and bound, depth first, over labels in an order
  of falling interaction. With some labels decided, the field of another is
  f_k = s_k + Σ_{decided j ∈ S} p_jk, and no completion adds more than

      Σ_{undecided k} max(0, f_k + ½ Σ_{undecided j} max(0, p_jk)),

  half of each positive pair being given to either label. After `limit` nodes the search
  stops with what it has, and the largest bound of an open node is its bound.

Losses that are no sums over labels depend on the numbers of true and false labels in
the set. Without pairs, the best set of a true and b false ones takes those of highest
score: a sweep over all (a, b). With pairs, all 2^K sets are listed in Gray code.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.structures._descending import order_descending
from partwise.structures._formulations import cut
from partwise.structures.multilabel import set_losses

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


# ------------------------------------------------------------------ branch and bound


@kernel
def fill_pairs(pairs, pair, table):
    """Scores of pairs of labels as a symmetric table, (K, K)."""
    for a in range(table.shape[0]):
        for b in range(table.shape[0]):
            table[a, b] = 0.0
    for e in range(pair.shape[0]):
        a, b = pairs[e, 0], pairs[e, 1]
        table[a, b] = table[b, a] = pair[e]


@kernel
def settle(score, table, clamp, has_needs, has_most, work):
    """Decide labels that no completion decides otherwise; returns how many are open.

    Open labels stand first in ``work.order``; ``work.state`` has what is decided, −1
    for open labels, and ``work.field`` the fields of all.
    """
    size = score.shape[0]
    state, field = work.state, work.field
    for k in range(size):
        state[k], field[k] = -1, score[k]
    changed = True
    while changed:
        changed = False
        for k in range(size):
            if state[k] >= 0:
                continue
            value = clamp[k]
            if value < 0 and not has_needs:
                low, high = field[k], field[k]
                for j in range(size):
                    if state[j] < 0:
                        low += min(table[k, j], 0.0)
                        high += max(table[k, j], 0.0)
                if high <= 0.0:
                    value = 0
                elif low > 0.0 and not has_most:
                    value = 1
            if value >= 0:
                state[k] = value
                changed = True
                if value == 1:
                    for j in range(size):
                        field[j] += table[k, j]
    n_open = 0
    for k in range(size):
        if state[k] < 0:
            work.order[n_open] = k
            n_open += 1
    for q in range(n_open):  # labels of much interaction first
        k = work.order[q]
        weight = 0.0
        for p in range(n_open):
            weight += abs(table[k, work.order[p]])
        here = q
        while here > 0 and work.low[here - 1] < weight:
            work.low[here] = work.low[here - 1]
            work.order[here] = work.order[here - 1]
            here -= 1
        work.low[here], work.order[here] = weight, k
    return n_open


@kernel
def bound_below(work, table, depth, n_open, value, room):
    """What open labels beyond `depth` add at most, when that at `depth` has a value."""
    order, field, share = work.order, work.field, work.share
    k = order[depth]
    total, top = 0.0, 0.0
    for q in range(depth + 1, n_open):
        j = order[q]
        gain = field[j] + share[depth + 1, j]
        if value == 1:
            gain += table[k, j]
        must_be_out = work.n_barred[j] > 0
        must_be_in = work.n_called[j] > 0
        if must_be_out:
            gain = 0.0
        elif not must_be_in:
            gain = max(gain, 0.0)
        total += gain
        top = max(top, gain)
    return min(total, top * room)


@kernel
def call_and_bar(needs, work, depth, n_open, value, change):
    """Note, or forget, what the decision at `depth` asks of the labels beyond it."""
    k = work.order[depth]
    for q in range(depth + 1, n_open):
        j = work.order[q]
        if value == 1 and needs[k, j]:
            work.n_called[j] += change
        if value == 0 and needs[j, k]:
            work.n_barred[j] += change


@kernel
def begin_branching(score, blocks, clamp, work):
    """Settle labels, and what follows for open ones; half of positive pairs to each.

    Returns how many labels are open, sum and size of the set so far, and whether valid
    sets have it.
    """
    size, table, needs, most = score.shape[0], work.table, blocks.needs, blocks.most
    n_open = settle(score, table, clamp, blocks.has_needs, most < size, work)
    state = work.state
    value, n_in = 0.0, 0
    is_closed = True
    for k in range(size):
        work.n_called[k] = work.n_barred[k] = 0
        work.share[n_open, k] = 0.0
    for k in range(size):
        if state[k] == 1:
            value += score[k]
            n_in += 1
            for j in range(size):
                if state[j] == 1 and j < k:
                    value += table[k, j]
    if blocks.has_needs:
        for k in range(size):
            for j in range(size):
                if needs[k, j] and state[k] == 1:
                    work.n_called[j] += 1
                    is_closed = is_closed and state[j] != 0
                if needs[k, j] and state[j] == 0:
                    work.n_barred[k] += 1
    for depth in range(n_open - 1, -1, -1):
        k = work.order[depth]
        for j in range(size):
            half = 0.5 * max(table[k, j], 0.0)
            work.share[depth, j] = work.share[depth + 1, j] + half
    return n_open, value, n_in, is_closed and n_in <= most


@kernel
def bound_children(needs, work, depth, n_open, room):
    """Bounds of all sets without and with the label at `depth`, and which is higher."""
    k, total, ceiling = work.order[depth], work.total[depth], work.ceiling
    ceiling[depth, 0] = ceiling[depth, 1] = -np.inf
    if work.n_called[k] == 0:
        call_and_bar(needs, work, depth, n_open, 0, 1)
        rest = bound_below(work, work.table, depth, n_open, 0, room)
        call_and_bar(needs, work, depth, n_open, 0, -1)
        ceiling[depth, 0] = total + rest
    if work.n_barred[k] == 0 and room > 0:
        call_and_bar(needs, work, depth, n_open, 1, 1)
        rest = bound_below(work, work.table, depth, n_open, 1, room - 1)
        call_and_bar(needs, work, depth, n_open, 1, -1)
        ceiling[depth, 1] = total + work.field[k] + rest
    work.first[depth] = np.int32(ceiling[depth, 1] > ceiling[depth, 0])


@kernel
def decide(needs, work, depth, n_open, chosen):
    """Give the label at `depth` a value."""
    k, field, order = work.order[depth], work.field, work.order
    work.state[k] = chosen
    call_and_bar(needs, work, depth, n_open, chosen, 1)
    if chosen == 1:
        for q in range(depth + 1, n_open):
            j = order[q]
            work.old[depth, j] = field[j]
            field[j] += work.table[k, j]


@kernel
def take_back(needs, work, depth, n_open):
    """Undo `decide`."""
    k, order = work.order[depth], work.order
    call_and_bar(needs, work, depth, n_open, work.state[k], -1)
    if work.state[k] == 1:
        for q in range(depth + 1, n_open):
            work.field[order[q]] = work.old[depth, order[q]]
    work.state[k] = -1


@kernel
def branch(score, pair, blocks, clamp, work, code):
    """The best valid set; returns a bound, with its sum in ``work.best[0]``.

    −inf where no set is valid.
    """
    size, needs, most = score.shape[0], blocks.needs, blocks.most
    fill_pairs(blocks.pairs, pair, work.table)
    n_open, value, n_in, is_possible = begin_branching(score, blocks, clamp, work)
    order, field, state = work.order, work.field, work.state
    best, bound, n_nodes = -np.inf, -np.inf, 0
    work.best[0] = best
    if not is_possible:
        return -np.inf
    if n_open == 0:
        work.best[0] = value
        for k in range(size):
            code[k] = np.int32(state[k])
        return value
    total, ceiling, turn, taken = work.total, work.ceiling, work.turn, work.taken
    depth, total[0], taken[0], turn[0] = 0, value, n_in, 0
    while depth >= 0:
        k = order[depth]
        if turn[depth] == 0:
            n_nodes += 1
            bound_children(needs, work, depth, n_open, most - taken[depth])
        elif state[k] >= 0:  # back from a child
            take_back(needs, work, depth, n_open)
        if turn[depth] == 2:
            depth -= 1
            continue
        chosen = work.first[depth] if turn[depth] == 0 else 1 - work.first[depth]
        turn[depth] += 1
        if not ceiling[depth, chosen] > best:
            continue
        if n_nodes >= blocks.limit and best > -np.inf:
            bound = max(bound, ceiling[depth, chosen])
            continue
        decide(needs, work, depth, n_open, chosen)
        here = total[depth] + (field[k] if chosen == 1 else 0.0)
        if depth + 1 == n_open:
            if here > best:
                best = here
                for j in range(size):
                    code[j] = np.int32(state[j])
            continue
        depth += 1
        total[depth], turn[depth] = here, 0
        taken[depth] = taken[depth - 1] + chosen
    work.best[0] = best
    return max(best, bound)


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
