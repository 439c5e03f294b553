"""A trained model of label sets: predicts without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.rows import SetModel
from partwise.protocol import Floats, Ints
from partwise.structures.multilabel.constrained import satisfy


class MultilabelModel(SetModel):
    """Predicts sets of labels of rows.

    The last weights are those of the pairs of its structure, `Multilabel`.
    """

    name: ClassVar[str] = "MultilabelModel"

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[list[Any]]:
        """The labels of each row."""
        rows = self.predict_matrix(X, n_jobs=n_jobs)
        return [[self.labels[k] for k in np.flatnonzero(y)] for y in rows]

    def predict_within(self, X: Any, constraints: Any, n_jobs: int = 1) -> Ints:
        """1 for the labels of the best sets that satisfy constraints, (n, K)."""
        best = self.predict_matrix(X, n_jobs=n_jobs)
        if not constraints:
            return best
        scores = (self.label_scores(X, n_jobs), self.pair_weights())
        return satisfy(self.structure, best, *scores, constraints, self.labels)

    def leads(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Best score of a set with each label less that of one without, (n, K)."""
        (problem,) = self.problems(X, n_jobs)
        return problem.leads(problem.expand(self.weights))[0]

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best set and its lead over the second, (n, 2)."""
        (problem,) = self.problems(X, n_jobs)
        leads, best = problem.leads(problem.expand(self.weights))
        return np.column_stack([best, np.abs(leads).min(axis=1)])

    def pair_weights(self) -> Floats:
        """Weights of the pairs of labels, (n_pairs,)."""
        return self.weights[self.class_weights().size :]

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label the features and their weights; then pairs of labels."""
        yield from super().weights_by_label()
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
        explained = np.flatnonzero(y) if y.any() else [int(np.argmax(leads))]
        reasons, shares = self.set_reasons(X, np.asarray(explained))
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
