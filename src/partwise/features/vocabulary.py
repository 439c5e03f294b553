"""Vocabularies of featurizers as arrays, because model files hold no objects."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from partwise.bounds import check_offsets, read_array
from partwise.parameters import SettingsError

MAX_HASH_BITS = 30


def pack_strings(strings: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Strings as one array of bytes.

    Returns
    -------
    text : uint8 array of shape (n_bytes,)
        UTF-8 of all strings. Lone surrogates, which Python allows, are kept.
    offset : int64 array of shape (n_strings + 1,)
        String i is ``text[offset[i]:offset[i + 1]]``.
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    text = np.frombuffer(b"".join(encoded), np.uint8).copy()
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return text, np.append(0, np.cumsum(lengths))


def unpack_strings(text: np.ndarray, offset: np.ndarray) -> list[str]:
    """Strings out of the arrays of `pack_strings`; invalid input raises ValueError.

    Parameters
    ----------
    text : uint8 array of shape (n_bytes,)
    offset : int64 array of shape (n_strings + 1,)
    """
    check_offsets(offset, len(text), "strings")
    data = text.tobytes()
    ends = offset.tolist()
    try:
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise ValueError(f"damaged featurizer state: {error}") from error


def string_arrays(
    strings: Sequence[str], name: str = "text", offset: str | None = None
) -> dict[str, np.ndarray]:
    """Strings as arrays of a model file: `name`, and ``<name>_offset`` or `offset`."""
    text, ends = pack_strings(strings)
    return {name: text, offset or f"{name}_offset": ends}


def read_strings(
    arrays: Mapping[str, np.ndarray],
    name: str = "text",
    offset: str | None = None,
    n: int | None = None,
) -> list[str]:
    """The strings, n if that is known, out of the arrays of `string_arrays`."""
    text = read_array(arrays, name, np.uint8)
    ends = read_array(
        arrays, offset or f"{name}_offset", np.int64, None if n is None else n + 1
    )
    return unpack_strings(text, ends)


def texts(name: str, strings: Sequence[str]) -> dict[str, np.ndarray]:
    """Strings as arrays under ``name/``."""
    return string_arrays(strings, f"{name}/text", f"{name}/offset")


def read_texts(arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """Strings out of the arrays of `texts`."""
    return read_strings(arrays, f"{name}/text", f"{name}/offset")


def numbered(strings: Iterable[str]) -> dict[str, int]:
    """Each string with its place."""
    return {string: code for code, string in enumerate(strings)}


def pack_views(strings: Mapping[Any, Mapping[str, int]]) -> dict[str, np.ndarray]:
    """The strings of all views of a featurizer, as arrays."""
    listed = [one for known in strings.values() for one in known]
    sizes = np.array([len(known) for known in strings.values()], np.int64)
    return {**string_arrays(listed), "view_offset": np.append(0, np.cumsum(sizes))}


def unpack_views(
    views: Sequence[Any], arrays: Mapping[str, np.ndarray]
) -> dict[Any, dict[str, int]]:
    """The strings of each view, numbered, from the arrays of `pack_views`."""
    strings = read_strings(arrays)
    offset = read_array(arrays, "view_offset", np.int64)
    check_offsets(offset, len(strings), "views")
    if len(offset) != len(views) + 1:
        raise ValueError("damaged featurizer state: strings of other templates")
    known = {}
    for i, view in enumerate(views):
        listed = strings[offset[i] : offset[i + 1]]
        known[view] = numbered(listed)
        if len(known[view]) < len(listed):
            raise ValueError(f"damaged featurizer state: {view} repeats a string")
    return known


def check_settings(min_count: Any, hash_bits: Any) -> tuple[int, int | None]:
    """Return both settings as Python's integers, or raise ValueError."""
    if not _is_integer(min_count) or min_count < 1:
        raise SettingsError(f"<min_count={min_count!r}>: needs an integer, 1 or more")
    if hash_bits is None:
        return int(min_count), None
    if not _is_integer(hash_bits) or not 1 <= hash_bits <= MAX_HASH_BITS:
        raise SettingsError(
            f"<hash_bits={hash_bits!r}>: needs an integer from 1 to {MAX_HASH_BITS}"
        )
    if min_count > 1:
        raise SettingsError("<hash_bits=> counts nothing; leave <min_count> at 1")
    return int(min_count), int(hash_bits)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
