"""Fields of a file of columns: where they are, and their strings as numbers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partwise.readers.limits import SENTENCE_TOKENS, TOKEN_BYTES, check_limit
from partwise.readers.source import ReaderError, ReaderSettingsError
from partwise.readers.table import Column


class Fields(NamedTuple):
    """
    Where the fields of every row begin and end in the bytes of a file.

    Attributes
    ----------
    start, stop : int64 arrays of shape (n_columns, n_rows)
    offset : int64 array of shape (n_sequences + 1,)
        Sequence s holds the rows ``offset[s]:offset[s + 1]``; none is empty.
    """

    start: np.ndarray
    stop: np.ndarray
    offset: np.ndarray


def scan_fields(
    name: str, data: bytes, width: int, separator: str | None, comment: bytes
) -> Fields:
    """
    Find the fields of all rows in one pass.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    data : bytes
    width : int
        Number of columns.
    separator : str or None
        One ASCII character; None for runs of white space.
    comment : bytes
        Lines that begin so are no rows; empty for none.

    Raises
    ------
    ReaderError
        The first line with another number of columns; a field or a sequence that is
        too long.
    """
    from partwise.readers import _columns_compiled as kernels

    buffer = np.frombuffer(data, np.uint8)
    # a row of `width` fields has at least `width` bytes, its newline included: a first
    # line of a million columns must not lead to a matrix of lines × columns
    most_rows = min(data.count(b"\n"), len(data) // width) + 1
    start = np.empty((width, most_rows), np.int64)
    stop = np.empty((width, most_rows), np.int64)
    offset = np.empty(most_rows + 1, np.int64)
    n_rows, n_sequences, line, n_fields = kernels.scan_rows(
        buffer,
        -1 if separator is None else ord(separator),
        np.frombuffer(comment, np.uint8),
        start,
        stop,
        offset,
    )
    if line:
        raise ReaderSettingsError(_ragged(name, data, line, n_fields, width, separator))
    fields = Fields(
        start[:, :n_rows], stop[:, :n_rows], offset[: n_sequences + 1].copy()
    )
    _check_lengths(name, data, fields)
    return fields


def _check_lengths(name: str, data: bytes, fields: Fields) -> None:
    """Refuse fields and sequences beyond the limits."""
    start, stop, offset = fields
    if not start.size:
        return
    lengths = stop - start
    place = np.unravel_index(lengths.argmax(), lengths.shape)
    line = data.count(b"\n", 0, int(start[place])) + 1
    size = int(lengths[place])
    check_limit(size, TOKEN_BYTES, f"{name}:{line}", "a field of {} bytes")
    sizes = np.diff(offset)
    longest = int(sizes.argmax())
    line = data.count(b"\n", 0, int(start[0, offset[longest]])) + 1
    size = int(sizes[longest])
    check_limit(size, SENTENCE_TOKENS, f"{name}:{line}", "a sentence of {} tokens")


def encode_fields(data: bytes, start: np.ndarray, stop: np.ndarray) -> Column:
    """
    Strings of one column, each distinct one decoded once.

    Parameters
    ----------
    data : bytes
    start, stop : int64 arrays of shape (n_rows,)

    Returns
    -------
    Column
    """
    from partwise.readers import _columns_compiled as kernels

    n_rows = len(start)
    codes = np.empty(n_rows, np.int32)
    first = np.empty(n_rows, np.int64)
    slots = np.full(1 << int(2 * n_rows).bit_length(), -1, np.int32)
    start, stop = np.ascontiguousarray(start), np.ascontiguousarray(stop)
    buffer = np.frombuffer(data, np.uint8)
    n_values = kernels.factorise(buffer, start, stop, slots, codes, first)
    rows = first[:n_values]
    ends = zip(start[rows].tolist(), stop[rows].tolist(), strict=True)
    return Column(codes, [data[a:b].decode() for a, b in ends])


def _ragged(
    name: str, data: bytes, line: int, n_fields: int, width: int, separator: str | None
) -> str:
    columns = f"{n_fields} column{'s' if n_fields > 1 else ''}"
    is_last = data.count(b"\n") < line
    if n_fields < width and is_last:
        return (
            f"{name}:{line}: {columns} where the first line has {width}, and no line "
            "end: the file was cut off; copy it again"
        )
    remedy = (
        "separate columns by white space, or say what stands between them, as in "
        "<separator=','>"
        if separator is None
        else f"separate columns by {separator!r}"
    )
    return f"{name}:{line}: {columns} where the first line has {width}; {remedy}"


def column_number(source: str, names: Sequence[str], wanted: str) -> int:
    """Number of the column that a user gives by name, or by number as text."""
    if wanted in names:
        return list(names).index(wanted)
    try:
        return range(len(names))[int(wanted)]
    except (ValueError, IndexError):
        raise ReaderError(
            f"{source}: no column {wanted!r}; there are {', '.join(names[:20])} "
            f"(0 to {len(names) - 1})"
        ) from None


def is_number(field: str | bytes) -> bool:
    """Whether a field is a number as Python reads it."""
    try:
        float(field)
    except ValueError:
        return False
    return True
