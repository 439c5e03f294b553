"""Rows of a matrix: what outputs share that take one and predict for each row.

A row is a sequence of one token, so the scorings of taggers serve rows, too; the
difference is how a matrix becomes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from partwise.bounds import entry, require
from partwise.features.arrays import MAX_FEATURES, DenseFeatures, Features
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.model import ScoredModel, WeightedModel
from partwise.outputs.scoring import Arrays, read_weights
from partwise.protocol import Floats, Ints
from partwise.structures.row_structure import as_rows


class RowFeaturizer:
    """The rows of a matrix as features, with a column of ones for a threshold.

    Parameters
    ----------
    n_features : int
        Columns of the matrix.
    names : list of str
        Of the columns.
    has_intercept : bool
        Whether the last feature is the constant 1.
    """

    kind = "rows.v1"

    def __init__(self, n_features: int, names: list[str], has_intercept: bool) -> None:
        self.n_columns = n_features
        self.has_intercept = has_intercept
        self.n_features_ = n_features + has_intercept
        self.feature_names_ = [*names, *(["(intercept)"] if has_intercept else [])]

    def transform(self, X: Any) -> Features | DenseFeatures:
        """Features of each row, a sequence of its own."""
        rows: Any = as_rows(X)
        if rows.n_features == self.n_features_ and hasattr(X, "offset"):
            return rows  # of a support: made before
        if rows.n_features != self.n_columns:
            raise ValueError(
                f"X has {rows.n_features} features, but the model was trained with "
                f"{self.n_columns}"
            )
        if not self.has_intercept:
            return rows
        n = len(rows.offset) - 1
        if isinstance(rows, DenseFeatures):
            return rows._replace(X=np.hstack([rows.X, np.ones((n, 1))]))
        data = rows.data
        if len(data) != len(rows.indices):
            data = np.ones(len(rows.indices))
        ends = rows.indptr[1:]
        return rows._replace(
            indptr=rows.indptr + np.arange(n + 1),
            indices=np.insert(rows.indices, ends, self.n_columns).astype(np.int32),
            data=np.insert(data, ends, 1.0),
            n_features=self.n_features_,
        )

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings for a model file."""
        names = self.feature_names_[: self.n_columns]
        is_plain = names == [f"x{column}" for column in range(self.n_columns)]
        return {
            "kind": self.kind,
            "n_features": self.n_columns,
            "names": None if is_plain else names,
            "has_intercept": self.has_intercept,
        }, {}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RowFeaturizer:
        """Rebuild from `state`; invalid input raises ValueError."""
        settings = dict(state)
        require(settings.get("kind") == cls.kind, "no features of rows")
        n_features = entry(settings, "n_features", int)
        require(0 <= n_features < MAX_FEATURES, f"{n_features} features of rows")
        names = settings["names"]
        if names is None:
            names = [f"x{column}" for column in range(n_features)]
        is_list = isinstance(names, list) and all(isinstance(n, str) for n in names)
        require(is_list and len(names) == n_features, "names of other columns")
        return cls(n_features, names, entry(settings, "has_intercept", bool))


class RowFeatureScoring(TokenFeatureScoring):
    """Classes are scored by the features of their row."""

    def parameters(self) -> dict[str, Any]:
        """Whether there is a threshold."""
        return {"fit_intercept": self.featurizer.has_intercept}

    def row_scores(self, X: Any, weights: Floats, n_jobs: int = 1) -> Floats:
        """Score of each row under one weight per feature, (n,)."""
        features: Any = self.featurizer.transform(X)
        if isinstance(features, DenseFeatures):
            # not @: the sums of BLAS depend on its number of threads
            return np.einsum("ij,j->i", features.X, weights)
        return _as_csr(features) @ weights

    def row_shares(self, X: Any, weights: Floats) -> Floats:
        """Shares of the features in the scores of a few rows, (n, n_features)."""
        features: Any = self.featurizer.transform(X)
        if isinstance(features, DenseFeatures):
            return features.X * weights
        return _as_csr(features).toarray() * weights

    @classmethod
    def from_state(  # type: ignore[override]
        cls, settings: dict[str, Any], arrays: Arrays, labels: list[Any]
    ) -> tuple[RowFeatureScoring, Floats]:
        """Rebuild a scoring and its weights."""
        featurizer = RowFeaturizer.from_state(entry(settings, "featurizer", dict))
        size = featurizer.n_features_ * len(labels)
        return cls(featurizer), read_weights(arrays, size)


