"""A trained ranker: scores of rows, without scikit-learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Explanation
from partwise.outputs.rows import ScoreModel
from partwise.protocol import Ints
from partwise.structures.ranking import Ranking


class RankingModel(ScoreModel):
    """Scores rows; the rows of a query are ranked by them.

    Parameters
    ----------
    scoring : RowFeatureScoring
    structure : Ranking
    weights : array (n_features,)
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "RankingModel"
    structure: Ranking

    def training_problem(
        self,
        X: Any,
        grades: Any,
        offset: Ints,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
    ) -> Any:
        """The problem of queries, whose rows begin at `offset`, (n_queries + 1,)."""
        features = self.scoring.featurizer.transform(X)
        rows = features._replace(offset=np.asarray(offset, np.int64))
        return self.structure.pack(rows, grades, formulation, n_jobs=n_jobs)

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[float]:
        """Score of each row."""
        return self.row_scores(X).tolist()

    def explain_query(
        self, X: Any, *, numbers: Any = None, top: int = 10
    ) -> Explanation:
        """Why the best row of a query leads the second; X is (n_rows, n_features).

        Rows have `numbers`, or count from 0.
        """
        shares = self.scoring.row_shares(X, self.weights)
        scores = self.row_scores(X)
        best, second = np.argsort(-scores, kind="stable")[:2].tolist()
        numbers = range(len(scores)) if numbers is None else numbers
        winner, runner_up = f"row {numbers[best]}", f"row {numbers[second]}"
        reasons = self.contributions(
            shares[best] - shares[second], winner, runner_up, top
        )
        lead = float(scores[best] - scores[second])
        return Explanation(
            ["query"], [winner], [runner_up], float(scores[best]), lead, reasons
        )

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """The features that carry the score of one row, a matrix (1, n_features)."""
        return self.explain_score(X, self.predict(X)[0], top)
