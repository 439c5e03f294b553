"""Semirings as types: what ⊕ means is chosen by the type of `sr`, at compile time.

A dynamic program is written once. With `MaxPlus` it finds best outputs (prediction,
loss-augmented inference, completion, constrained decoding, max-marginals); with
`SumTimes`, on exponentiated scores, sums over all outputs (log-partition, marginals).

The operations act on a row of targets at once, because a row of contiguous labels
vectorises where a scalar cell does not.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import operation


class MaxPlus(NamedTuple):
    """Best score. Which source gave it is found again on the way back, when needed."""

    zero: float = -np.inf
    one: float = 0.0

    def absorb(sr, row, before, table, first, stride, n):
        # Four sources at a time take half the time of one by one, and of keeping
        # back-pointers: `row` is loaded and stored less often.
        fours = n // 4 * 4
        for z in range(0, fours, 4):
            s = first + z * stride
            t, u, v = s + stride, s + 2 * stride, s + 3 * stride
            a, b, c, d = before[s], before[t], before[u], before[v]
            edge_a, edge_b, edge_c, edge_d = table[s], table[t], table[u], table[v]
            for k in range(row.shape[0]):
                one, two = a + edge_a[k], b + edge_b[k]
                three, four = c + edge_c[k], d + edge_d[k]
                one = one if one > two else two
                three = three if three > four else four
                one = one if one > three else three
                row[k] = one if one > row[k] else row[k]
        for z in range(fours, n):
            s = first + z * stride
            a, edge_a = before[s], table[s]
            for k in range(row.shape[0]):
                one = a + edge_a[k]
                row[k] = one if one > row[k] else row[k]

    def times(sr, one, other):
        return one + other

    def rescale(sr, row):
        return 0.0


class SumTimes(NamedTuple):
    """Sum of products; `rescale` keeps a row's sum at one."""

    zero: float = 0.0
    one: float = 1.0

    def absorb(sr, row, before, table, first, stride, n):
        for z in range(n):
            s = first + z * stride
            value, edges = before[s], table[s]
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


@operation
def absorb(sr, row, before, table, first, stride, n):
    """row[k] ⊕= before[s] ⊗ table[s, k] for the n sources s = first + z·stride."""
    return sr.absorb(row, before, table, first, stride, n)


@operation
def times(sr, one, other):
    """One ⊗ other."""
    return sr.times(one, other)


@operation
def rescale(sr, row):
    """Rescale a finished row; returns the logarithm of the divisor."""
    return sr.rescale(row)
