"""The base class of models that parse sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.outputs.model import ScoredModel
from partwise.protocol import Floats, Ints


class TreeModel(ScoredModel):
    """Predicts trees of sentences."""

    def parse(self, X: Any, *, n_jobs: int = 1) -> tuple[list[Any], np.ndarray]:
        """The best tree of each sentence, and which of them are parses."""
        raise NotImplementedError

    def predict(self, X: Any, *, n_jobs: int = 1, **settings: Any) -> list[Any]:
        """The best tree of each sentence; `settings` are further ones of `parse`."""
        return self.parse(X, n_jobs=n_jobs, **settings)[0]

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(part) ∝ exp(score/T): a table of arcs or brackets for each sentence.

        Arc from h to d, (n + 1, n + 1); label over words i … j − 1, (n + 1, n + 1,
        n_labels). They are probabilities where the model `has_probabilities`, or of
        the PCFG: a margin is none.
        """
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(problem.expand(self.tempered_weights))[0]
        ]

    # ---------------------------------------------------------------- explanation

    def explain(self, X: Any, *, top: int = 10) -> Any:
        """Why the best tree of the first sentence beat the second best.

        Parameters
        ----------
        X : sentences
        top : int
            Number of reasons, and of support structures where the model has them.

        Returns
        -------
        Explanation or TreeExplanation
            Without any tree the score is −inf; without a second one there is no
            runner-up and the lead is infinite.
        """
        x = self._first(X)
        ranked = self._two_best(x)
        codes, scores = [code for code, _ in ranked], [score for _, score in ranked]
        score, lead = (scores[0], np.inf) if scores else (-np.inf, 0.0)
        if len(scores) > 1:
            lead = score - scores[1]
        explanation = self._compared(x, codes, score, lead)
        if len(codes) > 1:
            reasons = self._reasons(x, codes)
            reasons.sort(key=lambda reason: -abs(reason.share))
            explanation.contributions = reasons[:top]
        explanation.support = self._supporters(x, codes, top)
        return explanation

    def _first(self, X: Any) -> Any:
        """The first sentence, as the methods below take it."""
        raise NotImplementedError

    def _two_best(self, x: Any) -> list[tuple[Ints, float]]:
        """Codes of the two best trees, as far as there are any, with their scores."""
        raise NotImplementedError

    def _compared(
        self, x: Any, codes: Sequence[Ints], score: float, lead: float
    ) -> Any:
        """An explanation with winner and runner-up alone."""
        raise NotImplementedError

    def _reasons(self, x: Any, codes: Sequence[Ints]) -> list[Any]:
        """Reasons for the winner, with their shares of its lead over the runner-up."""
        raise NotImplementedError

    def _supporters(self, x: Any, codes: Sequence[Ints], top: int) -> list[Any]:
        """Training sentences with the largest shares of the lead."""
        raise NotImplementedError
