"""A trained classifier: it predicts and explains without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Explanation
from partwise.outputs.label_model import LabelModel
from partwise.protocol import Floats, Ints
from partwise.structures.multiclass.problem import MulticlassProblem


class MulticlassModel(LabelModel):
    """Predicts and explains classes of rows.

    A row is a sequence of one token, and the structure a `Multiclass` over its classes.
    """

    name: ClassVar[str] = "MulticlassModel"

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[MulticlassProblem]:
        """Packed rows: all at once, or in turn what fits in memory."""
        for parts, scorer in self.scoring.batches(X):
            yield self.structure.pack(parts, None, n_jobs=n_jobs, scorer=scorer)

    def class_weights(self) -> Floats:
        """Weights of features for classes, (n_features, K), of a model on features."""
        return self.scoring.emission(self.weights, len(self.labels))

    def scores(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Scores of all classes, (n, K)."""
        return np.concatenate(
            [p.scores(p.expand(self.weights)) for p in self.problems(X, n_jobs)]
        )

    def predict(self, X: Any, *, given: Any = None, n_jobs: int = 1) -> list[Any]:
        """The class of highest score of each row, the first of several."""
        if given is not None:
            raise ValueError("given: a row has one class, which would be the answer")
        best = np.argmax(self.scores(X, n_jobs=n_jobs), axis=1)
        return [self.labels[k] for k in best.tolist()]

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Any, float]]]:
        """The k best classes of each row with their scores, best first.

        With log-probabilities, where the model `has_probabilities`.
        """
        answers = self.ranked(X, k, n_jobs, as_log_probability=self.has_probabilities)
        return [
            [(self.labels[label[0]], score) for label, score in ranked]
            for ranked in answers
        ]

    def truth_problems(
        self, X: Any, y: Any, n_jobs: int = 1, **settings: Any
    ) -> Iterator[Any]:
        """Packed rows with their classes."""
        return super().truth_problems(X, [[label] for label in y], n_jobs, **settings)

    def marginals(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """P(class) ∝ exp(score/T), (n, K); see `LabelledModel.marginals`."""
        weights = self.tempered_weights
        return np.concatenate(
            [p.marginals(p.expand(weights))[0] for p in self.problems(X, n_jobs)]
        )

    def explain_row(self, X: Any, *, top: int = 10) -> Explanation:
        """Why the class of one row, a matrix (1, n_features), beat the second best."""
        return self.explain(X, tokens=["row"], top=top)

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1, *, as_log_probability: bool = False
    ) -> Iterator[list[tuple[Ints, float]]]:
        """The k best classes of each row as arrays of one label, with their scores."""
        answers = super().ranked(X, k, n_jobs, as_log_probability=as_log_probability)
        for ranked in answers:
            yield [(np.array([label], np.int32), score) for label, score in ranked]
