"""`MeasureClassifier`: binary labels that optimise the measure you report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from partwise.outputs.labels import check_labels
from partwise.outputs.measure.metrics import trained_measure
from partwise.outputs.measure.model import MeasureModel, one_block
from partwise.outputs.row_estimator import KernelRowEstimator, counted_rows
from partwise.outputs.row_keys import ClassHasher
from partwise.outputs.row_refusals import with_remedies
from partwise.parameters import (
    ParameterError,
    check_choice,
    check_positive,
    check_whole,
)
from partwise.protocol import Floats
from partwise.structures.label_vector import LabelVector
from partwise.structures.label_vector.measures import MEASURES, WEIGHTED
from partwise.structures.label_vector.thresholds import best_threshold


@dataclass(eq=False, repr=False, kw_only=True)
class MeasureClassifier(ClassifierMixin, KernelRowEstimator):
    """Classify rows so that a measure of all of them is best.

    All rows are one example: minimises ½‖w‖² + C·ξ, where ξ is how much a wrong
    labelling ŷ of all rows comes too near: max_ŷ Δ(y, ŷ) − <w, Ψ(X, y) − Ψ(X, ŷ)>,
    with Ψ(X, y) = (1/n) Σ y_i x_i and Δ = 1 − measure (Joachims, ICML 2005).

    Parameters
    ----------
    measure : str or callable
        What to optimise: f1, fbeta, prbep, roc_auc, precision_at_k, recall_at_k, error,
        balanced_error, average_precision.
        Or a function of floats ``(tp, fp, fn, tn)``; see `LabelVector`.
    C : float or None
        Weight of the loss; by default a quarter of the number (or weight) of rows.
        For ``measure="error"`` this is C = 1 of liblinear.
    beta : float
        Of fbeta: recall counts so many times as much as precision.
    k : int or None
        Predicted positives of precision and recall at k; by default the true ones.
    pos_label : str, int or None
        The positive label; by default the last of the two in their order.
    fit_intercept : bool
        Whether there is a weight for a constant feature.
    kernel : str, Kernel, callable or None
        Compare rows by a kernel instead of by their features, as in ``"rbf"``.
        The model is then a coefficient per training row, without a constant feature.
    budget, over_budget, gram_options
        See `KernelParameters`.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; there is no ``loss="log"``. The default solver is a
        bundle method.

    Attributes
    ----------
    classes_ : array (2,)
    coef_ : array (1, n_features)
        With a kernel, of anchors.
    intercept_ : array (1,)
    threshold_ : float
        Rows that score higher are positive: where the measure of the training rows is
        best; for ROC area and average precision, which look at no labels, where as
        many training rows are positive as in truth.

    Examples
    --------
    >>> from partwise.datasets import toy_points
    >>> X, y = toy_points(200)
    >>> classifier = MeasureClassifier(measure="f1").fit(X, y == "red")
    >>> classifier.certificate_.relative_gap <= 1e-3
    True
    >>> classifier.decision_function(X).shape
    (200,)
    """

    measure: Any = "f1"
    beta: float = 1.0
    k: int | None = None
    pos_label: Any = None
    fit_intercept: bool = True
    loss: Literal["hinge"] = "hinge"

    model_: MeasureModel = field(init=False)
    classes_: np.ndarray = field(init=False)
    threshold_: float = field(init=False)
    model_class = MeasureModel

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        if not callable(self.measure):
            check_choice("measure", self.measure, MEASURES)
        check_positive("beta", self.beta)
        check_whole("k", self.k, 1)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None
    ) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array or sparse matrix (n, n_features)
        y : array (n,) of two different labels
        sample_weight : array (n,), optional
            How often each row counts in the measure, a whole number; any number for
            error and balanced_error with margin rescaling and an L1 penalty, which are
            sums over rows. Rows of weight 0 are left out.
        feature_names : list of str, optional
            Of the columns; those of a data frame are known.
        """
        self.check_parameters()
        X, y = self._training_rows(X, y)
        with with_remedies():
            check_classification_targets(y)
            if sample_weight is not None:
                sample_weight = _check_sample_weight(sample_weight, X)
        self._weighted = sample_weight is not None
        structure = LabelVector(self.measure, beta=self.beta, k=self.k)
        has_fractions = structure.weighs_rows(self._formulation())
        rows, weight = counted_rows(sample_weight, has_fractions)
        if sample_weight is not None:
            X, y = X[rows], y[rows]
        classes = np.unique(y)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported; y is {type_of_target(y)}, "
                f"with {len(classes)} classes; give one class against the rest"
            )
        if len(classes) < 2:
            raise ValueError("y has one class; a measure needs rows of two classes")
        check_labels(classes.tolist())
        self.classes_ = self._ordered(classes)
        truth = np.where(y == self.classes_[1], 1, -1)
        labels = self.classes_.tolist()
        hasher = ClassHasher(labels[1:], structure)
        fit = self._scoring_fit(X, feature_names, hasher, self.fit_intercept)
        n_jobs = self._n_jobs()
        problem = structure.pack(
            one_block(fit.parts), truth, self._formulation(), n_jobs=n_jobs,
            scorer=fit.scorer(n_jobs), row_weight=weight,
        )  # fmt: skip
        self._total_weight = float(len(y) if weight is None else weight.sum())
        model = MeasureModel(None, structure, labels, np.zeros(0), 0.0, {})
        weights = self._learn(model, problem, fit)
        scores = problem.scores(problem.expand(weights))
        self.threshold_ = model.threshold = best_threshold(
            structure, truth, scores, weight
        )
        return self._keep(model)

    def _ordered(self, classes: np.ndarray) -> np.ndarray:
        """The two classes, the positive one last."""
        if self.pos_label is None:
            return classes
        is_positive = np.array([str(c) == str(self.pos_label) for c in classes])
        if not is_positive.any():
            names = ", ".join(map(str, classes))
            raise ParameterError("pos_label", self.pos_label, f"y has {names}")
        return classes if is_positive[-1] else classes[::-1]

    def _default_C(self, n: int) -> float:
        return self._total_weight / 4

    # ---------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Floats:
        """Scores above the threshold, (n,)."""
        rows = self._rows(X)
        return self.model_.scores(rows, n_jobs=self._n_jobs())

    def margin(self, X: Any) -> Floats:
        """Distance of each row's score from the threshold, twice: (n, 2)."""
        distance = np.abs(self.decision_function(X))
        return np.column_stack([distance, distance])

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row, (n,)."""
        is_positive = self.decision_function(X) > 0
        return self.classes_[is_positive.astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The measure that was trained, by its settings; 1 − error for errors.

        Classifiers of scikit-learn return their accuracy; here `GridSearchCV` should
        choose by what is trained, without ``scoring=``. PRBEP, precision and recall at
        k look at the best rows of X, whatever the threshold.
        """
        scores = self.decision_function(X)
        structure = self.model_.structure
        with with_remedies():
            y = column_or_1d(y)
            check_consistent_length(scores, y)
            if sample_weight is not None:
                sample_weight = _check_sample_weight(sample_weight, scores)
        rows, weight = counted_rows(sample_weight, structure.measure in WEIGHTED)
        truth, scores = (y == self.classes_[1])[rows], scores[rows]
        _, value = trained_measure(structure, truth, scores > 0, scores, weight)
        return 1.0 - value if structure.measure in WEIGHTED else value

    # --------------------------------------------------------- files, attributes

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that `save` or the command line wrote."""
        classifier = super().load(path)
        model = classifier.model_
        classifier.classes_ = np.array(model.labels)
        classifier.threshold_ = model.threshold
        return classifier

    @property
    def coef_(self) -> Floats:
        """Weights of features, (1, n_features); with a kernel, of anchors."""
        n_weights = None if self.model_.scoring.prefix else self.n_features_in_
        return self.model_.weights[None, :n_weights]

    @property
    def intercept_(self) -> Floats:
        """What is added to the products: the constant's weight minus the threshold."""
        constant = self.model_.weights[self.coef_.shape[1] :].sum()
        return np.array([constant - self.threshold_])
