"""What solvers over pools of planes per block share: Frank-Wolfe and n-slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from partwise.protocol import Cuts, Objective, Problem, Start, State, Support
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._joint_steps import JointSteps
from partwise.solvers._memo import MemoSolver, reusable_memo
from partwise.solvers._passes import ask_all
from partwise.solvers._starts import transferred


@dataclass
class PoolMemo:
    """The dual as pools of planes, and joint solutions over all pools."""

    objective: Objective
    dual: BlockDual
    joint: JointSteps | None

    def rebase(self, old_truths: Cuts) -> None:
        """Pools and joint planes follow the new truths."""
        self.dual.rebase(old_truths)
        if self.joint is not None:
            self.joint.planes.rebase(old_truths)

    def export(self) -> dict[str, Any]:
        """Pools and joint planes."""
        joint = None if self.joint is None else self.joint.export()
        return {"dual": self.dual.export(), "joint": joint}

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.dual.restore(tree["dual"])
        if tree["joint"] is not None:
            self.joint = JointSteps(problem, self.objective)
            self.joint.restore(tree["joint"])


class PoolSolver(MemoSolver):
    """A solver whose memo is a `PoolMemo`."""

    memo_type: ClassVar[type[PoolMemo]]

    steps: int

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """Empty pools and the zero model; a start supplies its dual, or cuts."""
        memo: Any = reusable_memo(start, self.memo_type, objective)
        if memo is not None:
            memo.dual.rebuild()
            return State(model=start.model, memo=memo, dual=memo.dual.value())
        support = transferred(problem, start)
        # given planes have parts that narrow searches do not score
        is_new = support is None and start.model is None
        memo = self._new_memo(problem, objective, narrow=is_new)
        state = State(model=problem.zero(), memo=memo, dual=0.0)
        if support is not None:
            memo.dual.begin_from(support)
            self._improve_start(problem, state)
            state.dual = max(memo.dual.value(), 0.0)
        elif start.model is not None:
            cuts = ask_all(problem, start.model, state, is_last=True)
            assert cuts is not None
            state.n_planes += memo.dual.show(cuts, state, steps=self.steps)
        return state

    def _new_memo(
        self, problem: Problem, objective: Objective, *, narrow: bool = True
    ) -> PoolMemo:
        """Empty pools; `narrow` allows searches that may miss the best output."""
        raise NotImplementedError

    def _improve_start(self, problem: Problem, state: State) -> None:
        """Raise the dual of a start before the first sweep."""

    def support(self, state: State) -> Support:
        """Planes with α > 0."""
        return state.memo.dual.support()

    def planes_at_hand(self, state: State) -> Support:
        """All planes of the pools."""
        return state.memo.dual.support(idle=True)
