"""`SequenceAligner`: alignments with scikit-learn's interface."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.features.pair_presets import expand, is_name
from partwise.features.pairs import PairFeaturizer, has_candidates
from partwise.outputs.alignment.model import AlignmentModel
from partwise.outputs.estimator import as_object_array
from partwise.outputs.explanation import Explanation
from partwise.outputs.latent_estimator import PartlyLabelledEstimator
from partwise.parameters import check_positive, check_whole
from partwise.protocol import Floats
from partwise.readers.substitution import SubstitutionMatrix, read_matrix
from partwise.structures.alignment.examples import is_hidden
from partwise.structures.alignment.structure import ENDS, Alignment
from partwise.structures.alignment.weights import identity_matrix, start_weights


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceAligner(PartlyLabelledEstimator):
    """Learn to align two sequences, or to find the homologue among decoys.

    Minimises ½‖w − w₀‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong alignment of
    pair i comes too near, by the share of reference pairs that it loses. With decoys,
    ξ_i is how much the best alignment of a decoy comes within 1 of the homologue's; one
    of unknown alignment is aligned anew in each of several rounds (`CCCP`). w₀ is zero,
    or the scores of a substitution matrix.

    Parameters
    ----------
    templates : str, list of str or None
        Features of matches and gaps: simple (the default), anova2 or tensor, with
        +window or +profile.
        Or lines of the language of `partwise.features.pairs`.
    tie_gaps : bool
        Gaps in either sequence have the same scores.
    mode : {"global", "local", "semiglobal"}
        Align whole sequences, their best parts, or whole sequences with free ends.
    free_ends : list of str or None
        Ends at which a semi-global alignment leaves out tokens for free, of a_start,
        a_end, b_start, b_end; all by default.
    cost : {"q", "q4"} or int
        The loss: share of reference pairs that are lost, counted as found when at most
        0, 4 or so many places off.
    band : int or None
        Leave out matches farther than this from the diagonal.
    start : path, SubstitutionMatrix or None
        Substitution matrix (NCBI text) whose scores training starts from.
        Weights are pulled towards it instead of towards zero; with unknown alignments
        it is where rounds begin, and weights are pulled towards zero.
    start_open, start_extend : float
        Scores of gaps that go with it: a gap of k tokens has open + k·extend.
    start_scale : float
        Factor of all of these; the loss of an alignment is at most 1, so scores of
        some tenths for a match are of its size.
    C : float or None
        Weight of the losses; by default a tenth of the number of examples.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`. The solver ``"generative"`` counts: log-odds of
        matches, log frequencies of gaps.
    checkpoint, checkpoint_every, n_jobs, warm_start
        See `StructuredEstimator`.
    metric : {"q", "q4", "homologue_accuracy"}
        What `score` measures.

    Attributes
    ----------
    matrix_ : SubstitutionMatrix
        Learned scores of substitutions, which `partwise.readers.write_matrix` writes.
    coef_ : array (n_weights,)
    certificate_ : Certificate

    Examples
    --------
    >>> from partwise.datasets import toy_alignments
    >>> X, y = toy_alignments(20, random_state=0)
    >>> aligner = SequenceAligner(C=20, tol=0.05).fit(X, y)
    >>> aligner.predict(X)[0].shape[1]
    2
    """

    templates: Any = None
    tie_gaps: bool = True
    mode: Literal["global", "local", "semiglobal"] = "global"
    free_ends: Any = None
    cost: Any = "q"
    band: int | None = None
    start: Any = None
    start_open: float = -11.0
    start_extend: float = -1.0
    start_scale: float = 0.05
    metric: str = "q"

    model_: AlignmentModel = field(init=False)
    model_class = AlignmentModel
    measured = "alignments"

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        core: Sequence[Any] | None = None,
    ) -> Self:
        """Learn from pairs of sequences and their alignments.

        Parameters
        ----------
        X : list of (a, b), or of (a, candidates)
            Sequences are strings or dicts of annotation columns.
        y : list of int arrays (k, 2)
            Pairs of aligned tokens. With candidates (number of the homologue, its
            alignment); the number alone where its alignment is not known.
        sample_weight : array (n_examples,), optional
        core : list of bool arrays (k,), optional
            Which pairs of `y` the loss counts; all by default.
        """
        self.check_parameters()
        if len(X) == 0:
            raise ValueError("X has no examples; give at least one pair of sequences")
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} examples, y {len(y)}; give one y per X")
        decoys = has_candidates(X)
        for i, truth in enumerate(y):
            if truth is None or (isinstance(truth, int | np.integer) and not decoys):
                lacks = "names no homologue" if decoys else "has no alignment"
                raise ValueError(f"y[{i}] {lacks}; give it, or leave X[{i}] out")
        hidden = np.array([is_hidden(truth) for truth in y])
        self._refuse_hidden(-hidden.astype(int))
        last = getattr(self, "model_", None) if self.warm_start else None
        model = self._new_model(X, decoys) if last is None else _again(last)
        first = self._first_weights(model) if hidden.any() else None
        self._weighted = sample_weight is not None
        problem = model.training_problem(
            X, y, self._formulation(), self._n_jobs(), core=core
        )
        start = first if last is None else problem.expand(last.weights)
        state, _ = self._solve(problem, sample_weight, start)
        model.weights = problem.compact(state.model)
        model.info = {"certificate": self.certificate_.to_dict()}
        self.model_ = model
        self._remove_checkpoints()
        return self

    def _new_model(self, X: Sequence[Any], decoys: bool) -> AlignmentModel:
        """A model without weights, for sequences with these columns and letters."""
        of_a = [a for a, _ in X]
        of_b = [c for _, b in X for c in b] if decoys else [b for _, b in X]
        templates = "simple" if self.templates is None else self.templates
        if is_name(templates):
            templates = expand(templates, of_a[0], of_b[0])
        matrix = None
        if self.start is not None:
            is_path = isinstance(self.start, str | os.PathLike)
            matrix = read_matrix(self.start) if is_path else self.start
        letters = "" if matrix is None else matrix.rows.replace("*", "")
        featurizer = PairFeaturizer(templates).fit(of_a, of_b, letters)
        options = {
            "tie_gaps": self.tie_gaps,
            "mode": self.mode,
            "free_ends": list(ENDS) if self.free_ends is None else list(self.free_ends),
            "cost": self._cost(),
            "band": self.band,
        }
        model = AlignmentModel(featurizer, options, np.zeros(0), {})
        if matrix is not None:
            model.start = self.start_scale * start_weights(
                featurizer, model.layout, matrix, self.start_open, self.start_extend
            )
        return model

    def _first_weights(self, model: AlignmentModel) -> Floats | None:
        """Where rounds begin: the start, which pulls no longer, or equal letters."""
        first, model.start = model.start, None
        made = model.featurizer
        if first is None and made.substitutions() is not None:
            first = start_weights(made, model.layout, identity_matrix(made), -1.0, -1.0)
        return first

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("band", self.band, 0)
        check_positive("start_scale", self.start_scale)
        self._cost()
        if isinstance(self.templates, str | list) and not is_name(self.templates):
            PairFeaturizer(self.templates)

    def _cost(self) -> Any:
        """The loss by name or tolerance; the shell has text only."""
        cost = self.cost
        is_number = isinstance(cost, np.integer) or str(cost).isdecimal()
        cost = int(cost) if is_number else cost
        Alignment((1,), cost=cost).tolerance()  # refuses what is none
        return cost

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, given: Any = None, forbidden: Any = None) -> np.ndarray:
        """Best alignments: a 1-D object array of int arrays (k, 2).

        Parameters
        ----------
        X : as in `fit`
            With candidates, an output is (number of the best candidate, alignment).
        given, forbidden : list of int arrays (g, 2), optional
            Pairs that each alignment must have, or must not have.
        """
        self._check_fitted()
        return as_object_array(
            self.model_.predict(
                X, given=given, forbidden=forbidden, n_jobs=self._n_jobs()
            )
        )

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Why the best alignment of one (a, b), or the best candidate, won."""
        self._check_fitted()
        return self.model_.explain(x, top=top)

    # --------------------------------------------------------- files, attributes

    @classmethod
    def _parameters_of(cls, model: AlignmentModel) -> dict[str, Any]:
        return {**model.options, "templates": model.featurizer.lines}

    as_given = ("templates",)

    @property
    def matrix_(self) -> SubstitutionMatrix:
        """Learned scores of substitutions."""
        return self.model_.matrix()

    @property
    def coef_(self) -> Floats:
        """All weights, in the order of ``model_.tables()``."""
        return self.model_.weights


def _again(last: AlignmentModel) -> AlignmentModel:
    """The same model without weights; those of a warm start come from the last one."""
    return AlignmentModel(last.featurizer, last.options, np.zeros(0), {}, last.start)
