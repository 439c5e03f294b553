"""A trained matcher: predicts without scikit-learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from partwise.bounds import check_list
from partwise.objective import Formulation
from partwise.outputs.explanation import Explanation
from partwise.outputs.model import ScoredModel
from partwise.outputs.rows import ScoreModel
from partwise.parameters import SettingsError
from partwise.protocol import Ints
from partwise.structures.matching import CandidatePairs, Matching


class MatchingModel(ScoreModel, ScoredModel):
    """Scores candidate pairs, and finds the best matching.

    Parameters
    ----------
    scoring : RowFeatureScoring
        Features of pairs; with a constant where items may stay unmatched.
    structure : Matching
    weights : array (n_features,)
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "MatchingModel"
    structure: Matching

    def candidates(self, X: Any) -> list[CandidatePairs]:
        """Candidate pairs with all features of the model."""
        check_list(X, "examples")
        featurizer = self.featurizer
        examples = []
        for i, x in enumerate(X):
            try:
                x = CandidatePairs.create(x)
            except ValueError as error:
                raise ValueError(f"example {i}: {error}") from None
            if x.features.shape[1] != featurizer.n_columns:
                raise ValueError(
                    f"example {i} has {x.features.shape[1]} features where "
                    f"{featurizer.n_columns} were expected"
                )
            if featurizer.has_intercept:
                join = sparse.hstack if sparse.issparse(x.features) else np.hstack
                ones = np.ones((len(x.pairs), 1))
                x = x._replace(features=join([x.features, ones]))
            examples.append(x)
        return examples

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation | None = None, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate states."""
        return self.structure.pack(self.candidates(X), y, formulation, n_jobs=n_jobs)

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[Ints]:
        """The right item of each left one, −1 for none."""
        examples = self.candidates(X)
        partners: list[Ints] = [np.full(x.shape[0], -1, np.int64) for x in examples]
        rows = [i for i, x in enumerate(examples) if len(x.pairs)]
        may_be_single = self.structure.unmatched
        is_complete = np.array([may_be_single or not min(x.shape) for x in examples])
        outputs: list[Ints] = []
        if rows:
            connected = [examples[i] for i in rows]
            problem = self.structure.pack(connected, None, n_jobs=n_jobs)
            cuts = problem.predict_codes(problem.expand(self.weights))
            is_complete[rows] = np.isfinite(cuts.violation)
            outputs = problem.outputs(cuts)
        if not is_complete.all():
            raise SettingsError(
                f"example {int(np.argmin(is_complete))}: its candidate pairs have no "
                "complete matching; give more pairs, or train with <unmatched=True>"
            )
        for i, output in zip(rows, outputs, strict=True):
            partners[i] = output
        return partners

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Ints, float]]]:
        """The k best matchings of each example with their scores, best first."""
        return list(self.ranked(X, k, n_jobs))

    def explain(self, x: Any, *, top: int = 10) -> Explanation:
        """Why the best matching leads the second."""
        ranked = self.predict_topk([x], 2)[0]
        (candidates,) = self.candidates([x])
        psi = [self.structure.joint_feature(candidates, y) for y, _ in ranked]
        difference = psi[0] - psi[1] if len(ranked) > 1 else psi[0]
        reasons = self.contributions(difference * self.weights, "best", "second", top)
        outputs, scores = [y.tolist() for y, _ in ranked], [s for _, s in ranked]
        items = [f"item {i}" for i in range(len(outputs[0]))]
        return Explanation.compare(items, outputs, scores, reasons, top)
