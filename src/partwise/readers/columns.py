"""Column files: one token per line, a blank line between sentences (CoNLL style)."""

import io
from collections.abc import Sequence
from itertools import chain

import numpy as np

from partwise.parameters import ParameterError
from partwise.readers.fields import encode_fields, scan_fields
from partwise.readers.sink import write_bytes
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
        raise ParameterError("separator", separator, "needs one ASCII character")
    name, data = read_text_bytes(path)
    prefix = (comment or "").encode()
    width = _first_width(name, data, separator, prefix)
    names = _column_names(name, width, names)
    label_column = _label_column(name, width, label, names)
    columns, offset = _scan(name, data, width, separator, prefix)
    if label_column is None:
        return Table(dict(zip(names, columns, strict=True)), offset), None
    tagged = Table({"label": columns.pop(label_column)}, offset)
    rest = [n for i, n in enumerate(names) if i != label_column]
    X = Table(dict(zip(rest, columns, strict=True)), offset)
    return X, tagged.strings("label")


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
    write_bytes(path, _join(columns, table.offset, separator))


def _join(columns: dict[str, Column], offset: np.ndarray, separator: str) -> bytes:
    """Return the text of a column file: each distinct string is encoded once."""
    from partwise.readers import _columns_compiled as kernels

    values = [value for column in columns.values() for value in column.values]
    sizes = [len(column.values) for column in columns.values()]
    codes = np.empty((len(sizes), int(offset[-1])), np.int32)
    is_blank = np.ones(codes.shape[1], bool)
    place = 0
    for row, column in zip(codes, columns.values(), strict=True):
        blank = np.array([not v.strip(ASCII_SPACE) for v in column.values], bool)
        is_blank &= blank[column.codes]
        np.add(column.codes, place, out=row)
        place += len(column.values)
    delimiter = separator if len(sizes) > 1 else ""
    if is_blank.any() and not delimiter.strip(ASCII_SPACE):
        raise ValueError(
            "a token without any text would end its sentence; leave it out"
        )
    encoded = [value.encode() for value in values]
    first = np.append(0, np.cumsum([len(text) for text in encoded])).astype(np.int64)
    mark = np.frombuffer(separator.encode(), np.uint8)
    length = int(np.diff(first)[codes].sum())
    length += codes.shape[1] * (1 + (len(sizes) - 1) * len(mark)) + len(offset)
    out = np.empty(length, np.uint8)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    written = kernels.join_rows(text, first, codes, offset, mark, out)
    return out[:written].tobytes()


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
    start, stop, offset = scan_fields(name, data, width, separator, prefix)
    columns = [encode_fields(data, start[c], stop[c]) for c in range(width)]
    return columns, offset


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
