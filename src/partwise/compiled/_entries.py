"""Operations on a tag by their address, so that sweeps compile once for all tags.

LLVM optimises whatever a kernel calls again with the kernel. The search for the
most violated output of a structure is larger than all loops of the solvers together;
were each loop compiled with it, it would be compiled six times in a first fit. Here
every operation is compiled once for each kind of tag, as an entry: a function whose
address lies before the fields of the tag's `Reference`. Sweeps receive a tag as an
integer, the address of its reference, and call operations through that table. Entries
are compiled when a sweep first needs them. A call costs a few nanoseconds where the
operation takes microseconds.
"""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from partwise.compiled._references import SLOT, Reference
from partwise.jit import njit

WHOLE, CODE = types.int64, types.int32[::1]
FLOAT, MODEL = types.float64, types.float64[::1]
TAG, WORK = "tag", "work"  # references, whose types are those of a problem

# result and arguments of each operation, in the order of their places in the table
ENTRIES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "code_length": (WHOLE, (TAG, WHOLE)),
    "output_loss": (FLOAT, (TAG, WHOLE, CODE)),
    "find_output": (types.UniTuple(FLOAT, 4), (TAG, WORK, MODEL, WHOLE, CODE)),
    "recall_margin": (FLOAT, (TAG, WORK, WHOLE, CODE)),
    "margin": (FLOAT, (TAG, MODEL, WHOLE, CODE)),
    "push": (types.none, (TAG, MODEL, WHOLE, CODE, FLOAT)),
    "wipe": (types.none, (TAG, MODEL, WHOLE, CODE)),
    "recall_margins": (types.none, (TAG, WORK, WHOLE, CODE, WHOLE, WHOLE, MODEL)),
    "margins": (types.none, (TAG, WORK, MODEL, WHOLE, CODE, WHOLE, WHOLE, MODEL)),
    "push_sum": (types.none, (TAG, WORK, MODEL, WHOLE, CODE, WHOLE, WHOLE, MODEL)),
}
PLACES = {name: place for place, name in enumerate(ENTRIES)}
assert len(ENTRIES) <= SLOT


def fill_table(blocks: Reference[Any], work: Any, names: Any, defaults: Any) -> None:
    """Put the addresses of these operations into the table of a reference.

    `defaults` has the texts of operations that the tag does not define itself.
    """
    table = blocks._slots[0]
    missing = [name for name in names if table[PLACES[name]] == 0]
    if not missing:
        return
    tag_class = type(blocks._tag)
    kinds = {TAG: blocks._numba_type_, WORK: getattr(work, "_numba_type_", None)}
    is_counted = not getattr(tag_class, "is_uncounted", False)
    with _one_at_a_time:  # else each thread of a first pass would compile them
        for name in missing:
            result, arguments = ENTRIES[name]
            signature = result(*(kinds.get(kind, kind) for kind in arguments))
            text = getattr(tag_class, name, None) or defaults[name]
            table[PLACES[name]] = _address_of_entry(signature, text, is_counted)


_one_at_a_time = threading.Lock()


@functools.cache
def _address_of_entry(signature: Any, text: Any, is_counted: bool) -> int:
    """Address of a compiled function in numba's own calling convention.

    Errors reach the caller; `cfunc` would print them and go on.
    """
    compiled = njit(
        cache=True, nogil=True, _nrt=is_counted, no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )(text)  # fmt: skip
    compiled.compile(signature)
    (result,) = compiled.overloads.values()
    _compiled.append(compiled)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


_compiled: list[Any] = []  # functions live as long as their addresses are known


@functools.cache
def entry_call(stub: Any) -> Any:
    """What numba compiles for an operation on an address: a call through the table."""
    result, kinds = ENTRIES[stub.__name__]
    kinds = tuple(WHOLE if isinstance(kind, str) else kind for kind in kinds)
    place = PLACES[stub.__name__]

    @intrinsic
    def call(typingctx, arguments):  # type: ignore[no-untyped-def]
        for given, kind in zip(arguments.types, kinds, strict=True):
            if isinstance(kind, types.Array) and given != kind:
                raise TypeError(f"{stub.__name__}: {given} where {kind} is needed")

        def codegen(context, builder, signature, values):  # type: ignore[no-untyped-def]
            given = cgutils.unpack_tuple(builder, values[0])
            converted = [
                context.cast(builder, value, old, new)
                for value, old, new in zip(given, arguments.types, kinds, strict=True)
            ]
            convention = context.call_conv
            function = convention.get_function_type(result, kinds)
            address = converted[0]
            table = builder.inttoptr(address, function.as_pointer().as_pointer())
            entry = builder.load(builder.gep(table, [ir.Constant(address.type, place)]))
            status, value = convention.call_function(
                builder, entry, result, kinds, converted
            )
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return value

        return result(arguments), codegen

    # numba compares the names of parameters with those of the stub
    names = ", ".join(inspect.signature(stub).parameters)
    return eval(
        f"lambda {names}: call(({names}))", {"call": call, "__name__": __name__}
    )
