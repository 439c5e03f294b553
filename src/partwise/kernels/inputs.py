"""Families of inputs: what X may be, and how it is counted, selected and stored.

A kernel belongs to one family. Code that keeps inputs (the landmarks of an
approximation, the anchors of a kernel model) does it through the family, without
knowing the kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.bounds import Arrays, check_indices, read_array
from partwise.features.columnar import as_table
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.kernels.forests import Forest, encode_trees
from partwise.kernels.matrices import (
    DenseMatrix,
    Matrix,
    as_matrix,
    pack_matrix,
    same_rows,
    unpack_matrix,
)
from partwise.readers.table import Column, Table


class Inputs(ABC):
    """A family of inputs.

    Ensures
        ``unpack(pack(X))`` gives inputs on which each kernel of the family has the
        values that it has on X. Packed arrays are flat: int64, int32, uint8, float64.
    """

    @abstractmethod
    def count(self, X: Any) -> int:
        """Number of inputs."""

    @abstractmethod
    def select(self, X: Any, rows: np.ndarray) -> Any:
        """The inputs at these positions."""

    @abstractmethod
    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Which inputs of X are the same in Y, one by one, bool (n_inputs,)."""

    @abstractmethod
    def pack(self, X: Any) -> Arrays:
        """Arrays for a model file."""

    @abstractmethod
    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Inputs from `pack`; invalid input raises ValueError."""


class Vectors(Inputs):
    """Rows of numbers: a matrix, dense or sparse, or one matrix per sequence."""

    def count(self, X: Any) -> int:
        """Number of rows."""
        return as_matrix(X).n_rows

    def select(self, X: Any, rows: np.ndarray) -> Matrix:
        """Rows of the matrix."""
        return as_matrix(X).select(rows)

    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Rows that have the same numbers, bit for bit."""
        return same_rows(as_matrix(X), as_matrix(Y))

    def pack(self, X: Any) -> Arrays:
        """The matrix, dense or CSR."""
        return pack_matrix(as_matrix(X))

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Matrix:
        """A matrix."""
        return unpack_matrix(arrays)


class Sequences(Inputs):
    """Sequences of symbols: a Table, lists of tokens, or strings of characters."""

    def count(self, X: Any) -> int:
        """Number of sequences."""
        return len(X)

    def select(self, X: Any, rows: np.ndarray) -> Table:
        """The table of these sequences."""
        return table_of(X)[rows]

    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Sequences that have the same strings in the same columns."""
        one, other = table_of(X), table_of(Y)
        is_same = np.diff(one.offset) == np.diff(other.offset)
        if one.columns.keys() != other.columns.keys():
            return np.zeros_like(is_same)
        for name in one.columns:
            pairs = zip(one.strings(name), other.strings(name), strict=True)
            is_same &= [strings == other_strings for strings, other_strings in pairs]
        return is_same

    def pack(self, X: Any) -> Arrays:
        """Distinct strings and their codes, column by column."""
        table = table_of(X)
        columns = [_compact(column) for column in table.columns.values()]
        strings = list(table.columns)
        for column in columns:
            strings += column.values
        sizes = np.array([len(column.values) for column in columns], np.int64)
        return {
            **string_arrays(strings),
            "values": sizes,
            "codes": np.concatenate([column.codes for column in columns]),
            "offset": table.offset,
        }

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Table:
        """A table."""
        strings = read_strings(arrays)
        sizes = read_array(arrays, "values", np.int64)
        codes = read_array(arrays, "codes", np.int32)
        offset = read_array(arrays, "offset", np.int64)
        n_columns = len(sizes)
        if (
            not n_columns
            or np.any(sizes < 0)
            or np.any(sizes > len(strings))
            or n_columns + sizes.sum() != len(strings)
            or not len(offset)
            or len(codes) != n_columns * int(offset[-1])
        ):
            raise ValueError("damaged sequences: their sizes do not agree")
        names = strings[:n_columns]
        if len(set(names)) < n_columns:
            raise ValueError("damaged sequences: a column stands twice")
        columns = {}
        ends = n_columns + np.cumsum(sizes)
        for i, name in enumerate(names):
            column_codes = codes[i * offset[-1] : (i + 1) * offset[-1]]
            check_indices(column_codes, int(sizes[i]), "a code of a column")
            values = strings[ends[i] - sizes[i] : ends[i]]
            if len(set(values)) < len(values):
                raise ValueError(f"damaged sequences: column {name!r} repeats a string")
            columns[name] = Column(column_codes, values)
        return Table(columns, offset)


class Trees(Inputs):
    """Phrase trees: pairs (label, children), or `nltk.Tree`."""

    def count(self, X: Any) -> int:
        """Number of trees."""
        return len(X)

    def select(self, X: Any, rows: np.ndarray) -> list[Any]:
        """The trees at these positions."""
        return [X[i] for i in rows]

    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Trees that are equal."""
        return np.array([x == y for x, y in zip(X, Y, strict=True)], bool)

    def pack(self, X: Any) -> Arrays:
        """Labels, and the nodes of all trees in pre-order."""
        return encode_trees(X).pack()

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> list[Any]:
        """Trees as pairs (label, children)."""
        return Forest.unpack(arrays).decode()


