"""Single weights: read, add, erase.

One text for the three, so that they cannot disagree about the weights of a part.
"""

import numpy as np

from partwise.compiled import kernel

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
