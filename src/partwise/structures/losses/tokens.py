"""Losses of label sequences: sums over tokens, and 0/1."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.protocol import Floats, Ints
from partwise.structures.losses.base import TWO_BEST, Loss, loss_named

Labels = Sequence[int] | Ints


class TokenCosts(NamedTuple):
    """The costs of all labels at all tokens, as kernels read them.

    Label l at token t of sequence i costs ``unit[i] · table[row[t], l]``.
    """

    table: Floats  # (n_rows, n_labels)
    truth: Ints  # (n_rows,) the label that each row belongs to; it costs nothing
    row: Ints  # (n_tokens,)
    unit: Floats  # (n_sequences,)

    def has_free_errors(self) -> bool:
        """Whether some wrong label costs nothing."""
        free = self.table == 0
        free[np.arange(len(free)), self.truth] = False
        return bool(free.any())

    def is_whole(self) -> bool:
        """Whether costs are whole numbers of units."""
        return bool((self.table % 1 == 0).all())


class TokenLoss(Loss):
    """A sum of costs over the tokens of a sequence.

    A subclass defines `costs`, and `unit` where its costs are multiples of a number
    other than 1: slack rescaling and L2 penalties run over all values of the loss.
    """

    @abstractmethod
    def costs(self, y: Labels, n_labels: int) -> Floats:
        """Cost of each label at each token, (n, n_labels); 0 for the true labels."""

    def unit(self, n: int) -> float:
        """The number of which all costs of n tokens are multiples."""
        return 1.0

    def loss(self, y: Labels, y_hat: Labels) -> float:
        """Δ(y, ŷ): the costs of the predicted labels."""
        if len(y) != len(y_hat):
            raise ValueError(f"{len(y_hat)} labels predicted where {len(y)} are true")
        table = self.costs(y, 1 + max([*y, *y_hat], default=0))
        return float(table[np.arange(len(y)), np.asarray(y_hat)].sum())

    def matrix(self, n_labels: int) -> Floats:
        """Costs at the only token of a sequence, in the row of the true label."""
        return np.concatenate([self.costs([a], n_labels) for a in range(n_labels)])

    def pack(self, y: Ints, offset: Ints, n_labels: int) -> TokenCosts:
        """Costs of sequences laid end to end; sequence i begins at ``offset[i]``."""
        unit = np.array([self.unit(n) for n in np.diff(offset).tolist()])
        tables = [
            np.asarray(self.costs(y[a:b], n_labels), np.float64)
            for a, b in pairwise(offset.tolist())
        ]
        wrong = [table.shape for table in tables if table.shape[1:] != (n_labels,)]
        if wrong or sum(map(len, tables)) != len(y):
            raise ValueError(
                f"{self!r}: costs() must return one row per token and one column for "
                f"each of {n_labels} labels"
            )
        table = np.concatenate(tables) / np.repeat(unit, np.diff(offset))[:, None]
        check_magnitude(table, MAX_FEATURE, f"{self!r}")
        if (table < 0).any() or table[np.arange(len(y)), y].any():
            raise ValueError(f"{self!r}: costs must be ≥ 0, and 0 for the true labels")
        row = np.arange(len(y), dtype=np.int32)
        return TokenCosts(table, np.asarray(y), row, unit)


class MatrixLoss(TokenLoss):
    """A loss whose costs depend on the true and the predicted label alone."""

    @abstractmethod
    def matrix(self, n_labels: int) -> Floats:
        """Cost of predicting the column's label for the row's, in units."""

    def costs(self, y: Labels, n_labels: int) -> Floats:
        """Rows of the matrix."""
        return self.unit(len(y)) * self.matrix(n_labels)[np.asarray(y)]

    def pack(self, y: Ints, offset: Ints, n_labels: int) -> TokenCosts:
        """The matrix is the table, and its rows are the labels."""
        unit = np.array([self.unit(n) for n in np.diff(offset).tolist()])
        return TokenCosts(self.matrix(n_labels), np.arange(n_labels), y, unit)


class Hamming(MatrixLoss):
    """The number of wrong tokens.

    Examples
    --------
    >>> Hamming().loss([0, 1, 1, 0], [0, 1, 0, 0])
    1.0
    """

    name = "hamming"

    def matrix(self, n_labels: int) -> Floats:
        """1 off the diagonal."""
        return 1.0 - np.eye(n_labels)

    def loss(self, y: Labels, y_hat: Labels) -> float:
        """Δ(y, ŷ)."""
        return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))


class NormalizedHamming(Hamming):
    """The share of wrong tokens.

    Examples
    --------
    >>> NormalizedHamming().loss([0, 1, 1, 0], [0, 1, 0, 0])
    0.25
    """

    name = "normalized"

    def unit(self, n: int) -> float:
        """One token of n."""
        return 1.0 / max(n, 1)

    def loss(self, y: Labels, y_hat: Labels) -> float:
        """Δ(y, ŷ)."""
        return super().loss(y, y_hat) / len(y)


class ZeroOne(Hamming):
    """1 for any wrong output, a label sequence or a tree.

    Examples
    --------
    >>> ZeroOne().loss([0, 1, 1], [0, 0, 0])
    1.0
    """

    name = "zero_one"
    search = TWO_BEST

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) of any two outputs."""
        return float(not np.array_equal(y, y_hat))


class CostMatrix(MatrixLoss):
    """The cost of predicting the column's label for the row's, summed over tokens.

    Parameters
    ----------
    values : array (n_labels, n_labels)
        Numbers ≥ 0, zero on the diagonal.

    Examples
    --------
    >>> CostMatrix([[0, 1], [3, 0]]).loss([1, 1, 0], [0, 1, 1])
    4.0
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    def matrix(self, n_labels: int) -> Floats:
        """The values, checked."""
        matrix = np.ascontiguousarray(self.values, np.float64)
        if matrix.shape != (n_labels, n_labels):
            raise ValueError(
                f"cost has shape {matrix.shape} where there are {n_labels} labels"
            )
        check_magnitude(matrix, MAX_FEATURE, "cost")
        if (matrix < 0).any() or matrix.trace():
            raise ValueError("cost: entries must be ≥ 0 and the diagonal zero")
        return matrix

    def saved(self) -> Floats:
        """The matrix."""
        return self.matrix(len(self.values))

    def loss(self, y: Labels, y_hat: Labels) -> float:
        """Δ(y, ŷ)."""
        matrix = self.matrix(len(self.values))
        return float(sum(matrix[a, b] for a, b in zip(y, y_hat, strict=True)))


TOKEN_LOSSES: Mapping[str, Callable[[], TokenLoss]] = {
    "hamming": Hamming,
    "normalized": NormalizedHamming,
    "zero_one": ZeroOne,
}


def token_loss(cost: Any) -> TokenLoss:
    """The loss that a chain's `cost` stands for: a name, a matrix or a `TokenLoss`."""
    if isinstance(cost, TokenLoss):
        return cost
    if isinstance(cost, str | Loss | Mapping):
        return loss_named(cost, TOKEN_LOSSES, " or give a matrix")
    return CostMatrix(cost)
