"""Eight neighbouring cells of a row at once: what `partwise.vectors` lacks for scans.

A gap along a row depends on the cell before it. Eight cells still go together, because
a running maximum within a vector takes three steps of shifting and comparing. Masks of
comparisons are stored as one byte per vector: a bit per cell.

Without numba the same functions work on small arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["choose", "last_lane", "running_largest", "shift_in", "store_mask"]

LANES = 8
_LOWEST = float("-inf")


def _lowest() -> Any:
    vector = ir.VectorType(ir.DoubleType(), LANES)
    return ir.Constant(vector, [_LOWEST] * LANES)


def _places(numbers: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(numbers))


def _shifted(builder: Any, before: Any, here: Any, by: int) -> Any:
    """Lanes of `here` moved up, those of `before` moving in from below."""
    return builder.shuffle_vector(
        before, here, _places(range(LANES - by, 2 * LANES - by))
    )


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _shift_in(typingctx, before, here):
    def codegen(context, builder, signature, args):
        return _shifted(builder, args[0], args[1], 1)

    return here(before, here), codegen


def _running_largest(typingctx, vector):
    def codegen(context, builder, signature, args):
        found = args[0]
        for by in (1, 2, 4):
            found = _larger(builder, found, _shifted(builder, _lowest(), found, by))
        return found

    return vector(vector), codegen


def _last_lane(typingctx, vector):
    def codegen(context, builder, signature, args):
        return builder.shuffle_vector(args[0], args[0], _places([LANES - 1] * LANES))

    return vector(vector), codegen


def _choose(typingctx, one, other, value, rest):
    def codegen(context, builder, signature, args):
        mask = builder.fcmp_ordered(">", args[0], args[1])
        return builder.select(mask, args[2], args[3])

    return value(one, other, value, rest), codegen


def _store_mask(typingctx, bits, at, one, other):
    def codegen(context, builder, signature, args):
        mask = builder.fcmp_ordered(">", args[2], args[3])
        data = make_array(bits)(context, builder, args[0]).data
        byte = builder.bitcast(mask, ir.IntType(8))
        builder.store(byte, builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(bits, types.int64, one, other), codegen


shift_in: Any  # (before, here) → the last number of `before`, then all but the last
running_largest: Any  # each number replaced by the largest up to it
last_lane: Any  # eight times the last number
choose: Any  # (one, other, value, rest) → value where one > other, else rest
store_mask: Any  # (bits, at, one, other): a byte with a bit for each one > other

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    import numpy as np

    def shift_in(before: Any, here: Any) -> Any:
        """The last number of `before`, then all of `here` but the last."""
        return np.append(before[-1:], here[:-1])

    running_largest = np.maximum.accumulate

    def last_lane(vector: Any) -> Any:
        """Eight times the last number."""
        return np.full(LANES, vector[-1])

    def choose(one: Any, other: Any, value: Any, rest: Any) -> Any:
        """Value where one > other, else rest."""
        return np.where(one > other, value, rest)

    def store_mask(bits: Any, at: int, one: Any, other: Any) -> None:
        """A byte with a bit for each one > other."""
        bits.reshape(-1)[at] = np.packbits(one > other, bitorder="little")[0]

else:
    shift_in = intrinsic(_shift_in)
    running_largest = intrinsic(_running_largest)
    last_lane = intrinsic(_last_lane)
    choose = intrinsic(_choose)
    store_mask = intrinsic(_store_mask)
