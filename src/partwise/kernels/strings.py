"""Gap-weighted subsequences: kernels on sequences of symbols or annotated tokens.

The feature of a subsequence u is Σ λ^span over its occurrences, gaps included in the
span (Lodhi et al., Text Classification using String Kernels, JMLR 2002). With κ(a, b)
the similarity of two tokens (1 or 0 for symbols),

    k(x, x') = Σ_{l=1…n} Σ_{i_1<…<i_l} Σ_{j_1<…<j_l} λ^span(i) λ^span(j) Π_k κ(i_k, j_k)

Let D_m[i, j] be the part of the sum over lengths 1 … m that ends at (i, j), and U_m its
decayed sum over all positions up to (i, j). Then

    D_m[i, j] = λ² κ(x_i, x'_j) · (1 + U_{m-1}[i-1, j-1])
    R_m[i, j] = D_m[i, j] + λ R_m[i, j-1]
    U_m[i, j] = R_m[i, j] + λ U_m[i-1, j]

and k = Σ_{i,j} D_n[i, j]: n·|x|·|x'| steps of three multiplications. Summing over
lengths inside the recursion, not after it, saves the accumulation at each length. All
terms are positive, so nothing cancels and single precision is good to about 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partwise.kernels.base import Bound, Kernel, Real, Rows
from partwise.kernels.checks import check_names, check_real, check_weights, check_whole
from partwise.kernels.inputs import SEQUENCES, table_of
from partwise.protocol import Floats
from partwise.readers.table import Table

if TYPE_CHECKING:
    from partwise.kernels._string_compiled import Scale

MAX_LENGTH = 100  # of subsequences
LEAST = 1e-12  # a weight of κ, with the squared decay, for single precision


class ColumnKernel(Kernel):
    """A kernel on sequences that compares columns of their tokens."""

    inputs = SEQUENCES
    n_usual: ClassVar[int | None] = 1  # columns compared by default; None for all

    columns: Sequence[str] | None
    weights: Sequence[float] | None

    def _compared(self, available: Sequence[str], default: list[str]) -> Sequence[str]:
        return check_names("columns", self.columns) or default[: self.n_usual]

    def _named(self, default: list[str]) -> Kernel:
        if self.columns is not None:
            return self
        columns = tuple(default[: self.n_usual])
        return type(self)(**self.get_params(deep=False) | {"columns": columns})

    def weighted_columns(
        self, table: Table
    ) -> tuple[tuple[str, ...], tuple[float, ...]]:
        """The columns of a table that are compared, and their weights."""
        names = check_names("columns", self.columns)
        return weigh(names or tuple(table.columns)[: self.n_usual], self.weights)


class AnnotatedNGram(ColumnKernel):
    """Common subsequences of two sequences of tokens with several columns.

    Two tokens resemble each other by κ(a, b) = Σ_c v_c [a_c = b_c] over the columns c.

    Parameters
    ----------
    n : int
        Length of the longest subsequence.
    decay : float in (0, 1]
        λ, the weight of each position that an occurrence spans, in either sequence.
    columns : sequence of str, optional
        By default all columns of the table.
    weights : sequence of float, optional
        v_c ≥ 0; by default equal ones that sum to one, so that equal tokens have κ = 1.

    Examples
    --------
    >>> X = [[("the", "DT"), ("cat", "NN")], [("a", "DT"), ("cat", "NN")]]
    >>> AnnotatedNGram(n=2, decay=0.5)(X)
    array([[0.5625 , 0.40625],
           [0.40625, 0.5625 ]])
    """

    n_usual: ClassVar[int | None] = None

    def __init__(
        self,
        n: int = 6,
        decay: float = 0.5,
        columns: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.n = n
        self.decay = decay
        self.columns = columns
        self.weights = weights

    def check(self) -> None:
        """Raise ValueError when a parameter has no meaning."""
        check_whole("n", self.n, 1, MAX_LENGTH)
        check_real("decay", self.decay, 0, 1, above=True)
        names = check_names("columns", self.columns)
        weights = check_weights("weights", self.weights)
        if names and weights and len(names) != len(weights):
            raise ValueError(
                f"{len(weights)} weights for {len(names)} columns; give one each"
            )

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Number the strings of both sets of sequences."""
        self.check()
        x, y = table_pair(X, Y)
        return BoundSequences(self.n, self.decay, x, y, *self.weighted_columns(x))


