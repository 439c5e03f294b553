"""`Ranker`: orders of the rows of queries with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.estimator import as_object_array
from partwise.outputs.explanation import Explanation
from partwise.outputs.latent_estimator import CompletingEstimator
from partwise.outputs.multiclass.estimator import MulticlassClassifier
from partwise.outputs.ranking.metrics import all_measures, trained_measure
from partwise.outputs.ranking.model import RankingModel
from partwise.outputs.row_estimator import RowEstimator
from partwise.outputs.rows import RowFeatureScoring, count_rows
from partwise.parameters import SettingsError, check_whole
from partwise.protocol import Floats
from partwise.structures.ranking import Ranking
from partwise.structures.ranking.measures import PLACE_MEASURES
from partwise.structures.ranking.queries import by_query, refuse_equal_grades, stacked


@dataclass(eq=False, repr=False, kw_only=True)
class Ranker(CompletingEstimator, RowEstimator):
    """Learn scores that rank the rows of queries by their relevance.

    Minimises ½‖w‖² + (C/n) Σ_q ξ_q over the n queries, where ξ_q is how much a wrong
    ranking of query q comes too near, by the measure: the share of swapped pairs
    (Joachims, KDD 2002), 1 − average precision (Yue et al., SIGIR 2007), 1 − NDCG, ….

    Parameters
    ----------
    measure : str
        What to optimise: swapped_pairs, average_precision, reciprocal_rank, ndcg,
        ndcg_pairs (the same loss, Ψ over pairs) or precision_at_k.
    C : float or None
        Weight of the losses; by default ten times the number of queries.
    k : int or None
        Places that NDCG (by default all) and precision at k look at.
    place_weights : list of float or None
        What ndcg and precision_at_k weigh the features of a place with, see `Ranking`.
        Numbers that do not rise, of the first k places or all, or a function of the
        place 1, 2, …; by default the discounts of the measure, which are searched by
        sorting and not by a linear assignment.
    latent : bool
        For precision at k and NDCG: complete the order of equally relevant rows in
        rounds, beginning with weights that classify rows (Yu and Joachims, ICML 2009,
        section 5.3), instead of taking the mean of all true rankings.
    loss : {"hinge", "log"}
        The margin by the measure, or ListNet with linear scores: the cross entropy
        between softmax of scores and of grades, whatever the measure (Cao et al., ICML
        2007). Swapped pairs with "hinge" are the ranking SVM.

    Attributes
    ----------
    coef_ : array (n_features,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = (X[:, 0] + 0.1 * rng.normal(size=60) > 0.5).astype(int)
    >>> ranker = Ranker().fit(X, y, groups=np.arange(60) // 10)
    >>> ranker.score(X, y, groups=np.arange(60) // 10) > 0.9
    True
    """

    measure: Literal[
        "swapped_pairs", "average_precision", "reciprocal_rank", "ndcg", "ndcg_pairs",
        "precision_at_k",
    ] = "swapped_pairs"  # fmt: skip
    k: int | None = None
    place_weights: Any = None
    latent: bool = False

    model_: RankingModel = field(init=False)
    model_class = RankingModel

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("k", self.k, 1)
        if self.measure == "precision_at_k" and self.k is None:
            raise SettingsError("<measure='precision_at_k'> needs <k=>, the places")
        if self.place_weights is not None and self.measure not in PLACE_MEASURES:
            raise SettingsError(
                f"<measure={self.measure!r}> weighs pairs; leave <place_weights=> out"
            )
        if self.latent and self.measure not in PLACE_MEASURES:
            raise SettingsError(
                f"<measure={self.measure!r}> does not depend on the order of equal "
                "rows; leave <latent=True> out"
            )
        if self.latent and self.loss == "log":
            raise SettingsError(
                "<loss='log'> has no hidden orders; leave <latent=True> out"
            )

    def fit(
        self, X: Any, y: Any, groups: Any = None, feature_names: Any = None,
        *, completions: Any = None, weights: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from rows and their grades.

        Parameters
        ----------
        X : array or sparse matrix (n, n_features), or a list of one per query
        y : array (n,) of grades, or a list of one per query
            The higher the better; rows are relevant when positive.
        groups : array (n,), optional
            Query of each row; not for lists. None: a single query.
        feature_names : list of str, optional
            Of the columns; those of a data frame are known.
        completions : array (n,), optional
            For ``latent=True``: scores by which rounds order equal rows at first.
        weights : array (n_features,), optional
            Or weights that do so, instead of those that classify rows.
        """
        self.check_parameters()
        X, y, groups = stacked(X, y, groups)
        X, y = self._training_rows(X, y, y_numeric=True)
        order, offset = by_query(groups, len(y))
        refuse_equal_grades(y[order], offset)
        featurizer = self._featurizer(feature_names, has_intercept=False)
        ties = "latent" if self.latent else "mean"
        structure = Ranking(self.measure, self.k, self.place_weights, ties)
        model = RankingModel(RowFeatureScoring(featurizer), structure, np.zeros(0), {})
        problem = model.training_problem(
            X[order], y[order], offset, self._formulation(), self._n_jobs()
        )
        if not self.latent and (completions is not None or weights is not None):
            raise SettingsError("completions and weights are for <latent=True>")
        if completions is not None:
            completions = np.asarray(completions, float)[order]
        first = self._begin(problem, completions, weights)
        is_begun = first is not None or completions is not None
        if self.latent and not is_begun and self._last_model is None:
            first = first_weights(X[order], y[order], offset, self.random_state)
        return self._learn_weights(model, problem, first=first)

    def _default_C(self, n: int) -> float:
        return 10.0 * n

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Score of each row, (n,), or an array of arrays for a list of matrices.

        `groups` is there so that `fit`, `predict` and `score` take the same arguments.
        It changes nothing: the score of a row does not depend on the others of its
        query, whose ranking is ``np.argsort(-scores)``.
        """
        self._check_fitted()
        if isinstance(X, list) and not X:
            return as_object_array([])
        sizes = [item.shape[0] for item in X] if isinstance(X, list) else None
        rows, _, _ = stacked(X, None, None)
        predicted = self.model_.predict(self._rows(rows), n_jobs=self._n_jobs())
        scores = np.array(predicted)
        if sizes is None:
            return scores
        return as_object_array(np.split(scores, np.cumsum(sizes)[:-1]))

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Why the best row of a query leads the second.

        Parameters
        ----------
        x : matrix (n_rows, n_features)
            The rows of one query; of a single row the features that carry its score.
        top : int
            Number of features.
        """
        if count_rows(x) < 2 or np.ndim(x) == 1:
            return super().explain(x, top)
        rows = self._rows(x)
        return self.model_.explain_query(rows, top=top)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The measure that was trained, with its k, a mean over queries.

        1 − the share of swapped pairs, average precision, reciprocal rank, NDCG or
        precision at k. Queries without relevant rows count 0, without pairs 1.
        """
        rows, grades, groups = stacked(X, y, groups)
        order, offset = by_query(groups, rows.shape[0])
        scores = np.asarray(self.predict(rows))[order]
        structure = self.model_.structure
        values = all_measures(np.asarray(grades)[order], scores, offset, structure)
        value = values[trained_measure(structure)]
        return 1.0 - value if structure.measure == "swapped_pairs" else value

    # --------------------------------------------------------- files, attributes

    @classmethod
    def _parameters_of(cls, model: RankingModel) -> dict[str, Any]:
        is_latent = model.structure.ties == "latent"
        return super()._parameters_of(model) | {"latent": is_latent}


def first_weights(X: Any, grades: Floats, offset: Any, seed: int = 0) -> Floats:
    """
    Weights that classify rows as relevant, each by 1/(rows of its query).

    The start of the paper's section 5.3: random relevant rows as the first completion
    lead to zero weights where judgements are noisy.

    Parameters
    ----------
    X : matrix (n, n_features)
        Rows query by query.
    grades : array (n,)
    offset : array (n_queries + 1,)
        Where queries begin.
    seed : int

    Returns
    -------
    array (n_features,)
    """
    is_relevant = np.asarray(grades) > 0
    if is_relevant.all() or not is_relevant.any():
        return np.zeros(X.shape[1])
    size = np.diff(offset)
    classifier = MulticlassClassifier(tol=0.01, random_state=seed)
    classifier.fit(X, is_relevant, np.repeat(1.0 / size, size))
    return classifier.coef_[1] - classifier.coef_[0]
