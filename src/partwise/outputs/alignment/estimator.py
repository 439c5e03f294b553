"""`SequenceAligner`: alignments with scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.features.annotated import has_candidates
from partwise.features.pair_presets import is_name
from partwise.features.pairs import PairFeaturizer
from partwise.outputs.alignment.model import AlignmentModel
from partwise.outputs.estimator import as_object_array
from partwise.outputs.latent_estimator import PartlyLabelledEstimator
from partwise.parameters import check_positive, check_whole
from partwise.readers.substitution import SubstitutionMatrix, as_matrix
from partwise.solvers import Abilities
from partwise.structures.alignment.examples import check_sizes, hidden_truths
from partwise.structures.alignment.file import chosen_options, options_of
from partwise.structures.alignment.structure import Alignment
from partwise.structures.alignment.weights import plain_weights, start_weights


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
        +window, +profile or both.
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
        Substitution matrix whose scores training starts from: a file in the text
        format of NCBI, which has BLOSUM62 and others.
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
    metric : {"q", "q4", "homologue_accuracy"}
        What `score` measures.

    Attributes
    ----------
    matrix_ : SubstitutionMatrix
        Learned scores of substitutions, which `partwise.readers.write_matrix` writes.
    coef_ : array (n_weights,)

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
    abilities = Abilities(("generative",), has_hidden_parts=True)
    measured = "alignments"
    as_given = ("templates",)

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
        check_sizes(X, y=y, sample_weight=sample_weight, core=core)
        hidden = hidden_truths(y, decoys=has_candidates(X))
        self._refuse_hidden(-hidden.astype(int))
        last = self._last_model
        model = self._new_model(X) if last is None else copy(last)
        first = None
        if hidden.any():  # rounds begin at the start, which pulls no longer
            first, model.start = model.start, None
            if first is None:
                first = plain_weights(model.featurizer, model.layout)
        problem = model.training_problem(
            X, y, self._formulation(), self._n_jobs(), core=core
        )
        return self._learn_weights(model, problem, sample_weight, first)

    def _new_model(self, X: Sequence[Any]) -> AlignmentModel:
        """A model without weights, for sequences with these columns and letters."""
        matrix = None if self.start is None else as_matrix(self.start)
        letters = "" if matrix is None else matrix.rows.replace("*", "")
        templates = "simple" if self.templates is None else self.templates
        featurizer = PairFeaturizer.of_pairs(templates, X, letters)
        structure = Alignment(**featurizer.settings(), **chosen_options(self))
        model = AlignmentModel(featurizer, structure, np.zeros(0))
        if matrix is not None:
            model.start = self.start_scale * start_weights(
                featurizer, model.layout, matrix, self.start_open, self.start_extend
            )
        return model

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("band", self.band, 0)
        check_positive("start_scale", self.start_scale)
        Alignment((1,), **chosen_options(self)).tolerance()
        if isinstance(self.templates, str | list) and not is_name(self.templates):
            PairFeaturizer(self.templates)

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, given: Any = None, forbidden: Any = None) -> np.ndarray:
        """Best alignments: a 1-D object array of int arrays (k, 2).

        Parameters
        ----------
        X : as in `fit`
            With candidates, an output is (number of the best candidate, alignment).
        given, forbidden : list of int arrays (g, 2), optional
            Pairs that alignments must have, or must not have; lists per candidate.
        """
        self._check_fitted()
        masks = {"given": given, "forbidden": forbidden}
        return as_object_array(self.model_.predict(X, **masks, n_jobs=self._n_jobs()))

    # --------------------------------------------------------- files, attributes

    @classmethod
    def _parameters_of(cls, model: AlignmentModel) -> dict[str, Any]:
        return {**options_of(model.structure), "templates": model.featurizer.lines}

    @property
    def matrix_(self) -> SubstitutionMatrix:
        """Learned scores of substitutions."""
        return self.model_.matrix()
