"""Weights of a part: read, add, erase.

One text for the three, so that they cannot disagree about the weights of a part.
"""

import numpy as np

from partwise.compiled import add_row, dot_row, kernel, wipe_row

# numbers with a type: a literal argument would compile a function anew
DOT, ADD, WIPE = np.int64(0), np.int64(1), np.int64(2)


@kernel
def touch(w, at, mode, coef):
    """Read, change or erase one weight."""
    if mode == DOT:
        return w[at]
    if mode == ADD:
        w[at] += coef
    else:
        w[at] = 0.0
    return 0.0


@kernel
def touch_row(rows, w, width, t, label, mode, coef):
    """Read, change or erase the weights of a row for a label."""
    if mode == DOT:
        return dot_row(rows, w, width, t, label)
    if mode == ADD:
        add_row(rows, w, width, t, label, coef)
    else:
        wipe_row(rows, w, width, t, label)
    return 0.0
