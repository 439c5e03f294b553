"""A trained aligner: best alignments, k best, posteriors, without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

from partwise.bounds import check_list
from partwise.features.annotated import has_candidates, letters_of, partners_of
from partwise.features.pairs import PairFeaturizer
from partwise.objective import Formulation
from partwise.outputs.explanation import Explanation, reasons_of_parts
from partwise.outputs.model import ScoredModel
from partwise.outputs.scoring import FeatureScoring
from partwise.protocol import Floats, Ints
from partwise.structures.alignment import Alignment
from partwise.structures.alignment.weights import NamedWeights


class AlignmentModel(NamedWeights, ScoredModel):
    """Aligns pairs of sequences, or finds the best of several candidates.

    Parameters
    ----------
    featurizer : PairFeaturizer
    structure : Alignment
        Of pairs.
    weights : array (n_weights,)
        Laid out as `partwise.structures.alignment.layout` says.
    info : dict
        What a model file says about itself; JSON.
    start : array (n_weights,) or None
        The weights that training started from.
    """

    name: ClassVar[str] = "AlignmentModel"

    def __init__(
        self,
        featurizer: PairFeaturizer,
        structure: Alignment,
        weights: Floats,
        info: dict[str, Any] | None = None,
        start: Floats | None = None,
    ) -> None:
        super().__init__(FeatureScoring(featurizer), structure, [], weights, info)
        self.start = start
        self.layout = structure.layout()

    def training_problem(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
        **masks: Any,
    ) -> Any:
        """Packed pairs, with true alignments and weights to start from, or neither."""
        structure, packed = self._coded(X)
        base = None if y is None else self.start
        return structure.pack(packed, y, formulation, n_jobs=n_jobs, base=base, **masks)

    def _coded(self, X: Sequence[Any]) -> tuple[Alignment, list[Any]]:
        """The structure, of pairs or of candidates, and codes of sequences."""
        structure = copy(self.structure)
        structure.decoys, codes = self.featurizer.transform_pairs(X)
        return structure, codes

    # ---------------------------------------------------------------- prediction

    def predict(
        self, X: Any, *, given: Any = None, forbidden: Any = None, n_jobs: int = 1
    ) -> list[Any]:
        """Best alignments (k, 2); of candidates, (number of the best, alignment)."""
        check_list(X, "pairs of sequences")
        if not len(X):
            return []
        masks = {"given": given, "forbidden": forbidden}
        problem = self.training_problem(X, None, n_jobs=n_jobs, **masks)
        return problem.outputs(problem.predict_codes(self.weights))

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Any, float]]]:
        """The k best alignments, or the k best candidates with their best alignment."""
        has_probabilities = self.has_probabilities and not has_candidates(X)
        return list(self.ranked(X, k, n_jobs, as_log_probability=has_probabilities))

    def align(self, X: Any, *, n_jobs: int = 1) -> tuple[list[Ints], Floats]:
        """Best alignment of each pair, and its score, (n,)."""
        problem = self.training_problem(X, None, n_jobs=n_jobs)
        return problem.align(self.weights)

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """Posterior alignments: P(i aligned with j), (n, m), of each pair."""
        if has_candidates(X):
            raise ValueError("posteriors are those of pairs; give (a, b), not decoys")
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(self.tempered_weights)[0]
        ]

    def explain(self, x: Any, *, top: int = 10) -> Explanation:
        """The parts that decide between the best output of (a, b) and the second."""
        (ranked,) = self.ranked([x], 2)
        outputs, scores = zip(*ranked, strict=True)
        structure, (codes,) = self._coded([x])
        parts = [structure.parts(codes, y) for y in outputs]
        partners = [partners_of(x, y) for y in outputs]
        reasons = reasons_of_parts(parts, self.weights, self.feature_names, partners)
        letters = letters_of(x[0])
        explanation = Explanation.compare(letters, partners, scores, reasons, top)
        # of two candidates the winner alone is drawn
        has_second = len(outputs) > 1 and not structure.decoys
        explanation.drawn = x, outputs[0], outputs[1] if has_second else None
        return explanation
