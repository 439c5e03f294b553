"""A trained motif: it classifies, finds sites and explains without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import check_list
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import WeightedModel
from partwise.outputs.scoring import FixedScoring
from partwise.protocol import Floats
from partwise.readers.motif_formats import as_text
from partwise.structures.motif import Motif, Site

PSEUDOCOUNT = 0.5  # of each letter, in probabilities


class MotifModel(WeightedModel):
    """Predicts classes of sequences, and where their motif is.

    Parameters
    ----------
    structure : Motif
    labels : list of two
        Of sequences without and with the motif.
    weights : array (4·length + n_background,)
    counts : array (length, 4)
        Letters at the places of the motif in the training sequences that have it.
    info : dict
    """

    name: ClassVar[str] = "MotifModel"
    support = None  # planes of hidden windows are not kept

    def __init__(
        self,
        structure: Motif,
        labels: list[Any],
        weights: Floats,
        counts: Floats,
        info: dict[str, Any],
    ) -> None:
        self.scoring: Any = FixedScoring(structure.setup(), "length", "order")
        self.structure = structure
        self.labels = labels
        self.weights = weights
        self.counts = counts
        self.info = info

    @property
    def feature_names(self) -> list[str]:
        """Letters of the motif, then of the background."""
        return self.structure.feature_names()

    @property
    def pwm(self) -> Floats:
        """Probabilities of A, C, G and T at the places of the motif, (length, 4)."""
        smoothed = self.counts + PSEUDOCOUNT
        return smoothed / smoothed.sum(axis=1, keepdims=True)

    @property
    def score_matrix(self) -> Floats:
        """Weights of letters at the places of the motif, (length, 4)."""
        length = self.structure.length
        return self.weights[: 4 * length].reshape(length, 4)

    def as_text(self, layout: str, name: str = "motif") -> str:
        """The motif for other programs: frequencies (meme), counts (jaspar)."""
        both_strands = bool(self.structure.both_strands)
        return as_text(layout, name, self.counts, both_strands=both_strands)

    def training_problem(
        self, X: Sequence[str], truths: Any, formulation: Formulation | None = None,
        n_jobs: int = 1,
    ) -> Any:  # fmt: skip
        """The problem of sequences; truths are 1 with the motif and 0 without."""
        return self.structure.pack(X, truths, formulation, n_jobs=n_jobs)

    def sites(self, X: Sequence[str], n_jobs: int = 1) -> tuple[list[Site], Floats]:
        """The best window of each sequence, whatever its class, and its score.

        A sequence shorter than the motif has none, and the score −inf.
        """
        check_list(X, "strings")
        if not len(X):
            return [], np.zeros(0)
        problem = self.training_problem(X, None, n_jobs=n_jobs)
        cuts = problem.best_windows(problem.expand(self.weights))
        scores = np.where(cuts.code == 0, -np.inf, cuts.violation)
        return problem.outputs(cuts), scores

    def predict(self, X: Sequence[str], *, n_jobs: int = 1) -> list[Any]:
        """The class of each sequence."""
        return [self.labels[score > 0] for score in self.sites(X, n_jobs)[1].tolist()]

    def explain(self, x: str, top: int = 10) -> Explanation:
        """The letters of the best window that carry its score."""
        (site,), (score,) = self.sites([x])
        has_motif = bool(score > 0)
        winner, runner = self.labels[has_motif], self.labels[not has_motif]
        reasons: list[Contribution] = []
        if site.position is not None:
            sign = 1.0 if has_motif else -1.0
            shares = sign * self.structure.shares(x, site, self.weights)
            order = np.argsort(-np.abs(shares), kind="stable")[:top]
            places = (order + site.position).tolist()
            reasons = [
                Contribution(t, f"{x[t]} in the window", winner, runner, share)
                for t, share in zip(places, shares[order], strict=True)
            ]
        lead = abs(float(score)) if np.isfinite(score) else 0.0
        return Explanation(["sequence"], [winner], [runner], lead, lead, reasons)

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """Letters of the motif, and of the background."""
        n, names = 4 * self.structure.length, self.feature_names
        yield "motif", names[:n], self.weights[:n]
        yield "background", names[n:], self.weights[n:]
