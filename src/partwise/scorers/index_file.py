"""A `KernelIndex` in a model file, and the checks when it is read.

Kernels do not check bounds, so nothing leaves this module that could make them read
outside their arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    Arrays,
    check_indices,
    check_offsets,
    check_rising,
    entry,
    read_array,
    read_numbers,
    require,
    under,
)
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.kernels.inputs import Positions, Sequences, Vectors
from partwise.kernels.naming import from_dict
from partwise.parameters import SettingsError
from partwise.protocol import Floats
from partwise.scorers.anchors import Anchors
from partwise.scorers.kernel_index import KernelIndex

MAX_HASHES = 1000
MAX_INT = int(np.iinfo(np.int64).max)


def match_state(match: tuple[Any, ...]) -> list[str]:
    """Names of hash functions; functions of the user have no place in a file."""
    for one in match:
        if not isinstance(one, str):
            raise SettingsError(
                f"<match={one!r}> is a function, which cannot be kept in a file; use "
                "a named one"
            )
    return list(match)


def match_from_state(settings: dict[str, Any]) -> list[str]:
    """Names of hash functions, still to be read."""
    match = entry(settings, "match", list)
    require(0 < len(match) <= MAX_HASHES, f"{len(match)} hash functions")
    require(all(isinstance(name, str) for name in match), "hashes without names")
    return match


def index_state(index: KernelIndex, weight: Floats) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays, of an index and its coefficients."""
    arrays = {
        "key": index.key,
        "begin": index.begin,
        "anchor": index.anchor,
        "weight": np.asarray(weight, np.float64),
    }
    if index.names:
        arrays |= string_arrays(index.names, "name")
    if index.kernel is None or index.anchors is None:
        return {"kernel": None, "by_token": False, "dtype": index.dtype}, arrays
    anchors, family = index.anchors, index.kernel.input_family()
    if isinstance(family, Positions):
        raise ValueError(
            "a precomputed kernel cannot be kept in a file; use one that has a name"
        )
    packed = family.pack(anchors.inputs)
    arrays |= {f"anchors/{name}": values for name, values in packed.items()}
    arrays["row"] = anchors.row
    if index.by_token:
        arrays["token"] = anchors.token
        arrays |= string_arrays(anchors.words)
    settings = {
        "kernel": index.kernel.to_dict(),
        "by_token": index.by_token,
        "dtype": index.dtype,
    }
    return settings, arrays


def index_from_state(
    settings: dict[str, Any], arrays: Arrays
) -> tuple[KernelIndex, Floats]:
    """Rebuild an index and its coefficients; raises ValueError for what cannot be."""
    key = read_array(arrays, "key", np.int64, None)
    check_indices(key, MAX_INT, "a key")
    check_rising(key, "keys")
    anchor = read_array(arrays, "anchor", np.int32, None)
    begin = read_array(arrays, "begin", np.int64, len(key) + 1)
    check_offsets(begin, len(anchor), "postings")
    rises = anchor[1:] > anchor[:-1]
    rises[begin[1:-1][(begin[1:-1] > 0) & (begin[1:-1] < len(anchor))] - 1] = True
    require(bool(rises.all()), "anchors of a key out of order")
    weight = read_numbers(arrays, "weight", MAX_WEIGHT, len(anchor))
    dtype = entry(settings, "dtype", str)
    require(dtype in ("float64", "float32"), "an unknown precision")
    by_token = entry(settings, "by_token", bool)
    names = read_strings(arrays, "name", n=len(key)) if "name" in arrays else []
    require(bool(names) or settings["kernel"] is not None or not len(key), "no names")
    if settings["kernel"] is None:
        check_indices(anchor, 1, "an anchor")
        index = KernelIndex(key, begin, anchor, None, False, None, names, dtype)
        return index, weight
    kernel = from_dict(entry(settings, "kernel", dict))
    family = kernel.input_family()
    wanted = Vectors if by_token else Sequences
    require(isinstance(family, wanted), "a kernel on other inputs")
    inputs = family.unpack(under("anchors/", arrays))
    n = family.count(inputs)
    check_indices(anchor, n, "an anchor")
    row = read_array(arrays, "row", np.int64, n)
    check_indices(row, MAX_INT, "a training row")
    rising = row[1:] > row[:-1]
    token, words = np.zeros(0, np.int64), []
    if by_token:
        token = read_array(arrays, "token", np.int64, n)
        check_indices(token, MAX_INT, "a token")
        rising |= (row[1:] == row[:-1]) & (token[1:] > token[:-1])
        words = read_strings(arrays, n=n)
    require(bool(rising.all()), "anchors out of order")
    anchors = Anchors(inputs, row, token, words)
    index = KernelIndex(key, begin, anchor, kernel, by_token, anchors, names, dtype)
    return index, weight
