"""Named columns of a list of sequences: what column files and data frames become."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import check_indices


class Column(NamedTuple):
    """
    One column of strings, each distinct string kept once.

    Attributes
    ----------
    codes : int32 array of shape (n_tokens,)
        Position of each token's string in `values`.
    values : list of str
        Distinct strings, in order of first appearance.
    """

    codes: np.ndarray
    values: list[str]

    def used(self) -> np.ndarray:
        """Codes that occur, rising; a table cut from a larger one keeps all values."""
        return np.flatnonzero(np.bincount(self.codes, minlength=len(self.values)))


class Table:
    """
    Sequences of tokens with named columns, stored column by column.

    A table is a sequence of its sequences: `len`, iteration, slices, index arrays and
    masks select sequences, so scikit-learn splits a table as it splits a matrix.

    Parameters
    ----------
    columns : mapping of str to Column
        All of the same length n_tokens.
    offset : int array of shape (n_sequences + 1,)
        Sequence s holds the tokens ``offset[s]:offset[s + 1]``; none is empty.

    Examples
    --------
    >>> table = Table.from_sequences([[("the", "DT"), ("cat", "NN")], [("go", "VB")]])
    >>> len(table), table.shape, list(table.columns)
    (2, (2,), ['word', 'pos'])
    >>> table[0].strings("word")
    [['the', 'cat']]
    >>> table[[1, 0]].strings("pos")
    [['VB'], ['DT', 'NN']]
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, columns: Mapping[str, Column], offset: np.ndarray) -> None:
        self.offset = np.ascontiguousarray(offset, dtype=np.int64)
        self.columns = {
            name: Column(np.ascontiguousarray(column.codes, dtype=np.int32), column[1])
            for name, column in columns.items()
        }
        if self.offset.ndim != 1 or not len(self.offset) or self.offset[0] != 0:
            raise ValueError(
                "offset needs shape (n_sequences + 1,) and must start at 0"
            )
        # compared, not subtracted: differences of 64-bit numbers wrap
        empty = np.flatnonzero(self.offset[1:] <= self.offset[:-1])
        if len(empty):
            raise ValueError(f"sequence {empty[0]} has no tokens; leave it out")
        for name, column in self.columns.items():
            if column.codes.shape != (self.n_tokens,):
                raise ValueError(
                    f"column {name!r} has shape {column.codes.shape} where offset "
                    f"ends at {self.n_tokens} tokens"
                )
            check_indices(column.codes, len(column.values), f"column {name!r}: a code")

    @classmethod
    def from_sequences(
        cls,
        sequences: Iterable[Sequence[str | Sequence[str]]],
        names: Sequence[str] | None = None,
    ) -> "Table":
        """
        Build a table from lists of tokens.

        Parameters
        ----------
        sequences : iterable of sequences of str or of tuples of str
            A string is a token of one column.
        names : sequence of str, optional
            Names of the columns; by default word, pos, c2, c3, …

        Returns
        -------
        Table
        """
        if sequences is None or isinstance(sequences, str):
            raise TypeError(f"sequences is {sequences!r:.40}; give lists of tokens")
        rows: list[tuple[str, ...]] = []
        offset = [0]
        for sequence in sequences:
            try:
                rows += [
                    (token,) if isinstance(token, str | Mapping) else tuple(token)
                    for token in sequence
                ]
            except TypeError:
                raise ValueError(
                    f"sequence {len(offset) - 1} is {sequence!r:.60}, which is no list "
                    "of tokens; tokens are strings or tuples of strings"
                ) from None
            offset.append(len(rows))
        width = len(rows[0]) if rows else len(names or ["word"])
        if names is None:
            names = default_names(width)
        if len(set(names)) < len(names):
            raise ValueError(f"names must differ, not {', '.join(names)}")
        for t, row in enumerate(rows):
            is_text = all(isinstance(value, str) for value in row)
            if is_text and len(row) == len(names):
                continue
            s = int(np.searchsorted(offset, t, side="right")) - 1
            need = f"where {len(names)} strings are needed ({', '.join(names)})"
            if not is_text:
                need = "is no string, or tuple of strings"
            raise ValueError(f"sequence {s}, token {t - offset[s]}: {row!r:.60} {need}")
        columns = zip(*rows, strict=True) if rows else [()] * width
        return cls(
            {n: encode(column) for n, column in zip(names, columns, strict=True)},
            np.array(offset),
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        by: str = "sentence",
        *,
        columns: Sequence[str] | None = None,
        label: str | None = None,
    ) -> Any:
        """
        Build a table from a long-format data frame, one token per row.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars, pyarrow or another library that narwhals knows.
        by : str
            Column that says which sequence a row belongs to. Sequences come in order
            of its first appearance, their tokens in the order of the rows.
        columns : sequence of str, optional
            Columns to take; by default all but `by` and `label`.
        label : str, optional
            Column with the labels to learn.

        Returns
        -------
        Table, or (Table, list of lists)
            With `label` also the labels of each sequence, as `fit` takes them.

        Examples
        --------
        >>> import pandas as pd
        >>> words, tags = ["a", "b"], [1, 2]
        >>> frame = pd.DataFrame({"sentence": 0, "word": words, "tag": tags})
        >>> X, y = Table.from_frame(frame, label="tag")
        >>> list(X.columns), y
        (['word'], [[1, 2]])
        """
        import narwhals as nw

        if not nw.dependencies.is_into_dataframe(frame):
            frame = nw.from_native(frame, pass_through=True)
            if not isinstance(frame, nw.LazyFrame):
                raise TypeError(
                    f"frame is a {type(frame).__name__}, no data frame; "
                    "Table.from_sequences takes lists of tokens"
                )
        data: Any = nw.from_native(frame)
        if isinstance(data, nw.LazyFrame):
            data = data.collect()
        available = [str(name) for name in data.columns]
        others = [n for n in available if n not in (by, label)]
        wanted = others if columns is None else list(columns)
        for name in [by, *wanted, *([] if label is None else [label])]:
            if name not in available:
                raise ValueError(
                    f"no column {name!r} in the data frame; there are "
                    f"{', '.join(available)}"
                )
        sequence = encode(_without_missing(data[by].to_list(), by)).codes
        order = np.argsort(sequence, kind="stable")
        encoded = {}
        for name in wanted:
            strings = [str(v) for v in _without_missing(data[name].to_list(), name)]
            encoded[name] = encode([strings[t] for t in order])
        table = cls(encoded, np.append(0, np.cumsum(np.bincount(sequence))))
        if label is None:
            return table
        labels = _without_missing(data[label].to_list(), label)
        ordered = [labels[t] for t in order]
        return table, [ordered[a:b] for a, b in pairwise(table.offset.tolist())]

    @classmethod
    def concatenate(cls, tables: Sequence["Table"]) -> "Table":
        """
        Put the sequences of several tables after each other.

        Parameters
        ----------
        tables : sequence of Table
            At least one, all with the same columns.

        Returns
        -------
        Table
        """
        if not tables:
            raise ValueError("nothing to concatenate; give at least one table")
        names = list(tables[0].columns)
        for i, table in enumerate(tables):
            if set(table.columns) != set(names):
                raise ValueError(
                    f"table {i} has columns {', '.join(table.columns)} where table 0 "
                    f"has {', '.join(names)}"
                )
        columns = {}
        for name in names:
            numbers: dict[str, int] = {}
            codes = []
            # tables cut from one share its list of values, which is renumbered once
            renumbered: dict[int, np.ndarray] = {}
            for table in tables:
                column = table.columns[name]
                if id(column.values) not in renumbered:
                    renumbered[id(column.values)] = _number(column.values, numbers)
                codes.append(renumbered[id(column.values)][column.codes])
            columns[name] = Column(np.concatenate(codes), list(numbers))
        lengths = np.concatenate([np.diff(table.offset) for table in tables])
        return cls(columns, np.append(0, np.cumsum(lengths)))

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all sequences."""
        return int(self.offset[-1])

    @property
    def shape(self) -> tuple[int]:
        """(n_sequences,), as of a one-dimensional array of sequences."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offset) - 1

    def __iter__(self) -> Iterator["Table"]:
        return (self[s] for s in range(len(self)))

    def __getitem__(self, key: Any) -> "Table":
        # scikit-learn indexes arrays as X[key, ...]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        is_empty = isinstance(key, list) and not key  # an array of floats to numpy
        rows = np.arange(len(self))[[] if is_empty else key]
        if rows.ndim > 1:
            raise IndexError("a table has one axis: its sequences")
        rows = np.atleast_1d(rows)
        begin = self.offset[rows]
        offset = np.append(0, np.cumsum(self.offset[rows + 1] - begin))
        token = np.repeat(begin - offset[:-1], np.diff(offset)) + np.arange(offset[-1])
        return Table(
            {n: Column(c.codes[token], c.values) for n, c in self.columns.items()},
            offset,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            list(self.columns) == list(other.columns)
            and np.array_equal(self.offset, other.offset)
            and all(self._flat(name) == other._flat(name) for name in self.columns)
        )

    def __repr__(self) -> str:
        return (
            f"Table({len(self)} sequences, {self.n_tokens} tokens: "
            f"{', '.join(self.columns)})"
        )

    def _repr_html_(self) -> str:
        from partwise.report.notebook import columns_html

        shown = self[:3]
        sequences = zip(*map(shown.strings, self.columns), strict=True)
        return columns_html(repr(self), list(self.columns), list(sequences))

    def column(self, name: str) -> Column:
        """Return a column by name; the error lists the columns there are."""
        if name not in self.columns:
            raise ValueError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return self.columns[name]

    def select(self, names: Sequence[str]) -> "Table":
        """Return the table of these columns only, in this order."""
        return Table({name: self.column(name) for name in names}, self.offset)

    def strings(self, name: str) -> list[list[str]]:
        """
        Strings of a column, one list per sequence.

        Parameters
        ----------
        name : str

        Returns
        -------
        list of list of str
        """
        flat = self._flat(name)
        ends = self.offset.tolist()
        return [flat[a:b] for a, b in pairwise(ends)]

    def _flat(self, name: str) -> list[str]:
        codes, values = self.column(name)
        return [values[code] for code in codes.tolist()]


def default_names(width: int) -> list[str]:
    """Names of the columns of a file by position: word, pos, c2, c3 and so on."""
    return ["word", "pos", *(f"c{i}" for i in range(2, width))][:width]


def encode(items: Iterable[Hashable]) -> Column:
    """Give the distinct items numbers, in order of first appearance."""
    numbers: dict[Any, int] = {}
    codes = _number(items, numbers)
    return Column(codes, list(numbers))


def _number(items: Iterable[Hashable], numbers: dict[Any, int]) -> np.ndarray:
    """Codes of the items, int32 (n_items,); new ones are added to `numbers`."""
    return np.array([numbers.setdefault(i, len(numbers)) for i in items], np.int32)


def _without_missing(values: Iterable[Any], name: str) -> list[Any]:
    present = list(values)
    for t, value in enumerate(present):
        # NaN is the value that differs from itself; None and pandas' NA have no text
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            missing = True
        else:
            missing = value != value
        if missing:
            raise ValueError(
                f"column {name!r} misses a value in row {t}; fill it first"
            )
    return present


def _is_empty_list(key: Any) -> bool:
    """Whether numpy would take the key for an array of floats."""
    return isinstance(key, list) and not key
