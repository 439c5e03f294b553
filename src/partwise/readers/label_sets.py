"""Rows of features with sets of labels: svmlight, CSV and ARFF files."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.readers.arff import read_arff_columns
from partwise.readers.limits import COLUMNS, check_limit
from partwise.readers.matrices import NUMBER, read_csv
from partwise.readers.source import ReaderError, Source, read_text_bytes

LABELS = re.compile(rf"{NUMBER}(?:,{NUMBER})*")
FEATURE = re.compile(rf"\d+:{NUMBER}")
LABEL_ELEMENT = re.compile(r"<label\s[^>]*?name\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class LabelSets(NamedTuple):
    """Rows of features and their labels."""

    X: Any  # CSR array, or dense array (n, n_features)
    y: np.ndarray  # 0/1 (n, K); K = 0 where the file has no labels
    names: list[str]  # of the columns of X
    labels: list[str]  # of the columns of y


def read_label_files(
    paths: Sequence[Source], *options: Any, truth: bool
) -> list[LabelSets]:
    """Several files, by the options of `read_label_sets`; with labels if `truth`."""
    files = [read_label_sets(path, *options) for path in paths]
    for path, file in zip(paths, files, strict=True):
        if truth and not file.labels:
            raise ReaderError(
                f"{path}: no labels; name the columns of labels with --label"
            )
    return files


def stack_labels(
    files: Sequence[LabelSets], known: Sequence[str] = ()
) -> tuple[tuple[str, ...], np.ndarray]:
    """
    Labels of all files, those that are known first, and the rows of 0 and 1 of them.

    Examples
    --------
    >>> one = LabelSets(None, np.array([[1]]), [], ["b"])
    >>> other = LabelSets(None, np.array([[1, 0]]), [], ["a", "b"])
    >>> stack_labels([one, other])[1].tolist()
    [[1, 0], [0, 1]]
    """
    names = dict.fromkeys(known)
    for file in files:
        names |= dict.fromkeys(file.labels)
    place = {name: k for k, name in enumerate(names)}
    y = np.zeros((sum(len(file.y) for file in files), len(place)), np.int64)
    first = 0
    for file in files:
        rows = slice(first, first + len(file.y))
        y[rows, [place[name] for name in file.labels]] = file.y
        first += len(file.y)
    return tuple(names), y


def read_label_sets(
    path: Source,
    label: str | None = None,
    separator: str | None = None,
    width: int | None = None,
) -> LabelSets:
    r"""
    Read rows with several labels.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip. ``.csv``, ``.tsv`` and ``.arff`` files have a column
        of 0 and 1 for each label; others are svmlight files with the labels of a row
        separated by commas, ``1,4 2:0.5 7:1``, none for a row without labels.
    label : str, optional
        The columns of labels: names or numbers separated by commas, a range of columns
        as ``3:9`` or ``-6:``, or an XML file of Mulan that names them. None: the file
        has no labels. Not for svmlight.
    separator : str, optional
        One character between the cells of a CSV file.
    width : int, optional
        A file with so many columns of features in all has no labels.

    Returns
    -------
    LabelSets

    Examples
    --------
    >>> data = read_label_sets(io.BytesIO(b"1,3 1:0.5\n 2:1\n3 1:2\n"))
    >>> data.labels, data.y.tolist()
    (['1', '3'], [[1, 1], [0, 0], [0, 1]])
    """
    stem = str(getattr(path, "name", path)).removesuffix(".gz")
    if stem.endswith(".arff"):

        def choose(names: list[str]) -> list[int]:
            is_plain = len(names) == width
            return [] if is_plain else label_columns(stem, names, label)

        data = read_arff_columns(path, choose)
        table = _zeros_and_ones(stem, data.labels, data.cells)
        return LabelSets(data.X, table, data.names, data.labels)
    if not stem.endswith((".csv", ".tsv")):
        return _read_svmlight(path)
    separator = separator or ("\t" if stem.endswith(".tsv") else ",")
    rows = read_csv(path, None, separator, truth=False)
    is_plain = len(rows.names) == width
    columns = [] if is_plain else label_columns(stem, rows.names, label)
    others = [c for c in range(len(rows.names)) if c not in columns]
    labels = [rows.names[c] for c in columns]
    y = _zeros_and_ones(stem, labels, rows.X[:, columns].tolist())
    return LabelSets(rows.X[:, others], y, [rows.names[c] for c in others], labels)


def label_columns(name: str, columns: list[str], label: str | None) -> list[int]:
    """Numbers of the columns that `label` names, in the order of the file.

    Examples
    --------
    >>> label_columns("f", ["a", "b", "c"], "c,a"), label_columns("f", ["a"], "-1:")
    ([0, 2], [0])
    """
    if label is None:
        return []
    if label.removesuffix(".gz").endswith(".xml"):
        source, data = read_text_bytes(label)
        parts = [one or other for one, other in LABEL_ELEMENT.findall(data.decode())]
        if not parts:
            raise ReaderError(f"{source}: no <label name=…>; give a file of Mulan")
    else:
        parts = [part.strip() for part in label.split(",")]
    places = range(len(columns))
    number = {column: k for k, column in enumerate(columns)}
    chosen: set[int] = set()
    for part in parts:
        first, colon, last = part.partition(":")
        try:
            if part in number:
                chosen.add(number[part])
            elif colon:
                ends = (int(end) if end else None for end in (first, last))
                chosen.update(places[slice(*ends)])
            else:
                chosen.add(places[int(part)])
        except (ValueError, IndexError):
            shown = ", ".join(columns[:20])
            raise ReaderError(
                f"{name}: no column {part!r}; there are {shown} "
                f"(0 to {len(columns) - 1})"
            ) from None
    return sorted(chosen)


def _zeros_and_ones(name: str, labels: list[str], cells: list[list[Any]]) -> Any:
    """Cells of label columns, (n, K)."""
    table = np.zeros((len(cells), len(labels)), np.int64)
    known = {"0": 0, "1": 1, "0.0": 0, "1.0": 1}
    for i, row in enumerate(cells):
        for k, cell in enumerate(row):
            value = known.get(str(cell))
            if value is None:
                raise ReaderError(
                    f"{name}: label {labels[k]!r} is {str(cell)[:30]!r} in row "
                    f"{i + 1}; columns of labels hold 0 and 1"
                )
            table[i, k] = value
    return table


def _read_svmlight(path: Source) -> LabelSets:
    from sklearn.datasets import load_svmlight_file

    name, data = read_text_bytes(path)
    for line_number, line in enumerate(data.decode().splitlines(), 1):
        cells = line.partition("#")[0].split()
        if cells and LABELS.fullmatch(cells[0]):
            cells = cells[1:]
        wrong = [cell for cell in cells if not FEATURE.fullmatch(cell)]
        if wrong:
            raise ReaderError(
                f"{name}:{line_number}: {wrong[0][:40]!r} has no place in a line "
                "`label,label index:value …`; correct the line"
            )
    try:
        X, sets = load_svmlight_file(io.BytesIO(data), multilabel=True, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise ReaderError(f"{name}: {error}; correct the file") from None
    if not X.shape[0]:
        raise ReaderError(f"{name}: no line with features; give a file with examples")
    check_limit(X.shape[1], COLUMNS, name, "{} columns")
    values = sorted({value for row in sets for value in row})
    place = {value: k for k, value in enumerate(values)}
    y = np.zeros((X.shape[0], len(values)), np.int64)
    for i, row in enumerate(sets):
        y[i, [place[value] for value in row]] = 1
    names = [str(column) for column in range(X.shape[1])]
    return LabelSets(X, y, names, [f"{value:g}" for value in values])
