"""Structures whose inputs are the rows of a matrix: how they are packed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints, Structure
from partwise.scorers.linear import SparseRows
from partwise.structures.digests import row_digests
from partwise.structures.packed import PackedProblem


class RowStructure(Structure):
    """A structure over the rows of a matrix."""

    def pack(
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
    ) -> Any:
        """Lay examples out for a solver.

        Parameters
        ----------
        X : array or sparse matrix (n, n_features)
            Also `Features`, `DenseFeatures` or, with a `KernelScorer`, `LabelKeys`.
            Where an example has several rows, a list of matrices: one per example.
        Y : array, or one per matrix
            The true outputs, as the class describes them; None to predict only.
        formulation : Formulation
        n_jobs : int
        scorer : LinearScorer or KernelScorer, optional
            How rows are scored; linear by default.
        """
        formulation = (formulation or Formulation()).validate()
        return self.pack_rows(X, Y, formulation, n_jobs, scorer)

    @abstractmethod
    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> PackedProblem:
        """The problem of these examples."""


def row_vector(x: Any) -> Floats:
    """A row of a dense or sparse matrix, (n_features,)."""
    dense = x.toarray() if hasattr(x, "toarray") else x
    return np.asarray(dense, np.float64).ravel()


def row_effort(rows: Any, n_rows: int) -> Floats:
    """Effort of a visit to each row: its features, and what a visit costs besides."""
    if isinstance(rows, SparseRows):
        return np.diff(rows.indptr) + 4.0
    return np.ones(n_rows)


class SetProblem(PackedProblem):
    """What problems share whose outputs are sets: a 0 or 1 for each label.

    A model has a row of weights, padded, for each feature, and then others. Features
    may be numbered in an own way; the plain layout is (n_features, K), then the rest.
    """

    structure: Any  # with `n_labels`
    n_table: int  # weights of features
    number: Any  # the row of each feature, or a slice

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout, flat."""
        table = model[: self.n_table].reshape(-1, self.blocks.width)
        weights = table[self.number, : self.structure.n_labels].ravel()
        return np.concatenate([weights, model[self.n_table :]])

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        model, size = self.zero(), self.structure.n_labels
        table = model[: self.n_table].reshape(-1, self.blocks.width)
        n_plain = len(table) * size
        weights = np.asarray(weights)
        table[self.number, :size] = weights[:n_plain].reshape(-1, size)
        model[self.n_table :] = weights[n_plain:]
        return model

    def effort(self) -> Floats:
        """Features of each example."""
        return row_effort(self.blocks.rows, self.n_blocks)

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """0/1 vectors of the cuts."""
        return list(cuts.code.reshape(-1, self.structure.n_labels))

    def decode(self, model: Floats) -> Ints:
        """The best set of each row, (n, K)."""
        return self.predict_codes(model).code.reshape(-1, self.structure.n_labels)

    def keys(self) -> list[bytes] | None:
        """Digests of features, as the user numbers them, and of sets."""
        each = np.arange(self.n_blocks + 1)
        return row_digests(self.blocks.rows, self.number, self.blocks.y, each)
