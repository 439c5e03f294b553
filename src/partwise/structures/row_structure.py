"""Structures whose inputs are the rows of a matrix: how they are packed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Floats, Structure
from partwise.scorers.linear import SparseRows
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


def row_effort(rows: Any, n_rows: int) -> Floats:
    """Effort of a visit to each row: its features, and what a visit costs besides."""
    if isinstance(rows, SparseRows):
        return np.diff(rows.indptr) + 4.0
    return np.ones(n_rows)