class SetModel(ScoredModel):
    """Sets of labels of rows, by a weight for each feature and label."""

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All rows at once."""
        yield self.training_problem(X, None, None, n_jobs)

    def training_problem(
        self,
        X: Any,
        y: Ints | None,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
    ) -> Any:
        """The problem whose objective the certificate states; y is (n, K)."""
        features = self.scoring.featurizer.transform(X)
        return self.structure.pack(features, y, formulation, n_jobs=n_jobs)

    def class_weights(self) -> Floats:
        """Weights of features for labels, (n_features, K)."""
        return self.scoring.emission(self.weights, len(self.labels))

    def label_scores(self, X: Any, n_jobs: int = 1) -> Floats:
        """Score of each label at each row, (n, K)."""
        columns = self.class_weights().T
        scores = [self.scoring.row_scores(X, w, n_jobs) for w in columns]
        return np.stack(scores, axis=1)

    def predict_matrix(self, X: Any, *, n_jobs: int = 1) -> Ints:
        """1 for the labels of the best set of each row, (n, K)."""
        (problem,) = self.problems(X, n_jobs)
        return problem.decode(problem.expand(self.weights))

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label the features and their weights."""
        yield from self.scoring.heaviest(self.weights, self.labels)

    def set_reasons(self, X: Any, explained: Ints) -> tuple[list[Contribution], Floats]:
        """Shares of the features of one row in the scores of some labels.

        Returns
        -------
        list of Contribution
            Against the empty set.
        array (n_present, K)
            Shares of the features of the row in the score of each label.
        """
        features: Any = self.scoring.featurizer.transform(X)
        if isinstance(features, DenseFeatures):
            columns, values = np.arange(features.n_features), features.X[0]
        else:
            columns, values = features.indices, features.data
        shares = np.reshape(values, (-1, 1)) * self.class_weights()[columns]
        names = self.scoring.feature_names
        reasons = [
            Contribution(0, names[f], self.labels[k], "none", float(shares[p, k]))
            for p, f in enumerate(columns)
            for k in explained
            if shares[p, k] != 0.0
        ]
        return reasons, shares


class ScoreModel(WeightedModel):
    """A model whose predictions follow from a score per row.

    There is one weight per feature, or with a kernel one per training row.
    """

    # `labels` are the negative and the positive one; none for a mere score

    def __init__(
        self, scoring: Any, structure: Any, weights: Floats, info: dict[str, Any]
    ) -> None:
        super().__init__(scoring, structure, [], weights, info)

    def row_scores(self, X: Any, n_jobs: int = 1) -> Floats:
        """Score of each row, (n,)."""
        return self.scoring.row_scores(X, self.weights, n_jobs)

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """The features of the positive label, or of the score."""
        name = str(self.labels[1]) if self.labels else "score"
        yield name, self.scoring.feature_names, self.weights

    def explain_score(self, X: Any, score: float, top: int) -> Explanation:
        """The features that carry the score of one row, a matrix (1, n_features)."""
        is_positive = score > 0
        winner, runner = "higher", "lower"
        if self.labels:
            winner, runner = self.labels[is_positive], self.labels[not is_positive]
        sign = 1.0 if is_positive or not self.labels else -1.0
        shares = sign * self.scoring.row_shares(X, self.weights)[0]
        reasons = self.contributions(shares, winner, runner, top)
        return Explanation(["row"], [winner], [runner], score, abs(score), reasons)

    def contributions(
        self, shares: Floats, winner: Any, runner_up: Any, top: int
    ) -> list[Contribution]:
        """The features or anchors with the largest shares, (n_features,)."""
        order = np.argsort(-np.abs(shares), kind="stable")[:top]
        names = self.scoring.feature_names
        return [
            Contribution(0, names[k], winner, runner_up, float(shares[k]))
            for k in order.tolist()
            if shares[k] != 0.0
        ]


def _as_csr(features: Features) -> csr_array:
    shape = (len(features.indptr) - 1, features.n_features)
    data = features.data
    if len(data) != len(features.indices):  # all are 1
        data = np.ones(len(features.indices))
    return csr_array((data, features.indices, features.indptr), shape)


def count_rows(X: Any) -> int:
    """Rows of a matrix or of features."""
    if hasattr(X, "offset"):
        return len(X.offset) - 1
    return X.shape[0] if hasattr(X, "shape") else len(X)


def one_row(x: Any) -> Any:
    """A row, (n_features,) or (1, n_features), as a matrix of one row."""
    row = x if hasattr(x, "tocsr") else np.asarray(x, float)
    if row.ndim > 1 and row.shape[0] != 1:
        raise ValueError(f"x has {row.shape[0]} rows; give one of them, as in X[:1]")
    return row if row is x and row.ndim > 1 else row.reshape(1, -1)
