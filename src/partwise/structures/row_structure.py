"""Structures whose inputs are the rows of a matrix: how they are packed."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from partwise.bounds import check_sparse
from partwise.compiled import plain_array
from partwise.features.arrays import DenseFeatures, Features, make_features
from partwise.features.label_keys import LabelKeys
from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints, Structure
from partwise.scorers.linear import SparseRows
from partwise.structures.digests import row_digests
from partwise.structures.packed import PackedProblem, ScoredProblem


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


def example_rows(X: Any) -> Features | DenseFeatures | LabelKeys:
    """`as_rows` of at least one example; `LabelKeys` as they are."""
    rows = X if isinstance(X, LabelKeys) else as_rows(X)
    if len(rows.offset) == 1:
        raise ValueError("X has no rows; give at least one example")
    return rows


def as_rows(X: Any) -> Features | DenseFeatures:
    """Rows of a matrix, each an example of its own.

    Examples
    --------
    >>> as_rows([[1.0, 0.0], [0.0, 2.0]]).offset
    array([0, 1, 2])
    """
    if hasattr(X, "offset"):
        n_rows = len(X.indptr) - 1 if hasattr(X, "indptr") else len(X.X)
        return X._replace(offset=np.arange(n_rows + 1))
    if hasattr(X, "tocsr"):
        if len(X.shape) != 2:
            raise ValueError(f"X has shape {X.shape}; it needs (examples, features)")
        check_sparse(X, "X")  # before scipy follows its arrays
        rows = X.tocsr()
        end = rows.indptr[-1]
        return make_features(
            rows.indptr, rows.indices[:end], rows.data[:end],
            np.arange(X.shape[0] + 1), X.shape[1],
        )  # fmt: skip
    try:
        dense = plain_array(X, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X is no matrix: {error}") from error
    if dense.ndim != 2:
        raise ValueError(f"X has shape {dense.shape}; it needs (examples, features)")
    return DenseFeatures(dense, np.arange(len(dense) + 1))


def padded(n_columns: int) -> int:
    """Columns of a model, including those that pad its rows to whole vectors.

    Weights of padding columns stay zero; no class has them.
    """
    if n_columns < 4:
        return n_columns
    unit = 4 if n_columns <= 12 else 8  # rows of many columns begin at cache lines
    return -(-n_columns // unit) * unit


def row_vector(x: Any) -> Floats:
    """A row of a dense or sparse matrix, (n_features,)."""
    dense = x.toarray() if hasattr(x, "toarray") else x
    return np.asarray(dense, np.float64).ravel()


def row_effort(rows: Any, n_rows: int) -> Floats:
    """Effort of a visit to each row: its features, and what a visit costs besides."""
    if isinstance(rows, SparseRows):
        return np.diff(rows.indptr) + 4.0
    return np.ones(n_rows)


class SetProblem(ScoredProblem):
    """What problems share whose outputs are sets: a 0 or 1 for each label.

    A model has a padded row of weights for each feature, then weights of another kind.
    Features may be renumbered; the plain layout is (n_features, K), then the rest.
    """

    def __init__(
        self, structure: Any, blocks: Any, plain_blocks: Any, n_rest: int, **named: Any
    ) -> None:
        width = blocks.width
        super().__init__(
            structure,
            blocks,
            plain_blocks,
            length=lambda rows: rows.n_features * width + n_rest,
            **named,
        )
        self.n_table = self.n_weights - n_rest  # weights of features

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
