"""Search on any graph by sequential tree-reweighted message passing, with a bound.

Kolmogorov: Convergent tree-reweighted message passing for energy minimization, PAMI
2006, with scores that are maximised. The graph is a sum of chains along the order of
nodes; messages move scores between nodes and edges without changing the score of any
labelling, and the maxima of the chains together are an upper bound, which no sweep
raises. Labels are read from the messages node after node. Where bound and score of the
best labelling differ, branch and bound fixes or forbids a label of an undecided node.

Message 2e goes to the first node of edge e, message 2e + 1 to the second.
"""

import numpy as np

from partwise.compiled import allocating, kernel

OFTEN = 6  # sweeps after each of which labels are read, later after every third
PATIENCE = 9  # sweeps after which the gap must have become smaller
PROGRESS = 0.1  # by this part of it
BRANCH_SWEEPS = 30  # in each branch


@kernel
def send(table, hat, message, from_first):
    """Write the message of the scores `hat` through an edge; returns its maximum.

    The maximum is taken out of the message.
    """
    size = hat.shape[0]
    if from_first:
        for b in range(size):
            message[b] = hat[0] + table[b]
        for a in range(1, size):
            for b in range(size):
                message[b] = max(message[b], hat[a] + table[a * size + b])
    else:
        for a in range(size):
            best = hat[0] + table[a * size]
            for b in range(1, size):
                best = max(best, hat[b] + table[a * size + b])
            message[a] = best
    top = message[0]
    for a in range(1, size):
        top = max(top, message[a])
    for a in range(size):
        message[a] -= top
    return top


@kernel
def sweep(unary, pairs, ends, near_ptr, near, is_forward, hat, belief, messages):
    """Pass messages along the order of nodes, or against it; returns the bound."""
    n, size, first = near_ptr.shape[0] - 1, unary.shape[1], near_ptr[0]
    bound = 0.0
    for k in range(n):
        v = k if is_forward else n - 1 - k
        for x in range(size):
            belief[x] = unary[v, x]
        n_before = 0
        for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
            side = 1 if ends[near[p], 1] == v else 0
            into = messages[2 * near[p] + side]
            for x in range(size):
                belief[x] += into[x]
            if ends[near[p], 1 - side] < v:
                n_before += 1
        top = belief[0]
        for x in range(1, size):
            top = max(top, belief[x])
        bound += top
        n_after = near_ptr[v + 1] - near_ptr[v] - n_before
        share = 1.0 / max(n_before, n_after, 1)
        for x in range(size):
            belief[x] = share * (belief[x] - top)
        for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
            e = near[p]
            side = 1 if ends[e, 1] == v else 0
            if (ends[e, 1 - side] > v) == is_forward:
                into = messages[2 * e + side]
                for x in range(size):
                    hat[x] = belief[x] - into[x]
                bound += send(pairs[e], hat, messages[2 * e + 1 - side], side == 0)
    return bound


@kernel
def read_labels(unary, pairs, ends, near_ptr, near, messages, score, code):
    """Label nodes in their order, given those before and messages of those after."""
    n, size, first = code.shape[0], unary.shape[1], near_ptr[0]
    for v in range(n):
        for x in range(size):
            score[x] = unary[v, x]
        for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
            e = near[p]
            side = 1 if ends[e, 1] == v else 0
            u = ends[e, 1 - side]
            if u > v:
                for x in range(size):
                    score[x] += messages[2 * e + side, x]
            elif side == 1:
                for x in range(size):
                    score[x] += pairs[e, code[u] * size + x]
            else:
                for x in range(size):
                    score[x] += pairs[e, x * size + code[u]]
        code[v] = 0
        for x in range(1, size):
            if score[x] > score[code[v]]:
                code[v] = x


@kernel
def score_of(unary, pairs, ends, code):
    """Score of a labelling."""
    total, size = 0.0, unary.shape[1]
    for v in range(code.shape[0]):
        total += unary[v, code[v]]
    for e in range(ends.shape[0]):
        total += pairs[e, code[ends[e, 0]] * size + code[ends[e, 1]]]
    return total


@kernel
def climb(unary, pairs, ends, near_ptr, near, score, code):
    """Change labels of single nodes while that raises the score."""
    n, size, first = code.shape[0], unary.shape[1], near_ptr[0]
    for _ in range(20):
        n_changed = 0
        for v in range(n):
            for x in range(size):
                score[x] = unary[v, x]
            for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
                e = near[p]
                if ends[e, 1] == v:
                    for x in range(size):
                        score[x] += pairs[e, code[ends[e, 0]] * size + x]
                else:
                    for x in range(size):
                        score[x] += pairs[e, x * size + code[ends[e, 1]]]
            best = code[v]
            for x in range(size):
                if score[x] > score[best] + 1e-12 * abs(score[best]):
                    best = x
            if best != code[v]:
                code[v] = best
                n_changed += 1
        if n_changed == 0:
            break


@kernel
def slack_of(bound):
    """Below so much a bound and a score are equal: sums round."""
    return 1e-10 * (1.0 + abs(bound))


@kernel
def penalty_of(unary, pairs, n, n_edges):
    """More than labellings can differ by."""
    total = 1.0
    for v in range(n):
        largest = 0.0
        for x in range(unary.shape[1]):
            largest = max(largest, abs(unary[v, x]))
        total += 2.0 * largest
    for e in range(n_edges):
        largest = 0.0
        for k in range(pairs.shape[1]):
            largest = max(largest, abs(pairs[e, k]))
        total += 2.0 * largest
    return total


