"""ARFF files: dense or sparse rows, nominal columns, classes in a hierarchy.

The class may be a nominal column, as Weka writes it, or a ``hierarchical`` one, as Clus
does: the nodes of a tree as paths (``2/1/3``) or, where they begin with ``root/``, the
pairs parent/child of a lattice. Labels of an example are joined by ``@``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from partwise.readers.fields import column_number
from partwise.readers.hierarchies import path_parents
from partwise.readers.matrices import MatrixData
from partwise.readers.source import ReaderError, Source, read_text_bytes

NUMERIC = ("numeric", "real", "integer")
ATTRIBUTE = re.compile(
    r"@attribute\s+('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\S+)\s+(.+)", re.IGNORECASE
)


class Attribute(NamedTuple):
    """A column as the header declares it."""

    name: str
    kind: str  # "numeric", "nominal" or "hierarchical"
    values: list[str]  # of the latter two


def read_arff(path: Source, label: str | None = None) -> MatrixData:
    r"""
    Read an ARFF file.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip.
    label : str or None
        Column of the classes, by name or number; by default the hierarchical one, else
        the last.

    Returns
    -------
    MatrixData
        X is a CSR array of a file with sparse rows, else dense. A nominal column
        becomes a column of zeros and ones for each of its values. Of a hierarchical
        class, `y` has the most specific nodes: a string for each row, or a list of
        strings where some row has several or none; `parents` is the table of parents.

    Examples
    --------
    >>> import io
    >>> text = b'''@relation r
    ... @attribute size numeric
    ... @attribute class hierarchical a,a/b,a/c
    ... @data
    ... 0.5,a/b
    ... 1,a@a/c
    ... '''
    >>> data = read_arff(io.BytesIO(text))
    >>> data.X.tolist(), data.y.tolist(), data.parents["a/b"]
    ([[0.5], [1.0]], ['a/b', 'a/c'], ('a',))
    """
    name, lines, attributes, first = _opened(path)
    place = _class_column(name, attributes, label)
    X, names, cells = _table(name, lines[first:], attributes, [place])
    y, parents = _targets(name, attributes[place], [row[0] for row in cells])
    return MatrixData(X, y, names, None, parents)


class ArffColumns(NamedTuple):
    """Features of an ARFF file, and the cells of columns that are none."""

    X: Any  # CSR array of a file with sparse rows, else dense
    names: list[str]  # of the columns of X
    labels: list[str]  # of the other columns
    cells: list[list[str]]  # of the other columns, for each row


def read_arff_columns(
    path: Source, choose: Callable[[list[str]], list[int]]
) -> ArffColumns:
    """Read an ARFF file; `choose` picks the columns of labels by their names."""
    name, lines, attributes, first = _opened(path)
    places = choose([attribute.name for attribute in attributes])
    X, names, cells = _table(name, lines[first:], attributes, places)
    return ArffColumns(X, names, [attributes[place].name for place in places], cells)


def _opened(path: Source) -> tuple[str, list[tuple[int, str]], list[Attribute], int]:
    """Name, numbered lines, columns, and how many lines there are before the data."""
    name, data = read_text_bytes(path)
    lines = list(enumerate(data.decode().splitlines(), 1))
    return name, lines, *_header(name, lines)


def _table(
    name: str,
    lines: list[tuple[int, str]],
    attributes: list[Attribute],
    places: list[int],
) -> tuple[Any, list[str], list[list[str]]]:
    """Features, their names, and the cells of the columns `places`, which are none."""
    from scipy import sparse

    columns, width = _columns(attributes, places)
    others = set(range(len(attributes))) - set(places)
    nominal = [c for c, one in enumerate(attributes) if one.values and c in others]
    values: list[float] = []
    indices: list[int] = []
    indptr, labels, is_sparse = [0], [], False
    for number, cells in _rows(name, lines, len(attributes)):
        is_sparse = is_sparse or isinstance(cells, dict)
        given: Any = enumerate(cells)
        if isinstance(cells, dict):  # what is left out is the first value, or zero
            given = ({c: attributes[c].values[0] for c in nominal} | cells).items()
        for column, cell in given:
            if column not in others:
                continue
            feature = _feature(name, number, attributes[column], columns[column], cell)
            if feature is not None:
                indices.append(feature[0])
                values.append(feature[1])
        indptr.append(len(indices))
        if isinstance(cells, dict):
            labels.append(
                [cells.get(p, [*attributes[p].values, "0"][0]) for p in places]
            )
        else:
            labels.append([cells[place] for place in places])
    if not labels:
        raise ReaderError(f"{name}: no row after @data; give a file with examples")
    shape = (len(labels), width)
    X: Any = sparse.csr_array((values, indices, indptr), shape=shape)
    names = [
        text
        for column, attribute in enumerate(attributes)
        if column in others
        for text in _column_names(attribute)
    ]
    return X if is_sparse else X.toarray(), names, labels


def _header(name: str, lines: list[tuple[int, str]]) -> tuple[list[Attribute], int]:
    """The columns, and how many lines there are before the data."""
    attributes: list[Attribute] = []
    for place, (number, line) in enumerate(lines):
        text = line.strip()
        word = text.split(None, 1)[0].lower() if text else ""
        if not text or text.startswith("%") or word == "@relation":
            continue
        if word == "@data":
            if not attributes:
                raise ReaderError(f"{name}:{number}: no @attribute before @data")
            return attributes, place + 1
        match = ATTRIBUTE.fullmatch(text)
        if match is None:
            raise ReaderError(
                f"{name}:{number}: {text[:40]!r} is no @attribute with a name and a "
                "type; correct the header"
            )
        attributes.append(_attribute(name, number, *match.groups()))
    raise ReaderError(f"{name}: no line @data; give an ARFF file")


def _attribute(name: str, number: int, title: str, kind: str) -> Attribute:
    title, kind = _unquoted(title), kind.strip()
    if kind.lower() in NUMERIC:
        return Attribute(title, "numeric", [])
    if kind.startswith("{") and kind.endswith("}"):
        values = [_unquoted(v) for v in _cells(kind[1:-1])]
        return Attribute(title, "nominal", values)
    word, _, rest = kind.partition(" ")
    if word.lower() == "hierarchical" and rest.strip():
        nodes = [node.strip() for node in rest.split(",")]
        return Attribute(title, "hierarchical", nodes)
    raise ReaderError(
        f"{name}:{number}: a column of type {kind[:30]!r}; numeric, nominal and "
        "hierarchical columns can be read, leave others out"
    )


def _class_column(name: str, attributes: list[Attribute], label: str | None) -> int:
    names = [attribute.name for attribute in attributes]
    if label is None:
        kinds = [attribute.kind for attribute in attributes]
        if "hierarchical" in kinds:
            return kinds.index("hierarchical")
        return len(names) - 1
    return column_number(name, names, label)


def _columns(attributes: list[Attribute], places: list[int]) -> tuple[list[int], int]:
    """First feature of each column, and the number of features."""
    first, width = [], 0
    for column, attribute in enumerate(attributes):
        first.append(width)
        if column not in places:
            width += len(_column_names(attribute))
    return first, width


def _column_names(attribute: Attribute) -> list[str]:
    if attribute.kind == "numeric":
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values]


def _rows(
    name: str, lines: list[tuple[int, str]], width: int
) -> Iterator[tuple[int, Any]]:
    """Line numbers with cells: a list, or of a sparse row a dict by column."""
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not text.startswith("{"):
            cells = _cells(text)
            if len(cells) != width:
                raise ReaderError(
                    f"{name}:{number}: {len(cells)} cells where there are {width} "
                    "columns; give every row one cell per column"
                )
            yield number, cells
            continue
        row: dict[int, str] = {}
        for cell in _cells(text.strip("{}")) if text.strip("{} ") else []:
            column, _, value = cell.partition(" ")
            if not column.isdigit() or not 0 <= int(column) < width or not value:
                raise ReaderError(
                    f"{name}:{number}: {cell[:30]!r} is no `column value` of a sparse "
                    f"row with columns 0 to {width - 1}"
                )
            row[int(column)] = _unquoted(value.strip())
        yield number, row


def _cells(text: str) -> list[str]:
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    quote = "'" if "'" in text else '"'
    reader = csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True)
    return [cell.strip() for cell in next(reader)]


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _feature(
    name: str, number: int, attribute: Attribute, first: int, cell: str
) -> tuple[int, float] | None:
    """Feature and value of a cell; None for a zero."""
    if attribute.kind == "numeric":
        try:
            value = float(cell)
        except ValueError:
            remedy = "fill it in" if cell == "?" else "correct the cell"
            raise ReaderError(
                f"{name}:{number}: {cell[:30]!r} is no number in column "
                f"{attribute.name!r}; {remedy}"
            ) from None
        return (first, value) if value else None
    if cell == "?":
        return None
    try:
        return first + attribute.values.index(cell), 1.0
    except ValueError:
        raise ReaderError(
            f"{name}:{number}: {cell[:30]!r} is no value of column {attribute.name!r}"
        ) from None


def _targets(name: str, attribute: Attribute, labels: list[str]) -> tuple[Any, Any]:
    """Classes of all rows, and the table of parents of a hierarchy."""
    if attribute.kind != "hierarchical":
        y = np.array(labels)
        if attribute.kind == "numeric":
            try:
                y = y.astype(float)
            except ValueError:
                raise ReaderError(f"{name}: a class that is no number") from None
            y = y.astype(np.int64) if (y == np.rint(y)).all() else y
        return y, None
    parents = _parents(attribute.values)
    sets = []
    for label in labels:
        nodes = [node for node in label.split("@") if node not in ("?", "")]
        for node in nodes:
            if node not in parents:
                raise ReaderError(
                    f"{name}: the label {node!r} is no node of {attribute.name!r}"
                )
        sets.append(_most_specific(nodes, parents))
    if all(len(one) == 1 for one in sets):
        return np.array([one[0] for one in sets]), parents
    y = np.empty(len(sets), object)
    y[:] = sets
    return y, parents


def _parents(nodes: list[str]) -> dict[str, tuple[str, ...]]:
    if any(node.startswith("root/") for node in nodes):  # pairs of a lattice
        ups: dict[str, list[str]] = {}
        for pair in nodes:
            up, _, node = pair.rpartition("/")
            known = ups.setdefault(node, [])
            if up and up != "root":
                known.append(up)
                ups.setdefault(up, [])
        return {node: tuple(up) for node, up in ups.items()}
    return path_parents(nodes, "/")


def _most_specific(nodes: list[str], parents: dict[str, tuple[str, ...]]) -> list[str]:
    """Nodes that are no ancestors of others."""
    above: set[str] = set()
    for node in nodes:
        waiting = list(parents[node])
        while waiting:
            up = waiting.pop()
            if up not in above:
                above.add(up)
                waiting += parents[up]
    return sorted(set(nodes) - above)
