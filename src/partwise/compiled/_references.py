"""Tags of many arrays as one pointer.

Numba passes a NamedTuple by value: seven numbers for each array, and code that takes
them apart at every call. For a grammar of forty arrays that was most of what there was
to compile. A `Reference` lays the same fields out in memory once; kernels receive the
address and read the fields they use. For Python it has the fields of the tag.

The fields must not change as long as the reference lives: kernels may assume that what
they read is constant. Before the fields there is room for the addresses of operations
on the tag, see `_entries.py`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils, config
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)

Tag = TypeVar("Tag")
SLOT = 16  # numbers of eight bytes per field
HEAD = 2  # of an array: number of items and their size; then data, shape, strides


class ReferenceType(types.Type):
    """The type of a reference: the class of its tag, names and types of its fields."""

    def __init__(
        self, instance_class: type, fields: tuple[tuple[str, types.Type], ...]
    ) -> None:
        self.instance_class = instance_class  # where operations find their methods
        self.fields = fields
        name = f"{instance_class.__module__}.{instance_class.__qualname__}"
        super().__init__(name=f"Reference({name}, {fields})")


class Reference(Generic[Tag]):
    """A tag that kernels take by its address.

    Parameters
    ----------
    tag : NamedTuple
        Its fields are arrays as `plain_array` makes them, numbers, addresses of
        functions (`address_of`), other tags (laid out in turn) or references.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from numba import njit
    >>> class Pair(NamedTuple):
    ...     size: int
    ...     values: np.ndarray
    >>> pair = Reference(Pair(2, np.array([3.0, 4.0])))
    >>> njit(lambda pair: pair.values[pair.size - 1])(pair)
    4.0
    >>> pair.size
    2
    """

    _numba_type_: ReferenceType

    def __init__(self, tag: Tag) -> None:
        named: Any = tag  # a NamedTuple, which has no type of its own
        self._tag = named
        if vars(config)["DISABLE_JIT"]:
            return
        self._slots = np.zeros((1 + len(named), SLOT), np.int64)
        self._nested: list[Reference[Any]] = []  # live as long as their addresses
        self.address = self._slots.ctypes.data
        fields = named._asdict().items()
        kinds = [
            (name, self._write(slot, value))
            for slot, (name, value) in zip(self._slots[1:], fields, strict=True)
        ]
        self._numba_type_ = ReferenceType(type(named), tuple(kinds))

    def _write(self, slot: Any, value: Any) -> types.Type:
        """Lay out the value of a field; returns its type."""
        if hasattr(value, "_fields") and not isinstance(value, Reference):
            value = Reference(value)
            self._nested.append(value)
        if isinstance(value, Reference):
            slot[0] = value.address
            return value._numba_type_
        if isinstance(value, np.ndarray):
            parts = (value.size, value.itemsize, value.ctypes.data)
            parts += (*value.shape, *value.strides)
            slot[: len(parts)] = parts
            return typeof(value)
        if isinstance(value, float):
            slot.view(np.float64)[0] = value
            return types.float64
        slot[0] = int(value)
        return types.int64

    def __reduce__(self) -> Any:  # an address is worth nothing elsewhere
        return Reference, (self._tag,)

    def __getattr__(self, name: str) -> Any:
        if name == "_tag":  # while being unpickled or copied
            raise AttributeError(name)
        return getattr(self._tag, name)

    def __iter__(self) -> Any:
        return iter(self._tag)

    def replace(self, **changes: Any) -> Reference[Tag]:
        """The same with other values of some fields."""
        return Reference(self._tag._replace(**changes))


def as_reference(tag: Any) -> Reference[Any]:
    """The tag by reference, unless it is one."""
    return tag if isinstance(tag, Reference) else Reference(tag)


@register_model(ReferenceType)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@unbox(ReferenceType)
def _unbox_reference(kind: Any, obj: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(obj, "address")
    native = c.unbox(types.int64, address)
    c.pyapi.decref(address)
    return NativeValue(native.value, is_error=native.is_error)


@infer_getattr
class _ReferenceFields(AttributeTemplate):  # type: ignore[misc]
    key = ReferenceType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return dict(kind.fields).get(name)


@lower_getattr_generic(ReferenceType)
def _read_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    names = [field for field, _ in kind.fields]
    number = names.index(name)
    field = kind.fields[number][1]
    whole = ir.IntType(64)
    base = builder.inttoptr(value, whole.as_pointer())
    constant = builder.module.add_metadata([])

    def read(k: int) -> Any:
        place = builder.gep(base, [ir.Constant(whole, (1 + number) * SLOT + k)])
        loaded = builder.load(place)
        loaded.set_metadata("invariant.load", constant)
        return loaded

    if field == types.float64:
        return builder.bitcast(read(0), ir.DoubleType())
    if not isinstance(field, types.Array):
        return read(0)
    array = context.make_array(field)(context, builder)
    nothing = array.meminfo.type(None)
    array.meminfo, array.parent = nothing, array.parent.type(None)
    array.nitems, array.itemsize = read(0), read(1)
    array.data = builder.inttoptr(read(HEAD), array.data.type)
    shape = [read(HEAD + 1 + d) for d in range(field.ndim)]
    strides = [read(HEAD + 1 + field.ndim + d) for d in range(field.ndim)]
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    return array._getvalue()
