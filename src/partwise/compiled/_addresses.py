"""Single functions by their address, as fields of a tag."""

import functools

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, overload

from partwise.jit import njit


def address_of(signature, function, is_cached=True):
    """Address of a function, compiled with this signature, for `called_at`.

    A tag may hold it as an integer, so that sweeps compile once for all functions of a
    kind, and each of these only when it is needed. A field that is a compiled function
    itself would do, too, but numba then takes half a millisecond to find the type of
    the tag at every call from Python. Where numba is switched off, the function itself
    stands for its address. One that calls Python cannot be cached.
    """
    text = getattr(function, "py_func", function)
    if vars(config)["DISABLE_JIT"]:
        return text
    return _compiled_address(signature, text, is_cached)


@functools.cache
def _compiled_address(signature, text, is_cached):
    """The entrance for C of a compiled function.

    `cfunc` would make it in a module of its own, and LLVM optimise all there is twice.
    """
    is_ours = text.__module__.split(".")[0] == __name__.split(".")[0]
    is_cached = is_cached and is_ours
    compiled = njit(cache=is_cached, nogil=True, no_cpython_wrapper=True)(text)
    compiled.compile(signature)
    (result,) = compiled.overloads.values()
    _compiled.append(compiled)
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


_compiled: list = []  # compiled functions live as long as their addresses are known


def called_at(signature):
    """How kernels call a function by its address: ``call(address, arguments)``.

    `signature` is that of the function, or its result alone; the types of its
    parameters are then those of the `arguments`, a tuple.
    """
    is_whole = isinstance(signature, Signature)
    result = signature.return_type if is_whole else signature

    @intrinsic
    def build(typingctx, address, arguments):
        kinds = [types.unliteral(kind) for kind in arguments.types]
        if is_whole:
            kinds = signature.args

        def codegen(context, builder, _, values):
            converted = [
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
            return builder.call(pointer, converted)

        return result(types.int64, arguments), codegen

    def call(address, arguments):
        return address(*arguments)

    overload(call)(
        lambda address, arguments: lambda address, arguments: build(address, arguments)  # type: ignore[call-arg]
    )
    return call
