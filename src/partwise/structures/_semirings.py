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
from partwise.vectors import add, fill8, largest, load4, load8, spread4, spread8, store


class MaxPlus(NamedTuple):
    """Best score. Which source gave it is found again on the way back, when needed."""

    zero: float = -np.inf
    one: float = 0.0

    def absorb(sr, into, t, m, source, u, table, first, stride, n):
        # In pieces of eight, four and single targets, whose maxima stay in registers;
        # even and odd sources apart, so that one maximum need not wait for the other.
        width = into.shape[2]
        in_8s, in_4s = width // 8 * 8, width // 4 * 4
        to = (t * into.shape[1] + m) * width
        row = u * source.shape[1]
        for k in range(0, in_8s, 8):
            a, b = load8(into, to + k), fill8(-np.inf)
            s = first
            for _ in range(n // 2):
                a = largest(
                    add(spread8(source, row + s), load8(table, s * width + k)), a
                )
                s += stride
                b = largest(
                    add(spread8(source, row + s), load8(table, s * width + k)), b
                )
                s += stride
            if n % 2 == 1:
                a = largest(
                    add(spread8(source, row + s), load8(table, s * width + k)), a
                )
            store(into, to + k, largest(a, b))
        for k in range(in_8s, in_4s, 4):
            c = load4(into, to + k)
            for z in range(n):
                s = first + z * stride
                c = largest(
                    add(spread4(source, row + s), load4(table, s * width + k)), c
                )
            store(into, to + k, c)
        for k in range(in_4s, width):
            best = into[t, m, k]
            for z in range(n):
                one = source[u, first + z * stride] + table[first + z * stride, k]
                best = one if one > best else best
            into[t, m, k] = best

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


@operation
def plus(sr, one, other):
    """One ⊕ other."""


@operation
def times(sr, one, other):
    """One ⊗ other."""


@operation
def adds(sr, value, old):
    """Whether old ⊕ value differs from old."""


@operation
def rescale(sr, row):
    """Rescale a finished row; returns the logarithm of the divisor."""


@operation
def over(sr, one, other):
    """One ⊗ the inverse of other, which must not be zero; not for `MaxPlus`."""


@operation
def log(sr, value):
    """The real logarithm of a value of the semiring; not for `MaxPlus`."""


@operation
def exp(sr, score):
    """The value of the semiring whose real logarithm is `score`; not for `MaxPlus`."""
