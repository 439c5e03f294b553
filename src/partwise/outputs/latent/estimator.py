"""`LatentStructuredSVM`: a user's structure whose truths have hidden parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.outputs.custom.estimator import StructuredSVM
from partwise.outputs.estimator import as_object_array
from partwise.outputs.latent_estimator import first_model
from partwise.protocol import Floats, offers
from partwise.solvers import Abilities
from partwise.solvers.cccp import Round
from partwise.structures.latent_loop import Completing


@dataclass(eq=False, repr=False, kw_only=True)
class LatentStructuredSVM(StructuredSVM):
    """Maximum-margin learning where only a part of each true output is known.

    Minimises ½‖w‖² + Σ c_i (max [Δ(y_i, ŷ) + <w, Ψ(x_i, ŷ)>] − max <w, Ψ(x_i, y)>), the
    second maximum over all outputs y that agree with the truth y_i, by the
    concave-convex procedure (`partwise.solvers.cccp`). The result is a local optimum.

    Parameters
    ----------
    structure : Structure
        With ``complete(x, y, w)``: the output of highest score that agrees with the
        truth y, and has no loss. ``loss(y, output)`` looks at the truth and the output,
        never at a completion. ``complete_at_random(x, y, rng)`` draws one, for random
        starts; without it they begin at random weights.
    C, formulation, penalty, tol, eps, max_iter, time_limit, random_state, n_jobs
        See `StructuredEstimator`. `tol` and `eps` are decreases of the objective by a
        round, `max_iter` counts rounds.
    loss : {"hinge"}
        The margin; there is no other.
    solver : str or Solver
        Of the convex problems: auto (bundle), bcfw, one_slack, n_slack; or a `CCCP`
        object with settings of its own.
    eps_times_C : bool
        Stop at a decrease of C·eps, as the program of Yu and Joachims does, not at eps,
        as their paper says.
    first : {"given", "random"}
        First completions: those given to `fit` (at zero weights without them), or
        random ones.
    restarts : int
        Runs, of which the best is kept; all but the first begin at random completions.
    self_paced : bool
        Begin with the examples that are easy, see `CCCP`.

    Attributes
    ----------
    rounds_ : list of Round
        Objective, precision, oracle calls and changed completions of each round.
    certificate_ : Certificate
        Of the convex problem with the completions of this model.

    Examples
    --------
    >>> from partwise.testing.toys import ToyPlaces, toy_places
    >>> X, y = toy_places(30)
    >>> svm = LatentStructuredSVM(ToyPlaces(), C=30.0, restarts=3).fit(X, y)
    >>> svm.score(X, y) > -0.3
    True
    >>> label, row = svm.complete(X[:1], y[:1])[0]
    """

    loss: Literal["hinge"] = "hinge"
    solver: Any = "auto"
    eps_times_C: bool = False
    first: Literal["given", "random"] = "given"
    restarts: int = 1
    self_paced: bool = False

    rounds_: list[Round] = field(init=False)
    abilities = Abilities(("generative",), has_hidden_parts=True)

    def _solver_settings(self) -> dict[str, Any]:
        return super()._solver_settings() | {
            "eps_times_C": self.eps_times_C,
            "first": self.first,
            "restarts": self.restarts,
            "self_paced": self.self_paced,
        }

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any = None,
        *,
        completions: Sequence[Any] | None = None,
        weights: Floats | None = None,
    ) -> Self:
        """Learn from inputs and what is known of their outputs.

        Parameters
        ----------
        X, y : sequences of equal length
            Inputs and truths, as the structure's methods take them.
        sample_weight : array (n,), optional
        completions : sequence of outputs, optional
            What the first run begins with; each must agree with its truth.
        weights : array (n_psi,), optional
            Or weights whose completions it begins with.
        """
        if not offers(self.structure, Completing):
            raise TypeError(
                f"{type(self.structure).__name__} has no `complete(x, y, w)`; define "
                "it, or use StructuredSVM where truths are whole outputs"
            )

        def begin(problem: Any, start: Any) -> Any:
            first = first_model(problem, completions, weights)
            if completions is not None:
                return None
            return start if first is None else problem.expand(first)

        return self._fit(X, y, sample_weight, begin)

    def _record(self, problem: Any, objective: Any, solver: Any, state: Any) -> None:
        super()._record(problem, objective, solver, state)
        self.rounds_ = state.memo.rounds

    def complete(self, X: Sequence[Any], y: Sequence[Any]) -> np.ndarray:
        """Outputs of highest score that agree with truths, a 1-D object array."""
        self._check_fitted()
        structure: Any = self.structure_
        pairs = zip(X, y, strict=True)
        return as_object_array([structure.complete(x, t, self.coef_) for x, t in pairs])
