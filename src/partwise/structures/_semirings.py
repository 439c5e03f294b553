"""Semirings as types: what ⊕ means is chosen by the type of `sr`, at compile time.

A dynamic program is written once. With `MaxPlus` it finds best outputs (prediction,
loss-augmented inference, completion, constrained decoding, max-marginals); with
`SumTimes`, on exponentiated scores, sums over all outputs (log-partition, marginals).

The operations act on a row of targets at once, because a row of contiguous labels
vectorises where a scalar cell does not. Each is a method of the tag; as in
`compiled.py` the stub runs it in Python and the overload compiles it.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload


class MaxPlus(NamedTuple):
    """Best score and the source that gave it."""

    zero: float = -np.inf
    one: float = 0.0

    def absorb(sr, row, back, before, table, first, stride, n):
        # Selects instead of branches: stores are unconditional, so LLVM vectorises.
        for z in range(n):
            source = first + z * stride
            value = before[source]
            edges = table[source]
            for k in range(row.shape[0]):
                score = value + edges[k]
                better = score > row[k]
                row[k] = score if better else row[k]
                back[k] = source if better else back[k]

    def times(sr, one, other):
        return one + other

    def rescale(sr, row):
        return 0.0


class SumTimes(NamedTuple):
    """Sum of products; `rescale` keeps a row's sum at one and returns log of it."""

    zero: float = 0.0
    one: float = 1.0

    def absorb(sr, row, back, before, table, first, stride, n):
        for z in range(n):
            source = first + z * stride
            value = before[source]
            edges = table[source]
            for k in range(row.shape[0]):
                row[k] += value * edges[k]

    def times(sr, one, other):
        return one * other

    def rescale(sr, row):
        total = 0.0
        for k in range(row.shape[0]):
            total += row[k]
        if total > 0.0:
            for k in range(row.shape[0]):
                row[k] /= total
        return np.log(total)


MAX_PLUS = MaxPlus()
SUM_TIMES = SumTimes()


def absorb(sr, row, back, before, table, first, stride, n):
    """row[k] ⊕= before[s] ⊗ table[s, k] for the n sources s = first + z·stride.

    ``back[k]`` remembers the source that won, where the semiring has a winner.
    """
    return sr.absorb(row, back, before, table, first, stride, n)


def times(sr, one, other):
    """One ⊗ other."""
    return sr.times(one, other)


def rescale(sr, row):
    """Rescale a finished row; returns the logarithm of the divisor."""
    return sr.rescale(row)


@overload(absorb)
def _absorb(sr, row, back, before, table, first, stride, n):
    return sr.instance_class.absorb


@overload(times)
def _times(sr, one, other):
    return sr.instance_class.times


@overload(rescale)
def _rescale(sr, row):
    return sr.instance_class.rescale
