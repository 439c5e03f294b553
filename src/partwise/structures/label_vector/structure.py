"""Label vectors: all rows of a matrix are one example, judged by one measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from partwise.features.label_keys import LabelKeys
from partwise.objective import MARGIN, Formulation
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.structures.label_vector.measures import (
    RANKED,
    WEIGHTED,
    ContingencyLoss,
    contingency_loss,
    count_table,
)
from partwise.structures.label_vector.problem import pack_labels
from partwise.structures.pair_orders import PairOrders
from partwise.structures.ranking import Ranking
from partwise.structures.weighted_rows import (
    WeightedRowsProblem,
    WeightedRowsStructure,
    as_blocks,
    row_keys,
)


class LabelVector(WeightedRowsStructure):
    """Labels of all rows at once, for measures that are no sums over rows.

    An input x is a matrix (rows × features), sparse or dense, an output a label −1 or 1
    for each row, with Ψ(x, y) = (1/n) Σ y_i x_i. The best output has the signs of the
    scores <w, x_i>, or as many positive labels as the measure asks for. For
    ``"roc_auc"`` an output orders all pairs of a positive and a negative row
    (`PairOrders`), with Ψ = (1/(2PN)) Σ y_ij (x_i − x_j); for ``"average_precision"``
    it ranks all rows (`RankedRows`), with the same Ψ: the matrix is a query of
    `Ranking`.

    Parameters
    ----------
    measure : str or callable
        ``"f1"``, ``"fbeta"``, ``"prbep"``, ``"roc_auc"``, ``"precision_at_k"``,
        ``"recall_at_k"``, ``"error"``, ``"balanced_error"``, ``"average_precision"``:
        see `measures.py`; or a function of floats ``(tp, fp, fn, tn)`` that numba can
        compile, 1 for the truth and in [0, 1] elsewhere, defined also where nothing is
        predicted positive.
    beta : float
        Of ``"fbeta"``: recall counts β times as much as precision.
    k : int or None
        Predicted positives of ``"precision_at_k"`` and ``"recall_at_k"``; None takes
        the number of positive rows.

    Notes
    -----
    With one matrix the objective is ½‖w‖² + C·ξ. ``measure="error"`` is the linear SVM
    ½‖v‖² + c Σ max(0, 1 − y_i <v, x_i>) with c = 4C/n and v = 2w. Slack rescaling, L2
    penalties and hard margins have exact searches for all measures of labels, but not
    for the two of orders. The search for average precision takes O(n log n + P·N).

    Joachims: A support vector method for multivariate performance measures, ICML 2005.

    Examples
    --------
    >>> x = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> y = np.array([1, -1, 1, -1])
    >>> labels = LabelVector("f1").setup([x], [y])
    >>> labels.argmax(x, np.array([0.5]))
    array([ 1,  1, -1, -1], dtype=int8)
    >>> labels.loss(y, [1, 1, -1, -1])
    0.5
    >>> labels.loss_augmented_argmax(x, y, np.array([0.1]))
    array([-1,  1, -1, -1], dtype=int8)
    """

    def __init__(
        self, measure: Any = "f1", beta: float = 1.0, k: int | None = None
    ) -> None:
        self.measure = measure
        self.beta = beta
        self.k = k

    @property
    def is_pairwise(self) -> bool:
        """Whether outputs are orders of rows, which scores predict."""
        return isinstance(self.measure, str) and self.measure in RANKED

    @property
    def _ranking(self) -> Ranking | None:
        """The structure of rankings, for average precision."""
        is_ranking = self.is_pairwise and self.measure != "roc_auc"
        return Ranking(self.measure) if is_ranking else None

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Number of features, and the share of positive rows, for `argmax`."""
        self.n_psi_ = X[0].shape[1]
        y = np.concatenate([np.asarray(y) for y in Y])
        self.positive_share_ = float(np.mean(y > 0))
        return self

    def loss_of(self, y: Any, weight: Any = None) -> ContingencyLoss:
        """The loss over tables of true and false positives, for these labels."""
        is_positive = np.asarray(y) > 0
        if weight is None:
            n_positive: float = int(np.sum(is_positive))
            n_negative = len(y) - n_positive
        else:
            n_positive = float(np.sum(weight[is_positive]))
            n_negative = float(np.sum(weight[~is_positive]))
        return contingency_loss(self.measure, n_positive, n_negative, self.beta, self.k)

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, y); y is an output, or true labels."""
        if self._ranking is not None:
            return self._ranking.joint_feature(x, y)
        if self.is_pairwise:
            orders = y if isinstance(y, PairOrders) else PairOrders.truth(y)
            return orders.feature(x)
        return np.asarray(x.T @ np.asarray(y, np.float64)).ravel() / len(y)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of labels, or of orders of rows; for the latter scores will do, too."""
        if self._ranking is not None:
            return self._ranking.loss(as_positive(y), y_hat)
        if self.is_pairwise:
            if not isinstance(y_hat, PairOrders):
                y_hat = PairOrders.of(y, y_hat)
            return y_hat.loss
        return self.loss_of(y)(*count_table(y, y_hat))

    def label_keys(self, n_rows: int) -> LabelKeys:
        """Keys of a matrix of so many rows, for a `KernelScorer`."""
        return row_keys([0, n_rows])

    def n_predicted(self, n: int) -> int:
        """Positive labels among n rows, −1 where scores decide."""
        if isinstance(self.measure, str):
            if self.measure.endswith("_at_k") and self.k is not None:
                return min(self.k, n)
            if self.measure in ("prbep", "precision_at_k", "recall_at_k"):
                return round(n * self.positive_share_)
        return -1

    def argmax(self, x: Any, w: Floats) -> Any:
        """The best labels; for ROC area and average precision the scores.

        ``"prbep"`` predicts as large a share of positive rows as `setup` has seen.
        """
        score = np.asarray(x @ w).ravel()
        if self.is_pairwise:
            return score
        size = self.n_predicted(len(score))
        if size < 0:
            return np.where(score > 0, 1, -1).astype(np.int8)
        labels = np.full(len(score), -1, np.int8)
        labels[np.argsort(-score, kind="stable")[:size]] = 1
        return labels

    def weighs_rows(self, formulation: Formulation) -> bool:
        """Whether rows may have weights that are no whole numbers."""
        has_sum = isinstance(self.measure, str) and self.measure in WEIGHTED
        return has_sum and formulation.rule == MARGIN

    def pack(
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
        row_weight: Any = None,
    ) -> Any:
        """Lay rows out for a solver, see `RowStructure.pack`.

        Parameters
        ----------
        row_weight : array (n_rows,), optional
            How much each row counts, in the loss and in Ψ: positive numbers. Only for
            ``"error"`` and ``"balanced_error"`` with margin rescaling and an L1
            penalty; other measures count rows.
        """
        if row_weight is None:
            return super().pack(X, Y, formulation, n_jobs=n_jobs, scorer=scorer)
        formulation = (formulation or Formulation()).validate()
        if not self.weighs_rows(formulation):
            raise CapabilityError(
                f"measure={self.measure!r} with {formulation.rescaling} rescaling and "
                f"penalty {formulation.penalty!r} has no `row_weight`: repeat rows"
            )
        return pack_labels(self, X, Y, formulation, n_jobs, scorer, row_weight)

    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> WeightedRowsProblem:
        """Blocks with labels of rows: 1, and −1 or 0."""
        if self._ranking is not None:
            X, truths = as_blocks(X, Y)
            Y = [as_positive(y) for y in truths]
            for y in Y:
                self.loss_of(y)  # refuses rows of one class
            return self._ranking.pack_rows(X, Y, formulation, n_jobs, scorer)
        return pack_labels(self, X, Y, formulation, n_jobs, scorer)


def as_positive(y: Any) -> Ints:
    """1 where a label is positive, else 0; refuses anything but −1, 0, 1."""
    y = np.asarray(y)
    if not np.isin(y, (-1, 0, 1)).all() or (np.isin(-1, y) and np.isin(0, y)):
        raise ValueError("labels of rows: give 1 and −1, or 1 and 0")
    return (y > 0).astype(np.uint8)
