"""What trained models share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.protocol import Cuts, Floats, Ints


class WeightedModel:
    """Weights, and how something is scored by them."""

    name: ClassVar[str]  # of the kind of its model file, with features

    scoring: Any  # of the output; see `partwise.outputs.scoring.Scoring`
    weights: Floats
    info: dict[str, Any]  # what a model file says about itself; JSON

    @property
    def kind(self) -> str:
        """Name of the kind of its model file, without the version."""
        return f"{self.scoring.prefix}{self.name}"

    @property
    def featurizer(self) -> Any:
        """Makes the features of parts; None where the model looks at none."""
        return self.scoring.featurizer

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label, the names of features and their weights."""
        return iter(())


class ScoredModel(WeightedModel):
    """A structure whose outputs are decoded from the scores of their parts."""

    structure: Any

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed inputs to decode: all at once, or in turn what fits in memory."""
        raise NotImplementedError

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1
    ) -> Iterator[list[tuple[Ints, float]]]:
        """Codes of the k best outputs of each example with their scores, best first."""
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        for problem in self.problems(X, n_jobs):
            yield from problem.k_best(problem.expand(self.weights), k)

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best output and its lead over the second, (n_examples, 2)."""
        rows = []
        for ranked in self.ranked(X, 2, n_jobs):
            best = ranked[0][1]
            rows.append((best, best - ranked[1][1] if len(ranked) > 1 else np.inf))
        return np.reshape(np.array(rows), (-1, 2))


def one_cut(output: Ints) -> Cuts:
    """The plane φ(truth) − φ(output) of the only example."""
    one, indptr = np.ones(1), np.array([0, len(output)])
    return Cuts(np.zeros(1, np.int64), one, one, one, one, indptr, output)
