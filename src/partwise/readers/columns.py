"""Column files: one token per line, a blank line between sentences (CoNLL style)."""

import gzip
import io
import os
import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from partwise.readers.source import ReaderError, Source, read_text_bytes
from partwise.readers.table import Column, Table, default_names, encode

__all__ = ["Column", "ReaderError", "Table", "read_columns", "write_columns"]

Labels = list[list[str]]

ASCII_SPACE = " \t\n\v\f\r"


def read_columns(
    path: Source,
    *,
    label: int | str | None = -1,
    names: Sequence[str] | None = None,
    separator: str | None = None,
    comment: str | None = None,
) -> tuple[Table, Labels | None]:
    r"""
    Read a column file as scikit-learn's pair X, y.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard input; gzip is recognised by its content. The text is UTF-8.
    label : int, str or None
        Column of the labels by position (negative counts from the end) or by name;
        None when the file has no labels.
    names : sequence of str, optional
        Names of all columns of the file, the label's included; by default word, pos,
        c2, c3, …
    separator : str, optional
        One ASCII character such as ``"\t"``; by default runs of ASCII white space.
    comment : str, optional
        Lines that begin with this text are left out.

    Returns
    -------
    table : Table
        The columns other than the labels.
    labels : list of list of str, or None
        One list per sentence.

    Raises
    ------
    ReaderError
        The text names the file, the line and the remedy.

    Examples
    --------
    >>> import io
    >>> X, y = read_columns(io.BytesIO(b"the DT B-NP\ncat NN I-NP\n\ngo VB B-VP\n"))
    >>> X.strings("word"), y
    ([['the', 'cat'], ['go']], [['B-NP', 'I-NP'], ['B-VP']])
    """
    if separator is not None and (len(separator) != 1 or not separator.isascii()):
        raise ValueError(f"separator={separator!r}: needs one ASCII character")
    name, data = read_text_bytes(path)
    prefix = (comment or "").encode()
    width = _first_width(name, data, separator, prefix)
    names = _column_names(name, width, names)
    label_column = _label_column(name, width, label, names)
    columns, offset = _scan(name, data, width, separator, prefix)
    if label_column is None:
        return Table(dict(zip(names, columns, strict=True)), offset), None
    tagged = Table({"label": columns.pop(label_column)}, offset)
    kept = [n for i, n in enumerate(names) if i != label_column]
    return Table(dict(zip(kept, columns, strict=True)), offset), tagged.strings("label")


def write_columns(
    path: Source,
    table: Table,
    labels: Sequence[Sequence[str]] | None = None,
    *,
    separator: str = " ",
) -> None:
    r"""
    Write a table as a column file, the labels as its last column.

    A file appears whole or not at all: it is written beside its place and then moved.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard output; a name that ends in ``.gz`` is compressed.
    table : Table
    labels : sequence of sequences of str, optional
        As many as the table has tokens.
    separator : str
        Put between columns.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_columns(file, Table.from_sequences([["the", "cat"]]), [["DT", "NN"]])
    >>> file.getvalue()
    b'the DT\ncat NN\n\n'
    """
    columns = dict(table.columns)
    if labels is not None:
        columns["label (appended)"] = _label_codes(table, labels)
    for name, column in columns.items():
        for value in column.values:
            _check_writable(name, value, separator)
    flat = [[c.values[code] for code in c.codes.tolist()] for c in columns.values()]
    rows = list(map(separator.join, zip(*flat, strict=True)))
    if any(not row.strip(ASCII_SPACE) for row in rows):
        raise ValueError(
            "a token without any text would end its sentence; leave it out"
        )
    ends = table.offset.tolist()
    sentences = ["\n".join(rows[a:b]) + "\n\n" for a, b in pairwise(ends)]
    _write_bytes(path, "".join(sentences).encode())


def _first_width(name: str, data: bytes, separator: str | None, prefix: bytes) -> int:
    """Return the number of columns of the first line that holds a token."""
    for line in io.BytesIO(data):
        if line.strip() and not (prefix and line.startswith(prefix)):
            if separator is None:
                return len(line.split())
            return line.count(separator.encode()) + 1
    raise ReaderError(f"{name}: no token in the file; it needs one token per line")


