"""Files of CRFsuite: data of labelled items, and binary models.

A model file is little-endian: a header of 48 bytes, ``lCRF``, size, ``FOMC``, version
100, and numbers and places of what follows; the features in 20 bytes each (0 for an
attribute and a label or 1 for two labels, both numbers, and the weight); and two
databases (CQDB) of the strings of labels and attributes. What else it holds helps to
look strings up, and follows from these.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    MAX_WEIGHT,
    check_indices,
    check_magnitude,
    require,
)
from partwise.readers.limits import (
    FILE_BYTES,
    SENTENCE_TOKENS,
    TOKEN_BYTES,
    check_limit,
)
from partwise.readers.source import ReaderError, Source, read_text_bytes

Item = dict[str, float]  # values of attributes

MAGIC = b"lCRF"
_HEADER = struct.Struct("<4sI4s9I")
_CQDB = struct.Struct("<4s5I")
_BYTE_ORDER = 0x62445371
_FEATURE = np.dtype(
    [("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")]
)


# ------------------------------------------------------------------------------ data


def read_crfsuite(path: Source) -> tuple[list[list[Item]], list[list[str]]]:
    r"""
    Read a data file of CRFsuite: an item per line, an empty line between sequences.

    Parameters
    ----------
    path : path, "-" or open binary file
        Lines ``label<TAB>attribute<TAB>attribute…``; an attribute may have a value,
        ``name:0.5``, else it has 1. ``\:`` and ``\\`` stand for these characters within
        a name. May be compressed by gzip.

    Returns
    -------
    X : list of lists of dicts
        Values of attributes; those that an item has twice are added.
    y : list of lists of str

    Examples
    --------
    >>> import io
    >>> read_crfsuite(io.BytesIO(b"N\tw=cat\tlen:3\nV\ta\\:b\n\nN\tw=it\n"))
    ([[{'w=cat': 1.0, 'len': 3.0}, {'a:b': 1.0}], [{'w=it': 1.0}]], [['N', 'V'], ['N']])
    """
    name, data = read_text_bytes(path)
    X: list[list[Item]] = [[]]
    y: list[list[str]] = [[]]
    for number, line in enumerate(data.decode().split("\n"), start=1):
        where = f"{name}:{number}"
        if not line.strip():
            if X[-1]:
                X.append([])
                y.append([])
            continue
        label, *fields = line.rstrip("\r").split("\t")
        if not label:
            raise ReaderError(f"{where}: no label; begin the line with it")
        for field in (label, *fields):
            size = len(field.encode())
            check_limit(size, TOKEN_BYTES, where, "a field of {} bytes")
        item: Item = {}
        for field in filter(None, fields):
            attribute, value = _attribute(field, where)
            item[attribute] = item.get(attribute, 0.0) + value
        X[-1].append(item)
        y[-1].append(label)
        check_limit(len(X[-1]), SENTENCE_TOKENS, where, "a sequence of {} items")
    if not X[-1]:
        X.pop()
        y.pop()
    if not X:
        raise ReaderError(f"{name}: no item in the file; it needs one per line")
    return X, y


def _attribute(field: str, where: str) -> tuple[str, float]:
    """Name and value of an attribute."""
    letters: list[str] = []
    rest = iter(field)
    for letter in rest:
        if letter == "\\":
            letters.append(next(rest, "\\"))
        elif letter == ":":
            text = "".join(rest)
            try:
                value = float(text)
            except ValueError:
                value = math.nan
            if not abs(value) <= MAX_FEATURE:
                raise ReaderError(
                    f"{where}: {text[:40]!r} is no value of attribute "
                    f"{''.join(letters)[:40]!r}; write a colon that belongs to the "
                    r"name as \:"
                )
            return "".join(letters), value
        else:
            letters.append(letter)
    return "".join(letters), 1.0


# ---------------------------------------------------------------------------- models


class CrfsuiteModel(NamedTuple):
    """The content of a model file of CRFsuite."""

    labels: list[str]
    attributes: list[str]
    states: np.ndarray  # (n_attributes, n_labels) weights
    transitions: np.ndarray  # (n_labels, n_labels) weights, from row to column


def read_crfsuite_model(
    path: str | os.PathLike[str], max_weights: int = 1 << 29
) -> CrfsuiteModel:
    """
    Read a binary model of CRFsuite, as python-crfsuite and sklearn-crfsuite write it.

    Parameters
    ----------
    path : path
        The file may come from an unknown source: all of it is checked.
    max_weights : int
        Most pairs of an attribute and a label, eight bytes each.

    Raises
    ------
    ReaderError
        Not such a file, a damaged one, or too large a model.
    """
    name = os.fspath(path)
    data = _read_binary(name)
    try:
        return _parse_model(data, max_weights)
    except (ValueError, struct.error) as error:
        raise ReaderError(
            f"{name}: not a model of CRFsuite, or a damaged one ({error}); write it "
            "again with CRFsuite"
        ) from None


def _read_binary(name: str) -> bytes:
    try:
        with open(name, "rb") as file:
            known = os.fstat(file.fileno())
            if not stat.S_ISREG(known.st_mode):
                raise ReaderError(f"{name}: not a regular file; copy the model to one")
            check_limit(known.st_size, FILE_BYTES, name, "a file of {} bytes")
            return file.read(known.st_size)
    except OSError as error:
        raise ReaderError(f"{name}: cannot be read ({error.strerror})") from error


def _parse_model(data: bytes, max_weights: int) -> CrfsuiteModel:
    magic, size, kind, version, *numbers = _HEADER.unpack_from(data)
    require(magic == MAGIC and kind == b"FOMC", "another magic number")
    require(version == 100, f"version {version}")
    require(size == len(data), f"{len(data)} bytes where {size} are stated")
    _, n_labels, n_attributes, at_features, at_labels, at_attributes, *_ = numbers
    require(0 < n_labels <= len(data) and n_attributes <= len(data), "sizes")
    require(n_attributes * n_labels <= max_weights, "too many weights")
    labels = _strings(data, at_labels, n_labels)
    attributes = _strings(data, at_attributes, n_attributes)
    states = np.zeros((n_attributes, n_labels))
    transitions = np.zeros((n_labels, n_labels))
    features = _features(data, at_features)
    check_indices(features["type"], 2, "type of a feature")
    for table, number in ((states, 0), (transitions, 1)):
        some = features[features["type"] == number]
        check_indices(some["source"], len(table), "source of a feature")
        check_indices(some["target"], n_labels, "target of a feature")
        np.add.at(table, (some["source"], some["target"]), some["weight"])
        check_magnitude(table, MAX_WEIGHT, "a weight", remedy="")
    return CrfsuiteModel(labels, attributes, states, transitions)


def _features(data: bytes, at: int) -> Any:
    """The features as records."""
    chunk, size, n = struct.unpack_from("<4sII", data, at)
    require(chunk == b"FEAT", "no features")
    inside = n * _FEATURE.itemsize <= size - 12 and at + size <= len(data)
    require(inside, "features beyond the end")
    return np.frombuffer(data, _FEATURE, n, at + 12)


def _strings(data: bytes, at: int, n: int) -> list[str]:
    """The strings of numbers 0 … n − 1 of a database, all different."""
    records = list(_records(data, at, n))
    require(len(set(records)) == n, "a name that stands twice")
    return records


def _records(data: bytes, at: int, n: int) -> Iterator[str]:
    chunk, size, _, byte_order, n_stored, first = _CQDB.unpack_from(data, at)
    require(chunk == b"CQDB" and byte_order == _BYTE_ORDER, "no database of names")
    require(n_stored == n, f"{n_stored} names where {n} are stated")
    end = at + size
    require(end <= len(data) and first + 4 * n <= size, "names beyond the end")
    for k, place in enumerate(np.frombuffer(data, "<u4", n, at + first).tolist()):
        number, length = struct.unpack_from("<II", data, at + place)
        begin = at + place + 8
        require(number == k and 0 < length <= end - begin, f"name {k} is lost")
        text = data[begin : begin + length]
        require(text.find(b"\0") == length - 1, f"name {k} has another length")
        yield text[:-1].decode()
