"""Dynamic programs over segments, written once for all semirings.

`segment[b, d − 1, l]` is the value of a segment of length d with label l that begins at
token b, `edge[k, l]` that of label l after label k. With

    ahead[b, l] = 1 for b = 0, else ⊕_k ended[b, k] ⊗ edge[k, l]
    ended[e, l] = ⊕_d ahead[e − d, l] ⊗ segment[e − d, d − 1, l]

the sum over all segmentations is ⊕_l ended[n, l] (Sarawagi and Cohen, NIPS 2004):
O(n·L·(L + D)). Labels are padded to whole vectors: values of segments that are too long
for their label, and of padding, are zero of the semiring.
"""

import numpy as np

from partwise.compiled import kernel
from partwise.structures._semirings import plus, times
from partwise.vectors import add, fill4, largest, load4, spread4, store


@kernel
def forward(sr, n, segment, edge, ended, ahead):
    """Fill `ended` and `ahead`, both (n + 1, L); returns the value of all outputs."""
    depth, size = segment.shape[1], segment.shape[2]
    for e in range(n + 1):
        for k in range(size):
            ended[e, k] = sr.zero
    for k in range(size):
        ahead[0, k] = sr.one
    for b in range(n):
        if b > 0:
            for k in range(size):
                ahead[b, k] = sr.zero
            for j in range(size):
                before = ended[b, j]
                for k in range(size):
                    ahead[b, k] = plus(sr, ahead[b, k], times(sr, before, edge[j, k]))
        for d in range(min(depth, n - b)):
            for k in range(size):
                part = times(sr, ahead[b, k], segment[b, d, k])
                ended[b + d + 1, k] = plus(sr, ended[b + d + 1, k], part)
    total = sr.zero
    for k in range(size):
        total = plus(sr, total, ended[n, k])
    return total


@kernel
def best_forward(n, several, segment, edge, ended, ahead):
    """`forward` with `MAX_PLUS`, four labels at a time.

    Labels from `several` on have segments of one token. Nothing is written to
    ``ended[0]`` and ``ahead[n]``.
    """
    depth, size = segment.shape[1], segment.shape[2]
    for k in range(size):
        ahead[0, k] = 0.0
    for e in range(1, n + 1):
        for k in range(0, size, 4):
            best = fill4(-np.inf)
            for b in range(e - 1, max(e - depth, 0) - 1 if k < several else e - 2, -1):
                part = load4(segment, (b * depth + e - b - 1) * size + k)
                best = largest(add(load4(ahead, b * size + k), part), best)
            store(ended, e * size + k, best)
        for k in range(0, size if e < n else 0, 4):
            best = fill4(-np.inf)
            for j in range(size):
                step = add(spread4(ended, e * size + j), load4(edge, j * size + k))
                best = largest(step, best)
            store(ahead, e * size + k, best)


@kernel
def backward(sr, n, segment, edge, behind, begun):
    """Fill the same from the end.

    `behind[e, l]` is the value of what follows label l at e, `begun[b, l]` that of what
    begins at b with a segment of label l.
    """
    depth, size = segment.shape[1], segment.shape[2]
    for k in range(size):
        behind[n, k], begun[n, k] = sr.one, sr.zero
    for b in range(n - 1, -1, -1):
        for k in range(size):
            total = sr.zero
            for d in range(min(depth, n - b)):
                part = times(sr, segment[b, d, k], behind[b + d + 1, k])
                total = plus(sr, total, part)
            begun[b, k] = total
        for k in range(size):
            total = sr.zero
            for j in range(size):
                total = plus(sr, total, times(sr, edge[k, j], begun[b, j]))
            behind[b, k] = total


@kernel
def write_segment(first, last, label, begin_code, inside_code, code):
    """Write the codes of a segment [first, last)."""
    code[first] = begin_code[label]
    for t in range(first + 1, last):
        code[t] = inside_code[label]


@kernel
def trace(n, longest, segment, edge, ended, ahead, begin_code, inside_code, code):
    """Write the best output, by the values of `best_forward`."""
    size = longest.shape[0]
    e, k = n, 0
    for j in range(size):
        if ended[n, j] > ended[n, k]:
            k = j
    while e > 0:
        best, length = -np.inf, 1
        for d in range(1, min(longest[k], e) + 1):
            value = ahead[e - d, k] + segment[e - d, d - 1, k]
            if value > best:
                best, length = value, d
        write_segment(e - length, e, k, begin_code, inside_code, code)
        e -= length
        if e > 0:
            best, before = -np.inf, 0
            for j in range(size):
                value = ended[e, j] + edge[j, k]
                if value > best:
                    best, before = value, j
            k = before


# ------------------------------------------------------------------------- k best


@kernel
def insert(value, one, other, at, k, values, places):
    """Enter a value into the k falling ones at row `at`, with where it came from."""
    if not value > values[at, k - 1]:
        return
    p = k - 1
    while p > 0 and values[at, p - 1] < value:
        values[at, p] = values[at, p - 1]
        places[at, p, 0] = places[at, p - 1, 0]
        places[at, p, 1] = places[at, p - 1, 1]
        p -= 1
    values[at, p] = value
    places[at, p, 0], places[at, p, 1] = one, other


@kernel
def k_forward(n, segment, edge, k, ended, ended_at, ahead, ahead_at):
    """The k best ways to each (e, l): row e·L + l of (n + 1)·L; the last of `ahead`."""
    depth, size = segment.shape[1], segment.shape[2]
    for row in range((n + 1) * size):
        for r in range(k):
            ended[row, r] = ahead[row, r] = -np.inf
    for label in range(size):
        ahead[label, 0] = 0.0
    for e in range(1, n + 1):
        for label in range(size):
            row = e * size + label
            for d in range(1, min(depth, e) + 1):
                score = segment[e - d, d - 1, label]
                for r in range(k):
                    value = ahead[(e - d) * size + label, r] + score
                    insert(value, d, r, row, k, ended, ended_at)
        if e == n:
            break
        for label in range(size):
            row = e * size + label
            for before in range(size):
                for r in range(k):
                    value = ended[e * size + before, r] + edge[before, label]
                    insert(value, before, r, row, k, ahead, ahead_at)
    # the best of all labels at the end, in a row of `ahead` that nothing else needs
    for label in range(size):
        for r in range(k):
            value = ended[n * size + label, r]
            insert(value, label, r, n * size, k, ahead, ahead_at)


@kernel
def k_trace(n, size, rank, ended_at, ahead_at, begin_code, inside_code, code):
    """Write the output of a rank."""
    e = n
    label, r = ahead_at[n * size, rank, 0], ahead_at[n * size, rank, 1]
    while e > 0:
        row = e * size + label
        length, r = ended_at[row, r, 0], ended_at[row, r, 1]
        write_segment(e - length, e, label, begin_code, inside_code, code)
        e -= length
        if e > 0:
            row = e * size + label
            label, r = ahead_at[row, r, 0], ahead_at[row, r, 1]
