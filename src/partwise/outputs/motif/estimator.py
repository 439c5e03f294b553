"""`MotifClassifier`: classes of sequences by a motif at a hidden place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.explanation import Explanation
from partwise.outputs.latent_estimator import LatentEstimator
from partwise.outputs.motif.model import MotifModel
from partwise.parameters import (
    ParameterError,
    check_choice,
    check_positive,
    check_whole,
)
from partwise.protocol import Floats, Ints
from partwise.readers.motif_formats import as_jaspar, as_meme
from partwise.readers.sink import write_bytes
from partwise.structures.motif import Motif
from partwise.structures.motif.sequences import MAX_ORDER

POSITIVE = ("+1", "+", "1", "yes", "true", "pos", "positive", "bound")


@dataclass(eq=False, repr=False, kw_only=True)
class MotifClassifier(LatentEstimator):
    """Tell sequences with a motif from those without; the place of it is hidden.

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
    penalty, formulation, solver, tol, eps, max_iter, time_limit, random_state, n_jobs
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
    certificate_, history_, rounds_, n_iter_

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
    loss: Literal["hinge"] = "hinge"  # type: ignore[assignment]
    metric: str = "accuracy"

    model_: MotifModel = field(init=False)
    classes_: np.ndarray = field(init=False)
    model_class = MotifModel
    measured = "classes"
    has_baseline = False

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("length", self.length, 1)
        check_whole("order", self.order, 0)
        check_whole("seeds", self.seeds, 0)
        check_positive("background_weight", self.background_weight)
        if self.order > MAX_ORDER:
            raise ParameterError("order", self.order, f"give at most {MAX_ORDER}")

    def _solver_settings(self) -> dict[str, Any]:
        return super()._solver_settings() | {"first": "random"}

    def fit(
        self,
        X: Sequence[str],
        y: Any,
        sample_weight: Any = None,
        background: Sequence[str] = (),
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
        """
        self.check_parameters()
        X, y = list(X), np.asarray(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} sequences and y {len(y)} classes")
        last = getattr(self, "model_", None) if self.warm_start else None
        labels = self._labels(y)
        truths = (y == labels[1]).astype(np.int32)
        structure = Motif(self.length, self.order, self.both_strands, self.seeds)
        model = MotifModel(structure, labels, np.zeros(0), np.zeros(0), {})
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        self._weighted = sample_weight is not None or bool(len(background))
        if self._weighted:
            more = np.full(len(background), self.background_weight)
            weight = np.concatenate([weight, more])
        problem = model.training_problem(
            [*X, *background], np.append(truths, np.zeros(len(background), np.int32)),
            self._formulation(), self._n_jobs(),
        )  # fmt: skip
        start = None
        if last is not None and len(last.weights) == problem.n_weights:
            start = problem.expand(last.weights)
        state, _ = self._solve(problem, weight if self._weighted else None, start)
        model.weights = problem.compact(state.model)
        model.counts = window_counts(problem)
        model.info = {"certificate": self.certificate_.to_dict()}
        self.model_ = model
        self.classes_ = np.array(labels)
        self._remove_checkpoints()
        return self

    def _labels(self, y: np.ndarray) -> list[Any]:
        labels = np.unique(y).tolist()
        if len(labels) != 2:
            raise ValueError(f"y has {len(labels)} classes; a motif tells two apart")
        names = [str(label).lower() for label in labels]
        if self.positive is not None:
            if str(self.positive).lower() not in names:
                raise ParameterError(
                    "positive", self.positive, f"choose one of {labels}"
                )
            at = names.index(str(self.positive).lower())
        else:
            at = next((k for k in (1, 0) if names[k] in POSITIVE), 1)
        return [labels[1 - at], labels[at]]

    def _default_C(self, n: int) -> float:
        return float(n)

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Sequence[str]) -> np.ndarray:
        """The class of each sequence, (n,)."""
        self._check_fitted()
        if not len(X):
            return np.zeros(0, self.classes_.dtype)
        return np.array(self.model_.predict(X, n_jobs=self._n_jobs()))

    def decision_function(self, X: Sequence[str]) -> Floats:
        """Score of the best window, (n,); the motif is there when it is positive."""
        self._check_fitted()
        return self.model_.sites(X, self._n_jobs())[1]

    def positions(self, X: Sequence[str]) -> Ints:
        """Where the best window of each sequence begins, (n,), whatever its class.

        −1 where a sequence is shorter than the motif.
        """
        self._check_fitted()
        sites, _ = self.model_.sites(X, self._n_jobs())
        return np.array([-1 if s.position is None else s.position for s in sites], int)

    def explain(self, x: str, top: int = 10) -> Explanation:
        """The letters of the best window that carry the class of a sequence."""
        self._check_fitted()
        return self.model_.explain(x, top)

    def write_pwm(
        self,
        path: Any,
        name: str = "motif",
        layout: Literal["meme", "jaspar"] = "meme",
    ) -> None:
        """Write the motif for other programs: frequencies (MEME), counts (JASPAR)."""
        self._check_fitted()
        check_choice("layout", layout, ("meme", "jaspar"))
        model = self.model_
        if layout == "meme":
            n_sites = round(float(model.counts.sum(axis=1).max()))
            shares = model.counts / np.maximum(model.counts.sum(axis=1), 1)[:, None]
            both = bool(self.both_strands)
            text = as_meme(name, shares, n_sites, both_strands=both)
        else:
            text = as_jaspar(name, model.counts)
        write_bytes(path, text.encode())

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that `save` or the command line wrote."""
        estimator = super().load(path)
        estimator.classes_ = np.array(estimator.model_.labels)
        return estimator

    @classmethod
    def _parameters_of(cls, model: MotifModel) -> dict[str, Any]:
        structure = model.structure
        return {name: getattr(structure, name) for name in structure.get_params()}

    @property
    def pwm_(self) -> Floats:
        """Probabilities of letters at the places of the motif, (length, 4)."""
        return self.model_.pwm

    @property
    def score_matrix_(self) -> Floats:
        """Learned weights of letters at the places of the motif, (length, 4)."""
        return self.model_.score_matrix


def window_counts(problem: Any) -> Floats:
    """Letters at the places of completed windows, (length, 4)."""
    length = problem.structure.length
    counts = np.zeros((length, 4))
    offset, letters = problem.blocks.offset, problem.blocks.letter
    for i, code in enumerate(problem.truths().code.tolist()):
        if not code:
            continue
        window = letters[offset[i] + abs(code) - 1 :][:length]
        if code < 0:
            window = np.where(window < 0, -1, 3 - window)[::-1]
        known = np.flatnonzero(window >= 0)
        counts[known, window[known]] += 1.0
    return counts
