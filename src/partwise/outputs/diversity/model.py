"""A trained selector: chooses documents without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import check_list
from partwise.features.covering import WordCovers
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import WeightedModel
from partwise.outputs.scoring import FeatureScoring
from partwise.protocol import Floats, Ints
from partwise.structures.coverage import Coverage


class DiversityModel(WeightedModel):
    """Chooses documents that cover what is worth most.

    Parameters
    ----------
    covers : WordCovers
        Makes covering sets of candidate sets.
    structure : Coverage
    weights : array (n_features,)
    info : dict
        What a model file says about itself; JSON.
    """

    name: ClassVar[str] = "DiversityModel"

    def __init__(
        self,
        covers: WordCovers,
        structure: Coverage,
        weights: Floats,
        info: dict[str, Any],
    ) -> None:
        super().__init__(FeatureScoring(covers), structure, [], weights, info)

    @property
    def feature_names(self) -> list[str]:
        """Of the weights."""
        names = self.featurizer.names
        return names or [f"f{k}" for k in range(len(self.weights))]

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All candidate sets at once."""
        check_list(X, "candidate sets")
        if len(X):
            yield self.structure.pack(self._sets(X), None, n_jobs=n_jobs)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation | None = None, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate states."""
        return self.structure.pack(self._sets(X), y, formulation, n_jobs=n_jobs)

    def _sets(self, X: Any) -> Any:
        sets = self.featurizer.transform(X)
        width = len(self.weights) or sets[0].features.shape[1]
        for i, covers in enumerate(sets):
            if covers.features.shape[1] != width:
                raise ValueError(
                    f"candidate set {i} has {covers.features.shape[1]} features where "
                    f"{width} were expected"
                )
        return sets

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[Ints]:
        """Numbers of the chosen documents of each set, in the order of choice."""
        return [
            chosen
            for problem in self.problems(X, n_jobs)
            for chosen in problem.outputs(
                problem.predict_codes(problem.expand(self.weights))
            )
        ]

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """The features of elements."""
        yield "worth", self.feature_names, self.weights

    def explain(self, x: Any, *, top: int = 10) -> Explanation:
        """What each chosen document of one candidate set adds."""
        (selection,) = self.predict([x])
        (x,) = self._sets([x])
        worth = x.features @ self.weights
        covered = np.zeros(len(worth), bool)
        reasons, total = [], 0.0
        for rank, d in enumerate(selection.tolist()):
            new = np.flatnonzero(x.covers[d] & ~covered)
            covered[new] = True
            total += float(worth[new].sum())
            for e in new[np.argsort(-np.abs(worth[new]), kind="stable")[:top]]:
                name = x.names[e] if x.names else f"element {e}"
                share = float(worth[e])
                reasons.append(Contribution(rank, name, f"document {d}", "none", share))
        reasons = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        tokens = [f"choice {rank + 1}" for rank in range(len(selection))]
        winner = [f"document {d}" for d in selection.tolist()]
        return Explanation(tokens, winner, None, total, np.inf, reasons)
