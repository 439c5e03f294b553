"""A trained scorer of rows with a threshold: predicts without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import ScoredModel
from partwise.outputs.multiclass.scoring import RowFeatureScoring
from partwise.protocol import Floats, Ints
from partwise.structures.label_vector import LabelVector


class MeasureModel(ScoredModel):
    """Scores rows; those above the threshold are positive.

    Parameters
    ----------
    scoring : RowFeatureScoring
    structure : LabelVector
    labels : list of two labels, the negative one first
    weights : array (n_features,)
    threshold : float
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "MeasureModel"
    support = None  # one example: a single plane says nothing about rows

    def __init__(
        self,
        scoring: RowFeatureScoring,
        structure: LabelVector,
        labels: list[Any],
        weights: Floats,
        threshold: float,
        info: dict[str, Any],
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.labels = labels
        self.weights = weights
        self.threshold = threshold
        self.info = info

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All rows at once."""
        features = self.scoring.featurizer.transform(X)
        n = len(features.offset) - 1
        yield self.structure.pack(
            features._replace(offset=np.array([0, n])), np.resize([1, -1], n),
            n_jobs=n_jobs,
        )  # fmt: skip

    def training_problem(
        self, X: Any, y: Ints, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of; y is −1 or 1."""
        features = self.scoring.featurizer.transform(X)
        rows = features._replace(offset=np.array([0, len(y)]))
        return self.structure.pack(rows, y, formulation, n_jobs=n_jobs)

    def scores(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of each row above the threshold, (n,)."""
        (problem,) = self.problems(X, n_jobs)
        return problem.scores(problem.expand(self.weights)) - self.threshold

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[Any]:
        """The label of each row."""
        is_positive = self.scores(X, n_jobs=n_jobs) > 0
        return [self.labels[k] for k in is_positive.astype(int).tolist()]

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """The features that carry the score of one row, a matrix (1, n_features)."""
        score = float(self.scores(X)[0])
        winner, runner = self.labels[score > 0], self.labels[score <= 0]
        features: Any = self.scoring.featurizer.transform(X)
        if hasattr(features, "indices"):
            columns, values = features.indices, features.data
        else:
            columns, values = np.arange(features.n_features), features.X[0]
        sign = 1.0 if score > 0 else -1.0
        shares = sign * np.asarray(values) * self.weights[columns]
        names = self.scoring.feature_names
        reasons = [
            Contribution(0, names[k], winner, runner, float(share))
            for k, share in zip(columns, shares, strict=True)
        ]
        reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        return Explanation(["row"], [winner], [runner], score, abs(score), reasons)
