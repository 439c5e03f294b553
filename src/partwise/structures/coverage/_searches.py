"""Choose k documents whose elements are worth most together.

Document d has the elements ``index[indptr[d]:indptr[d + 1]]``; the value of a set is
Σ benefit[e] over the elements that at least one of its documents has. Benefits may be
negative: what the loss adds for subtopics always is. All searches choose exactly k
documents.
"""

import numpy as np

from partwise.compiled import kernel


@kernel
def gain_of(indptr, index, d, benefit, count):
    """What document d adds to a set that has covered e count[e] times."""
    total = 0.0
    for p in range(indptr[d], indptr[d + 1]):
        if count[index[p]] == 0:
            total += benefit[index[p]]
    return total


@kernel
def positive_gain(indptr, index, d, benefit, count):
    """The gain without negative benefits: no larger set gains more by document d."""
    total = 0.0
    for p in range(indptr[d], indptr[d + 1]):
        if count[index[p]] == 0 and benefit[index[p]] > 0.0:
            total += benefit[index[p]]
    return total


@kernel
def take_document(indptr, index, d, count, change):
    """Add document d to the counts (change 1), or take it away again (−1)."""
    for p in range(indptr[d], indptr[d + 1]):
        count[index[p]] += change


@kernel
def choose_greedily(indptr, index, first, n, k, benefit, count, bound, fresh, chosen):
    """The best document, then the best beside it, …; ties to the first of them.

    Gains are looked at again only where an old one, which is an upper bound while
    benefits are not negative, could still be the largest (lazy evaluation); with a
    negative benefit all gains are looked at in each step. Counts must be zero;
    afterwards they are those of the set. Returns its value.
    """
    is_lazy = True
    for e in range(benefit.shape[0]):
        if benefit[e] < 0.0:
            is_lazy = False
    for d in range(n):
        bound[d], fresh[d] = np.inf, -1
    value = 0.0
    for step in range(k):
        while True:
            if not is_lazy:
                for d in range(n):
                    if fresh[d] != k:
                        bound[d] = gain_of(indptr, index, first + d, benefit, count)
                        fresh[d] = step
            best = -1
            for d in range(n):
                if fresh[d] != k and (best < 0 or bound[d] > bound[best]):
                    best = d
            if fresh[best] == step:
                break
            bound[best] = gain_of(indptr, index, first + best, benefit, count)
            fresh[best] = step
        value += bound[best]
        fresh[best] = k  # taken
        chosen[step] = best
        take_document(indptr, index, first + best, count, 1)
    return value


@kernel
def largest_sum(values, n, r, room):
    """Sum of the r largest of n numbers."""
    size, total = 0, 0.0
    for j in range(n):
        value = values[j]
        if size < r:
            size += 1
        elif value <= room[r - 1]:
            continue
        q = size - 1
        while q > 0 and room[q - 1] < value:
            room[q] = room[q - 1]
            q -= 1
        room[q] = value
    for q in range(size):
        total += room[q]
    return total


@kernel
def branch_and_bound(
    indptr, index, first, n, k, benefit, limit, value, count, gain, room, order,
    place, stack, trial, chosen,
):  # fmt: skip
    """Improve the set `chosen` of this value; returns its value and a bound.

    Depth first over documents in the order of their gains; a branch is cut where its
    documents cannot add enough: no set adds more than the largest positive gains
    together, nor more than all positive benefits that are left. Looks at `limit` sets
    of branches at most. No set is worth more than the bound returned, which is the
    value itself when the search came to its end. Counts must be zero, and are again.
    """
    left = 0.0
    for e in range(benefit.shape[0]):
        left += max(benefit[e], 0.0)
    for d in range(n):
        gain[d] = positive_gain(indptr, index, first + d, benefit, count)
        q = d
        while q > 0 and gain[order[q - 1]] < gain[d]:
            order[q] = order[q - 1]
            q -= 1
        order[q] = d
    slack = 1e-12 * left
    best, skipped, looked, depth, total = value, -np.inf, 0, 0, 0.0
    place[0] = 0
    while depth >= 0:
        p = place[depth]
        is_cut = n - p < k - depth
        if not is_cut:
            looked += 1
            uncovered = 0.0
            for e in range(benefit.shape[0]):
                if count[e] == 0 and benefit[e] > 0.0:
                    uncovered += benefit[e]
            for j in range(p, n):
                d = first + order[j]
                gain[j - p] = positive_gain(indptr, index, d, benefit, count)
            most = largest_sum(gain, n - p, k - depth, room)
            bound = total + min(most, uncovered)
            is_cut = bound <= best + slack
            if not is_cut and looked > limit:
                skipped = max(skipped, bound)
                is_cut = True
        if is_cut:
            depth -= 1
            if depth >= 0:
                take_document(indptr, index, first + trial[depth], count, -1)
                total = stack[depth]
            continue
        d = order[p]
        stack[depth], trial[depth], place[depth] = total, d, p + 1
        total += gain_of(indptr, index, first + d, benefit, count)
        if depth + 1 < k:
            take_document(indptr, index, first + d, count, 1)
            depth += 1
            place[depth] = p + 1
            continue
        if total > best:
            best = total
            for q in range(k):
                chosen[q] = trial[q]
        total = stack[depth]
    if skipped == -np.inf:  # rounding of gains and of cut branches
        return best, best + slack
    return best, max(best, skipped) + slack
