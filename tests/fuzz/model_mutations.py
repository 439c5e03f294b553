"""Mutants of model files: of the bytes, the header, the document and the arrays."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load

Arrays = dict[str, np.ndarray]
Parts = tuple[dict[str, Any], Arrays]

# where checks tend to fail: the ends of types, and what wraps or overflows
INTEGERS = (
    0, 1, 2, 3, 7, 100, -1, -2, -5, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63),
)  # fmt: skip
NUMBERS = (
    0.0, -1.0, 0.5, 1e-300, 5e-324, 1e99, -1e100, 1e101, 1e300, 1e308, -1e308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, *INTEGERS[:9], 2**63, 10**30, 10**400, *NUMBERS[1:6], 1e308,
    {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}, "", "x", "x" * 3000,
    "\ud800", "\x00", "\x1b[31m", "\x9b2J", "<script>", "../../etc", [], {}, [[]],
    [None], ["a", "a"], [1, "a"], [1.0, 2, 3, 4], {"kind": "x"}, "word[0]",
    "columns.v1", "dicts.v1", "arrays.v1", "matrix", "normalized", "zero_one", "exact",
    "columns.vectors.v1",
    "given", "best_heads", "las", "uas", "float32", "log", "l2", "slack", "hard",
    "spans", 8, 30,
)  # fmt: skip
DTYPES = {
    "float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "int16": "I16",
    "uint8": "U8", "bool": "BOOL",
}  # fmt: skip


def mutate(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """The name of a mutation, and the file that it makes of a good one."""
    name = rng.choice([*MUTATIONS, "document", "arrays", "arrays"])
    return name, MUTATIONS[name](content, rng)


def read_parts(content: bytes) -> Parts:
    """The document and the arrays of a file."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    return json.loads(header["__metadata__"]["partwise"]), dict(load(content))


def make_header(
    document: dict[str, Any], arrays: Arrays
) -> tuple[dict[str, Any], bytes]:
    """The header and the data of a file, whether or not they make sense."""
    header: dict[str, Any] = {"__metadata__": {"partwise": json.dumps(document)}}
    data = b""
    for name in sorted(arrays, key=lambda name: (-arrays[name].itemsize, name)):
        own = arrays[name].tobytes()
        header[name] = {
            "dtype": DTYPES[str(arrays[name].dtype)],
            "shape": list(arrays[name].shape),
            "data_offsets": [len(data), len(data) + len(own)],
        }
        data += own
    return header, data


