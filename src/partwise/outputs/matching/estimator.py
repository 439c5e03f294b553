"""`AssignmentMatcher`: matchings with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.estimator import as_object_array
from partwise.outputs.matching.model import MatchingModel
from partwise.outputs.rows import RowFeatureScoring, RowFeaturizer
from partwise.outputs.saved_estimator import SavedEstimator
from partwise.parameters import ParameterError
from partwise.structures.matching import CandidatePairs, Matching


@dataclass(eq=False, repr=False, kw_only=True)
class AssignmentMatcher(SavedEstimator):
    """Learn to match the items of two sides, from features of pairs.

    Minimises ½‖w‖² + (C/n) Σ_i ξ_i over the n examples, where ξ_i is how much a wrong
    matching comes too near; the most violated one is a linear assignment (Taskar,
    Lacoste-Julien, Klein, EMNLP 2005).

    Parameters
    ----------
    unmatched : bool
        Items may stay without a partner.
        Else all items of the smaller side have one.
    missed : float
        Cost of a true pair that is not predicted.
    invented : float
        Cost of a predicted pair that is not true.
    C : float or None
        Weight of the losses; by default the number of examples.
    fit_intercept : bool
        With unmatched items, learn what a pair must score at least.
    metric : str
        What `score` measures.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; there is no ``loss="log"``.

    Attributes
    ----------
    coef_ : array (n_features,)

    Examples
    --------
    >>> from partwise.datasets import toy_matchings
    >>> X, y = toy_matchings(40)
    >>> matcher = AssignmentMatcher().fit(X[:30], y[:30])
    >>> matcher.predict(X[30:])[0].shape
    (6,)
    >>> matcher.score(X[30:], y[30:]) > 0.8
    True
    """

    unmatched: bool = False
    missed: float = 1.0
    invented: float = 1.0
    fit_intercept: bool = True
    metric: str = "pair_f1"
    loss: Literal["hinge"] = "hinge"

    model_: MatchingModel = field(init=False)
    model_class = MatchingModel
    measured = "matchings"
    as_given = ("fit_intercept",)  # models have one only with unmatched items

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        for name in ("missed", "invented"):
            cost = getattr(self, name)
            if not 0.0 <= cost < np.inf:
                raise ParameterError(name, cost, "give a cost that is not negative")

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None
    ) -> Self:
        """Learn from candidate pairs and true matchings.

        Parameters
        ----------
        X : list
            Arrays (n_left, n_right, n_features), or tuples (features, pairs, shape):
            a row of a matrix for each candidate pair, dense or CSR, its items
            (n_pairs, 2), and the numbers of items of both sides.
        y : list
            The right item of each left one, −1 for none; or arrays of pairs (k, 2).
        sample_weight : array (n,), optional
        feature_names : list of str, optional
        """
        self.check_parameters()
        if not len(X):
            raise ValueError("X is empty: give at least one example")
        n = CandidatePairs.create(X[0]).features.shape[1]
        names = [f"x{k}" for k in range(n)] if feature_names is None else feature_names
        if len(names) != n:
            raise ValueError(f"feature_names has {len(names)} names for {n} features")
        has_intercept = self.fit_intercept and self.unmatched
        featurizer = RowFeaturizer(n, list(map(str, names)), has_intercept)
        structure = Matching(self.unmatched, self.missed, self.invented)
        model = MatchingModel(RowFeatureScoring(featurizer), structure, np.zeros(0), {})
        problem = model.training_problem(X, y, self._formulation(), self._n_jobs())
        return self._learn_weights(model, problem, sample_weight)

    def _default_C(self, n: int) -> float:
        return float(n)

    def predict(self, X: Any) -> np.ndarray:
        """The right item of each left one, −1 for none: an array per example."""
        self._check_fitted()
        return as_object_array(self.model_.predict(X, n_jobs=self._n_jobs()))
