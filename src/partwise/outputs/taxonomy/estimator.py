"""`TaxonomyClassifier`: classes in a tree or lattice with scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from partwise.outputs.estimator import as_object_array
from partwise.outputs.multiclass.estimator import MulticlassClassifier
from partwise.outputs.row_refusals import refuse_missing
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.taxonomy.model import NodeSetModel, TaxonomyModel
from partwise.parameters import SettingsError, level_of_caller, worded_warning
from partwise.protocol import Floats
from partwise.structures.taxonomy import NodeSets, Taxonomy
from partwise.structures.taxonomy.measures import hierarchical_scores
from partwise.structures.taxonomy.nodes import Nodes


@dataclass(eq=False, repr=False, kw_only=True)
class TaxonomyClassifier(MulticlassClassifier):
    """Classify rows of a matrix into the classes of a tree or lattice.

    Every node z of the taxonomy has a vector of weights, and the score of a class is
    the sum of <w_z, x> over the class and its ancestors, so that classes learn from
    the rows of their relatives; a wrong class costs more the farther it is from the
    true one (Tsochantaridis et al., ICML 2004, section 5.2).

    Parameters
    ----------
    parents : str, dict or None
        A node to its parent, or to a list of parents, None at the top.
        Or what separates the steps of a path: with ``"/"`` the class ``"a/b"`` is below
        ``"a"``. None: all classes are at the top.
    C : float or None
        Weight of the losses; by default the number of rows.
    cost : {"tree", "path", "zero_one"}, dict or array (K, K)
        The loss: height of the first common ancestor, steps on the way, or 1.
        Or costs as `MulticlassClassifier` takes them.
    features : {"ancestors", "balanced", "class"}
        Whose weights a class has: its own and those of its ancestors, or its own only.
        With ``"balanced"`` the weights of d ancestors count 1/√d each, so that deep
        classes do not depend on their ancestors more than others; not with a kernel.
    classes : {"seen", "leaves", "nodes"}
        What may be predicted: classes of training rows, also other leaves, all nodes.
        With ``"nodes"`` a prediction may stop at an inner node; ``cost="path"``
        rewards that where the rest is uncertain.
    multiple : bool
        Whether rows have several classes.
        y is then a list of lists, and a prediction a list of the most specific nodes:
        the best set of nodes that contains the parents of its nodes.
    leaves : {"optional", "mandatory"}
        With several classes: whether each way down must end at a leaf, in a tree.
    node_cost : {"uniform", "siblings"}, or array (N,)
        With several classes: loss of a node too many or too few.
        The same for all, or that of a parent shared by its children; the sum is 1.
    class_weight, fit_intercept, kernel, budget, over_budget, gram_options
        See `MulticlassClassifier`.

    Attributes
    ----------
    classes_ : array (K,)
    nodes_ : list
        Names of all nodes, parents before children.
    coef_ : array (K, n_features)
        Weights of classes; with several classes, of nodes.
    node_coef_ : array (N, n_features)
    intercept_ : array (K,)

    Examples
    --------
    >>> from partwise.datasets import toy_taxonomy
    >>> X, y = toy_taxonomy(120)
    >>> classifier = TaxonomyClassifier(parents="/").fit(X, y)
    >>> classifier.nodes_[:3], len(classifier.classes_)
    (['animal', 'plant', 'animal/bird'], 6)
    >>> classifier.score(X, y) > 0.8
    True
    """

    parents: Any = None
    cost: Any = "tree"
    features: Literal["ancestors", "balanced", "class"] = "ancestors"
    classes: Literal["seen", "leaves", "nodes"] = "seen"
    multiple: bool = False
    leaves: Literal["optional", "mandatory"] = "optional"
    node_cost: Any = "uniform"

    model_: Any = field(init=False)
    model_class = TaxonomyModel

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        feature_names: Any = None,
        parents: Any = None,
    ) -> Self:
        """Learn from rows and their classes, as `MulticlassClassifier.fit` takes them.

        With ``multiple=True`` y is a list of lists, or of single classes. `parents` is
        the table that came with the data, where the parameter names none.
        """
        self._parents = parents if self.parents is None else self.parents
        if self._parents is None:
            text = (
                "<parents=> is not given: all classes are at the top, as those of a "
                "MulticlassClassifier"
            )
            warning = worded_warning(UserWarning, text)
            warnings.warn(warning, stacklevel=level_of_caller())
        self._nodes = Nodes([], [])
        if self.multiple:
            return self._fit_sets(X, y, sample_weight, feature_names)
        return super().fit(X, y, sample_weight, feature_names)

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        if not self.multiple:
            return
        for name in ("kernel", "class_weight"):
            if getattr(self, name) is not None:
                raise SettingsError(f"<{name}=> does not go with <multiple=True>")
        if self.loss == "log":
            raise SettingsError("<loss='log'> does not go with <multiple=True>")

    def _all_classes(self, y: np.ndarray) -> np.ndarray:
        """The classes that may be predicted, in order; also sets `_nodes`."""
        seen = np.unique(y)
        self._nodes = Nodes.read(self._parents, seen.tolist())
        return self._nodes.classes(self.classes, seen)

    def _structure(self) -> Taxonomy:
        nodes = self._nodes
        if self.warm_start and hasattr(self, "model_"):  # whose weights go on
            nodes = self.model_.structure.nodes
        return Taxonomy(nodes, self.classes_.tolist(), self._cost(), self.features)

    def _fit_sets(self, X: Any, y: Any, weight: Any, names: Any) -> Self:
        self.check_parameters()
        is_one = (str, int, float, np.generic)
        refuse_missing(y)
        y = [[row] if isinstance(row, is_one) else list(row) for row in y]
        X, _ = self._training_rows(X, np.zeros(len(y)))
        labels = sorted({name for row in y for name in row})
        nodes = Nodes.read(self._parents, labels)
        structure = NodeSets(nodes, self.node_cost, self.leaves)
        featurizer = self._featurizer(names, has_intercept=self.fit_intercept)
        scoring = RowFeatureScoring(featurizer)
        model = NodeSetModel(scoring, structure, nodes.names, np.zeros(0), {})
        problem = model.training_problem(
            X, structure.closure(y), self._formulation(), self._n_jobs()
        )
        self._total_weight = float(len(y) if weight is None else np.sum(weight))
        self._learn_weights(model, problem, weight)
        self.classes_ = np.array(nodes.names)
        return self

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, (n,); lists of classes with ``multiple=True``."""
        if not self.multiple:
            return super().predict(X)
        rows = self._rows(X)
        return as_object_array(self.model_.predict(rows, n_jobs=self._n_jobs()))

    def model_scores(self, X: Any) -> Floats:
        """Scores of all classes, (n, K); with several classes, of nodes."""
        if not self.multiple:
            return super().model_scores(X)
        rows = self._rows(X)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def decision_function(self, X: Any) -> Floats:
        """Scores of classes, (n, K); of two classes the lead of the second, (n,)."""
        return self.model_scores(X) if self.multiple else super().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy; with several classes F1 over nodes, ancestors included."""
        if not self.multiple:
            return ClassifierMixin.score(self, X, y, sample_weight)
        predicted = self.model_.predict_nodes(self._rows(X), n_jobs=self._n_jobs())
        truth = self.model_.structure.closure(y)
        return hierarchical_scores(truth, predicted)["hierarchical_f1"]

    # --------------------------------------------------------- files, attributes

    @classmethod
    def _model_classes(cls) -> tuple[Any, ...]:
        return TaxonomyModel, NodeSetModel

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        parameters = super()._parameters_of(model) | {
            "parents": model.structure.nodes.table(),
            "multiple": isinstance(model, NodeSetModel),
        }
        parameters.pop("classes", None)  # all of them, where ours says which to have
        return parameters

    @property
    def nodes_(self) -> list[Any]:
        """Names of all nodes, parents before children."""
        return self.model_.structure.nodes.names

    @property
    def node_coef_(self) -> Floats:
        """Weights of features for nodes, (N, n_features), of a model on features."""
        return self.model_.node_weights().T[:, : self.n_features_in_]
