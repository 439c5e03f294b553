"""A trained scorer of rows with a threshold: predicts without scikit-learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Explanation
from partwise.outputs.rows import ScoreModel
from partwise.protocol import Floats, Ints
from partwise.structures.label_vector import LabelVector


class MeasureModel(ScoreModel):
    """Scores rows; those above the threshold are positive.

    Parameters
    ----------
    scoring : RowFeatureScoring or RowKeyScoring
    structure : LabelVector
    labels : list of two labels, the negative one first
    weights : array (n_features,), or of anchors
    threshold : float
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "MeasureModel"

    def __init__(
        self,
        scoring: Any,
        structure: LabelVector,
        labels: list[Any],
        weights: Floats,
        threshold: float,
        info: dict[str, Any],
    ) -> None:
        super().__init__(scoring, structure, weights, info)
        self.labels = labels
        self.threshold = threshold

    def training_problem(
        self, X: Any, y: Ints, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate states; y is −1 or 1."""
        parts, scorer = self.scoring.training(X, n_jobs)
        return self.structure.pack(
            one_block(parts), y, formulation, n_jobs=n_jobs, scorer=scorer
        )

    def scores(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of each row above the threshold, (n,)."""
        return self.row_scores(X, n_jobs) - self.threshold

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[Any]:
        """The label of each row."""
        is_positive = self.scores(X, n_jobs=n_jobs) > 0
        return [self.labels[k] for k in is_positive.astype(int).tolist()]

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """The features that carry the score of one row, a matrix (1, n_features)."""
        return self.explain_score(X, float(self.scores(X)[0]), top)


def one_block(parts: Any) -> Any:
    """Features or keys of rows as those of one example."""
    return parts._replace(offset=np.array([0, parts.offset[-1]]))