def _column_names(name: str, width: int, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return default_names(width)
    if len(names) != width or len(set(names)) != width:
        raise ReaderError(
            f"{name}: {width} columns; names= must have {width} different names, "
            f"the label's included, not {', '.join(names)}"
        )
    return list(names)


def _label_column(
    name: str, width: int, label: int | str | None, names: list[str]
) -> int | None:
    if label is None:
        return None
    if isinstance(label, str):
        if label not in names:
            raise ReaderError(
                f"{name}: no label column {label!r}; there are {', '.join(names)}"
            )
        label = names.index(label)
    elif not -width <= label < width:
        raise ReaderError(
            f"{name}: no label column {label}; the columns are 0 to {width - 1}"
        )
    if width == 1:
        raise ReaderError(
            f"{name}: one column only, nothing besides the labels; "
            "give label=None if it holds words"
        )
    return label % width


def _scan(
    name: str, data: bytes, width: int, separator: str | None, prefix: bytes
) -> tuple[list[Column], np.ndarray]:
    """Codes of each column, and where the sentences end."""
    from partwise.readers import _columns_kernels as kernels

    buffer = np.frombuffer(data, np.uint8)
    # a row of `width` fields has at least `width` bytes, its newline included; a first
    # line of a million columns must not make us ask for a matrix of lines × columns
    most_rows = min(data.count(b"\n"), len(data) // width) + 1
    start = np.empty((width, most_rows), np.int64)
    stop = np.empty((width, most_rows), np.int64)
    offset = np.empty(most_rows + 1, np.int64)
    n_rows, n_sequences, line, found = kernels.scan_rows(
        buffer,
        -1 if separator is None else ord(separator),
        np.frombuffer(prefix, np.uint8),
        start,
        stop,
        offset,
    )
    if line:
        remedy = (
            "separate columns by white space, or give separator="
            if separator is None
            else f"separate columns by {separator!r}"
        )
        raise ReaderError(
            f"{name}:{line}: {found} column{'s' if found > 1 else ''} where the first "
            f"line has {width}; {remedy}"
        )
    columns = []
    slots = np.empty(1 << int(2 * n_rows).bit_length(), np.int32)
    first = np.empty(n_rows, np.int64)
    for c in range(width):
        codes = np.empty(n_rows, np.int32)
        slots.fill(-1)
        n_values = kernels.factorise(buffer, start[c], stop[c], slots, codes, first)
        rows = first[:n_values]
        ends = zip(start[c, rows].tolist(), stop[c, rows].tolist(), strict=True)
        columns.append(Column(codes, [data[a:b].decode() for a, b in ends]))
    return columns, offset[: n_sequences + 1].copy()


def _label_codes(table: Table, labels: Sequence[Sequence[str]]) -> Column:
    if len(labels) != len(table):
        raise ValueError(f"{len(labels)} label sequences for {len(table)} sequences")
    for s, (sequence, n) in enumerate(zip(labels, np.diff(table.offset), strict=True)):
        if len(sequence) != n:
            raise ValueError(f"sequence {s}: {len(sequence)} labels for {n} tokens")
    return encode(map(str, chain.from_iterable(labels)))


def _check_writable(name: str, value: str, separator: str) -> None:
    """Refuse a value that would not be read back."""
    if separator.isspace() and separator != "\t":
        is_readable = value.encode().split() == [value.encode()]
    else:
        is_readable = separator not in value and "\n" not in value and "\r" not in value
    if not is_readable:
        raise ValueError(
            f"column {name!r} holds {value!r}, which separator={separator!r} cannot "
            "delimit; choose another separator"
        )


def _write_bytes(path: Source, data: bytes) -> None:
    if isinstance(path, str) and path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if not isinstance(path, str | os.PathLike):
        path.write(data)
        return
    place = Path(path)
    if place.suffix == ".gz":
        data = gzip.compress(data, 6, mtime=0)
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        os.replace(draft, place)
    except OSError as error:
        # in the name of the file that was asked for
        raise OSError(error.errno, error.strerror, str(place)) from error
    finally:
        draft.unlink(missing_ok=True)
