"""Subsequences of one exact length, one sequence against several; compiled.

The recursion is in `exact_strings.py`, the layout of lanes in `_string_compiled.py`.
Where lengths are summed, any match is seen in the result, so that tokens which do not
match may count a little. Here results may be arbitrarily small and a mismatch must
be zero; sums that decay are cut to zero before they become denormal numbers.
"""

import numpy as np

from partwise.compiled import jitted
from partwise.jit import njit
from partwise.kernels._string_compiled import FUSED, LANES, add, compare, fill_lanes

LEAST = 1e-300  # sums below it are zero


@jitted
def exact_block(x, x_offset, rows, y, y_offset, cols, weights, decay, n, out):
    """out[r, c] = Σ over subsequences of length n of rows[r] and cols[c].

    x, y (n_columns, n_tokens) int32 codes. decay = 0 allows no gaps.
    """
    longest = 0
    for c in range(cols.shape[0]):
        longest = max(longest, y_offset[cols[c] + 1] - y_offset[cols[c]])
    size = longest * LANES
    lanes = np.empty((y.shape[0], size), np.int32)
    match = np.empty(size)
    run = np.zeros(size + LANES)
    total = np.empty(size)
    below = np.empty((n, size + LANES))
    for first in range(0, cols.shape[0], LANES):
        width = min(LANES, cols.shape[0] - first)
        longest = fill_lanes(y, y_offset, cols, first, width, lanes)
        for r in range(rows.shape[0]):
            begin, end = x_offset[rows[r]], x_offset[rows[r] + 1]
            exact_lockstep(
                x, begin, end, lanes, longest * LANES, weights, decay, n, match, run,
                total, below,
            )  # fmt: skip
            for lane in range(width):
                value = total[lane]
                for j in range(1, longest):
                    value += total[j * LANES + lane]
                out[r, first + lane] = value


@jitted
def exact_diagonal(x, offset, weights, decay, n, out):
    """out[s] = Σ over subsequences of length n of sequence s and itself."""
    one = np.empty(1, np.int64)
    value = np.empty((1, 1))
    for s in range(offset.shape[0] - 1):
        one[0] = s
        exact_block(x, offset, one, x, offset, one, weights, decay, n, value)
        out[s] = value[0, 0]


@jitted
def exact_lockstep(
    x, begin, end, lanes, size, weights, decay, n, match, run, total, below
):  # fmt: skip
    """Sum D_n over all pairs of positions into `total`, entry by entry."""
    for p in range(size):
        total[p] = 0.0
    for m in range(1, n):
        for p in range(size + LANES):
            below[m, p] = 0.0
    for i in range(begin, end):
        compare(x, i, lanes, size, weights, 0.0, match)
        if n == 1:
            add(match, total, size)
        else:
            add_ends(match, below[n - 1], total, size)
            # from the longest down: each reads the row before of the next shorter
            for m in range(n - 1, 1, -1):
                lengthen(match, below[m - 1], below[m], run, decay, size)
            begin_exact_runs(match, below[1], run, decay, size)


@njit(cache=True, nogil=True, fastmath=FUSED)
def add_ends(match, below, total, size):
    """D_n into the total."""
    for p in range(size):
        total[p] += match[p] * below[p]


@njit(cache=True, nogil=True, fastmath=FUSED)
def lengthen(match, below, here, run, decay, size):
    """U_m of this row from U_{m-1} and U_m of the row before."""
    for p in range(size):
        value = match[p] * below[p] + decay * run[p]
        run[p + LANES] = value if value > LEAST else 0.0
        value += decay * here[p + LANES]
        here[p + LANES] = value if value > LEAST else 0.0


@njit(cache=True, nogil=True, fastmath=FUSED)
def begin_exact_runs(match, here, run, decay, size):
    """U_1 of this row from that of the row before."""
    for p in range(size):
        value = match[p] + decay * run[p]
        run[p + LANES] = value if value > LEAST else 0.0
        value += decay * here[p + LANES]
        here[p + LANES] = value if value > LEAST else 0.0
