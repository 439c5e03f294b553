"""Planes of a dual in a model file: what the supports of all models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    check_indices,
    check_offsets,
    check_rising,
    read_array,
    read_numbers,
    require,
)
from partwise.protocol import Cuts, Floats, Ints

Arrays = dict[str, np.ndarray]


def plane_arrays(cuts: Cuts, alpha: Floats, rows: Ints) -> Arrays:
    """Arrays of planes with their α, and of the training rows they belong to."""
    return {
        "rows": np.asarray(rows, np.int64),
        "alpha": alpha,
        "block": np.asarray(cuts.block, np.int64),
        "b": cuts.b,
        "scale": cuts.scale,
        "code": np.asarray(cuts.code, np.int32),
    }


def read_lengths(offset: np.ndarray) -> Ints:
    """Tokens of each support sequence, from checked offsets."""
    check_offsets(offset, int(offset[-1]) if len(offset) else 0, "support sequences")
    lengths = np.diff(offset)
    require(bool((lengths > 0).all()), "an empty support sequence")
    return lengths


def read_planes(
    arrays: Arrays, lengths: Ints, code_length: Callable[[Ints], Ints]
) -> tuple[Cuts, Floats, Ints]:
    """
    Rebuild planes; what their codes may hold is the business of the caller.

    Parameters
    ----------
    arrays : dict
        As `plane_arrays` gave them.
    lengths : int array (n_sequences,)
    code_length : callable
        Length of a code, from that of its sequence.

    Returns
    -------
    cuts : Cuts
    alpha : array (m,)
    rows : int64 array (n_sequences,)
    """
    rows = read_array(arrays, "rows", np.int64, len(lengths))
    check_indices(rows, np.iinfo(np.int64).max, "a training row")
    check_rising(rows, "training rows")
    alpha = read_numbers(arrays, "alpha", MAX_WEIGHT)
    m = len(alpha)
    block = read_array(arrays, "block", np.int64, m)
    check_indices(block, len(lengths), "the block of a cut")
    b, scale = (read_numbers(arrays, name, MAX_WEIGHT, m) for name in ("b", "scale"))
    indptr = np.append(0, np.cumsum(code_length(lengths[block]))).astype(np.int64)
    code: Any = read_array(arrays, "code", np.int32, int(indptr[-1]))
    zero = np.zeros(m)
    return Cuts(block, b, scale, zero, zero, indptr, code), alpha, rows
