"""Objective and gap of a chain model, recomputed outside the package.

Plain numpy and scipy, one sequence at a time; shares no code with the solvers, so that
a solver cannot grade itself. Margin rescaling, Hamming count, order 1.
"""

from itertools import pairwise

import numpy as np
from scipy import sparse


def matrix(features):
    """Features as a scipy CSR matrix (n_tokens, n_features)."""
    nnz = len(features.indices)
    data = (
        np.broadcast_to(features.data, nnz)
        if len(features.data) == 1
        else features.data
    )
    shape = (int(features.offset[-1]), features.n_features)
    return sparse.csr_array((data, features.indices, features.indptr), shape=shape)


def primal(features, y, emission, transition, C):
    """½‖w‖² + (C/n) Σ_i max_ŷ [Δ(y_i, ŷ) + score(ŷ)] − score(y_i)."""
    offset = features.offset
    scores = matrix(features) @ emission  # (n_tokens, L)
    total = 0.0
    for begin, end in pairwise(offset):
        rows, labels = scores[begin:end], y[begin:end]
        truth = rows[np.arange(len(labels)), labels].sum()
        truth += transition[labels[:-1], labels[1:]].sum()
        wrong = 1.0 - np.eye(emission.shape[1])[labels]
        best = rows[0] + wrong[0]
        for t in range(1, len(labels)):
            best = (best[:, None] + transition).max(0) + rows[t] + wrong[t]
        total += best.max() - truth
    square = (emission**2).sum() + (transition**2).sum()
    return 0.5 * square + C / (len(offset) - 1) * total


def dual(features, y, n_labels, support, C):
    """Σ α Δ − ½‖Σ α a‖², after checking α ≥ 0 and Σ_ŷ α ≤ C/n in every block.

    `support` is the set that a fitted tagger keeps, ``model_.support``.
    """
    offset, cuts, alpha = features.offset, support.cuts, support.alpha
    block = support.rows[cuts.block]
    n = len(offset) - 1
    mass = np.bincount(block, alpha, minlength=n)
    assert (alpha >= 0).all() and (mass <= C / n * (1 + 1e-9)).all()
    weight = np.zeros((int(offset[-1]), n_labels))
    transition = np.zeros((n_labels, n_labels))
    loss = 0.0
    for k, i in enumerate(block):
        labels = y[offset[i] : offset[i + 1]]
        wrong = cuts.code[cuts.indptr[k] : cuts.indptr[k + 1]]
        loss += alpha[k] * (labels != wrong).sum()
        tokens = np.arange(offset[i], offset[i + 1])
        weight[tokens, labels] += alpha[k]
        weight[tokens, wrong] -= alpha[k]
        np.add.at(transition, (labels[:-1], labels[1:]), alpha[k])
        np.add.at(transition, (wrong[:-1], wrong[1:]), -alpha[k])
    emission = matrix(features).T @ weight
    return loss - 0.5 * ((emission**2).sum() + (transition**2).sum())
