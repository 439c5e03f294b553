"""One of K classes.

Ψ(x, y) = Φ(x) ⊗ Λ(y) with a row Λ(y) of attributes for each class. By default Λ is the
identity: every class has its own weights, and margin rescaling with an L1 penalty is
the multiclass machine of Crammer and Singer (JMLR 2001). In a taxonomy Λ(y) marks a
class and its ancestors. K outputs are few enough to look at, so the search is exact for
every loss and formulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.compiled import plain_array
from partwise.features.label_keys import LabelKeys
from partwise.objective import HARD, Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers.linear import LinearScorer
from partwise.structures._packed_compiled import squares_of_rows
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.multiclass._compiled import MulticlassBlocks
from partwise.structures.multiclass._reference import MulticlassReference
from partwise.structures.multiclass._simplex_step import SimplexBlocks
from partwise.structures.multiclass.problem import (
    MulticlassProblem,
)
from partwise.structures.row_structure import RowStructure, example_rows, padded


class Multiclass(MulticlassReference, RowStructure):
    """One of K classes.

    Parameters
    ----------
    n_classes : int
        Classes are the integers below it.
    cost : "zero_one" or array (K, K)
        The loss: 1 for any wrong class, or the cost of predicting the column's class
        for the row's, ≥ 0 with a zero diagonal. A wrong class may cost nothing: then
        margin rescaling asks that it score no higher than the truth.
    attributes : array or sparse matrix (K, D), optional
        Λ, a row for each class. None is the identity.

    Notes
    -----
    Weights of classes and examples are those of the objective (`sample_weight`). A
    threshold is a column of ones in X.

    Visits of Frank-Wolfe are exact steps over all classes (`_simplex_step.py`) with an
    L1 penalty and margin rescaling where Λ is the identity; otherwise they are those of
    all structures.

    Examples
    --------
    >>> from partwise.objective import Objective
    >>> from partwise.solvers.bcfw import BCFW
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> problem = Multiclass(3).pack(X, [0, 1, 2])
    >>> state = BCFW(tol=1e-6).solve(problem, Objective.create(30.0, 3, "l1"))
    >>> problem.decode(state.model)
    array([0, 1, 2], dtype=int32)
    >>> problem.compact(state.model).reshape(2, 3).round(2)  # (features, classes)
    array([[ 1.33, -1.67,  0.33],
           [-1.67,  1.33,  0.33]])
    """

    def __init__(
        self, n_classes: int, cost: Any = "zero_one", attributes: Any = None
    ) -> None:
        self.n_classes = n_classes
        self.cost = cost
        self.attributes = attributes

    def cost_matrix(self) -> Floats:
        """Loss of predicting the column's class for the row's, shape (K, K)."""
        size = self.n_classes
        if isinstance(self.cost, str):
            if self.cost != "zero_one":
                raise SettingsError(
                    f"<cost={self.cost!r}>: choose 'zero_one' or give a matrix"
                )
            return 1.0 - np.eye(size)
        matrix = plain_array(self.cost, np.float64)
        if matrix.shape != (size, size):
            raise ValueError(
                f"cost has shape {matrix.shape} where there are {size} classes"
            )
        check_magnitude(matrix, MAX_FEATURE, "cost")
        if (matrix < 0).any() or np.diagonal(matrix).any():
            raise ValueError("cost: entries must be ≥ 0 and the diagonal zero")
        return matrix

    def attribute_matrix(self) -> Floats:
        """Λ, shape (K, D)."""
        size, given = self.n_classes, self.attributes
        if given is None:
            return np.eye(size)
        dense = given.toarray() if hasattr(given, "toarray") else given
        matrix = plain_array(dense, np.float64)
        if matrix.ndim != 2 or len(matrix) != size or not matrix.shape[1]:
            raise ValueError(
                f"attributes has shape {matrix.shape}; give a row for each of the "
                f"{size} classes"
            )
        check_magnitude(matrix, MAX_FEATURE, "attributes")
        return matrix

    def label_keys(self, n_rows: int) -> LabelKeys:
        """Keys of all classes of so many inputs, for a `KernelScorer`.

        A class has the attributes whose numbers are its keys, so Λ must consist of
        zeros and ones.
        """
        matrix, size = self.attribute_matrix(), self.n_classes
        if not np.isin(matrix, (0.0, 1.0)).all():
            raise CapabilityError(
                "a kernel compares classes by the attributes they have: give zeros and "
                "ones as attributes, or train on features"
            )
        n_keys = max(1, int(matrix.sum(axis=1).max()))
        rank = np.argsort(-matrix, axis=1, kind="stable")[:, :n_keys]
        key = np.where(np.take_along_axis(matrix, rank, 1) > 0, rank, -1)
        first = np.arange(n_rows + 1, dtype=np.int64) * size
        return LabelKeys(
            np.arange(n_rows + 1, dtype=np.int64), first, first[:-1].copy(),
            np.tile(key.astype(np.int64), (n_rows, 1)), size, False,
        )  # fmt: skip

    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> MulticlassProblem:
        """The problem of these rows; Y has the class of each.

        With a kernel, keys stand for attributes: parts are the scores of classes.
        """
        size = self.n_classes
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"n_classes={size!r}: give a whole number, at least 1")
        cost = self.cost_matrix()
        scorer = scorer or LinearScorer()
        features: Any = example_rows(X)
        n_rows = len(features.offset) - 1
        attributes = self.attribute_matrix() if scorer.is_euclidean else np.eye(size)
        width = padded(attributes.shape[1])
        rows = scorer.bind(features, width)
        y: Ints = np.zeros(n_rows, np.int32)
        number = None
        if Y is not None:
            y = check_classes(Y, n_rows, size)
            rows, number = scorer.ordered(rows)
        b, scale = formulation.planes(cost)
        place = np.nonzero(attributes)
        blocks = MulticlassBlocks(
            rows=rows,
            y=y,
            cost=cost,
            b=b,
            scale=scale,
            is_hard=int(formulation.rule == HARD),
            square=np.zeros(0),
            first=np.append(0, np.cumsum(np.bincount(place[0], minlength=size))),
            attribute=place[1].astype(np.int32),
            degree=attributes[place],
            is_unit=int(np.array_equal(attributes, np.eye(size))),
            width=width,
        )
        local = None
        if Y is not None:
            local_rows = scorer.local(rows, features.offset)
            local = blocks._replace(rows=local_rows)
            if formulation.is_additive and _are_apart(blocks, features):
                square = np.empty(n_rows)
                room = np.zeros(local_rows.n_features * width)
                squares_of_rows(local_rows, room, width, square)
                blocks = SimplexBlocks(*blocks._replace(square=square))
        kind = with_kernel(MulticlassProblem, scorer)
        return kind(self, blocks, local, formulation, n_jobs, scorer, number)

    def decode(self, X: Any, w: Floats) -> list[int]:
        """The best class of each row."""
        problem = self.pack(X, None)
        return problem.decode(problem.expand(w)).tolist()


def check_classes(Y: Any, n_rows: int, n_classes: int) -> Ints:
    """Classes as the kernels want them; refuses what is not one per row."""
    y = np.asarray(Y)
    if y.shape != (n_rows,):
        raise ValueError(f"Y has shape {y.shape} where X has {n_rows} rows")
    if y.dtype.kind not in "iu":
        raise ValueError(f"Y holds {y.dtype}; classes are whole numbers from 0 on")
    wrong = np.flatnonzero((y < 0) | (y >= n_classes))
    if len(wrong):
        raise ValueError(
            f"Y[{wrong[0]}] is {y[wrong[0]]}; classes are 0 to {n_classes - 1}"
        )
    return plain_array(y, np.int32)


def _are_apart(blocks: MulticlassBlocks, features: Any) -> bool:
    """Whether no two classes of a row share an attribute."""
    if not isinstance(features, LabelKeys):
        return bool(blocks.is_unit)
    key = features.key
    if key.shape[1] != 1 or (key < 0).any():
        return False
    ranked = np.sort(key.reshape(-1, features.n_labels), axis=1)
    return bool((ranked[:, 1:] > ranked[:, :-1]).all())
