"""Matrices of features with a target per row: svmlight and CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.parameters import ParameterError
from partwise.readers.fields import column_number, is_number
from partwise.readers.limits import COLUMNS, check_limit
from partwise.readers.source import (
    ReaderError,
    ReaderSettingsError,
    Source,
    read_text_bytes,
)

# possessive, so that a long number that fits no place is not tried in all its parts
NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
LINE = re.compile(rf"{NUMBER}(?:\s+qid:\d+)?(?:\s+\d+:{NUMBER})*\s*(?:#.*)?")


class MatrixData(NamedTuple):
    """Rows of features, what they belong to, and the names of the columns."""

    X: Any  # CSR array of an svmlight file, dense array (n, n_features) of a CSV file
    y: np.ndarray | None  # (n,) numbers or strings; None where the file has none
    names: list[str]  # of the columns
    groups: np.ndarray | None = None  # (n,) query ids of an svmlight file
    parents: Any = None  # of an ARFF file with a hierarchy: a node to its parents


def read_svmlight(path: Source) -> MatrixData:
    r"""
    Read a file of lines ``target [qid:query] index:value … [# comment]``.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip.

    Returns
    -------
    MatrixData
        An index is the number of its column, whether the file counts from 0 or 1.
        Targets are whole numbers where all of them are.

    Examples
    --------
    >>> data = read_svmlight(io.BytesIO(b"1 1:0.5 3:2\n-1 2:1 # a comment\n"))
    >>> data.X.toarray(), data.y
    (array([[0. , 0.5, 0. , 2. ],
           [0. , 0. , 1. , 0. ]]), array([ 1, -1]))
    """
    from sklearn.datasets import load_svmlight_file

    name, data = read_text_bytes(path)
    try:
        X, y, groups = load_svmlight_file(
            io.BytesIO(data), zero_based=True, query_id=True
        )
    except (ValueError, OverflowError) as error:
        raise ReaderError(_svmlight_fault(name, data, error)) from None
    if not X.shape[0]:
        raise ReaderError(f"{name}: no line with a target; give a file with examples")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise ReaderError(_svmlight_fault(name, data, ValueError("NaN or infinity")))
    check_limit(X.shape[1], COLUMNS, name, "{} columns")
    if len(groups) not in (0, X.shape[0]):
        raise ReaderError(_without_query(name, data))
    names = [str(column) for column in range(X.shape[1])]
    return MatrixData(X, _as_whole(y), names, groups if len(groups) else None)


def _without_query(name: str, data: bytes) -> str:
    """The error message of a file in which some lines have a qid and others not."""
    for number, line in enumerate(data.decode().splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text and "qid:" not in text:
            return f"{name}:{number}: no qid, which other lines have; write it, too"
    return f"{name}: some lines have no qid; write it into all of them"


def _svmlight_fault(name: str, data: bytes, error: Exception) -> str:
    """The error message, with the first line that does not have the format."""
    for number, line in enumerate(data.decode().splitlines(), 1):
        text = line.strip()
        if text and not text.startswith("#") and not LINE.fullmatch(text):
            return (
                f"{name}:{number}: {text[:40]!r} is no `target index:value …`; correct "
                "the line"
            )
    return f"{name}: {error}; correct the file"


def read_csv(
    path: Source, label: str | None = None, separator: str = ",", *, truth: bool = True
) -> MatrixData:
    r"""
    Read a table of numbers with a column of targets.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip. The first line may name the columns: it does when a
        cell besides the label's is no number.
    label : str or None
        Column of the targets, by name or number; the last one by default.
    separator : str
        One character between cells.
    truth : bool
        Whether there is a column of targets.

    Returns
    -------
    MatrixData

    Examples
    --------
    >>> data = read_csv(io.BytesIO(b"size,legs,animal\n0.3,4,cat\n0.2,2,bird\n"))
    >>> data.X, data.y.tolist(), data.names
    (array([[0.3, 4. ],
           [0.2, 2. ]]), ['cat', 'bird'], ['size', 'legs'])
    """
    if len(separator) != 1:
        raise ParameterError("separator", separator, "needs one character")
    name, data = read_text_bytes(path)
    rows = _cells(name, data, separator)
    lines = [number for number, row in enumerate(rows, 1) if row]
    rows = [row for row in rows if row]
    if not rows:
        raise ReaderError(f"{name}: no row in the file; give one with examples")
    width = len(rows[0])
    if width == 1 and truth:
        raise ReaderSettingsError(
            f"{name}: one column only, nothing besides the labels; say what stands "
            "between columns, as in <separator=';'>"
        )
    for number, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise ReaderError(
                f"{name}:{number}: {len(row)} cells where the first row has {width}; "
                "give every row one cell per column"
            )
    header = [cell.strip() for cell in rows[0]]
    place = None
    if truth:
        place = width - 1 if label is None else column_number(name, header, label)
    others = [column for column in range(width) if column != place]
    if not all(is_number(header[column]) for column in others):
        rows, lines = rows[1:], lines[1:]
    else:
        header = [f"c{column}" for column in range(width)]
    if not rows:
        raise ReaderError(f"{name}: a header without rows; give a file with examples")
    X = np.empty((len(rows), len(others)))
    for k, (number, row) in enumerate(zip(lines, rows, strict=True)):
        for j, column in enumerate(others):
            try:
                X[k, j] = float(row[column])
            except ValueError:
                X[k, j] = np.nan
        if not np.isfinite(X[k]).all():
            column = others[int(np.argmin(np.isfinite(X[k])))]
            found = repr(row[column].strip()[:40]) if row[column].strip() else "nothing"
            raise ReaderError(
                f"{name}:{number}: {found} in column {header[column]!r}; all columns "
                "but the label's hold finite numbers"
            )
    y = None
    if place is not None:
        texts = [row[place].strip() for row in rows]
        if "" in texts:
            number = lines[texts.index("")]
            raise ReaderError(f"{name}:{number}: no label; add it, or drop the row")
        y = np.array(texts)
        if all(map(is_number, texts)):
            y = _as_whole(y.astype(float))
    return MatrixData(X, y, [header[column] for column in others])


def count_cells(path: Source, separator: str = ",") -> int:
    """Cells of the first row of a CSV file; 0 for an empty one."""
    name, data = read_text_bytes(path)
    return next((len(row) for row in _cells(name, data, separator) if row), 0)


def _cells(name: str, data: bytes, separator: str) -> list[list[str]]:
    reader = csv.reader(io.StringIO(data.decode()), delimiter=separator)
    try:
        return list(reader)
    except csv.Error as error:
        raise ReaderError(
            f"{name}:{reader.line_num}: {error}; correct the quotes of the row"
        ) from None


def _as_whole(y: np.ndarray) -> np.ndarray:
    """Whole numbers as integers."""
    is_whole = bool(np.isfinite(y).all() and (y == np.rint(y)).all())
    return y.astype(np.int64) if is_whole else y


def read_queries(paths: Sequence[str]) -> tuple[list[MatrixData], np.ndarray]:
    """
    Read svmlight files whose lines have query ids.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    list of MatrixData
    int array (n_rows,)
        The query of each row of all files; those of different files are different.
    """
    files = [read_svmlight(path) for path in paths]
    queries, n_queries = [], 0
    for path, file in zip(paths, files, strict=True):
        if file.groups is None:
            raise ReaderError(
                f"{path}: no qid; write each line as `grade qid:query index:value`"
            )
        _, query = np.unique(file.groups, return_inverse=True)
        queries.append(query + n_queries)
        n_queries += int(query.max()) + 1
    return files, np.concatenate(queries)
