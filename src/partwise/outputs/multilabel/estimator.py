"""`MultilabelClassifier`: sets of labels with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.multilabel.model import MultilabelModel
from partwise.outputs.row_estimator import RowClassifier
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import WARM
from partwise.parameters import check_whole
from partwise.protocol import Floats, Ints
from partwise.structures.multilabel import Multilabel
from partwise.structures.multilabel.graphs import label_pairs
from partwise.structures.multilabel.labelled import (
    as_label_matrix,
    number_implications,
)


@dataclass(eq=False, repr=False, kw_only=True)
class MultilabelClassifier(RowClassifier):
    """Predict a set of labels for each row of a matrix.

    The score of a set S is Σ_{k ∈ S} <w_k, x> + Σ v_jk over the pairs of labels in S
    that the graph has. Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong
    set of row i comes too near: max_S Δ(y_i, S) − score(y_i) + score(S). The best set
    is found exactly, or with a bound; see `Multilabel`.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default the number of rows.
        With ``graph="independent"`` and Hamming loss this is C = 1 of liblinear for
        each label.
    graph : {"independent", "tree", "full"}
        Which pairs of labels have a weight: none, those of a tree, or all.
        The tree spans the labels with the largest mutual information.
    cost : {"hamming", "jaccard", "f1", "zero_one"}
        The loss: number of wrong labels, 1 − Jaccard or F1 of the row, or 1.
        With pairs or implications, all but ``"hamming"`` need at most 14 labels.
    max_labels : int or None
        Most labels of a row.
    implications : str or list of pairs, or None
        Labels that come with others, as in ``"a>b,c>b"``: a set with a has b, too.
        Or pairs (a, b).
    search_nodes : int
        Nodes after which branch and bound stops, with a bound.
        It searches the full graph, and trees under constraints.
    fit_intercept : bool
        Whether labels have a threshold, which is a weight like any other.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; there is no ``loss="log"``.

    Attributes
    ----------
    classes_ : array (K,)
        Names of the labels: columns of a data frame, or numbers from 0 on.
    pairs_ : array (n_pairs, 2)
        Pairs of labels that have a weight, by number.
    coef_ : array (K, n_features)
    intercept_ : array (K,)
    pair_coef_ : array (n_pairs,)

    Examples
    --------
    >>> from partwise.datasets import toy_label_sets
    >>> X, y = toy_label_sets(100)
    >>> classifier = MultilabelClassifier(graph="tree").fit(X, y)
    >>> classifier.predict(X[:2]).shape, len(classifier.pairs_)
    ((2, 5), 4)
    """

    graph: Literal["independent", "tree", "full"] = "independent"
    cost: Literal["hamming", "jaccard", "f1", "zero_one"] = "hamming"
    max_labels: int | None = None
    implications: Any = None
    search_nodes: int = 10_000
    loss: Literal["hinge"] = "hinge"

    model_: MultilabelModel = field(init=False)
    model_class = MultilabelModel

    def __sklearn_tags__(self) -> Any:
        """Targets are matrices."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("max_labels", self.max_labels, 1)
        check_whole("search_nodes", self.search_nodes, 1)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        feature_names: Any = None,
        label_names: Any = None,
    ) -> Self:
        """Learn from rows and their sets of labels.

        Parameters
        ----------
        X : array or sparse matrix (n, n_features)
        y : 0/1 array, sparse matrix or data frame (n, K)
        sample_weight : array (n,), optional
        feature_names : list of str, optional
            Of the columns; those of a data frame are known.
        label_names : list, optional
            Of the columns of y; those of a data frame are known.
        """
        self.check_parameters()
        if label_names is None and hasattr(y, "columns"):
            label_names = list(y.columns)
        y = y.toarray() if hasattr(y, "toarray") else y
        if isinstance(y, list | tuple):
            y = as_label_matrix(y)
        X, y = self._training_rows(X, y, multi_output=True)
        y = as_label_matrix(y)
        X, y, weight = self._used_rows(X, y, sample_weight)
        self._total_weight = float(weight.sum())
        labels = list(range(y.shape[1])) if label_names is None else list(label_names)
        if len(labels) != y.shape[1]:
            raise ValueError(
                f"label_names has {len(labels)} names where y has {y.shape[1]} columns"
            )
        last = self._last_model
        structure = Multilabel(
            len(labels),
            # a warm start keeps the pairs, whose weights go on
            label_pairs(self.graph, y) if last is None else last.structure.pairs,
            self.cost,
            self.max_labels,
            number_implications(self.implications, labels),
            self.search_nodes,
        )
        featurizer = self._featurizer(feature_names, has_intercept=self.fit_intercept)
        scoring = RowFeatureScoring(featurizer)
        model = MultilabelModel(scoring, structure, labels, np.zeros(0), {})
        problem = model.training_problem(X, y, self._formulation(), self._n_jobs())
        if last is not None:
            size = len(problem.compact(problem.zero()))
            if last.labels != labels or len(last.weights) != size:
                raise ValueError(f"{WARM}, which has other labels or features")
        self._learn_weights(model, problem, None if sample_weight is None else weight)
        self.classes_ = np.array(labels)
        return self

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, constraints: Any = ()) -> Ints:
        """1 for the labels of the best set of each row, (n, K).

        `constraints` are those of `partwise.structures.constraints` over names of
        labels; rows whose best set breaks one take an integer program each.
        """
        rows, n_jobs = self._rows(X), self._n_jobs()
        return self.model_.predict_within(rows, constraints, n_jobs).astype(int)

    def decision_function(self, X: Any) -> Floats:
        """Best score of a set with each label less that without it, (n, K).

        `predict` has the labels whose lead is positive. Without pairs and constraints
        it is the score of the label.
        """
        rows = self._rows(X)
        return self.model_.leads(rows, n_jobs=self._n_jobs())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose whole set is right, as scikit-learn's accuracy."""
        y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        is_right = (self.predict(X) == y).all(axis=1)
        return float(np.average(is_right, weights=sample_weight))

    # --------------------------------------------------------- files, attributes

    @classmethod
    def _parameters_of(cls, model: MultilabelModel) -> dict[str, Any]:
        pairs = np.reshape(model.structure.implications, (-1, 2)).tolist()
        implied = [[model.labels[k] for k in pair] for pair in pairs]
        return super()._parameters_of(model) | {"implications": implied}

    @property
    def pairs_(self) -> Ints:
        """Pairs of labels that have a weight, by number, (n_pairs, 2)."""
        return self.model_.structure.pair_array()

    @property
    def pair_coef_(self) -> Floats:
        """Weights of the pairs, (n_pairs,)."""
        return self.model_.pair_weights()
