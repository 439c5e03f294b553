"""Estimators whose truths have hidden parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partwise.outputs.saved_estimator import SavedEstimator
from partwise.parameters import SettingsError, check_whole
from partwise.solvers import Abilities, is_generative
from partwise.solvers.cccp import CCCPMemo, Round


def first_model(problem: Any, completions: Any, weights: Any) -> Any:
    """What the first run begins with, as users give it to `fit`.

    Parameters
    ----------
    problem : Problem
        With ``begin_with(completions)``, which takes completions over.
    completions : sequence or None
    weights : array or None
        As `Problem.compact` gives them.

    Returns
    -------
    array or None
        The weights.
    """
    if completions is not None and weights is not None:
        raise ValueError("give completions or weights to begin with, not both")
    if completions is not None:
        problem.begin_with(completions)
    if weights is None:
        return None
    given, shape = (
        np.asarray(weights, np.float64),
        problem.compact(problem.zero()).shape,
    )
    if given.shape != shape or not np.isfinite(given).all():
        raise ValueError(f"weights: give {shape[0]} finite numbers to begin with")
    return given


@dataclass(eq=False, repr=False, kw_only=True)
class CompletingEstimator(SavedEstimator):
    """Base of estimators whose problem is `Latent` for some data or settings.

    Attributes
    ----------
    rounds_ : list of Round
        Of the completion of hidden parts (`CCCP`); none where nothing is hidden.
    """

    rounds_: list[Round] = field(init=False)
    abilities = Abilities(has_hidden_parts=True)
    _is_begun: bool = field(init=False)  # with the user's completions

    def _begin(self, problem: Any, completions: Any, weights: Any) -> Any:
        """The user's weights to begin with, if any, once completions are taken over."""
        self._is_begun = completions is not None
        return first_model(problem, completions, weights)

    def _record(self, problem: Any, objective: Any, solver: Any, state: Any) -> None:
        super()._record(problem, objective, solver, state)
        self.rounds_ = state.memo.rounds if isinstance(state.memo, CCCPMemo) else []


@dataclass(eq=False, repr=False, kw_only=True)
class PartlyLabelledEstimator(CompletingEstimator):
    """Base of estimators whose truths may lack some parts, None in y.

    These are completed in rounds, and the loss does not count them.
    """

    def _sums_hidden(self) -> bool:
        """Whether likelihoods are those of what is known, summed over the rest."""
        return False

    def _refuse_hidden(self, codes: Any) -> None:
        """Refuse what cannot complete hidden parts, −1 in the codes of truths."""
        if not (np.asarray(codes) < 0).any():
            return
        if self.loss == "log":
            if self._sums_hidden():
                return
            raise SettingsError("<loss='log'> needs truths without None in y")
        name = self.solver if isinstance(self.solver, str) else "auto"
        if name != "auto" and is_generative(name):
            raise SettingsError(
                f"<solver={name!r}> counts parts, and needs truths without None in y"
            )


def refuse_weights(name: str, loss: str) -> None:
    """Refuse factors of the losses of tokens or nodes where there are none."""
    if loss == "log":
        raise SettingsError(
            f"<{name}=> does not go with <loss='log'>, which has no losses of tokens; "
            "leave one of them out, or use <sample_weight=>"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class LabelledEstimator(PartlyLabelledEstimator):
    """Base of estimators that label the tokens of sequences or the nodes of graphs."""

    measured = "labels"

    def predict(self, X: Any, given: Any = None) -> np.ndarray:
        """Best labels: a 1-D object array with one list per sequence or graph.

        Parameters
        ----------
        X : as in `fit`
            A sequence without tokens, or graph without nodes, has an empty list.
        given : list, optional
            Labels that are known and must be kept: lists with None where they are not,
            or, for graphs, dicts by names of nodes.
        """
        return self._predict(X, [], given)

    def _refuse_other(self, last: Any, *names: str) -> None:
        """Refuse to go on with a structure whose weights have another meaning."""
        for name in names:
            if getattr(self, name) != getattr(last, name):
                raise SettingsError(
                    "<warm_start=True> goes on with the last model, which had "
                    f"<{name}={getattr(last, name)!r}>; leave it as it was"
                )

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of their numbers."""
        return np.array(self.model_.labels)


@dataclass(eq=False, repr=False, kw_only=True)
class LatentEstimator(PartlyLabelledEstimator):
    """Base of estimators that complete hidden parts of truths in rounds.

    Parameters
    ----------
    restarts : int
        Runs from different first completions, of which the best is kept.
    self_paced : bool
        Begin with the examples that are easy.
    eps_times_C : bool
        With `eps`: stop when a round lowers the objective by less than C·eps, not eps.
    """

    restarts: int = 1
    self_paced: bool = False
    eps_times_C: bool = False

    def _solver_settings(self) -> dict[str, Any]:
        return super()._solver_settings() | {
            "restarts": self.restarts,
            "self_paced": self.self_paced,
            "eps_times_C": self.eps_times_C,
        }

    def _default_C(self, n: int) -> float:
        return float(n)

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("restarts", self.restarts, 1)
