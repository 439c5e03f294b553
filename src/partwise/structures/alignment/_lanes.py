"""Neighbouring cells of a row at once: what `partwise.vectors` lacks for scans.

A gap along a row depends on the cell before it. Eight cells still go together, because
a running maximum within a vector takes three steps of shifting and comparing. Masks of
comparisons are stored as one byte per vector: a bit per cell.

Eight numbers of double precision are one vector, or sixteen of single precision: `load`
and `fill_like` choose by the type of an array, so one text serves both.

Without numba the same functions work on small arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from partwise.vectors import VectorType

__all__ = [
    "choose", "fill_like", "last_lane", "load", "put", "running_largest", "shift_in",
    "store_mask",
]  # fmt: skip

LANES, SINGLE_LANES = 8, 16


class SingleType(types.Type):
    """Type of sixteen numbers of single precision."""

    size = SINGLE_LANES

    def __init__(self) -> None:
        super().__init__(name="Single16")


@register_model(SingleType)
class _SingleModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: SingleType) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(ir.FloatType(), SINGLE_LANES))


def _kind(array: Any) -> Any:
    return SingleType() if array.dtype == types.float32 else VectorType(LANES)


def _ir(vector: Any) -> Any:
    number = ir.FloatType() if isinstance(vector, SingleType) else ir.DoubleType()
    return ir.VectorType(number, vector.size)


def _pointer(context: Any, builder: Any, array: Any, args: Any) -> Any:
    place = builder.gep(make_array(array)(context, builder, args[0]).data, [args[1]])
    return builder.bitcast(place, _ir(_kind(array)).as_pointer())


def _load(typingctx, array, at):
    size = 4 if array.dtype == types.float32 else 8

    def codegen(context, builder, signature, args):
        return builder.load(_pointer(context, builder, array, args), align=size)

    return _kind(array)(array, types.int64), codegen


def _put(typingctx, array, at, vector):
    size = 4 if array.dtype == types.float32 else 8

    def codegen(context, builder, signature, args):
        builder.store(args[2], _pointer(context, builder, array, args), align=size)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), codegen


def _fill_like(typingctx, array, value):
    kind = _kind(array)

    def codegen(context, builder, signature, args):
        number = args[1]
        if isinstance(kind, SingleType):
            number = builder.fptrunc(number, ir.FloatType())
        nothing = ir.Constant(_ir(kind), ir.Undefined)
        one = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(one, nothing, _places([0] * kind.size))

    return kind(array, types.float64), codegen


def _places(numbers: Any) -> Any:
    numbers = list(numbers)
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers)


def _shifted(builder: Any, before: Any, here: Any, n: int, by: int) -> Any:
    """Lanes of `here` moved up, those of `before` moving in from below."""
    return builder.shuffle_vector(before, here, _places(range(n - by, 2 * n - by)))


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _shift_in(typingctx, before, here):
    def codegen(context, builder, signature, args):
        return _shifted(builder, args[0], args[1], here.size, 1)

    return here(before, here), codegen


def _running_largest(typingctx, vector):
    n = vector.size

    def codegen(context, builder, signature, args):
        largest = args[0]
        lowest = ir.Constant(_ir(vector), [float("-inf")] * n)
        by = 1
        while by < n:
            largest = _larger(
                builder, largest, _shifted(builder, lowest, largest, n, by)
            )
            by *= 2
        return largest

    return vector(vector), codegen


def _last_lane(typingctx, vector):
    n = vector.size

    def codegen(context, builder, signature, args):
        return builder.shuffle_vector(args[0], args[0], _places([n - 1] * n))

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


load: Any  # (array, at) → eight or sixteen numbers
put: Any  # (array, at, vector)
fill_like: Any  # (array, value) → eight or sixteen times the same number
shift_in: Any  # (before, here) → the last number of `before`, then all but the last
running_largest: Any  # each number replaced by the largest up to it
last_lane: Any  # the last number in all places
choose: Any  # (one, other, value, rest) → value where one > other, else rest
store_mask: Any  # (bits, at, one, other): a byte with a bit for each one > other

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    import numpy as np

    def _size(array: Any) -> int:
        return SINGLE_LANES if array.dtype == np.float32 else LANES

    def load(array: Any, at: int) -> Any:
        """Eight or sixteen numbers."""
        return array.reshape(-1)[at : at + _size(array)].copy()

    def put(array: Any, at: int, vector: Any) -> None:
        """Write a vector."""
        array.reshape(-1)[at : at + len(vector)] = vector

    def fill_like(array: Any, value: float) -> Any:
        """Eight or sixteen times the same number."""
        return np.full(_size(array), value, array.dtype)

    def shift_in(before: Any, here: Any) -> Any:
        """The last number of `before`, then all of `here` but the last."""
        return np.append(before[-1:], here[:-1])

    running_largest = np.maximum.accumulate

    def last_lane(vector: Any) -> Any:
        """The last number in all places."""
        return np.full_like(vector, vector[-1])

    def choose(one: Any, other: Any, value: Any, rest: Any) -> Any:
        """Value where one > other, else rest."""
        return np.where(one > other, value, rest)

    def store_mask(bits: Any, at: int, one: Any, other: Any) -> None:
        """A byte with a bit for each one > other."""
        bits.reshape(-1)[at] = np.packbits(one > other, bitorder="little")[0]

else:
    load, put, fill_like = intrinsic(_load), intrinsic(_put), intrinsic(_fill_like)
    shift_in = intrinsic(_shift_in)
    running_largest = intrinsic(_running_largest)
    last_lane = intrinsic(_last_lane)
    choose = intrinsic(_choose)
    store_mask = intrinsic(_store_mask)
