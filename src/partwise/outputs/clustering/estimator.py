"""`SupervisedClusterer`: partitions of items, learned from examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from partwise.outputs.clustering.model import ClusteringModel
from partwise.outputs.estimator import as_object_array
from partwise.outputs.explanation import Explanation
from partwise.outputs.latent_estimator import LatentEstimator
from partwise.outputs.rows import RowFeatureScoring, RowFeaturizer
from partwise.outputs.scoring import WARM
from partwise.parameters import ParameterError, check_positive
from partwise.protocol import Floats
from partwise.structures.clustering import Clustering, Items


@dataclass(eq=False, repr=False, kw_only=True)
class SupervisedClusterer(LatentEstimator):
    """Learn from given clusterings how to cluster new items.

    Links between items are scored by their features; a forest of strong links makes
    clusters. Which links hold a true cluster together is hidden, and completed in
    rounds (Yu and Joachims, ICML 2009, section 5.2; see `Clustering`).

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default the number of documents.
    link_penalty : float
        What a link between two true clusters costs, relative to 1 of a missing one.
    pair_features : callable or None
        ``pair_features(a, b)`` gives the features of a pair of items, where X holds
        lists of items.
    metric : str
        What `score` measures: conll_f1, muc_f1, b_cubed_f1, ….
    penalty, formulation, solver, tol, eps, max_iter, time_limit, random_state, n_jobs
        See `StructuredEstimator`; `solver` is that of the convex problems, `tol` and
        `eps` are decreases by a round, `max_iter` counts rounds.
    restarts, self_paced, eps_times_C
        See `LatentEstimator`. The first run begins with chronological chains.

    Attributes
    ----------
    coef_ : array (n_features,)
    intercept_ : float
        Threshold of links.
    splits_ : int
        True clusters of the training data that candidate links do not connect.
    certificate_, history_, rounds_, n_iter_

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

    link_penalty: float = 1.0
    pair_features: Any = None
    loss: Literal["hinge"] = "hinge"  # type: ignore[assignment]
    metric: str = "conll_f1"

    model_: ClusteringModel = field(init=False)
    splits_: int = field(init=False)
    model_class = ClusteringModel
    measured = "clusters"
    has_baseline = False

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_positive("link_penalty", self.link_penalty)

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        feature_names: Any = None,
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
        """
        self.check_parameters()
        documents = self._items(X)
        labels = [np.asarray(each) for each in y]
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
        last = getattr(self, "model_", None) if self.warm_start else None
        scoring = RowFeatureScoring(RowFeaturizer(width, list(names), True))
        structure = Clustering(float(self.link_penalty))
        model = ClusteringModel(scoring, structure, np.zeros(0), {})
        problem = model.training_problem(
            documents, labels, self._formulation(), self._n_jobs()
        )
        if last is not None and len(last.weights) != width + 1:
            raise ValueError(f"{WARM}, which has other features than X")
        start = None if last is None else problem.expand(last.weights)
        self._weighted = sample_weight is not None
        weight = None
        if sample_weight is not None:
            used = [len(x.pairs) > 0 for x in documents]
            weight = np.asarray(sample_weight)[used]
        state, _ = self._solve(problem, weight, start)
        model.weights = problem.compact(state.model)
        model.info = {"certificate": self.certificate_.to_dict()}
        needed = sum(len(each) - len(np.unique(each)) for each in labels)
        self.splits_ = needed - int(problem.blocks.best.sum())
        self.model_ = model
        self._remove_checkpoints()
        return self

    def _items(self, X: Sequence[Any]) -> list[Items]:
        if self.pair_features is not None:
            return [items_of(each, self.pair_features) for each in X]
        found = []
        for i, x in enumerate(X):
            try:
                n_items, pairs, features = x
                document = checked(int(n_items), pairs, features)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"document {i}: {error}; give (n_items, pairs, features), or "
                    "pair_features= and lists of items"
                ) from error
            found.append(document)
        return found

    def _default_C(self, n: int) -> float:
        return float(n)

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Cluster labels of the items of each document, a 1-D object array."""
        self._check_fitted()
        found = self.model_.predict(self._items(X), n_jobs=self._n_jobs())
        return as_object_array(found)

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """The features that carry the strongest link of a document."""
        self._check_fitted()
        return self.model_.explain_items(self._items([x])[0], top=top)

    @classmethod
    def _parameters_of(cls, model: ClusteringModel) -> dict[str, Any]:
        return {"link_penalty": model.structure.link_penalty}

    @property
    def coef_(self) -> Floats:
        """Weights of the features of links, (n_features,)."""
        return self.model_.weights[:-1]

    @property
    def intercept_(self) -> float:
        """Threshold of links."""
        return float(self.model_.weights[-1])


def checked(n_items: int, pairs: Any, features: Any) -> Items:
    """A document whose links are those of its items."""
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    if not sparse.issparse(features):
        features = np.asarray(features, np.float64)
        if features.ndim != 2:
            features = features.reshape(len(ends), -1)
        if not np.isfinite(features).all():
            raise ValueError("features have NaN or infinity")
    if features.shape[0] != len(ends):
        raise ValueError(f"{len(ends)} pairs and {features.shape[0]} rows of features")
    if len(ends) and (ends.min() < 0 or ends.max() >= n_items):
        raise ValueError(f"a pair names an item outside 0…{n_items - 1}")
    return Items(n_items, ends, features)


def items_of(items: Sequence[Any], features: Callable[[Any, Any], Any]) -> Items:
    """All pairs of a list of items."""
    if not callable(features):
        raise ParameterError("pair_features", features, "give a function of two items")
    pairs = list(combinations(range(len(items)), 2))
    rows = [np.asarray(features(items[a], items[b]), float) for a, b in pairs]
    table = np.array(rows) if rows else np.zeros((0, 1))
    return checked(len(items), pairs, table)