def make_file(header: dict[str, Any] | bytes, data: bytes) -> bytes:
    """Header and data as the format wants them."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


# -------------------------------------------------------------------------- mutations


def change_document(content: bytes, rng: random.Random) -> bytes:
    """Other values, keys that are missing, entries in the place of others."""
    document, arrays = read_parts(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = list(_paths(document))
        if not paths:
            break
        *above, last = rng.choice(paths)
        parent = _follow(document, above)
        action = rng.random()
        if action < 0.12:
            del parent[last]
        elif action < 0.2 and isinstance(parent, list):
            parent.append(copy.deepcopy(rng.choice(parent)))
        elif action < 0.3:
            parent[last] = copy.deepcopy(_follow(document, rng.choice(paths)))
        elif action < 0.4 and type(parent[last]) in (int, float):
            parent[last] += rng.choice([1, -1, 1000, -1000, 0.5])
        else:
            parent[last] = copy.deepcopy(rng.choice(VALUES))
    return make_file(*make_header(document, arrays))


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Any:
    """Where entries stand; of long lists the first ones."""
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = list(enumerate(value))[:60]
    for key, item in entries:
        yield (*above, key)
        yield from _paths(item, (*above, key))


def _follow(document: Any, path: Any) -> Any:
    for key in path:
        document = document[key]
    return document


def change_arrays(content: bytes, rng: random.Random) -> bytes:
    """Numbers at the ends of their types, other orders, lengths, types and shapes."""
    document, arrays = read_parts(content)
    for _ in range(rng.choice([1, 1, 1, 2])):
        name = rng.choice(list(arrays))
        changed = rng.choice(ARRAY_CHANGES)(arrays[name].copy(), arrays, rng)
        arrays[name] = np.ascontiguousarray(changed)
    if rng.random() < 0.04:
        del arrays[rng.choice(list(arrays))]
    return make_file(*make_header(document, arrays))


def _poke(array: np.ndarray, arrays: Arrays, rng: random.Random) -> np.ndarray:
    """A few other numbers."""
    flat = array.reshape(-1)
    for _ in range(rng.choice([1, 1, 2, 5]) if flat.size else 0):
        at = rng.choice([0, flat.size - 1, rng.randrange(flat.size)])
        if flat.dtype.kind == "f":
            flat[at] = rng.choice([*NUMBERS, flat[at] * rng.choice([2, -1, 1e10])])
        elif flat.dtype == np.bool_:
            flat.view(np.uint8)[at] = rng.choice([0, 1, 2, 255])
        else:
            old, most = int(flat[at]), int(flat.max())
            near = (old + 1, old - 1, most, most + 1, flat.size, flat.size - 1)
            kind = np.iinfo(flat.dtype)
            value = rng.choice([*INTEGERS, *near])
            flat[at] = min(max(value, kind.min), kind.max)
    return array


def _wrap(array: np.ndarray, arrays: Arrays, rng: random.Random) -> np.ndarray:
    """Neighbours whose difference wraps to what looks right."""
    flat = array.reshape(-1)
    if flat.dtype in (np.int64, np.int32) and flat.size > 3:
        at = rng.randrange(1, flat.size - 2)
        flat[at] = np.iinfo(flat.dtype).max - rng.randrange(3)
        if rng.random() < 0.7:
            flat[at + 1] = rng.choice([-2, int(np.iinfo(flat.dtype).min)])
    return array


def _lengthen(array: np.ndarray, arrays: Arrays, rng: random.Random) -> np.ndarray:
    return np.concatenate([array, array[-1:]])


def _sort(array: np.ndarray, arrays: Arrays, rng: random.Random) -> np.ndarray:
    return np.sort(array.reshape(-1)).reshape(array.shape)


def _cast(array: np.ndarray, arrays: Arrays, rng: random.Random) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(rng.choice(list(DTYPES)))


ARRAY_CHANGES: list[Callable[[np.ndarray, Arrays, random.Random], np.ndarray]] = [
    *[_poke] * 6,
    *[_wrap] * 2,
    _lengthen,
    _sort,
    _cast,
    lambda array, arrays, rng: array[::-1],
    lambda array, arrays, rng: array[:-1],
    lambda array, arrays, rng: array[:0],
    lambda array, arrays, rng: array.reshape(-1, 1),
    lambda array, arrays, rng: np.full_like(array, rng.choice([0, 1, 2])),
    lambda array, arrays, rng: arrays[rng.choice(list(arrays))],
]


def change_header(content: bytes, rng: random.Random) -> bytes:
    """Types, shapes and offsets that lie, double names, brackets without end."""
    header, data = make_header(*read_parts(content))
    name = rng.choice([name for name in header if name != "__metadata__"])
    entry, document = header[name], header["__metadata__"]["partwise"]
    action = rng.randrange(8)
    if action == 0:
        entry["dtype"] = rng.choice([*DTYPES.values(), "BF16", "U64", "X", "", None, 5])
    elif action == 1:
        sizes = [[], [0], [2**62], [2**63, 2], [-1], [1.5], [1] * 70, [2**32, 2**32]]
        entry["shape"] = rng.choice([*sizes, "x", None, [0, 2**62]])
    elif action == 2:
        end = len(data)
        places = [[0, 0], [0, 2**63], [-8, 0], [8, 0], [0, end], [end, end], [1, 2, 3]]
        entry["data_offsets"] = rng.choice([*places, None, [0.5, 8]])
    elif action == 3:
        twice = json.dumps(header).encode()[:-1]
        other = {name: header[rng.choice(list(header))]}
        return make_file(twice + b"," + json.dumps(other).encode()[1:], data)
    elif action == 4:
        cut = document[: -rng.randrange(1, 200)]
        texts = [{}, {"partwise": 5}, {"partwise": ""}, {"partwise": cut}, None, []]
        header["__metadata__"] = rng.choice(texts)
    elif action == 5:
        entry["another"] = 1
    elif action == 6:
        text = json.dumps(header).encode()
        length = rng.choice([0, 1, 2**63, 2**64 - 1, len(text) - 1, 100 << 20])
        return length.to_bytes(8, "little") + text + data
    else:
        depth = rng.choice([31, 32, 33, 1000, 100_000])
        deep = rng.choice(["[" * depth + "]" * depth, '"' + '\\"' * depth])
        header["__metadata__"]["partwise"] = f'{{"zz": {deep}, {document[1:]}'
    return make_file(header, data)


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flipped bits and other bytes, in the header or behind it."""
    actual = bytearray(content)
    begin = 8 + int.from_bytes(actual[:8], "little")
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        first, last = rng.choice([(0, len(actual)), (0, begin), (begin, len(actual))])
        at = rng.randrange(first, max(last, first + 1)) % len(actual)
        actual[at] = rng.choice(
            [actual[at] ^ (1 << rng.randrange(8)), rng.randrange(256)]
        )
    return bytes(actual)


def change_length(content: bytes, rng: random.Random) -> bytes:
    """Files that end early, go on, or lack a piece."""
    at = rng.randrange(len(content))
    action = rng.randrange(3)
    if action == 0:
        return content[:at]
    if action == 1:
        return content + bytes(rng.randrange(1, 100))
    return content[:at] + content[at + rng.randrange(1, 64) :]


MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "document": change_document,
    "arrays": change_arrays,
    "header": change_header,
    "bytes": change_bytes,
    "length": change_length,
}
