"""The best set of labels with any pairs and constraints, by branch and bound.

Depth first, over labels in an order of falling interaction. With some labels decided,
the field of another is f_k = s_k + Σ_{decided j ∈ S} p_jk, and no completion adds more
than

    Σ_{undecided k} max(0, f_k + ½ Σ_{undecided j} max(0, p_jk)),

half of each positive pair being given to either label. After `limit` nodes the search
stops with what it has, and the largest bound of an open node is its bound.
"""

import numpy as np

from partwise.compiled import kernel


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
        must_be_out = work.n_excluded[j] > 0
        must_be_in = work.n_required[j] > 0
        if must_be_out:
            gain = 0.0
        elif not must_be_in:
            gain = max(gain, 0.0)
        total += gain
        top = max(top, gain)
    return min(total, top * room)


@kernel
def count_implications(needs, work, depth, n_open, value, change):
    """Count what the decision at `depth` implies for labels beyond it.

    `change` is 1, or −1 to take the decision back.
    """
    k = work.order[depth]
    for q in range(depth + 1, n_open):
        j = work.order[q]
        if value == 1 and needs[k, j]:
            work.n_required[j] += change
        if value == 0 and needs[j, k]:
            work.n_excluded[j] += change


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
        work.n_required[k] = work.n_excluded[k] = 0
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
                    work.n_required[j] += 1
                    is_closed = is_closed and state[j] != 0
                if needs[k, j] and state[j] == 0:
                    work.n_excluded[k] += 1
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
    if work.n_required[k] == 0:
        count_implications(needs, work, depth, n_open, 0, 1)
        rest = bound_below(work, work.table, depth, n_open, 0, room)
        count_implications(needs, work, depth, n_open, 0, -1)
        ceiling[depth, 0] = total + rest
    if work.n_excluded[k] == 0 and room > 0:
        count_implications(needs, work, depth, n_open, 1, 1)
        rest = bound_below(work, work.table, depth, n_open, 1, room - 1)
        count_implications(needs, work, depth, n_open, 1, -1)
        ceiling[depth, 1] = total + work.field[k] + rest
    work.first[depth] = np.int32(ceiling[depth, 1] > ceiling[depth, 0])


@kernel
def decide(needs, work, depth, n_open, chosen):
    """Give the label at `depth` a value."""
    k, field, order = work.order[depth], work.field, work.order
    work.state[k] = chosen
    count_implications(needs, work, depth, n_open, chosen, 1)
    if chosen == 1:
        for q in range(depth + 1, n_open):
            j = order[q]
            work.old[depth, j] = field[j]
            field[j] += work.table[k, j]


@kernel
def take_back(needs, work, depth, n_open):
    """Undo `decide`."""
    k, order = work.order[depth], work.order
    count_implications(needs, work, depth, n_open, work.state[k], -1)
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
