"""Base classes of estimators that take a matrix and predict for each row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from partwise.bounds import check_sparse
from partwise.kernels.inputs import token_inputs
from partwise.outputs.explanation import Explanation
from partwise.outputs.kernel_fit import (
    KernelFit,
    KernelParameters,
    begin_features,
    read_kernel,
)
from partwise.outputs.row_keys import ClassHasher, RowKeyScoring
from partwise.outputs.row_refusals import refuse_missing, with_remedies
from partwise.outputs.rows import RowFeatureScoring, RowFeaturizer, one_row
from partwise.outputs.saved_estimator import SavedEstimator
from partwise.outputs.scoring import WARM, FeatureFit, ScoringFit
from partwise.protocol import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class RowEstimator(SavedEstimator):
    """Base of estimators over the rows of a matrix, dense or sparse."""

    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    def __sklearn_tags__(self) -> Any:
        """Sparse matrices are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
        """X and y, checked; a CSR matrix stays one. Sets ``n_features_in_``."""
        check_sparse(X, "X")  # before scikit-learn follows its arrays
        with with_remedies():
            if y is None:
                raise ValueError(
                    f"This {type(self).__name__} estimator requires y to be passed, "
                    "but the target y is None"
                )
            refuse_missing(y)
            return validate_data(
                self, X, y, accept_sparse="csr", dtype=np.float64, **checks
            )

    def _rows(self, X: Any) -> Any:
        """New rows, checked against those of training."""
        self._check_fitted()
        check_sparse(X, "X")  # before scikit-learn follows its arrays
        with with_remedies():
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

    @property
    def feature_names_(self) -> list[str]:
        """Names beside ``coef_``: columns, x0, x1, … where they have none.

        With a kernel, those of the anchors.
        """
        scoring = self.model_.scoring
        names = list(scoring.feature_names)
        return names if scoring.prefix else names[: self.n_features_in_]

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


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRowEstimator(KernelParameters, RowEstimator):
    """Base of estimators over rows that may compare them by a kernel."""

    kernel: Any = None

    def _scoring_fit(
        self, X: Any, names: Any, hasher: ClassHasher, has_intercept: bool
    ) -> ScoringFit:
        """Rows as features, or as inputs of a kernel with the keys of `hasher`."""
        last = self._last_model
        if self.kernel is None:
            begin_features(self, last)
            featurizer = self._featurizer(names, has_intercept=has_intercept)
            if last is not None:
                n_last = last.featurizer.n_features_
                if n_last != featurizer.n_features_:
                    raise ValueError(
                        f"{WARM}, which has {n_last} features, but X has "
                        f"{featurizer.n_features_}"
                    )
            return FeatureFit(RowFeatureScoring(featurizer), featurizer.transform(X))
        kernel, options = read_kernel(self, "float64")
        featurizer = self._featurizer(names, has_intercept=False)
        if last is not None:
            last.scoring.check_start(kernel, hasher.match)
        features: Any = featurizer.transform(X)
        length = np.diff(hasher.transform(X).offset)
        return KernelFit(
            RowKeyScoring, kernel, hasher, X, token_inputs(kernel, features), options,
            by_token=True, words=lambda i: [""] * int(length[i]), featurizer=featurizer,
            budget=self.budget, over_budget=self.over_budget, support_inputs=features,
        )  # fmt: skip


@dataclass(eq=False, repr=False, kw_only=True)
class RowClassifier(ClassifierMixin, RowEstimator):
    """Base of classifiers with a weight for each feature and class.

    Parameters
    ----------
    fit_intercept : bool
        Whether classes have a threshold, which is a weight like any other.
    """

    fit_intercept: bool = True

    classes_: np.ndarray = field(init=False)
    _total_weight: float = field(init=False)  # of the training rows

    def _used_rows(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Floats]:
        """The rows of positive weight, with their weights."""
        with with_remedies():
            weight = _check_sample_weight(weight, X)
        if (weight < 0).any():
            raise ValueError("sample_weight: give numbers of at least zero")
        used = weight > 0
        return X[used], y[used], weight[used]

    def _default_C(self, n: int) -> float:
        return self._total_weight

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that `save` or the command line wrote."""
        classifier = super().load(path)
        classifier.classes_ = np.array(classifier.model_.labels)
        return classifier

    @property
    def coef_(self) -> Any:
        """Weights of features for classes; with a kernel, of anchors, sparse."""
        model = self.model_
        if model.scoring.prefix:
            return model.scoring.coefficients(model.weights, len(model.labels))
        return model.class_weights().T[:, : self.n_features_in_]

    @property
    def intercept_(self) -> Floats:
        """Thresholds of classes; zeros without them."""
        model = self.model_
        if model.scoring.prefix or not model.featurizer.has_intercept:
            return np.zeros(len(model.labels))
        return model.class_weights()[-1]


def counted_rows(weight: Any, has_fractions: bool) -> tuple[Any, Floats | None]:
    """Rows that count, each as often as it does; with fractions once, and weights.

    A measure is a function of how many rows are right and wrong, so a row may count
    several times or not at all, but not one and a half times, unless it is a sum.
    """
    if weight is None:
        return slice(None), None
    if (weight < 0).any():
        raise ValueError("sample_weight: give numbers of at least zero")
    if has_fractions:
        rows = np.flatnonzero(weight)
        return rows, weight[rows]
    times = np.round(weight)
    if (weight != times).any():
        raise ValueError(
            "sample_weight: this measure counts rows, so give whole numbers, how often "
            "each row counts"
        )
    return np.repeat(np.arange(len(weight)), times.astype(np.int64)), None