class Positions(Inputs):
    """Whole numbers that name the rows of a precomputed matrix."""

    def count(self, X: Any) -> int:
        """Number of positions."""
        return len(X)

    def select(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """Some of the positions."""
        return np.asarray(X, np.int64)[rows]

    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Equal positions."""
        return np.asarray(X) == np.asarray(Y)

    def pack(self, X: Any) -> Arrays:
        """The positions."""
        return {"positions": np.array(X, np.int64)}

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The positions."""
        return read_array(arrays, "positions", np.int64)


class Objects(Inputs):
    """Whatever a user's function takes."""

    def count(self, X: Any) -> int:
        """Number of objects."""
        return X.shape[0] if hasattr(X, "shape") else len(X)

    def select(self, X: Any, rows: np.ndarray) -> Any:
        """The objects at these positions: an array when X is one."""
        return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]

    def same(self, X: Any, Y: Any) -> np.ndarray:
        """Equal sequences or rows of an array; other objects by their own ``==``."""
        if isinstance(X, Table):
            return SEQUENCES.same(X, Y)
        if hasattr(X, "shape"):
            return same_rows(as_matrix(X), as_matrix(Y))
        return np.array([bool(x == y) for x, y in zip(X, Y, strict=True)], bool)

    def pack(self, X: Any) -> Arrays:
        """Refuse: nothing is known of the objects."""
        raise ValueError(
            "inputs of a user's function cannot be kept in a file; use a kernel with "
            "a name"
        )

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Refuse, as `pack` does."""
        raise ValueError("inputs of a user's function cannot be read from a file")


VECTORS = Vectors()
SEQUENCES = Sequences()
TREES = Trees()
POSITIONS = Positions()
OBJECTS = Objects()


def table_of(X: Table | Sequence[Any]) -> Table:
    """A table of sequences; a string is a sequence of its characters."""
    if isinstance(X, str):
        raise ValueError("X is one string; give a list of sequences")
    if not len(X):
        raise ValueError("no sequences")
    return as_table(X)


def _compact(column: Column) -> Column:
    """The column without values that no token has."""
    used = column.used()
    number = np.zeros(len(column.values), np.int32)
    number[used] = np.arange(len(used))
    return Column(number[column.codes], [column.values[code] for code in used])


def token_inputs(kernel: Any, features: Any) -> Any:
    """Rows of tokens as the kernel takes them.

    Parameters
    ----------
    kernel : Kernel
        On rows of numbers, or a user's function of two rows.
    features : Features or DenseFeatures

    Returns
    -------
    Matrix, array (n_tokens, n_features) for a user's function, or positions (n_tokens,)
        of a precomputed kernel
    """
    family = kernel.input_family()
    rows = as_matrix(features)
    if isinstance(family, Vectors):
        return rows
    if isinstance(family, Positions):
        return _positions(rows)
    if not isinstance(family, Objects):
        raise ValueError(
            f"{kernel} compares {type(family).__name__.lower()}; a tagger needs a "
            "kernel on the rows of single tokens, such as 'poly:degree=2' or 'rbf', or "
            "on whole sequences, such as 'normalized(ngram)'"
        )
    if isinstance(rows, DenseMatrix):
        return rows.x
    from scipy.sparse import csr_array

    shape = (rows.n_rows, rows.n_features)
    return csr_array((rows.data, rows.indices, rows.indptr), shape=shape)


def _positions(rows: Any) -> np.ndarray:
    """Rows of a ready-made matrix: tokens are single whole numbers."""
    is_one = isinstance(rows, DenseMatrix) and rows.n_features == 1
    if not is_one or (rows.x % 1 != 0).any():
        raise ValueError(
            "a precomputed kernel takes tokens that are rows of its matrix; give "
            "arrays of shape (tokens, 1) of whole numbers"
        )
    return rows.x[:, 0].astype(np.int64)
