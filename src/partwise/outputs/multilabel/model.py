"""A trained model of label sets: predicts without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import WeightedModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.protocol import Floats, Ints
from partwise.structures.multilabel import Multilabel


class MultilabelModel(WeightedModel):
    """Predicts sets of labels of rows.

    Parameters
    ----------
    scoring : RowFeatureScoring
    structure : Multilabel
    labels : list
    weights : array (n_features · K + n_pairs,)
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "MultilabelModel"
    support = None

    def __init__(
        self,
        scoring: RowFeatureScoring,
        structure: Multilabel,
        labels: list[Any],
        weights: Floats,
        info: dict[str, Any],
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.labels = labels
        self.weights = weights
        self.info = info

    def training_problem(
        self, X: Any, y: Ints, formulation: Formulation | None = None, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of; y is (n, K)."""
        features = self.scoring.featurizer.transform(X)
        return self.structure.pack(features, y, formulation, n_jobs=n_jobs)

    def _packed(self, X: Any, n_jobs: int) -> tuple[Any, Floats]:
        problem = self.training_problem(X, None, None, n_jobs)  # type: ignore[arg-type]
        return problem, problem.expand(self.weights)

    def predict_matrix(self, X: Any, *, n_jobs: int = 1) -> Ints:
        """1 for the labels of the best set of each row, (n, K)."""
        problem, model = self._packed(X, n_jobs)
        return problem.decode(model)

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[list[Any]]:
        """The labels of each row."""
        rows = self.predict_matrix(X, n_jobs=n_jobs)
        return [[self.labels[k] for k in np.flatnonzero(y)] for y in rows]

    def leads(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Best score of a set with each label less that of one without, (n, K)."""
        problem, model = self._packed(X, n_jobs)
        return problem.leads(model)[0]

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best set and its lead over the second, (n, 2)."""
        problem, model = self._packed(X, n_jobs)
        leads, best = problem.leads(model)
        return np.column_stack([best, np.abs(leads).min(axis=1)])

    def label_weights(self) -> Floats:
        """Weights of features for labels, (n_features, K)."""
        return self.scoring.emission(self.weights, len(self.labels))

    def pair_weights(self) -> Floats:
        """Weights of the pairs of labels, (n_pairs,)."""
        return self.weights[self.label_weights().size :]

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label the features and their weights; then pairs of labels."""
        yield from self.scoring.heaviest(self.weights, self.labels)
        pairs = self.structure.pair_array()
        if len(pairs):
            yield "(pairs)", [self._pair_name(p) for p in pairs], self.pair_weights()

    def _pair_name(self, pair: Ints) -> str:
        return " + ".join(str(self.labels[k]) for k in pair)

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """What carries the predicted set, against the empty one.

        Of an empty set: what speaks for and against the label that is nearest to it.
        """
        y, leads = self.predict_matrix(X)[0], self.leads(X)[0]
        shown = np.flatnonzero(y) if y.any() else [int(np.argmax(leads))]
        features: Any = self.scoring.featurizer.transform(X)
        if hasattr(features, "X"):
            columns, values = np.arange(features.n_features), features.X[0]
        else:
            columns, values = features.indices, features.data
        shares = np.reshape(values, (-1, 1)) * self.label_weights()[columns]
        names = self.scoring.feature_names
        reasons = [
            Contribution(0, names[f], self.labels[k], "none", float(shares[p, k]))
            for p, f in enumerate(columns)
            for k in shown
            if shares[p, k] != 0.0
        ]
        score = float(shares[:, np.flatnonzero(y)].sum())
        pairs = zip(self.structure.pair_array(), self.pair_weights(), strict=True)
        for pair, weight in pairs:
            if y[pair].all():
                name = self._pair_name(pair)
                reasons.append(Contribution(0, name, name, "none", float(weight)))
                score += float(weight)
        reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        winner = ", ".join(str(self.labels[k]) for k in np.flatnonzero(y))
        lead = float(np.abs(leads).min())
        return Explanation(["row"], [winner], [""], score, lead, reasons)
