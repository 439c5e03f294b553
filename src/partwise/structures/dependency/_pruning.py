"""Which arcs a second-order program looks at: the few best heads of each word.

A table of all siblings and grandparents has 2·n³ entries, most of them for arcs that no
good tree contains. A first-order model knows: its arc probabilities, or its scores,
rank the heads of a word.
"""

import numpy as np

from partwise.compiled import jitted


@jitted
def prune_arcs(score, rank, least, n, k, kept, pruned, row):
    """Keep at most k heads per word and number the arcs; returns how many are left.

    Parameters
    ----------
    score : (N, N)
        Arc scores; what is forbidden stays forbidden.
    rank : (N, N)
        What orders the heads of a word: `score` itself, or arc probabilities.
    least : float
        Heads must reach this share of the word's best; of probabilities, 1e-4 say.
        Not looked at when ≤ 0, as it must be for scores.
    kept : (m, n) int32
        Trees whose arcs are kept whatever their rank, beyond the k if need be: the best
        projective tree, so that a tree is left, and in training the true one.
    pruned : (N, N)
        Written: `score` of the arcs that are left, −inf elsewhere.
    row : (N, N) int32
        Written: numbers from 0 of the arcs that are left, for the tables of
        `_tree_second_order.py`.
    """
    for h in range(n + 1):
        for d in range(1, n + 1):
            pruned[h, d] = -np.inf
    for d in range(1, n + 1):
        lowest = -np.inf
        for step in range(k):
            best = -1
            for h in range(n + 1):
                is_open = h != d and score[h, d] > -np.inf and pruned[h, d] == -np.inf
                if is_open and (best < 0 or rank[h, d] > rank[best, d]):
                    best = h
            if best < 0 or rank[best, d] < lowest:
                break
            if step == 0 and least > 0.0:
                lowest = least * rank[best, d]
            pruned[best, d] = score[best, d]
        for t in range(kept.shape[0]):
            pruned[kept[t, d - 1], d] = score[kept[t, d - 1], d]
    n_arcs = 0
    for h in range(n + 1):
        for d in range(1, n + 1):
            if pruned[h, d] > -np.inf:
                row[h, d] = n_arcs
                n_arcs += 1
    return n_arcs
