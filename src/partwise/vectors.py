"""Vectors of float64 numbers in kernels, which LLVM keeps in registers.

LLVM vectorises a plain loop over labels, but loads and stores the row of results once
per source. Code over these vectors keeps the results in registers: scoring a token (14
features, 24 labels) takes 0.63 of the time, a step of Viterbi's algorithm 0.6. Eight
numbers are one register with AVX-512; elsewhere LLVM splits them.

Places count numbers from the beginning of a C-contiguous array of any shape. Nothing is
checked. Without numba the same functions work on small arrays.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

__all__ = [
    "add", "fill4", "fill8", "largest", "load4", "load8", "multiply", "spread4",
    "spread8", "store",
]  # fmt: skip


class VectorType(types.Type):
    """Type of `size` numbers."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(name=f"Vector{size}")


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: VectorType) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(ir.DoubleType(), fe_type.size))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, at: Any, n: int) -> Any:
    place = builder.gep(make_array(kind)(context, builder, array).data, [at])
    return builder.bitcast(place, ir.VectorType(ir.DoubleType(), n).as_pointer())


def _loading(vector: VectorType) -> Any:
    def load(typingctx, array, at):
        def codegen(context, builder, signature, args):
            where = _pointer(context, builder, array, args[0], args[1], vector.size)
            return builder.load(where, align=8)

        return vector(array, types.int64), codegen

    return load


def _fill(builder: Any, value: Any, n: int) -> Any:
    nothing = ir.Constant(ir.VectorType(ir.DoubleType(), n), ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
    return builder.shuffle_vector(one, nothing, zeros)


def _filling(vector: VectorType) -> Any:
    def fill(typingctx, value):
        def codegen(context, builder, signature, args):
            return _fill(builder, args[0], vector.size)

        return vector(types.float64), codegen

    return fill


def _spreading(vector: VectorType) -> Any:
    def spread(typingctx, array, at):
        def codegen(context, builder, signature, args):
            data = make_array(array)(context, builder, args[0]).data
            return _fill(
                builder, builder.load(builder.gep(data, [args[1]])), vector.size
            )

        return vector(array, types.int64), codegen

    return spread


def _store(typingctx, array, at, vector):
    def codegen(context, builder, signature, args):
        where = _pointer(context, builder, array, args[0], args[1], vector.size)
        builder.store(args[2], where, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, vector), codegen


def _elementwise(build: Any) -> Any:
    def combine(typingctx, one, other):
        def codegen(context, builder, signature, args):
            return build(builder, *args)

        return one(one, one), codegen

    return combine


def _select_largest(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


load8: Any  # (array, at) → eight numbers
load4: Any
fill8: Any  # eight times the same number
fill4: Any
spread8: Any  # (array, at) → eight times the number at that place
spread4: Any
store: Any  # (array, at, vector)
add: Any
multiply: Any
largest: Any  # the larger number of each pair

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    import numpy as np

    def _slice(size: int) -> Any:
        return lambda array, at: array.reshape(-1)[at : at + size].copy()

    def store(array: Any, at: int, vector: Any) -> None:
        """Write a vector."""
        array.reshape(-1)[at : at + len(vector)] = vector

    load8, load4 = _slice(8), _slice(4)
    fill8, fill4 = (lambda value, n=n: np.full(n, value) for n in (8, 4))

    def _repeat(size: int) -> Any:
        return lambda array, at: np.full(size, array.reshape(-1)[at])

    spread8, spread4 = _repeat(8), _repeat(4)
    add, multiply, largest = np.add, np.multiply, np.maximum
else:
    load8, load4 = (intrinsic(_loading(VectorType(n))) for n in (8, 4))
    fill8, fill4 = (intrinsic(_filling(VectorType(n))) for n in (8, 4))
    spread8, spread4 = (intrinsic(_spreading(VectorType(n))) for n in (8, 4))
    store = intrinsic(_store)
    add = intrinsic(_elementwise(lambda builder, a, b: builder.fadd(a, b)))
    multiply = intrinsic(_elementwise(lambda builder, a, b: builder.fmul(a, b)))
    largest = intrinsic(_elementwise(_select_largest))
