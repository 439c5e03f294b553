"""What a kernel is: parameters, and a way to bind it to two sets of inputs.

A kernel k(x, x') is the inner product of two inputs in a feature space that need not
be written down. `Kernel.bind` brings the inputs into arrays once; the `Bound` it
returns answers any block of the Gram matrix between them, and its diagonals. All that
uses kernels (`gram`, the approximations, a kernel scorer) works on a `Bound` alone.

Modules of compiled loops are imported where they run, because numba takes long to load.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partwise.kernels.inputs import Inputs, Objects, Sequences
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Parameters

Rows = Any  # positions: an integer array, a slice, or None for all
Real = type[np.float32] | type[np.float64]


class Bound(ABC):
    """A kernel between rows x_1, …, x_m and columns y_1, …, y_n, in arrays.

    Ensures
        `block` may be called by several threads at once. An entry does not depend on
        the other rows and columns that are asked for with it; k(x, y) and k(y, x) may
        differ by rounding.
    """

    n_rows: int
    n_cols: int
    is_symmetric: bool  # the columns are the rows

    @abstractmethod
    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Entries of the Gram matrix.

        Parameters
        ----------
        rows, cols : integer arrays or slices, optional
            Which rows and columns, in any order; all by default.
        dtype : np.float64 or np.float32
            The precision that is good enough; what is returned may be better.

        Returns
        -------
        array of shape (len(rows), len(cols))
        """

    @abstractmethod
    def row_diagonal(self) -> Floats:
        """k(x, x) of each row, float64 of shape (n_rows,)."""

    @abstractmethod
    def column_diagonal(self) -> Floats:
        """k(y, y) of each column, float64 of shape (n_cols,)."""

    def row_work(self) -> Floats:
        """Cost of the rows: that of entry (i, j) is about row_work[i]·column_work[j].

        Blocks are formed of rows of about the same cost, which string kernels need:
        they treat several columns in lockstep.
        """
        return np.ones(self.n_rows)

    def column_work(self) -> Floats:
        """Cost of the columns; see `row_work`."""
        return np.ones(self.n_cols)

    def check_symmetric(self) -> None:
        """Raise ValueError where k(x, y) and k(y, x) differ by more than rounding.

        Asked before one of them is taken for both.
        """
        return  # most kernels are symmetric by their definition

    @abstractmethod
    def content(self) -> Iterator[Any]:
        """Arrays and strings that, with the parameters, decide every entry."""

    def shape_of(self, rows: Rows, cols: Rows) -> tuple[NDArray[np.int64], ...]:
        """Positions of rows and columns, checked: compiled code checks no bounds."""
        return positions(rows, self.n_rows), positions(cols, self.n_cols)


def positions(chosen: Rows, n: int) -> NDArray[np.int64]:
    """Positions below n, as int64; negative ones count from the end."""
    if chosen is None:
        return np.arange(n)
    if isinstance(chosen, slice):
        return np.arange(n)[chosen]
    numbers = np.asarray(chosen)
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise IndexError("give positions as a list or array of whole numbers")
    numbers = numbers.astype(np.int64)
    if numbers.min() < -n or numbers.max() >= n:
        raise IndexError(f"position {numbers.max()} where there are {n} inputs")
    return np.where(numbers < 0, numbers + n, numbers)


