"""Likely heads of each word, by counting, for searches that leave out the others.

Frank-Wolfe gains from any violated tree, so most of its searches need not look at every
head. Those that matter are known before training: an arc is likely when its features
are more frequent on true arcs than on all arcs. The sum of their positive pointwise
mutual information,

    Σ_j max(0, log P(true | feature j) / P(true)),

gives eight heads per word among which are 99.9 % of the true heads and 92 % of the
wrong ones that full searches found on UD_English-EWT; ranked by the trained model
itself it is 79 %, because wrong heads are found while the model is bad.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.features._arc_compiled import N_VARIANTS, variant
from partwise.scorers._arc_scoring import new_arc_scores
from partwise.scorers._stored_arcs import WIDTH, StoredRows
from partwise.scorers.arcs import score_arcs

LIKELY_HEADS = 8  # per word, and the true one and the word before
PRIOR = 2.0  # occurrences at the mean rate that each feature is given in addition


def likely_heads(rows: StoredRows, truth, n_heads: int = LIKELY_HEADS):
    """The most likely heads of each word, (n_words, n_heads + 2) int32; −1 for none.

    The true heads, `truth` (n_words,), and the words before are always among them: the
    second make a tree of any kind, with crossing arcs or without.
    """
    layout = rows.layout.copy()
    layout[WIDTH] = 0  # arcs alone
    truth = np.ascontiguousarray(truth, np.int32)
    longest = int(np.diff(rows.offset).max()) - 1
    rows = rows._replace(
        layout=layout, width=0, w32=likelihood_weights(rows, truth), is_narrow=1
    )
    heads = np.full((len(truth), n_heads + 2), -1, np.int32)
    choose_heads(rows, np.zeros(0), new_arc_scores(longest, 0), truth, heads)
    # in order of the lists, which are then read from front to back
    heads.sort(axis=1)
    return heads


def likelihood_weights(rows: StoredRows, truth):
    """A model of arcs: positive mutual information of being true with each weight.

    In the memory of the counts, whose first use takes longer than counting.
    """
    on_true = np.zeros(len(rows.used) * N_VARIANTS, np.float32)
    n_variant = np.zeros(N_VARIANTS, np.int64)
    count_true(rows, truth, on_true, n_variant)
    n_arcs = n_variant.sum()
    share = n_variant / n_arcs
    share[0] = 1.0  # the weight without a variant
    rate = len(truth) / n_arcs
    seen = np.flatnonzero(on_true)  # the others have no positive information
    # features by variant are not counted on all arcs: their share is that of all arcs
    expected = rows.frequency[seen // N_VARIANTS] * share[seen % N_VARIANTS]
    ratio = (on_true[seen] / rate + PRIOR) / (expected + PRIOR)
    on_true[seen] = np.maximum(0.0, np.log(ratio))
    return on_true


@kernel
def count_true(rows, truth, on_true, n_variant):
    """Count the listed features of true arcs, and arcs of each variant."""
    offset, first, ptr, row = rows.offset, rows.first, rows.ptr, rows.row
    for i in range(offset.shape[0] - 1):
        n = offset[i + 1] - offset[i] - 1
        for d in range(1, n + 1):
            for h in range(n + 1):
                if h != d:
                    n_variant[variant(h, d)] += 1
            head = int(truth[offset[i] - i + d - 1])
            v = variant(head, d)
            a = 2 * (first[i] + (d - 1) * (n + 1) + head)
            for k in range(ptr[a], ptr[a + 1]):
                on_true[row[k] * N_VARIANTS] += 1
                on_true[row[k] * N_VARIANTS + v] += 1


@kernel
def choose_heads(rows, unused, scores, truth, heads):
    """The heads of highest scores; the true one and the word before come first."""
    offset, arc = rows.offset, scores.arc
    for i in range(offset.shape[0] - 1):
        n = offset[i + 1] - offset[i] - 1
        score_arcs(rows, unused, i, scores)
        for d in range(1, n + 1):
            t = offset[i] - i + d - 1
            heads[t, 0] = truth[t]
            if truth[t] != d - 1:
                heads[t, 1] = d - 1
            n_kept = 2
            for h in range(n + 1):
                if h == d or h == d - 1 or h == truth[t]:
                    continue
                c = n_kept
                while c > 2 and arc[h, d] > arc[heads[t, c - 1], d]:
                    if c < heads.shape[1]:
                        heads[t, c] = heads[t, c - 1]
                    c -= 1
                if c < heads.shape[1]:
                    heads[t, c] = h
                n_kept = min(n_kept + 1, heads.shape[1])
