"""Semirings as types: what ⊕ means is chosen by the type of `sr`, at compile time.

A dynamic program is written once. With `MaxPlus` it finds best outputs (prediction,
loss-augmented inference, completion, constrained decoding, max-marginals); with
`SumTimes`, on exponentiated scores, sums over all outputs (log-partition, marginals);
`LogPlus` does the same on logarithms.

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

    def absorb(sr, into, t, m, source, u, table, first, stride, n):
        # Four sources at a time: the row is loaded and stored less often. Whole arrays
        # with plain loop indices, because slices hide from LLVM what overlaps, and an
        # index such as `at + k` might be negative: either way it would not vectorise.
        fours = n // 4 * 4
        for z in range(0, fours, 4):
            s = first + z * stride
            s2, s3, s4 = s + stride, s + 2 * stride, s + 3 * stride
            a, b, c, d = source[u, s], source[u, s2], source[u, s3], source[u, s4]
            for k in range(into.shape[2]):
                one, two = a + table[s, k], b + table[s2, k]
                three, four = c + table[s3, k], d + table[s4, k]
                one = one if one > two else two
                three = three if three > four else four
                one = one if one > three else three
                into[t, m, k] = one if one > into[t, m, k] else into[t, m, k]
        for z in range(fours, n):
            s = first + z * stride
            a = source[u, s]
            for k in range(into.shape[2]):
                one = a + table[s, k]
                into[t, m, k] = one if one > into[t, m, k] else into[t, m, k]

    def plus(sr, one, other):
        return one if one > other else other

    def times(sr, one, other):
        return one + other

    def adds(sr, value, old):
        return value > old

    def rescale(sr, row):
        return 0.0


class SumTimes(NamedTuple):
    """Sum of products; `rescale` keeps a row's sum at one."""

    zero: float = 0.0
    one: float = 1.0

    def absorb(sr, into, t, m, source, u, table, first, stride, n):
        for z in range(n):
            s = first + z * stride
            value = source[u, s]
            for k in range(into.shape[2]):
                into[t, m, k] += value * table[s, k]

    def plus(sr, one, other):
        return one + other

    def times(sr, one, other):
        return one * other

    def adds(sr, value, old):
        return value > 0.0

    def over(sr, one, other):
        return one / other

    def log(sr, value):
        return np.log(value) if value > 0.0 else -np.inf

    def exp(sr, score):
        return np.exp(score)

    def rescale(sr, row):
        total = 0.0
        for k in range(row.shape[0]):
            total += row[k]
        if total > 0.0:
            for k in range(row.shape[0]):
                row[k] /= total
        return np.log(total)


class LogPlus(NamedTuple):
    """Logarithms of sums: no score is too large or small, at twenty times the price.

    For charts and determinants, whose cells cannot be rescaled row by row: they run
    with `SumTimes` and, when that loses too much, again with this.
    """

    zero: float = -np.inf
    one: float = 0.0

    def plus(sr, one, other):
        if other > one:
            one, other = other, one
        return one if other == -np.inf else one + np.log1p(np.exp(other - one))

    def times(sr, one, other):
        return one + other

    def over(sr, one, other):
        return one - other

    def log(sr, value):
        return value

    def exp(sr, score):
        return score


MAX_PLUS = MaxPlus()
SUM_TIMES = SumTimes()
LOG_PLUS = LogPlus()


@operation
def absorb(sr, into, t, m, source, u, table, first, stride, n):
    """into[t, m, k] ⊕= source[u, s] ⊗ table[s, k] for all k.

    The n sources are s = first + z·stride.
    """
    return sr.absorb(into, t, m, source, u, table, first, stride, n)


@operation
def plus(sr, one, other):
    """One ⊕ other."""
    return sr.plus(one, other)


@operation
def times(sr, one, other):
    """One ⊗ other."""
    return sr.times(one, other)


@operation
def adds(sr, value, old):
    """Whether old ⊕ value differs from old."""
    return sr.adds(value, old)


@operation
def rescale(sr, row):
    """Rescale a finished row; returns the logarithm of the divisor."""
    return sr.rescale(row)


@operation
def over(sr, one, other):
    """One ⊗ the inverse of other, which must not be zero; not for `MaxPlus`."""
    return sr.over(one, other)


@operation
def log(sr, value):
    """The real logarithm of a value of the semiring; not for `MaxPlus`."""
    return sr.log(value)


@operation
def exp(sr, score):
    """The value of the semiring whose real logarithm is `score`; not for `MaxPlus`."""
    return sr.exp(score)