class Kernel(Parameters, ABC):
    """A positive semidefinite function of two inputs.

    ``+`` adds kernels, ``*`` multiplies them or scales by a number; each of these is
    positive semidefinite again. A kernel whose `is_positive` is False
    may be indefinite, and is refused for training where it is (`refuse_indefinite`).

    Examples
    --------
    >>> from partwise.kernels import Linear, RBF
    >>> kernel = Linear() + 2 * RBF(gamma=0.5)
    >>> kernel([[1.0, 0.0], [0.0, 1.0]]).round(3)
    array([[3.   , 0.736],
           [0.736, 3.   ]])
    >>> kernel.diag([[1.0, 2.0]])
    array([7.])
    """

    inputs: ClassVar[Inputs]  # what X may be

    @abstractmethod
    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Bring inputs into arrays.

        Parameters
        ----------
        X : the rows
        Y : the columns, optional
            By default the rows.
        """

    def check(self) -> None:
        """Raise ValueError when a parameter has no meaning; `bind` calls it."""

    @property
    def is_positive(self) -> bool:
        """Known to be positive semidefinite, whatever the inputs."""
        return True

    def input_family(self) -> Inputs:
        """What X may be, and how inputs are counted, selected and stored."""
        return self.inputs

    def columns_of(
        self, available: Collection[str], usual: Collection[str] | None = None
    ) -> list[str]:
        """Columns of a table that the kernel compares.

        Parameters
        ----------
        available : collection of str
            Columns of the table, in their order, such as ``table.columns``.
        usual : collection of str, optional
            What a kernel that names no column takes for the columns of the table, in
            this order; by default all of them. Those that the table has not are left
            out; when it has none, its first column counts as usual.

        Returns
        -------
        list of str
            Usual columns first, the others in the order of the table: in the table of
            these columns alone, the first one is what it was. All that are available
            for a user's function, which may look at any; none for a kernel on other
            inputs than sequences.

        Raises
        ------
        ValueError
            The kernel names a column that is not available.

        Examples
        --------
        >>> from partwise.kernels import AnnotatedNGram, BagOfWords, NGram
        >>> columns = ["id", "form", "upos", "feats"]
        >>> NGram(column="upos").columns_of(columns)
        ['upos']
        >>> (NGram() + BagOfWords(columns=("id",))).columns_of(columns, ["form"])
        ['form', 'id']
        >>> AnnotatedNGram().columns_of(columns, ["form", "lemma", "upos"])
        ['form', 'upos']
        """
        family = self.input_family()
        if isinstance(family, Objects):
            return list(available)
        if not isinstance(family, Sequences):
            return []
        default = _default_columns(available, usual)
        compared = self._compared(list(available), default)
        for name in compared:
            if name not in available:
                raise SettingsError(
                    f"<kernel=> compares a column {name!r}; there are "
                    f"{', '.join(available)}"
                )
        order = dict.fromkeys([*default, *available])
        return [name for name in order if name in compared]

    def with_columns(
        self, available: Collection[str], usual: Collection[str] | None = None
    ) -> Kernel:
        """Name the columns that are compared by default.

        A kernel that takes all columns of a table takes more of them as soon as
        another one, in a sum with it, brings a column of its own into the table. With
        names, its values do not depend on what else there is.

        Parameters
        ----------
        available, usual
            As for `columns_of`.

        Returns
        -------
        Kernel
            Itself where nothing is left open.

        Examples
        --------
        >>> from partwise.kernels import NGram
        >>> NGram(n=3).with_columns(["id", "form", "upos"], ["form", "upos"])
        NGram(n=3, decay=0.5, column='form')
        """
        return self._named(_default_columns(available, usual))

    def _compared(self, available: Sequence[str], default: list[str]) -> Sequence[str]:
        """Columns of sequences that are compared; `default` where none is named."""
        return available

    def _named(self, default: list[str]) -> Kernel:
        """The kernel that takes no columns by default."""
        return self

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """Gram matrix of shape (n_rows, n_cols), as scikit-learn's kernels give it."""
        from partwise.kernels.gram import gram

        return gram(self, X, Y)

    def diag(self, X: Any) -> Floats:
        """k(x, x) of each input, shape (n_rows,)."""
        return self.bind(X).row_diagonal()

    def to_dict(self) -> dict[str, Any]:
        """Name, version and parameters, JSON-able; `from_dict` reads them."""
        from partwise.kernels.naming import to_dict

        return to_dict(self)

    def __add__(self, other: Any) -> Kernel:
        from partwise.kernels.combinations import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from partwise.kernels.combinations import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        if isinstance(other, int | float) and not isinstance(other, bool):
            return Scaled(self, other)
        return NotImplemented

    __rmul__ = __mul__


def _default_columns(
    available: Collection[str], usual: Collection[str] | None
) -> list[str]:
    """Usual columns that there are; the first of all when there is none."""
    if usual is None:
        return list(available)
    return [name for name in usual if name in available] or list(available)[:1]


def diagonal_by_blocks(bound: Bound, n: int) -> Floats:
    """k(x_i, x_i) from small blocks, for a kernel without a shorter way."""
    diagonal = np.empty(n)
    for first in range(0, n, 8):
        rows = np.arange(first, min(first + 8, n))
        diagonal[rows] = np.diagonal(bound.block(rows, rows))
    return diagonal


def same_kernel(one: Kernel | None, other: Kernel | None) -> bool:
    """Whether two kernels have the same values; those of users must be the same."""
    if one is None or other is None or one is other:
        return one is other
    parameters, others = one.get_params(deep=True), other.get_params(deep=True)
    if type(one) is not type(other) or parameters.keys() != others.keys():
        return False
    return all(_same(parameters[name], others[name]) for name in parameters)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Kernel) or isinstance(other, Kernel):
        return type(one) is type(other)  # their parameters stand beside them
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
