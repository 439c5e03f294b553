"""The most violated orders of pairs of one query.

Each search gets the levels of the rows, their scores ``work.score`` and the rows from
the highest score down, ``work.order``; it writes the code of `_pairs.py` and returns
the loss.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.objective import HARD
from partwise.structures._formulations import plane, violation_of

# ------------------------------------------------------------------- swapped pairs
#
# Loss and score are sums over pairs, so each pair decides for itself: it is swapped
# when 1 − (s_i − s_j) > 0. With the rows sorted by score, those that a row is swapped
# with lie on one side of a pointer, and a tree of counts has the number of those of a
# lower level: O(n log L) for L levels after sorting. Joachims: Training linear SVMs in
# linear time, KDD 2006 (two levels, one query); the sum over pairs is that of his
# ranking SVM.


@kernel
def add_level(tree, n_levels, level):
    """Count one more row of this level (a Fenwick tree over 1 … n_levels)."""
    place = level + 1
    while place <= n_levels:
        tree[place] += 1
        place += place & -place


@kernel
def count_below(tree, level):
    """Rows counted whose level is lower."""
    place, total = level, 0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@kernel
def add_swapped(level, n_levels, shift, with_ties, unit, work, code, n):
    """Add `unit` for each pair with s_j > s_i − shift (≥ with ties); returns Σ."""
    score, order, tree = work.score, work.order, work.tally
    for k in range(n_levels + 1):
        tree[k] = 0
    total, behind = np.int64(0), 0
    for k in range(n):  # as the better row
        row = order[k]
        limit = score[row] - shift
        while behind < n and (
            score[order[behind]] > limit
            or (with_ties and score[order[behind]] == limit)
        ):
            add_level(tree, n_levels, np.int64(level[order[behind]]))
            behind += 1
        swapped = unit * count_below(tree, np.int64(level[row]))
        code[row] += swapped
        total += swapped
    for k in range(n_levels + 1):
        tree[k] = 0
    before, n_before = n - 1, 0
    for k in range(n - 1, -1, -1):  # as the worse row
        row = order[k]
        while before >= 0 and (
            score[row] > score[order[before]] - shift
            or (with_ties and score[row] == score[order[before]] - shift)
        ):
            add_level(tree, n_levels, np.int64(level[order[before]]))
            before -= 1
            n_before += 1
        code[row] -= unit * (n_before - count_below(tree, np.int64(level[row]) + 1))
    return total


@kernel
def search_swapped(level, n_levels, n_pairs, is_prediction, work, code, n):
    """Pairs that decide for themselves, or those of an order by score."""
    if is_prediction:
        total = add_swapped(level, n_levels, 0.0, False, 1, work, code, n)
        total += add_swapped(level, n_levels, 0.0, True, 1, work, code, n)
    else:
        total = add_swapped(level, n_levels, 1.0, False, 2, work, code, n)
    return 0.5 * total / n_pairs


# ------------------------------------------------- relevant rows among the others


@kernel
def part_rows(level, work, n):
    """Relevant rows and others by score; returns the number of relevant ones."""
    n_better, n_worse = 0, 0
    for k in range(n):
        row = work.order[k]
        if level[row] > 0:
            work.better[n_better] = row
            n_better += 1
        else:
            work.worse[n_worse] = row
            n_worse += 1
    return n_better


@kernel
def write_counts(n_better, n_worse, work, code):
    """Code of a ranking, ``work.place[i]`` of the others being before relevant row i.

    Of the others, those of higher score go first.
    """
    count = work.tally
    for j in range(n_worse + 1):
        count[j] = 0
    for i in range(n_better):
        code[work.better[i]] = 2 * work.place[i]
        count[work.place[i]] += 1
    behind = n_better
    for j in range(n_worse):  # relevant rows with more than j of the others before them
        behind -= count[j]
        code[work.worse[j]] = -2 * behind


@kernel
def place_by_order(level, work, n):
    """Write how many others are before each relevant row; returns the latter."""
    n_better = part_rows(level, work, n)
    i, before = 0, 0
    for k in range(n):
        if level[work.order[k]] > 0:
            work.place[i] = before
            i += 1
        else:
            before += 1
    return n_better


@kernel
def precision_loss(n_better, work):
    """1 − average precision, from the others before each relevant row."""
    total = 0.0
    for i in range(n_better):
        total += (i + 1.0) / (i + 1.0 + work.place[i])
    return max(1.0 - total / n_better, 0.0)


@kernel
def precision_of_order(level, work, code, n):
    """The ranking by score, for average precision."""
    n_better = place_by_order(level, work, n)
    write_counts(n_better, n - n_better, work, code)
    return precision_loss(n_better, work)


@kernel
def rank_of_order(level, work, code, n):
    """The ranking by score, for the first relevant row."""
    n_better = place_by_order(level, work, n)
    write_counts(n_better, n - n_better, work, code)
    return 1.0 - 1.0 / (1.0 + work.place[0])


# --------------------------------------------------------------- average precision
#
# Relevant rows go by score, and so do the others. When the j-th of the others passes
# the i-th relevant row (both from 1), Δ + score changes by
#
#     g_ij = (1/R)·(i/(i + j − 1) − i/(i + j)) − (s_i − t_j)/n_pairs,
#
# whatever else is swapped. So row j goes before the i-th and all later relevant rows
# with the largest Σ_{i' ≥ i} g_i'j. As g falls with j, later rows never go further to
# the front than earlier ones: the choices make a ranking. Yue, Finley, Radlinski,
# Joachims: A support vector method for optimizing average precision, SIGIR 2007,
# Algorithm 2. O(R·(n − R)) after sorting.


@kernel
def search_precision(level, n_pairs, work, code, n):
    """The most violated ranking for average precision."""
    n_better = part_rows(level, work, n)
    n_worse = n - n_better
    score = work.score
    for i in range(n_better):
        work.place[i] = 0
    front = 0  # relevant rows that no later row passes
    for j in range(1, n_worse + 1):
        t = score[work.worse[j - 1]]
        best, total, choice = 0.0, 0.0, n_better
        for i in range(n_better - 1, front - 1, -1):
            share = (i + 1.0) / ((i + j) * (i + j + 1.0)) / n_better
            total += share - (score[work.better[i]] - t) / n_pairs
            if total > best:
                best = total
                choice = i
        if choice == n_better:
            break  # none of the later rows gains by passing
        front = choice
        for i in range(choice, n_better):
            work.place[i] += 1
    write_counts(n_better, n_worse, work, code)
    return precision_loss(n_better, work)


# -------------------------------------------------------------- first relevant row
#
# When c of the others are before the first relevant row, these are the c of highest
# score, and the first relevant row is the one of highest score. The score is largest
# when each later relevant row has those of the others before it that score higher, but
# at least c: the best ranking for every value of the loss, and so for all formulations.
# O(n) after sorting. (Chakrabarti, Khanna, Sawant, Bhattacharyya: Structured learning
# for non-smooth ranking losses, KDD 2008.)


@kernel
def search_first(level, n_pairs, rule, work, code, n):
    """The most violated ranking for the place of the first relevant row."""
    n_better = part_rows(level, work, n)
    n_worse = n - n_better
    score, total, free = work.score, work.total, work.place
    total[0] = 0.0
    for j in range(n_worse):
        total[j + 1] = total[j] + score[work.worse[j]]
    before = 0
    for i in range(n_better):  # others that score higher than relevant row i
        while before < n_worse and score[work.worse[before]] > score[work.better[i]]:
            before += 1
        free[i] = before
    # relevant rows 1 … q − 1 have c others before them, rows from q on free[i]
    rest = 0.0
    for i in range(1, n_better):
        rest += total[free[i]] - free[i] * score[work.better[i]]
    q, passed = 1, 0.0
    choice, best = 0, -np.inf
    for c in range(n_worse + 1):
        while q < n_better and free[q] <= c:
            s = score[work.better[q]]
            rest -= total[free[q]] - free[q] * s
            passed += s
            q += 1
        gain = total[c] - c * score[work.better[0]] + rest
        gain += (q - 1) * total[c] - c * passed
        b, scale = plane(rule, 1.0 - 1.0 / (1.0 + c))
        value = violation_of(rule, b, scale, -gain / n_pairs)
        if value > best:
            best = value
            choice = c
    if best < 0.0 and rule != HARD:  # no order is violated: the truth is returned
        for i in range(n_better):
            free[i] = 0
        write_counts(n_better, n_worse, work, code)
        return 0.0
    for i in range(n_better):
        free[i] = max(free[i], choice)
    free[0] = choice
    write_counts(n_better, n_worse, work, code)
    return 1.0 - 1.0 / (1.0 + choice)
