"""`MulticlassClassifier`: one of K classes with scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from partwise.outputs.labels import check_labels
from partwise.outputs.multiclass.model import MulticlassModel
from partwise.outputs.row_estimator import KernelRowEstimator, RowClassifier
from partwise.outputs.row_keys import ClassHasher
from partwise.outputs.row_refusals import with_remedies
from partwise.outputs.support import support_of
from partwise.parameters import level_of_caller
from partwise.protocol import Floats
from partwise.structures.losses.named import cost_table
from partwise.structures.multiclass import Multiclass


def _has_probabilities(classifier: Any) -> bool:
    if classifier.loss != "log":
        raise AttributeError("predict_proba needs a fit with loss='log'")
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class MulticlassClassifier(RowClassifier, KernelRowEstimator):
    """Classify rows of a matrix with the multiclass margin of Crammer and Singer.

    Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong class ŷ of row i
    comes too near: max_ŷ Δ(y_i, ŷ) − <w, φ(x_i, y_i) − φ(x_i, ŷ)>, with a vector of
    weights for each class: φ(x, y) = x ⊗ e_y.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default the number of rows, which is C = 1 of
        liblinear.
    cost : "zero_one", dict or array (K, K)
        The loss Δ: 1 for a wrong class, or the cost of a class for a true class,
        ``{(true, predicted): cost}``, else 1, in the order of ``classes_``.
    class_weight : dict, "balanced" or None
        Factors of the losses of each class.
    fit_intercept : bool
        Whether classes have a threshold, which is a weight like any other.
    kernel : str, Kernel, callable or None
        Compare rows by a kernel instead of by their features, as in ``"rbf"``.
        The model is then coefficients of training rows. Needs a table of all pairs of
        them, and has no threshold.
    budget, over_budget, gram_options
        See `KernelParameters`.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; ``loss="log"`` is multinomial logistic regression.

    Attributes
    ----------
    classes_ : array (K,)
    coef_ : array (K, n_features)
    intercept_ : array (K,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = MulticlassClassifier(C=300.0).fit(X, y)
    >>> classifier.score(X, y) > 0.95
    True
    >>> classifier.decision_function(X).shape
    (150, 3)
    """

    cost: Any = "zero_one"
    class_weight: Any = None

    model_: MulticlassModel = field(init=False)
    model_class = MulticlassModel
    keeps_dual = True

    # ------------------------------------------------------------------ learning

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None
    ) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : array or sparse matrix (n, n_features)
        y : array (n,)
        sample_weight : array (n,), optional
        feature_names : list of str, optional
            Of the columns; those of a data frame are known.
        """
        self.check_parameters()
        X, y = self._training_rows(X, y)
        with with_remedies():
            check_classification_targets(y)
        X, y, weight = self._used_rows(X, y, sample_weight)
        self._weighted = sample_weight is not None or self.class_weight is not None
        last = self._last_model
        self.classes_ = self._all_classes(y) if last is None else np.array(last.labels)
        check_labels(self.classes_.tolist())
        if len(self.classes_) == 1:
            warnings.warn(
                f"y has one class, {self.classes_[0]!s}; every prediction will be it",
                stacklevel=level_of_caller(),
            )
        codes = np.searchsorted(self.classes_, y)
        if last is not None and not np.isin(y, self.classes_).all():
            raise ValueError("y has a class that the last model does not know")
        if self.class_weight is not None:
            factors = compute_class_weight(
                self.class_weight, classes=self.classes_, y=y
            )
            weight = weight * factors[codes]
        self._total_weight = float(weight.sum())
        structure = self._structure()
        hasher = ClassHasher(self.classes_.tolist(), structure)
        fit = self._scoring_fit(X, feature_names, hasher, self.fit_intercept)
        n_jobs = self._n_jobs()
        problem = structure.pack(
            fit.parts, codes, self._formulation(), n_jobs=n_jobs,
            scorer=fit.scorer(n_jobs),
        )  # fmt: skip
        model = self.model_class(None, structure, hasher.labels, np.zeros(0))
        inputs, offset = fit.support_inputs, fit.offset
        support = support_of(inputs, offset, problem, lambda row: ["row"])
        self._learn(model, problem, fit, weight, support)
        return self._keep(model)

    def _all_classes(self, y: np.ndarray) -> np.ndarray:
        """What may be predicted, in order: the classes of the training rows."""
        return np.unique(y)

    def _structure(self) -> Any:
        """The structure over ``classes_``."""
        return Multiclass(len(self.classes_), cost=self._cost())

    def _cost(self) -> Any:
        """The cost of classes for true classes, in numbers."""
        if not isinstance(self.cost, dict):
            return self.cost
        return cost_table("cost", self.cost, self.classes_.tolist())

    # ---------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Floats:
        """Scores of classes, (n, K); of two classes the lead of the second, (n,)."""
        scores = self.model_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def model_scores(self, X: Any) -> Floats:
        """Scores of all classes, (n, K), however many there are."""
        rows = self._rows(X)
        return self.model_.scores(rows, n_jobs=self._n_jobs())

    def predict(self, X: Any) -> np.ndarray:
        """The class of highest score of each row, (n,)."""
        best = np.argmax(self.model_scores(X), axis=1)
        return self.classes_[best]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """P(class), (n, K), of a fit with ``loss="log"``."""
        rows = self._rows(X)
        return self.model_.marginals(rows, n_jobs=self._n_jobs())
