"""`SupervisedClusterer`: partitions of items, learned from examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.clustering.model import ClusteringModel
from partwise.outputs.estimator import as_object_array
from partwise.outputs.explanation import Explanation
from partwise.outputs.latent_estimator import LatentEstimator
from partwise.outputs.rows import RowFeatureScoring, RowFeaturizer
from partwise.parameters import SettingsError, check_positive, check_whole
from partwise.protocol import Floats, Objective, Problem, Solver
from partwise.solvers import make_solver, with_rounds
from partwise.structures.clustering import Clustering, CorrelationClustering
from partwise.structures.clustering.items import as_items
from partwise.structures.clustering.structure import n_splits, refuse_unknown


@dataclass(eq=False, repr=False, kw_only=True)
class SupervisedClusterer(LatentEstimator):
    """Learn from given clusterings how to cluster new items.

    Links between items are scored by their features; a forest of strong links makes
    clusters. Which links hold a true cluster together is hidden, and completed in
    rounds (Yu and Joachims, ICML 2009, section 5.2; see `Clustering`). Or all pairs
    within a cluster count, weak ones, too (see `CorrelationClustering`).

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default the number of documents.
    decoder : {"forest", "correlation"}
        Clusters are trees of strong links, found exactly; or partitions with the
        largest sum over all pairs within clusters (SVM-cluster), found greedily.
    link_penalty : float
        What a link between two true clusters costs, relative to 1 of a missing one.
    exact_items : int
        With ``decoder="correlation"``: items of a document up to which integer
        programming finds the best partition; some 15 are quick.
    pair_features : callable or None
        ``pair_features(a, b)`` gives the features of a pair of items, where X holds
        lists of items.
    metric : str
        What `score` measures: conll_f1, muc_f1, b_cubed_f1, ….
    loss : {"hinge"}
        Maximum margin; there is no other.
    formulation : {"margin"}
        How losses enter: as a margin.
    penalty : {"l1"}
        Slacks count as they are.
    solver, tol, eps, max_iter, time_limit, random_state, n_jobs
        See `StructuredEstimator`; `solver` is that of the convex problems (auto: the
        bundle), `tol` and `eps` are decreases by a round, `max_iter` counts rounds.
    restarts, self_paced, eps_times_C
        See `LatentEstimator`, for forests. The first run begins with chronological
        chains.

    Attributes
    ----------
    coef_ : array (n_features,)
    intercept_ : float
        Threshold of links.
    splits_ : int
        True clusters of the training data that candidate links do not connect.

    Examples
    --------
    >>> from partwise.datasets import toy_clusters
    >>> X, y = toy_clusters(30)
    >>> clusterer = SupervisedClusterer().fit(X, y)
    >>> clusterer.score(X, y) > 0.8
    True
    >>> clusterer.predict(X)[0].shape == y[0].shape
    True
    """

    decoder: Literal["forest", "correlation"] = "forest"
    link_penalty: float = 1.0
    exact_items: int = 0
    pair_features: Any = None
    loss: Literal["hinge"] = "hinge"
    formulation: Literal["margin"] = "margin"
    penalty: Literal["l1"] = "l1"
    metric: str = "conll_f1"

    model_: ClusteringModel = field(init=False)
    splits_: int = field(init=False)
    model_class = ClusteringModel
    measured = "clusters"

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_positive("link_penalty", self.link_penalty)
        check_whole("exact_items", self.exact_items, 0)
        foreign = {"restarts": 1, "self_paced": False, "eps_times_C": False}
        if self.decoder == "forest":
            foreign = {"exact_items": 0}
        for name, default in foreign.items():
            if getattr(self, name) != default:
                raise SettingsError(
                    f"<{name}={getattr(self, name)!r}> does not go with "
                    f"<decoder={self.decoder!r}>; leave one of them out"
                )

    def _structure(self) -> Clustering | CorrelationClustering:
        if self.decoder == "forest":
            return Clustering(float(self.link_penalty))
        return CorrelationClustering(float(self.link_penalty), int(self.exact_items))

    def _solver_settings(self) -> dict[str, Any]:
        """Integer programs are solved in passes: a sweep must be one."""
        return super()._solver_settings() | {"batch": 16 if self.exact_items else None}

    def _resolve_solver(self, problem: Problem, objective: Objective) -> Solver:
        """A bundle by default, without pools of planes per document.

        A plane of a pool is as long as the list of candidate links, a joint plane as
        the list of features: 200 times as long on literary texts, where a search takes
        less time than a visit of the pools that it would save.
        """
        if self.solver != "auto":
            return super()._resolve_solver(problem, objective)
        settings = self._solver_settings()
        bundle = make_solver("bundle", settings | {"pool": False})
        return with_rounds(bundle, problem, settings)

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        feature_names: Any = None,
        *,
        completions: Any = None,
        weights: Any = None,
    ) -> Self:
        """Learn from documents and their clusterings.

        Parameters
        ----------
        X : list of (n_items, pairs, features), or of lists of items
            Pairs (m, 2) are candidate links, features (m, n_features). With
            `pair_features`, lists of items, of which all pairs are candidates.
        y : list of arrays (n_items,)
            Cluster labels.
        sample_weight : array (n,), optional
        feature_names : list of str, optional
        completions : list of bool arrays (m,), optional
            For forests: the candidate links that the first run begins with, which hold
            each true cluster together without a circle.
        weights : array (n_features + 1,), optional
            Or weights whose forests it begins with; the last is the intercept.
        """
        self.check_parameters()
        documents = as_items(X, self.pair_features)
        labels = [np.asarray(each) for each in y]
        refuse_unknown(labels)
        if len(documents) != len(labels):
            raise ValueError(f"X has {len(documents)} documents and y {len(labels)}")
        for i, (x, each) in enumerate(zip(documents, labels, strict=True)):
            if each.shape != (x.n_items,):
                raise ValueError(
                    f"y of document {i} has shape {each.shape} where X has "
                    f"{x.n_items} items; give one label per item"
                )
        widths = {x.features.shape[1] for x in documents if len(x.pairs)}
        if len(widths) != 1:
            raise ValueError("X: give links with as many features in all documents")
        (width,) = widths
        names = feature_names or [f"x{k}" for k in range(width)]
        scoring = RowFeatureScoring(RowFeaturizer(width, list(names), True))
        model = ClusteringModel(scoring, self._structure(), np.zeros(0), {})
        problem = model.training_problem(
            documents, labels, self._formulation(), self._n_jobs()
        )
        if sample_weight is not None:
            used = [len(x.pairs) > 0 for x in documents]
            sample_weight = np.asarray(sample_weight)[used]
        if completions is not None:
            pairs = zip(completions, documents, strict=True)
            completions = [links for links, x in pairs if len(x.pairs)]
        begun = self._begin(problem, completions, weights)
        self._learn_weights(model, problem, sample_weight, begun)
        self.splits_ = sum(map(n_splits, documents, labels))
        return self

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Cluster labels of the items of each document, a 1-D object array."""
        self._check_fitted()
        documents = as_items(X, self.pair_features)
        return as_object_array(self.model_.predict(documents, n_jobs=self._n_jobs()))

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """The features that carry the strongest link of a document."""
        self._check_fitted()
        return self.model_.explain_items(*as_items([x], self.pair_features), top=top)

    @classmethod
    def _parameters_of(cls, model: ClusteringModel) -> dict[str, Any]:
        return super()._parameters_of(model) | {"decoder": model.structure.decoder}

    @property
    def coef_(self) -> Floats:
        """Weights of the features of links, (n_features,)."""
        return self.model_.weights[:-1]

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features of links, as in ``coef_``."""
        return super().feature_names_[:-1]

    @property
    def intercept_(self) -> float:
        """Threshold of links."""
        return float(self.model_.weights[-1])