class NGram(Kernel):
    """Common subsequences of two sequences of symbols, gaps allowed.

    Parameters
    ----------
    n : int
        Length of the longest subsequence.
    decay : float in (0, 1]
        λ, the weight of each position that an occurrence spans, in either sequence.
    column : str, optional
        Which column of a table holds the symbols; by default the first.

    Examples
    --------
    Lodhi et al.'s example: "cat" and "car" share c, a, ca.

    >>> NGram(n=2, decay=0.5)(["cat", "car"])
    array([[0.890625, 0.5625  ],
           [0.5625  , 0.890625]])
    """

    inputs = SEQUENCES

    def __init__(
        self, n: int = 6, decay: float = 0.5, column: str | None = None
    ) -> None:
        self.n = n
        self.decay = decay
        self.column = column

    def check(self) -> None:
        """Raise ValueError when a parameter has no meaning."""
        if self.column is not None and not isinstance(self.column, str):
            raise ValueError(f"column={self.column!r}: give one name, or None")
        AnnotatedNGram(self.n, self.decay, self.column).check()

    def _compared(self, available: Sequence[str], default: list[str]) -> Sequence[str]:
        return default[:1] if self.column is None else [self.column]

    def _named(self, default: list[str]) -> Kernel:
        if self.column is not None:
            return self
        return NGram(self.n, self.decay, default[0])

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Number the strings of both sets of sequences."""
        self.check()
        x, y = table_pair(X, Y)
        name = self.column or next(iter(x.columns))
        return BoundSequences(self.n, self.decay, x, y, (name,), (1.0,))


class BoundSequences(Bound):
    """Sequences as codes, column by column."""

    def __init__(
        self,
        n: int,
        decay: float,
        x: Table,
        y: Table | None,
        names: Sequence[str],
        weights: Sequence[float],
    ) -> None:
        self.n = int(n)
        self.decay = float(decay)
        self.weights = np.array(weights, np.float64) * self.decay**2
        self.x, self.x_offset = _codes(x, names)
        self.y, self.y_offset = (
            (self.x, self.x_offset) if y is None else _codes(y, names)
        )
        self.n_rows = len(self.x_offset) - 1
        self.n_cols = len(self.y_offset) - 1
        self.is_symmetric = y is None

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """In single precision, twice as fast, double where it would overflow."""
        if dtype is np.float32 and self.weights[self.weights > 0].min() < LEAST:
            dtype = np.float64
        out = self._by_length(rows, cols, dtype)
        if dtype is np.float32 and not np.isfinite(out).all():
            return self.block(rows, cols, np.float64)
        return out

    def _scale(self, dtype: Real) -> Scale:
        from partwise.kernels._string_compiled import make_scale

        return make_scale(self.weights, self.decay, dtype)

    def _by_length(self, rows: Rows, cols: Rows, dtype: Real) -> np.ndarray:
        """Values of these rows and columns, computed with columns by their length.

        Lanes of about the same length waste the least.
        """
        from partwise.kernels._string_compiled import subsequence_block

        rows, cols = self.shape_of(rows, cols)
        order = np.argsort(np.diff(self.y_offset)[cols], kind="stable")
        out = np.empty((len(rows), len(cols)), dtype)
        subsequence_block(
            self.x, self.x_offset, rows, self.y, self.y_offset, cols[order],
            self._scale(dtype), self.n, out,
        )  # fmt: skip
        back = np.empty(len(cols), np.int64)
        back[order] = np.arange(len(cols))
        return out[:, back] if np.any(np.diff(order) != 1) else out

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        return self._diagonal(self.x, self.x_offset)

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        return self._diagonal(self.y, self.y_offset)

    def _diagonal(self, codes: np.ndarray, offset: np.ndarray) -> Floats:
        from partwise.kernels._string_compiled import subsequence_diagonal

        out = np.empty(len(offset) - 1)
        subsequence_diagonal(codes, offset, self._scale(np.float64), self.n, out)
        return out

    def row_work(self) -> Floats:
        """Tokens of each row."""
        return np.diff(self.x_offset).astype(float)

    def column_work(self) -> Floats:
        """Tokens of each column."""
        return np.diff(self.y_offset).astype(float)

    def content(self) -> Iterator[Any]:
        """Codes by first appearance: equality of strings is all that counts."""
        both = self.x if self.is_symmetric else np.hstack([self.x, self.y])
        for codes in both:
            _, first, number = np.unique(codes, return_index=True, return_inverse=True)
            yield np.argsort(np.argsort(first))[number]
        yield from (self.weights, self.x_offset)
        if not self.is_symmetric:
            yield self.y_offset


def table_pair(X: Any, Y: Any) -> tuple[Table, Table | None]:
    """Both sets of sequences with strings numbered alike; None when there is one."""
    x = table_of(X)
    if Y is None:
        return x, None
    y = table_of(Y)
    both = Table.concatenate([x, y.select(list(x.columns))])
    return both[: len(x)], both[len(x) :]


def weigh(
    names: Sequence[str], weights: Any
) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Columns and their weights, equal ones by default."""
    chosen = check_weights("weights", weights)
    if chosen is None:
        chosen = (1.0 / len(names),) * len(names)
    if len(chosen) != len(names):
        raise ValueError(
            f"{len(chosen)} weights for the columns {', '.join(names)}; give one each"
        )
    return tuple(names), chosen


def _codes(table: Table, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    codes = np.stack([table.column(name).codes for name in names])
    return np.require(codes, np.int32, ["C", "W"]), table.offset
