"""`MotifClassifier`: classes of sequences by a motif at a hidden place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.bounds import check_list
from partwise.outputs.labels import positive_last
from partwise.outputs.latent_estimator import LatentEstimator
from partwise.outputs.motif.model import MotifModel
from partwise.parameters import check_choice, check_positive, check_whole
from partwise.protocol import Floats, Ints
from partwise.readers.sink import write_bytes
from partwise.structures.motif import Motif
from partwise.structures.motif.sequences import MAX_ORDER


@dataclass(eq=False, repr=False, kw_only=True)
class MotifClassifier(LatentEstimator):
    """Classify sequences by whether they have a motif; its place is hidden.

    A window of `length` letters scores by the letters at its places less a Markov
    background, and a sequence by its best window, against 0 (Yu and Joachims, ICML
    2009, section 5.1; see `Motif`).

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default the number of sequences.
    length : int
        Letters of the motif.
    order : int
        Letters before a letter that the background looks at, 0 to 6.
    both_strands : bool
        Look for the motif on the reverse complement, too.
    seeds : int
        Windows of sequences with the motif that a run tries as its start; 0 begins at
        uniformly random windows, as the paper does.
    positive : str or None
        Class of the sequences that have the motif; by default a class named like +1, 1
        or yes, else the last in their order.
    background_weight : float
        Weight of a background sequence of `fit`, relative to 1 of the others.
    restarts : int
        Runs from different random windows, of which the best is kept.
    metric : str
        What `score` measures: accuracy, error_rate or balanced_accuracy.
    loss : {"hinge"}
        Maximum margin; there is no other.
    formulation : {"margin", "slack"}
        How losses enter: as a margin, or as a factor of the slack.
    penalty, solver, tol, eps, max_iter, time_limit, random_state, n_jobs
        See `StructuredEstimator`; `solver` is that of the convex problems, `tol` and
        `eps` are decreases by a round, `max_iter` counts rounds.
    self_paced, eps_times_C
        See `LatentEstimator`.

    Attributes
    ----------
    classes_ : array of two labels
        Without and with the motif.
    pwm_ : array (length, 4)
        Probabilities of A, C, G and T, by the windows of the training sequences.
    score_matrix_ : array (length, 4)
        Learned weights of letters.

    Examples
    --------
    >>> from partwise.datasets import planted_motifs
    >>> X, y, positions = planted_motifs(60, random_state=1)
    >>> finder = MotifClassifier(length=8, order=0, restarts=3).fit(X, y)
    >>> finder.score(X, y) > 0.9
    True
    >>> has_motif = y == 1
    >>> float((finder.positions(X) == positions)[has_motif].mean()) > 0.9
    True
    """

    length: int = 8
    order: int = 3
    both_strands: bool = False
    seeds: int = 100
    positive: str | None = None
    background_weight: float = 0.02
    restarts: int = 10
    loss: Literal["hinge"] = "hinge"
    formulation: Literal["margin", "slack"] = "margin"
    metric: str = "accuracy"

    model_: MotifModel = field(init=False)
    model_class = MotifModel
    measured = "classes"

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("length", self.length, 1)
        check_whole("seeds", self.seeds, 0)
        check_positive("background_weight", self.background_weight)
        check_choice("order", self.order, range(MAX_ORDER + 1))

    def _solver_settings(self) -> dict[str, Any]:
        first = "given" if self._is_begun else "random"
        return super()._solver_settings() | {"first": first}

    def fit(
        self,
        X: Sequence[str],
        y: Any,
        sample_weight: Any = None,
        background: Sequence[str] = (),
        *,
        completions: Any = None,
        weights: Any = None,
    ) -> Self:
        """Learn from sequences and their classes.

        Parameters
        ----------
        X : list of str
            Letters A, C, G, T or U; others have no weights.
        y : array (n,)
            Two classes.
        sample_weight : array (n,), optional
        background : list of str, optional
            More sequences without the motif, of weight `background_weight` each.
        completions : int array (n,), optional
            Where windows of the first run begin, as `positions` gives them.
        weights : array, optional
            Or weights whose best windows it begins with, as ``coef_``.
        """
        self.check_parameters()
        check_list(X, "strings")
        X, y = list(X), np.asarray(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} sequences and y {len(y)} classes")
        labels = positive_last(y, self.positive)
        structure = Motif(
            int(self.length), int(self.order), bool(self.both_strands), int(self.seeds)
        )
        model = MotifModel(structure, labels, np.zeros(0), np.zeros(0), {})
        n_more = len(background)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        weight = np.append(weight, np.full(n_more, self.background_weight))
        truths = np.append(y == labels[1], np.zeros(n_more, bool))
        problem = model.training_problem(
            [*X, *background], truths, self._formulation(), self._n_jobs()
        )
        if completions is not None:
            completions = np.append(completions, np.full(n_more, -1))
        first = self._begin(problem, completions, weights)
        is_weighted = sample_weight is not None or n_more > 0
        self._learn_weights(model, problem, weight if is_weighted else None, first)
        model.counts = problem.window_counts()
        return self

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The class of each sequence, (n,)."""
        self._check_fitted()
        labels = self.model_.predict(X, n_jobs=self._n_jobs())
        return np.array(labels, self.classes_.dtype)

    def decision_function(self, X: Sequence[str]) -> Floats:
        """Score of the best window, (n,); the motif is there when it is positive."""
        self._check_fitted()
        return self.model_.sites(X, self._n_jobs())[1]

    def margin(self, X: Sequence[str]) -> Floats:
        """How far the class of each sequence is ahead of the other one, (n, 2).

        The class without the motif scores nothing, so both columns are the distance of
        the best window's score from zero; inf where a sequence has no window.
        """
        distance = np.abs(self.decision_function(X))
        return np.column_stack([distance, distance])

    def positions(self, X: Sequence[str]) -> Ints:
        """Where the best window of each sequence begins, (n,), whatever its class.

        −1 where a sequence is shorter than the motif.
        """
        self._check_fitted()
        sites, _ = self.model_.sites(X, self._n_jobs())
        return np.array([-1 if s.position is None else s.position for s in sites], int)

    def write_pwm(
        self, path: Any, name: str = "motif", layout: Literal["meme", "jaspar"] = "meme"
    ) -> None:
        """Write the motif for other programs: frequencies (MEME), counts (JASPAR)."""
        self._check_fitted()
        write_bytes(path, self.model_.as_text(layout, name).encode())

    @property
    def classes_(self) -> np.ndarray:
        """Without and with the motif, (2,)."""
        return np.array(self.model_.labels)

    @property
    def pwm_(self) -> Floats:
        """Probabilities of letters at the places of the motif, (length, 4)."""
        return self.model_.pwm

    @property
    def score_matrix_(self) -> Floats:
        """Learned weights of letters at the places of the motif, (length, 4)."""
        return self.model_.score_matrix
