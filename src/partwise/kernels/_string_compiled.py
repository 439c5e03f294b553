"""Gap-weighted subsequences of one sequence against several in lockstep; compiled.

The recursions stand in `strings.py` and, for one exact length, in `exact_strings.py`.
The columns of a block are taken `LANES` at a time: position j of lane k is entry
``j·LANES + k`` of each flat row below, so every inner loop runs over one contiguous
row, and `run[p]` and `run[p + LANES]` are neighbours of one sequence. The constant
distance lets the compiler use vector instructions although each entry depends on the
one before it. Shorter sequences are filled up with tokens that match nothing.

Sums that decay over a long gap would become denormal numbers, which processors handle
up to ten times slower. So tokens that do not match count `faint`: too little to be seen
beside a match. A sum below half the least weight, which is less than any match gives,
is the zero that it stands for.

Of one exact length (`is_exact`) results may be arbitrarily small, so a mismatch counts
zero; sums that decay are cut to zero before they become denormal numbers.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted
from partwise.jit import njit

LANES = 32  # 16 waits for the store of its neighbour, 64 leaves the first-level cache
PADDING = -1  # a code that no token has
LEAST = 1e-300  # sums of an exact length below it are zero

# products and sums may be contracted to one instruction; order is kept
FUSED = {"contract"}


class Scale(NamedTuple):
    """Numbers of the kernel in the precision of the computation."""

    weights: np.ndarray  # (n_columns,) of κ, the squared decay in them
    decay: float
    faint: float
    half: float  # of the least weight; sums up to it are zero
    zero: float
    is_exact: bool  # subsequences of length n alone, not of all lengths up to it


def make_scale(weights: np.ndarray, decay: float, dtype: type) -> Scale:
    """Numbers of the kernel; `faint` is far below the rounding of a match."""
    least = weights[weights > 0].min()
    faint = least * (1e-18 if dtype is np.float32 else 1e-60)
    decay, faint, half, zero = map(dtype, (decay, faint, least / 2, 0.0))
    return Scale(weights.astype(dtype), decay, faint, half, zero, False)


def exact_scale(weights: np.ndarray, decay: float) -> Scale:
    """Numbers of the kernel of one exact length; without gaps the decay is 0."""
    return Scale(weights, decay, 0.0, -1.0, 0.0, True)


@jitted
def subsequence_block(x, x_offset, rows, y, y_offset, cols, scale, n, out):
    """out[r, c] = Σ over lengths 1 … n, or of n, between sequences rows[r] and cols[c].

    x, y (n_columns, n_tokens) int32 codes. The dtype of `scale` and `out` is that of
    the computation.
    """
    weights, decay, faint = scale.weights, scale.decay, scale.faint
    longest = 0
    for c in range(cols.shape[0]):
        longest = max(longest, y_offset[cols[c] + 1] - y_offset[cols[c]])
    size = longest * LANES
    lanes = np.empty((y.shape[0], size), np.int32)
    match = np.empty(size, weights.dtype)
    run = np.zeros(size + LANES, weights.dtype)
    total = np.empty(size, weights.dtype)
    below = np.empty((n, size + LANES), weights.dtype)
    for first in range(0, cols.shape[0], LANES):
        width = min(LANES, cols.shape[0] - first)
        longest = fill_lanes(y, y_offset, cols, first, width, lanes)
        for r in range(rows.shape[0]):
            begin, end = x_offset[rows[r]], x_offset[rows[r] + 1]
            lockstep(
                x, begin, end, lanes, longest * LANES, weights, faint, decay, n,
                scale.is_exact, match, run, total, below,
            )  # fmt: skip
            for lane in range(width):
                value = total[lane]
                for j in range(1, longest):
                    value += total[j * LANES + lane]
                out[r, first + lane] = value if value > scale.half else scale.zero


@jitted
def subsequence_diagonal(x, offset, scale, n, out):
    """out[s] = the same between sequence s and itself."""
    one = np.empty(1, np.int64)
    value = np.empty((1, 1), scale.weights.dtype)
    for s in range(offset.shape[0] - 1):
        one[0] = s
        subsequence_block(x, offset, one, x, offset, one, scale, n, value)
        out[s] = value[0, 0]


@jitted
def fill_lanes(y, offset, cols, first, width, lanes):
    """Put sequences side by side; return the length of the longest."""
    longest = 0
    for lane in range(width):
        s = cols[first + lane]
        longest = max(longest, offset[s + 1] - offset[s])
    for c in range(y.shape[0]):
        for p in range(longest * LANES):
            lanes[c, p] = PADDING
        for lane in range(width):
            begin = offset[cols[first + lane]]
            for j in range(offset[cols[first + lane] + 1] - begin):
                lanes[c, j * LANES + lane] = y[c, begin + j]
    return longest


@jitted
def lockstep(
    x, begin, end, lanes, size, weights, faint, decay, n, is_exact, match, run, total,
    below,
):  # fmt: skip
    """Sum D_n over all pairs of positions into `total`, entry by entry."""
    for p in range(size):
        total[p] = 0.0
    for m in range(1, n):
        for p in range(size + LANES):
            below[m, p] = 0.0
    for i in range(begin, end):
        compare(x, i, lanes, size, weights, faint, match)
        if n == 1:
            add(match, total, size)
        elif is_exact:
            add_ends(match, below[n - 1], total, size)
            for m in range(n - 1, 1, -1):
                lengthen(match, below[m - 1], below[m], run, decay, size)
            begin_exact_runs(match, below[1], run, decay, size)
        else:
            add_longest(match, below[n - 1], total, size)
            # from the longest down: each reads the row before of the next shorter
            for m in range(n - 1, 1, -1):
                extend(match, below[m - 1], below[m], run, decay, size)
            begin_runs(match, below[1], run, decay, size)


@jitted
def compare(x, i, lanes, size, weights, faint, match):
    """match[p] = Σ_c weights[c]·[x_i and lane position p agree in column c]."""
    set_matches(lanes[0], x[0, i], weights[0] + faint, faint, match, size)
    for c in range(1, lanes.shape[0]):
        add_matches(lanes[c], x[c, i], weights[c], match, size)


# The loops below take whole rows: with an index into a matrix they are not vectorised,
# and take six times as long.


@jitted
def set_matches(lanes, code, weight, faint, match, size):
    """The first column."""
    for p in range(size):
        match[p] = weight if lanes[p] == code else faint


@jitted
def add_matches(lanes, code, weight, match, size):
    """A further column."""
    nothing = weight * 0
    for p in range(size):
        match[p] += weight if lanes[p] == code else nothing


@jitted
def add(match, total, size):
    """D_1 into the total."""
    for p in range(size):
        total[p] += match[p]


@njit(cache=True, nogil=True, fastmath=FUSED)
def add_longest(match, below, total, size):
    """D_n into the total."""
    for p in range(size):
        total[p] += match[p] * below[p] + match[p]


@njit(cache=True, nogil=True, fastmath=FUSED)
def extend(match, below, here, run, decay, size):
    """U_m of this row from U_{m-1} and U_m of the row before."""
    for p in range(size):
        value = match[p] * below[p] + match[p] + decay * run[p]
        run[p + LANES] = value
        here[p + LANES] = value + decay * here[p + LANES]


@njit(cache=True, nogil=True, fastmath=FUSED)
def begin_runs(match, here, run, decay, size):
    """U_1 of this row from that of the row before."""
    for p in range(size):
        value = match[p] + decay * run[p]
        run[p + LANES] = value
        here[p + LANES] = value + decay * here[p + LANES]


@njit(cache=True, nogil=True, fastmath=FUSED)
def add_ends(match, below, total, size):
    """D_n of an exact length into the total."""
    for p in range(size):
        total[p] += match[p] * below[p]


@njit(cache=True, nogil=True, fastmath=FUSED)
def lengthen(match, below, here, run, decay, size):
    """`extend` for an exact length."""
    for p in range(size):
        value = match[p] * below[p] + decay * run[p]
        run[p + LANES] = value if value > LEAST else 0.0
        value += decay * here[p + LANES]
        here[p + LANES] = value if value > LEAST else 0.0


@njit(cache=True, nogil=True, fastmath=FUSED)
def begin_exact_runs(match, here, run, decay, size):
    """`begin_runs` for an exact length."""
    for p in range(size):
        value = match[p] + decay * run[p]
        run[p + LANES] = value if value > LEAST else 0.0
        value += decay * here[p + LANES]
        here[p + LANES] = value if value > LEAST else 0.0
