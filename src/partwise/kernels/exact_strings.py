"""Subsequences and substrings of exactly n tokens.

`NGram` and `AnnotatedNGram` add up all lengths to n. Lodhi et al. (Text Classification
using String Kernels, JMLR 2002) define one kernel per length, gaps allowed,

    k_n(x, x') = Σ_{i_1<…<i_n} Σ_{j_1<…<j_n} λ^span(i) λ^span(j) Π_k κ(i_k, j_k)

and Leslie, Eskin and Noble (The Spectrum Kernel, PSB 2002) the one without gaps: how
often each n-gram occurs in x, times how often it occurs in x'. With D_m[i, j] the sum
over those of length m that end at (i, j),

    D_1[i, j] = λ² κ(x_i, x'_j)
    D_m[i, j] = λ² κ(x_i, x'_j) · U_{m-1}[i-1, j-1]
    R_m[i, j] = D_m[i, j] + γ R_m[i, j-1]
    U_m[i, j] = R_m[i, j] + γ U_m[i-1, j]

and k_n = Σ_{i,j} D_n[i, j]. Gaps cost γ = λ a position; γ = 0 forbids them, and the
spectrum kernel has λ = 1 besides, because all n-grams span n positions. κ is a positive
semidefinite similarity of tokens, and so are its products and sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partwise.kernels.base import Bound, Real, Rows
from partwise.kernels.strings import (
    AnnotatedNGram,
    BoundSequences,
    ColumnKernel,
    table_pair,
)
from partwise.readers.table import Table

if TYPE_CHECKING:
    from partwise.kernels._string_compiled import Scale


class ExactNGram(AnnotatedNGram):
    """Common subsequences of exactly n tokens, gaps allowed.

    A sequence of fewer than n tokens has none: it is a zero vector, also under
    `Normalized`.

    Parameters
    ----------
    n : int
        Length of the subsequences.
    decay : float in (0, 1]
        λ, the weight of each position that an occurrence spans, in either sequence.
    columns : sequence of str, optional
        By default the first column of the table.
    weights : sequence of float, optional
        v_c ≥ 0 of κ(a, b) = Σ_c v_c [a_c = b_c]; by default equal ones that sum to one.

    See Also
    --------
    NGram : the sum over all lengths to n.
    Spectrum : without gaps.

    Examples
    --------
    Lodhi et al.'s example: "cat" and "car" share ca, which spans two letters of each.

    >>> ExactNGram(n=2, decay=0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    n_usual: ClassVar[int | None] = 1

    def __init__(
        self,
        n: int = 3,
        decay: float = 0.5,
        columns: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        super().__init__(n, decay, columns, weights)

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Number the strings of both sets of sequences."""
        self.check()
        x, y = table_pair(X, Y)
        names, weights = self.weighted_columns(x)
        squared = float(self.decay) ** 2
        weights = tuple(weight * squared for weight in weights)
        return BoundExactly(self.n, self.decay, x, y, names, weights)


class Spectrum(ColumnKernel):
    """Common n-grams of two sequences: n tokens in a row.

    Parameters
    ----------
    n : int
        Length of the n-grams.
    columns : sequence of str, optional
        By default the first column of the table.
    weights : sequence of float, optional
        v_c ≥ 0 of κ(a, b) = Σ_c v_c [a_c = b_c]; by default equal ones that sum to one.

    See Also
    --------
    ExactNGram : with gaps.

    Examples
    --------
    "statistics" and "computation" share tat and ati, once each.

    >>> Spectrum(n=3)(["statistics", "computation"])
    array([[8., 2.],
           [2., 9.]])
    """

    def __init__(
        self,
        n: int = 3,
        columns: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.n = n
        self.columns = columns
        self.weights = weights

    def check(self) -> None:
        """Raise ValueError when a parameter has no meaning."""
        AnnotatedNGram(self.n, 1.0, self.columns, self.weights).check()

    def bind(self, X: Any, Y: Any = None) -> Bound:
        """Number the strings of both sets of sequences."""
        self.check()
        x, y = table_pair(X, Y)
        return BoundExactly(self.n, 0.0, x, y, *self.weighted_columns(x))


class BoundExactly(BoundSequences):
    """Sequences as codes; values always in double precision.

    They reach from λ^(2n) far down, where single precision has no numbers left.
    """

    def __init__(
        self,
        n: int,
        gap: float,
        x: Table,
        y: Table | None,
        names: Sequence[str],
        weights: Sequence[float],
    ) -> None:
        super().__init__(n, 1.0, x, y, names, weights)
        self.gap = float(gap)  # γ; λ² is in the weights

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Values of these rows and columns."""
        return self._by_length(rows, cols, np.float64)

    def _scale(self, dtype: Real) -> Scale:
        from partwise.kernels._string_compiled import exact_scale

        return exact_scale(self.weights, self.gap)
