"""Memos of solvers, for the next step, a later run, or a checkpoint."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol, TypeVar

import numpy as np

from partwise.protocol import Cuts, Objective, Problem, Solver, Start, State


class Memo(Protocol):
    """A memo of planes, which follow a change of truths."""

    objective: Objective

    def rebase(self, old_truths: Cuts) -> None:
        """Follow a change of truths (`Latent.complete`)."""

    def export(self) -> dict[str, Any]:
        """All that the next step depends on, for a checkpoint."""

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""


Kind = TypeVar("Kind", bound=Memo)


def reusable_memo(start: Start, kind: type[Kind], objective: Objective) -> Kind | None:
    """The memo of an earlier run of the same solver with the same weights, or None."""
    if type(start.memo) is not kind:
        return None
    memo: Kind = start.memo
    before = memo.objective
    same = before.penalty == objective.penalty
    return memo if same and np.array_equal(before.weight, objective.weight) else None


class MemoSolver(Solver):
    """A solver whose memo is a `Memo`."""

    @abstractmethod
    def _new_memo(self, problem: Problem, objective: Objective) -> Memo:
        """The memo of a run that begins."""

    def rebase(self, state: State, old_truths: Cuts) -> None:
        """Planes and pools follow the new truths."""
        state.memo.rebase(old_truths)

    def export(self, state: State) -> dict[str, Any]:
        """All that the next step depends on."""
        return state.memo.export()

    def restore(
        self, problem: Problem, objective: Objective, tree: dict[str, Any]
    ) -> Memo:
        """The memo that `export` described."""
        memo = self._new_memo(problem, objective)
        memo.restore(problem, tree)
        return memo