@allocating
def pass_messages(
    unary, plain, pairs, ends, near_ptr, near, n_sweeps, messages, value, code
):
    """Sweep until bound and score meet, or hardly move; returns the bound.

    `code` with score `value` is replaced by better labellings. `unary` may have lower
    scores for labels that a branch forbids, `plain` has those of all labels.
    """
    n, size = code.shape[0], unary.shape[1]
    trial = np.empty(n, np.int32)
    hat, belief = np.empty(size), np.empty(size)
    bound, gap = np.inf, np.inf
    for k in range(n_sweeps):
        sweep(unary, pairs, ends, near_ptr, near, True, hat, belief, messages)
        bound = min(
            bound,
            sweep(unary, pairs, ends, near_ptr, near, False, hat, belief, messages),
        )
        if k >= OFTEN and k % 3 != 0 and k < n_sweeps - 1:
            continue
        read_labels(unary, pairs, ends, near_ptr, near, messages, belief, trial)
        reached = score_of(plain, pairs, ends, trial)
        if reached > value:
            value = reached
            code[:] = trial
        if bound - value <= slack_of(bound):
            break
        if k % PATIENCE == 0:
            if bound - value > (1.0 - PROGRESS) * gap:
                break
            gap = bound - value
    trial[:] = code
    climb(plain, pairs, ends, near_ptr, near, belief, trial)
    if score_of(plain, pairs, ends, trial) > value:
        code[:] = trial
    return bound


@allocating
def undecided(unary, ends, near_ptr, near, messages, banned):
    """The node whose two best labels are nearest, as n·label + node; −1 for none."""
    n, size, first = near_ptr.shape[0] - 1, unary.shape[1], near_ptr[0]
    choice, least = -1, np.inf
    belief = np.empty(size)
    for v in range(n):
        n_free = 0
        for x in range(size):
            belief[x] = unary[v, x]
            n_free += banned[v, x] == 0
        if n_free < 2:
            continue
        for p in range(near_ptr[v] - first, near_ptr[v + 1] - first):
            side = 1 if ends[near[p], 1] == v else 0
            for x in range(size):
                belief[x] += messages[2 * near[p] + side, x]
        best, lead = -1, np.inf
        for x in range(size):
            if banned[v, x] == 0 and (best < 0 or belief[x] > belief[best]):
                best = x
        for x in range(size):
            if banned[v, x] == 0 and x != best:
                lead = min(lead, belief[best] - belief[x])
        if lead < least:
            choice, least = n * best + v, lead
    return choice


@kernel
def ban(banned, unary, plain, penalty, v, label, is_fixed, change):
    """Fix a label of a node, or forbid it; with a change of −1 take that back."""
    for x in range(unary.shape[1]):
        if (x == label) != is_fixed:
            banned[v, x] += change
            unary[v, x] = plain[v, x] - penalty * banned[v, x]


@allocating
def search_graph(
    unary, plain, pairs, ends, near_ptr, near, n_sweeps, limit, is_seeded, code
):
    """Write the best labelling; returns a bound of the scores of all, see `Graph`.

    At most `limit` branches are looked at, depth first. `unary` is used up. With
    `is_seeded` a labelling to begin with stands in `code`.
    """
    n, size, n_edges = code.shape[0], unary.shape[1], ends.shape[0]
    messages = np.zeros((2 * n_edges, size))
    value = -np.inf
    if is_seeded:
        value = score_of(plain, pairs, ends, code)
    bound = pass_messages(
        unary, plain, pairs, ends, near_ptr, near, n_sweeps, messages, value, code
    )
    value = score_of(plain, pairs, ends, code)
    slack = slack_of(bound)
    if bound - value <= slack or limit == 0:
        return max(bound, value)
    penalty = penalty_of(plain, pairs, n, n_edges)
    banned = np.zeros((n, size), np.int32)
    trail = np.empty(n * size + 1, np.int64)  # choices, from the root on
    turn = np.empty(n * size + 1, np.int64)  # 0: the label is fixed, 1: forbidden
    above = np.empty(n * size + 1)  # bounds of the branches divided
    current = messages.copy()
    unseen, n_seen, depth = -np.inf, 0, 0
    while True:
        is_open = bound > value + slack and n_seen < limit
        if bound > value + slack and not is_open:
            unseen = max(unseen, bound)
        choice = -1
        if is_open:
            choice = undecided(unary, ends, near_ptr, near, current, banned)
        if choice >= 0:
            trail[depth], turn[depth], above[depth] = choice, 0, bound
            ban(banned, unary, plain, penalty, choice % n, choice // n, True, 1)
            depth += 1
        else:
            while depth > 0 and turn[depth - 1] == 1:
                depth -= 1
                v, label = trail[depth] % n, trail[depth] // n
                ban(banned, unary, plain, penalty, v, label, False, -1)
            if depth == 0:
                break
            v, label = trail[depth - 1] % n, trail[depth - 1] // n
            ban(banned, unary, plain, penalty, v, label, True, -1)
            ban(banned, unary, plain, penalty, v, label, False, 1)
            turn[depth - 1] = 1
        parent = above[depth - 1]
        if n_seen >= limit:
            bound = parent  # not looked at: as good as what was divided
            continue
        n_seen += 1
        current[:] = messages
        bound = pass_messages(
            unary, plain, pairs, ends, near_ptr, near, BRANCH_SWEEPS, current, value,
            code,
        )  # fmt: skip
        bound = min(bound, parent)
        value = max(value, score_of(plain, pairs, ends, code))
    return max(value, unseen)
