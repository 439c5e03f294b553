"""Single functions by their address, as fields of a tag."""

import functools

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic, overload


def address_of(signature, function):
    """Address of a function, compiled with this signature; kept for `function_at`.

    A tag may hold it as an integer, so that sweeps compile once for all functions of a
    kind, and each of these only when it is needed. A field that is a compiled function
    itself would do, too, but numba then takes half a millisecond to find the type of
    the tag at every call from Python.
    """
    text = getattr(function, "py_func", function)
    if vars(config)["DISABLE_JIT"]:
        return text
    return _compiled_address(signature, text)


@functools.cache
def _compiled_address(signature, text):
    """The entrance for C of a compiled function.

    `cfunc` would make it in a module of its own, and LLVM optimise all there is twice.
    """
    compiled = njit(  # type: ignore[call-overload]
        cache=True, nogil=True, no_cpython_wrapper=True
    )(text)
    compiled.compile(signature)
    (result,) = compiled.overloads.values()
    _kept.append(compiled)
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


_kept: list = []  # compiled functions live as long as their addresses are known


def function_at(signature):
    """How kernels turn an address into a function of this signature."""
    kind = types.FunctionType(signature)

    @intrinsic
    def build(typingctx, address):
        def codegen(context, builder, _, args):
            function = cgutils.create_struct_proxy(kind)(context, builder)
            nothing = cgutils.get_null_value(function.c_addr.type)
            function.c_addr = builder.inttoptr(args[0], function.c_addr.type)
            function.py_addr, function.jit_addr = nothing, nothing
            return function._getvalue()

        return kind(types.int64), codegen

    def at(address):
        return address

    overload(at)(lambda address: lambda address: build(address))  # type: ignore[call-arg]
    return at


def called_at(text, result):
    """How kernels call `text` by its address: ``call(address, arguments)``.

    As `function_at`, for functions whose signature follows from the types of the
    `arguments`, a tuple. Without numba, `text` itself runs.
    """

    @intrinsic
    def build(typingctx, address, arguments):
        kinds = [types.unliteral(kind) for kind in arguments.types]

        def codegen(context, builder, signature, values):
            own = [
                context.cast(builder, value, given, kind)
                for value, given, kind in zip(
                    cgutils.unpack_tuple(builder, values[1]),
                    arguments.types,
                    kinds,
                    strict=True,
                )
            ]
            function = ir.FunctionType(
                context.get_value_type(result), map(context.get_value_type, kinds)
            )
            pointer = builder.inttoptr(values[0], function.as_pointer())
            return builder.call(pointer, own)

        return result(types.int64, arguments), codegen

    def call(address, arguments):
        return text(*arguments)

    overload(call)(
        lambda address, arguments: lambda address, arguments: build(address, arguments)  # type: ignore[call-arg]
    )
    return call
