"""What estimators share that take a matrix and predict for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from partwise.outputs.explanation import Explanation
from partwise.outputs.rows import RowFeaturizer, ScoreModel, one_row
from partwise.outputs.saved import SavedEstimator
from partwise.outputs.scoring import WARM
from partwise.protocol import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class RowEstimator(SavedEstimator):
    """Base of estimators over the rows of a matrix, dense or sparse."""

    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    def __sklearn_tags__(self) -> Any:
        """Sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        """X and y, checked; a CSR matrix stays one. Sets ``n_features_in_``."""
        return validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, **checks
        )

    def _rows(self, X: Any) -> Any:
        """New rows, checked against those of training."""
        self._check_fitted()
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=np.float64
        )

    def _featurizer(self, names: Any, *, has_intercept: bool) -> RowFeaturizer:
        """Features of rows; `names` of columns, those of a data frame, or x0, x1, …."""
        n = self.n_features_in_
        if names is None:
            names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(n)])
        if len(names) != n:
            raise ValueError(
                f"feature_names has {len(names)} names where X has {n} columns"
            )
        return RowFeaturizer(n, list(map(str, names)), has_intercept)

    def _learn_scores(
        self, model: ScoreModel, problem: Any, first: Floats | None = None
    ) -> Floats:
        """
        Learn the weights of a model that scores rows, and keep it as ``model_``.

        Parameters
        ----------
        model : ScoreModel
        problem : Problem
        first : array (n_features,), optional
            Weights to begin with, where there is no last model.

        Returns
        -------
        array (n,)
            Scores of the training rows.
        """
        last = getattr(self, "model_", None) if self.warm_start else None
        n_features = model.featurizer.n_features_
        if last is not None and len(last.weights) != n_features:
            raise ValueError(
                f"{WARM}, which has {len(last.weights)} features, but X has "
                f"{n_features}"
            )
        self._weighted = False
        weights = first if last is None else last.weights
        start = None if weights is None else problem.expand(weights)
        state, _ = self._solve(problem, None, start)
        model.weights = problem.compact(state.model)
        model.info = {"certificate": self.certificate_.to_dict()}
        self.model_ = model
        self._remove_checkpoints()
        return problem.scores(state.model)

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Why the prediction for one row, (n_features,) or (1, n_features), won."""
        rows = self._rows(one_row(x))
        return self.model_.explain_row(rows, top=top)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that `save` or the command line wrote."""
        estimator = super().load(path)
        estimator.n_features_in_ = estimator.model_.featurizer.n_columns
        return estimator
