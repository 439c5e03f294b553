"""Estimators whose truths have hidden parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from partwise.outputs.saved import SavedEstimator
from partwise.parameters import check_whole
from partwise.solvers.cccp import CCCPMemo, Round


@dataclass(eq=False, repr=False, kw_only=True)
class LatentEstimator(SavedEstimator):
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

    rounds_: list[Round] = field(init=False)

    def _solver_settings(self) -> dict[str, Any]:
        return super()._solver_settings() | {
            "restarts": self.restarts,
            "self_paced": self.self_paced,
            "eps_times_C": self.eps_times_C,
        }

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("restarts", self.restarts, 1)

    def _record(self, problem: Any, objective: Any, solver: Any, state: Any) -> None:
        super()._record(problem, objective, solver, state)
        self.rounds_ = state.memo.rounds if isinstance(state.memo, CCCPMemo) else []
