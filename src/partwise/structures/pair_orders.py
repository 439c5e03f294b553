"""Which of two rows goes first, summed by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Floats, Ints


class PairOrders(NamedTuple):
    """Orders y_ij ∈ {−1, 0, 1} of all pairs (i, j) where row i is better than row j.

    They need not be those of one ranking: i before j, j before k and k before i are
    possible. Features and losses are sums over pairs.

    Attributes
    ----------
    wins : int array (n_rows,)
        Σ_j y_ij over the pairs in which a row is the better one, less Σ_i y_ij over
        those in which it is the worse one.
    n_swapped : float
        Pairs in the wrong order; a tie counts ½.
    n_pairs : int

    Examples
    --------
    Rows 0 and 2 are better than row 1; scores put row 2 behind it:

    >>> PairOrders.of([1, 0, 1], [0.9, 0.5, 0.1])
    PairOrders(wins=array([ 1,  0, -1]), n_swapped=1.0, n_pairs=2)
    """

    wins: Ints
    n_swapped: float
    n_pairs: int

    @classmethod
    def of(cls, grades: Any, levels: Any) -> PairOrders:
        """The orders by `levels` of the pairs with different `grades`; O(n²)."""
        g, s = np.asarray(grades), np.asarray(levels)
        is_better = g[:, None] > g[None, :]
        sign = is_better * np.sign(s[:, None] - s[None, :])
        wins = sign.sum(axis=1) - sign.sum(axis=0)
        n_pairs = int(is_better.sum())
        n_swapped = float(np.sum(is_better - sign) / 2)
        return cls(wins.astype(np.int64), n_swapped, n_pairs)

    @classmethod
    def truth(cls, grades: Any) -> PairOrders:
        """All pairs in the right order; O(n log n)."""
        grades = np.asarray(grades)
        _, level, count = np.unique(grades, return_inverse=True, return_counts=True)
        below = np.cumsum(count) - count
        above = len(grades) - below - count
        wins = (below - above)[level]
        return cls(wins.astype(np.int64), 0.0, int(np.sum(below[level])))

    @property
    def loss(self) -> float:
        """Share of pairs in the wrong order."""
        return self.n_swapped / self.n_pairs if self.n_pairs else 0.0

    def feature(self, x: Any) -> Floats:
        """Ψ = Σ y_ij (x_i − x_j)/(2·n_pairs), shape (n_features,)."""
        return np.asarray(x.T @ self.wins).ravel() / (2 * max(self.n_pairs, 1))
