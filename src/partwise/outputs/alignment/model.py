"""A trained aligner: best alignments, k best, posteriors, without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from partwise.features.annotated import letters_of
from partwise.features.pairs import PairFeaturizer, has_candidates
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import ScoredModel
from partwise.outputs.scoring import FeatureScoring
from partwise.protocol import Floats, Ints
from partwise.readers.substitution import SubstitutionMatrix
from partwise.structures.alignment import Alignment
from partwise.structures.alignment.layout import Layout
from partwise.structures.alignment.weights import (
    WeightTable,
    substitution_matrix,
    weight_tables,
)

PAIRS_ONLY = "probabilities are those of pairs; give (a, b), not decoys"

OPTIONS = ("tie_gaps", "mode", "free_ends", "cost", "band")


class AlignmentModel(ScoredModel):
    """Aligns pairs of sequences, or finds the best of several candidates.

    Parameters
    ----------
    featurizer : PairFeaturizer
    options : dict
        The other parameters of `Alignment`: tie_gaps, mode, free_ends, cost, band.
    weights : array (n_weights,)
        Laid out as `partwise.structures.alignment.layout` says.
    info : dict
        What a model file says about itself; JSON.
    start : array (n_weights,) or None
        The weights that training started from.
    """

    name: ClassVar[str] = "AlignmentModel"
    support = None

    def __init__(
        self,
        featurizer: PairFeaturizer,
        options: dict[str, Any],
        weights: Floats,
        info: dict[str, Any],
        start: Floats | None = None,
    ) -> None:
        self.scoring = FeatureScoring(featurizer)
        self.options = options
        self.weights = weights
        self.info = info
        self.start = start
        self.labels: list[Any] = []

    @cached_property
    def layout(self) -> Layout:
        """Where weights lie."""
        return self.structure(False).layout()

    def structure(self, decoys: bool) -> Alignment:
        """The output space, of pairs or of candidates."""
        settings = self.featurizer.settings()
        return Alignment(**settings, **self.options, decoys=decoys)

    def training_problem(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
        **masks: Any,
    ) -> Any:
        """Packed pairs, with true alignments and weights to start from, or neither."""
        decoys, packed = self.featurizer.transform_pairs(X)
        base = None if y is None else self.start
        return self.structure(decoys).pack(
            packed, y, formulation, n_jobs=n_jobs, base=base, **masks
        )

    # ---------------------------------------------------------------- prediction

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """All pairs at once."""
        if len(X):
            yield self.training_problem(X, None, n_jobs=n_jobs)

    def predict(
        self, X: Any, *, given: Any = None, forbidden: Any = None, n_jobs: int = 1
    ) -> list[Any]:
        """Best alignments (k, 2); of candidates, (number of the best, alignment)."""
        if not len(X):
            return []
        problem = self.training_problem(
            X, None, n_jobs=n_jobs, given=given, forbidden=forbidden
        )
        return problem.outputs(problem.predict_codes(self.weights))

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Any, float]]]:
        """The k best alignments, or the k best candidates with their best alignment."""
        has_probabilities = self.has_probabilities and not has_candidates(X)
        return list(self.ranked(X, k, n_jobs, as_log_probability=has_probabilities))

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1, *, as_log_probability: bool = False
    ) -> Iterator[Any]:
        """The k best outputs of each example with their scores, best first."""
        if not has_candidates(X):
            answers = super().ranked(
                X, k, n_jobs, as_log_probability=as_log_probability
            )
            yield from answers
            return
        if as_log_probability:
            raise ValueError(PAIRS_ONLY)
        pairs = [(a, b) for a, candidates in X for b in candidates]
        alignments, scores = self.align(pairs, n_jobs=n_jobs)
        last = 0
        for _, candidates in X:
            first, last = last, last + len(candidates)
            order = np.argsort(-scores[first:last], kind="stable")[:k].tolist()
            yield [
                ((c, alignments[first + c]), float(scores[first + c])) for c in order
            ]

    def align(self, X: Any, *, n_jobs: int = 1) -> tuple[list[Ints], Floats]:
        """Best alignment of each pair, and its score, (n,)."""
        problem = self.training_problem(X, None, n_jobs=n_jobs)
        return problem.align(self.weights)

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """Posterior alignments: P(i aligned with j), (n, m), of each pair."""
        if has_candidates(X):
            raise ValueError(PAIRS_ONLY)
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(self.tempered_weights)[0]
        ]

    # ------------------------------------------------------------------- meaning

    def matrix(self, weights: Floats | None = None) -> SubstitutionMatrix:
        """Learned scores of substitutions, or those of other weights."""
        weights = self.weights if weights is None else weights
        return substitution_matrix(self.featurizer, self.layout, weights)

    def tables(self) -> list[WeightTable]:
        """Each list of weights: title, where it begins, names of its entries."""
        return weight_tables(self.featurizer, self.layout)

    def feature_counts(self) -> dict[str, int]:
        """Number of weights of each template."""
        return {title: len(names) for title, _, names in self.tables()}

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each template its features and weights."""
        for title, base, names in self.tables():
            yield title, names, self.weights[base : base + len(names)]

    def explain(self, x: Any, *, top: int = 10) -> Explanation:
        """The parts that decide between the best output of (a, b) and the second."""
        (ranked,) = self.ranked([x], 2)
        is_choice = has_candidates([x])
        structure = self.structure(False)
        parts, shown = [], []
        for output, _ in ranked:
            chosen, pairs = output if is_choice else (None, output)
            b = x[1][chosen] if is_choice else x[1]
            codes = [self.featurizer.transform(s, k) for k, s in enumerate((x[0], b))]
            parts.append(structure.parts(codes, pairs))
            shown.append(_partners(x[0], b, pairs, chosen))
        names = {
            base + k: name
            for _, base, entries in self.tables()
            for k, name in enumerate(entries)
        }
        shares: dict[tuple[int, int], float] = {}
        for sign, found in zip((1.0, -1.0), parts, strict=False):
            for position, feature, value in found:
                key = (position, feature)
                share = sign * value * float(self.weights[feature])
                shares[key] = shares.get(key, 0.0) + share
        heaviest = sorted(shares.items(), key=lambda item: -abs(item[1]))[:top]
        second = shown[1] if len(shown) > 1 else shown[0]
        reasons = [
            Contribution(t, names[f], shown[0][t], second[t], share)
            for (t, f), share in heaviest
            if share
        ]
        lead = ranked[0][1] - ranked[1][1] if len(ranked) > 1 else np.inf
        explanation = Explanation(
            letters_of(x[0]), shown[0], second, ranked[0][1], float(lead), reasons
        )
        outputs = [output for output, _ in ranked]
        if len({0 if not is_choice else output[0] for output in outputs}) > 1:
            outputs = outputs[:1]  # of two candidates that is drawn which has won
        explanation.drawn = x, outputs[0], outputs[1] if len(outputs) > 1 else None
        return explanation


def _partners(a: Any, b: Any, pairs: Ints, chosen: int | None) -> list[str]:
    """The partner of each token of a, as text."""
    letters = letters_of(b)
    shown = ["-"] * len(letters_of(a))
    prefix = "" if chosen is None else f"{chosen}:"
    for i, j in np.asarray(pairs).reshape(-1, 2).tolist():
        shown[i] = f"{prefix}{letters[j]}{j}"
    return shown
