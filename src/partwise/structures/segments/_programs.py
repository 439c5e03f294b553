"""Dynamic programs over segments, written once for all semirings.

`segment[e − 1, d − 1, l]` is the value of a segment of length d with label l that ends
before token e, `edge[k, l]` that of label l after label k. With

    ahead[b, l] = 1 for b = 0, else ⊕_k ended[b, k] ⊗ edge[k, l]
    ended[e, l] = ⊕_d ahead[e − d, l] ⊗ segment[e − 1, d − 1, l]

the sum over all segmentations is ⊕_l ended[n, l] (Sarawagi and Cohen, NIPS 2004):
O(n·L·(L + D)). Segments of label l have at most longest[l] tokens.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.structures._semirings import plus, times


@kernel
def forward(sr, n, longest, segment, edge, ended, ahead):
    """Fill `ended` and `ahead`, both (n + 1, L); returns the value of all outputs."""
    size = longest.shape[0]
    for k in range(size):
        ahead[0, k], ended[0, k] = sr.one, sr.zero
    for e in range(1, n + 1):
        for k in range(size):
            total = sr.zero
            for d in range(1, min(longest[k], e) + 1):
                part = times(sr, ahead[e - d, k], segment[e - 1, d - 1, k])
                total = plus(sr, total, part)
            ended[e, k] = total
        for k in range(size):
            total = sr.zero
            for j in range(size):
                total = plus(sr, total, times(sr, ended[e, j], edge[j, k]))
            ahead[e, k] = total
    total = sr.zero
    for k in range(size):
        total = plus(sr, total, ended[n, k])
    return total


@kernel
def backward(sr, n, longest, segment, edge, behind, begun):
    """Fill the same from the end.

    `behind[e, l]` is the value of what follows label l at e, `begun[b, l]` that of what
    begins at b with a segment of label l.
    """
    size = longest.shape[0]
    for k in range(size):
        behind[n, k], begun[n, k] = sr.one, sr.zero
    for b in range(n - 1, -1, -1):
        for k in range(size):
            total = sr.zero
            for d in range(1, min(longest[k], n - b) + 1):
                part = times(sr, segment[b + d - 1, d - 1, k], behind[b + d, k])
                total = plus(sr, total, part)
            begun[b, k] = total
        for k in range(size):
            total = sr.zero
            for j in range(size):
                total = plus(sr, total, times(sr, edge[k, j], begun[b, j]))
            behind[b, k] = total


@kernel
def trace(n, longest, segment, edge, ended, ahead, code):
    """Write the best output, whose values `forward` found with `MAX_PLUS`."""
    size = longest.shape[0]
    e, k = n, 0
    for j in range(size):
        if ended[n, j] > ended[n, k]:
            k = j
    while e > 0:
        best, length = -np.inf, 1
        for d in range(1, min(longest[k], e) + 1):
            value = ahead[e - d, k] + segment[e - 1, d - 1, k]
            if value > best:
                best, length = value, d
        for t in range(e - length, e):
            code[t] = k
        e -= length
        code[e] = k + size
        if e > 0:
            best, before = -np.inf, 0
            for j in range(size):
                value = ended[e, j] + edge[j, k]
                if value > best:
                    best, before = value, j
            k = before


# ------------------------------------------------------------------------- k best


@kernel
def insert(value, one, other, third, at, k, values, places):
    """Enter a value into the k falling ones at row `at`, with where it came from."""
    if not value > values[at, k - 1]:
        return
    p = k - 1
    while p > 0 and values[at, p - 1] < value:
        values[at, p] = values[at, p - 1]
        for c in range(3):
            places[at, p, c] = places[at, p - 1, c]
        p -= 1
    values[at, p] = value
    places[at, p, 0], places[at, p, 1], places[at, p, 2] = one, other, third


@kernel
def k_forward(n, longest, segment, edge, k, ended, ended_at, ahead, ahead_at):
    """The k best ways to each (e, l): row e·L + l of (n + 1)·L; returns how many."""
    size = longest.shape[0]
    for row in range((n + 1) * size):
        for r in range(k):
            ended[row, r] = ahead[row, r] = -np.inf
    for label in range(size):
        ahead[label, 0] = 0.0
    for e in range(1, n + 1):
        for label in range(size):
            row = e * size + label
            for d in range(1, min(longest[label], e) + 1):
                score = segment[e - 1, d - 1, label]
                for r in range(k):
                    value = ahead[(e - d) * size + label, r] + score
                    insert(value, d, r, 0, row, k, ended, ended_at)
        for label in range(size):
            row = e * size + label
            for before in range(size):
                for r in range(k):
                    value = ended[e * size + before, r] + edge[before, label]
                    insert(value, before, r, 0, row, k, ahead, ahead_at)
    # the best of all labels at the end, in the unused row of ahead for b = n
    for r in range(k):
        ahead[n * size, r] = -np.inf
    for label in range(size):
        for r in range(k):
            value = ended[n * size + label, r]
            insert(value, label, r, 0, n * size, k, ahead, ahead_at)


@kernel
def k_trace(n, size, rank, ended_at, ahead_at, code):
    """Write the output of a rank."""
    e = n
    label, r = ahead_at[n * size, rank, 0], ahead_at[n * size, rank, 1]
    while e > 0:
        row = e * size + label
        length, r = ended_at[row, r, 0], ended_at[row, r, 1]
        for t in range(e - length, e):
            code[t] = label
        e -= length
        code[e] = label + size
        if e > 0:
            row = e * size + label
            label, r = ahead_at[row, r, 0], ahead_at[row, r, 1]
