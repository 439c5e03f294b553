"""Tables over two counts, c of correct and p of predicted brackets, in an arena.

An entry (4,) says where the table of a state or symbol begins, how many rows c it has,
and which range of p is possible: a table (rows, high − low).
"""

import numpy as np

from partwise.compiled import inner, inner_allocating

AT, ROWS, LOW, HIGH = 0, 1, 2, 3  # columns of an entry


@inner_allocating
def longer(table, size):
    """The same numbers with room for `size`."""
    if size <= table.shape[0]:
        return table
    more = np.empty(max(size, 2 * table.shape[0]))
    for k in range(table.shape[0]):
        more[k] = table[k]
    return more


@inner
def convolve(one, e, other, f, extra, out, at, width):
    """out[c + c', p + p'] = max(…, one[c, p] + other[c', p'] + extra)."""
    wide, wide2 = e[HIGH] - e[LOW], f[HIGH] - f[LOW]
    for c in range(e[ROWS]):
        for c2 in range(f[ROWS]):
            right = f[AT] + c2 * wide2
            for z in range(wide):
                value = one[e[AT] + c * wide + z] + extra
                if value == -np.inf:
                    continue
                into = at + (c + c2) * width + e[LOW] + z + f[LOW]
                for z2 in range(wide2):
                    total = value + other[right + z2]
                    if total > out[into + z2]:
                        out[into + z2] = total


@inner
def shift(table, e, extra, dc, dp, out, at, width):
    """out[c + dc, p + dp] = max(…, table[c, p] + extra)."""
    wide = e[HIGH] - e[LOW]
    for c in range(e[ROWS]):
        into = at + (c + dc) * width + e[LOW] + dp
        for z in range(wide):
            total = table[e[AT] + c * wide + z] + extra
            if total > out[into + z]:
                out[into + z] = total


@inner
def pack(source, at, rows, width, table, size, entry):
    """Copy the possible part of a table; fills its entry, returns the new size."""
    n_rows, low, high = 0, width, 0
    for c in range(rows):
        for p in range(width):
            if source[at + c * width + p] > -np.inf:
                n_rows = c + 1
                low = min(low, p)
                high = max(high, p + 1)
    entry[AT], entry[ROWS], entry[LOW], entry[HIGH] = size, n_rows, low, high
    for c in range(n_rows):
        for p in range(low, high):
            table[size] = source[at + c * width + p]
            size += 1
    return size


@inner
def look(table, e, c, p):
    """The number at (c, p) of an entry, −inf outside."""
    if c < 0 or c >= e[ROWS] or p < e[LOW] or p >= e[HIGH]:
        return -np.inf
    return table[e[AT] + c * (e[HIGH] - e[LOW]) + p - e[LOW]]
