"""Inner products and sums of planes of dependency trees, from arcs that differ.

The trees of a pool share most of their arcs, so several of them are handled word by
word and each arc is looked at once.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.scorers.arcs import (
    add_arc,
    add_label,
    dot_arc,
    dot_label,
    wipe_arc,
    wipe_label,
)


@kernel
def lead(blocks, w, i, t, hat):
    """Score of the true arc of a word minus that of another."""
    size = blocks.n_labels
    y = blocks.y[blocks.offset[i] + t]
    h, h_hat, d = y // size, hat // size, t + 1
    total = 0.0
    if h != h_hat:
        total += dot_arc(blocks.rows, w, i, h, d)
        total -= dot_arc(blocks.rows, w, i, h_hat, d)
    total += dot_label(blocks.rows, w, i, h, d, y % size)
    return total - dot_label(blocks.rows, w, i, h_hat, d, hat % size)


@kernel
def add_lead(blocks, w, i, t, hat, coef, coef_hat):
    """Add coef times the true arc of a word, and take coef_hat times another."""
    size = blocks.n_labels
    y = blocks.y[blocks.offset[i] + t]
    h, h_hat, d = y // size, hat // size, t + 1
    if h == h_hat:
        if coef != coef_hat:
            add_arc(blocks.rows, w, i, h, d, coef - coef_hat)
    else:
        if coef != 0.0:
            add_arc(blocks.rows, w, i, h, d, coef)
        if coef_hat != 0.0:
            add_arc(blocks.rows, w, i, h_hat, d, -coef_hat)
    if coef != 0.0:
        add_label(blocks.rows, w, i, h, d, y % size, coef)
    if coef_hat != 0.0:
        add_label(blocks.rows, w, i, h_hat, d, hat % size, -coef_hat)


@kernel
def wipe_lead(blocks, w, i, t, hat):
    """Set the weights of the true arc of a word and of another to zero."""
    size = blocks.n_labels
    y = blocks.y[blocks.offset[i] + t]
    h, h_hat, d = y // size, hat // size, t + 1
    if h != h_hat:
        wipe_arc(blocks.rows, w, i, h, d)
        wipe_arc(blocks.rows, w, i, h_hat, d)
    wipe_label(blocks.rows, w, i, h, d, y % size)
    wipe_label(blocks.rows, w, i, h_hat, d, hat % size)


@kernel
def one_margin(blocks, w, i, code):
    """<w, δ(code)>."""
    begin = blocks.offset[i]
    total = 0.0
    for t in range(blocks.offset[i + 1] - begin):
        if blocks.y[begin + t] != code[t]:
            total += lead(blocks, w, i, t, code[t])
    return total


@kernel
def push_one(blocks, w, i, code, coef):
    """Add coef·δ(code) to w."""
    begin = blocks.offset[i]
    for t in range(blocks.offset[i + 1] - begin):
        if blocks.y[begin + t] != code[t]:
            add_lead(blocks, w, i, t, code[t], coef, coef)


@kernel
def wipe_one(blocks, w, i, code):
    """Set to zero the coordinates of w that δ(code) touches."""
    begin = blocks.offset[i]
    for t in range(blocks.offset[i + 1] - begin):
        if blocks.y[begin + t] != code[t]:
            wipe_lead(blocks, w, i, t, code[t])


@kernel
def is_repeated(codes, at, length, p, t):
    """Whether an output before p has the same code at position t."""
    for q in range(p):
        if codes[at + q * length + t] == codes[at + p * length + t]:
            return True
    return False


@kernel
def many_margins(blocks, w, i, codes, at, n, out):
    """<w, δ> of each output."""
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    for p in range(n):
        out[p] = 0.0
    size = blocks.n_labels
    for t in range(length):
        y, d = blocks.y[begin + t], t + 1
        true_arc = true_label = np.nan  # unknown; once per word where it is asked for
        for p in range(n):
            hat = codes[at + p * length + t]
            if hat == y or is_repeated(codes, at, length, p, t):
                continue
            h, h_hat = y // size, hat // size
            if np.isnan(true_label):
                true_label = dot_label(blocks.rows, w, i, h, d, y % size)
            value = true_label - dot_label(blocks.rows, w, i, h_hat, d, hat % size)
            if h != h_hat:
                if np.isnan(true_arc):
                    true_arc = dot_arc(blocks.rows, w, i, h, d)
                value += true_arc - dot_arc(blocks.rows, w, i, h_hat, d)
            for q in range(p, n):
                if codes[at + q * length + t] == hat:
                    out[q] += value


@kernel
def push_many(blocks, w, i, codes, at, n, coef):
    """Add Σ_p coef[p]·δ_p to w."""
    begin = blocks.offset[i]
    length = blocks.offset[i + 1] - begin
    for t in range(length):
        y = blocks.y[begin + t]
        truth = 0.0
        for p in range(n):
            if codes[at + p * length + t] != y:
                truth += coef[p]
        for p in range(n):
            hat = codes[at + p * length + t]
            if hat == y or is_repeated(codes, at, length, p, t):
                continue
            total = 0.0
            for q in range(p, n):
                if codes[at + q * length + t] == hat:
                    total += coef[q]
            add_lead(blocks, w, i, t, hat, truth, total)
            truth = 0.0
