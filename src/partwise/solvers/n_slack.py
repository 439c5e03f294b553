"""The n-slack working set: Algorithm 1 of the founding paper.

    minimise  P(w)  of `objective.py`, all formulations,

over a growing set S of constraints, one slack ξ_i per example:

    repeat
        for each example i
            ŷ ← the most violated output at w, with violation H(ŷ)
            ξ_i ← max(0, max over S_i of H)
            if H(ŷ) > ξ_i + ε:  add ŷ to S_i, ascend the dual over S_i (`sweep`)
        ascend the dual over all of S (`polish`)
    until no constraint was added

The paper re-optimises over all of S after each addition (line 10; ``reoptimise="all"``)
or, as it says itself, over S_i with S after each sweep, which is the default. `repeat`
visits an example again until it adds nothing (Algorithm 2 of the Hidden Markov SVM,
which repeats until F(y_i) − F(ŷ) ≥ 1).

The dual over S is block-separable (L1) or nearly so, hence ascent over one block at a
time, warm-started, with full passes after each sweep. Where that is slow, with few
blocks and a large C, the dual points of the sweeps are combined as in `bcfw.py`.
Constraints whose α has been zero for many visits are dropped. A sweep that adds nothing
leaves w unchanged, so it has checked every constraint at one and the same w: none is
violated by more than ξ_i + ε. Convergence under ``eps`` also requires that the duality
gap be no larger than that rule allows at the optimum over S, because S is solved by
iteration.

With `tol` instead of `eps`, ε follows the gap: a sweep looks for violations above the
share of the gap that each block may keep.

For a hard margin the dual is unbounded when the data cannot be separated. It is then
stopped when the dual passes ½/γ² for the smallest margin γ worth having
(`min_margin`), because every separating w of margin γ has ½‖w‖² = ½/γ²; the blocks
with α > 0 are the examples that conflict.

Tsochantaridis, Hofmann, Joachims, Altun: Support vector machine learning for
interdependent and structured output spaces, ICML 2004 (Algorithm 1, Propositions 1 and
2, Theorem 1). Altun, Tsochantaridis, Hofmann: Hidden Markov support vector machines,
ICML 2003 (Algorithm 2).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from partwise.protocol import Objective, Problem, State
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._joint_steps import JointSteps
from partwise.solvers._passes import GRACE, full_pass
from partwise.solvers._pool_solver import PoolMemo, PoolSolver

REPEATS = 1000  # of one example, at most
CAPACITY = 4  # constraints per example to begin with


@dataclass
class NSlackMemo(PoolMemo):
    """The working set, and joint solutions over it."""


@dataclass(eq=False, repr=False)
class NSlack(PoolSolver):
    """Working-set algorithm with one slack per example.

    Parameters
    ----------
    tol, eps, max_iter, time_limit
        See `Solver`; an iteration is a sweep over the examples.
    steps : int
        Pairwise steps per visit of a block.
    passes : int
        Passes over all constraints after each sweep, at most; fewer when the dual over
        the working set is solved to a tenth of ε.
    drop_after : int
        Visits with α = 0 after which a constraint is dropped.
    min_margin : float
        Hard margins only: the smallest margin worth having. Data that cannot be
        separated with it are reported as inseparable.
    reoptimise : {"block", "all"}
        What is re-optimised after each addition: constraints of the example, or all.
    repeat : bool
        Visit an example again until it adds no constraint.
    """

    loops = "n_slack"
    memo_type = NSlackMemo

    tol: float = 1e-3
    eps: float | None = None
    max_iter: int = 1000
    time_limit: float | None = None
    steps: int = 50
    passes: int = 200
    drop_after: int = 50
    min_margin: float = 1e-3
    reoptimise: str = "block"
    repeat: bool = False

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """Refuse an unknown `reoptimise`, too."""
        super().refuse(problem, objective)
        if self.reoptimise not in ("block", "all"):
            raise ValueError(f"reoptimise={self.reoptimise!r}: choose 'block' or 'all'")

    def _new_memo(
        self, problem: Problem, objective: Objective, *, narrow: bool = True
    ) -> NSlackMemo:
        dual = BlockDual(problem, objective, CAPACITY)  # every search is exact
        return NSlackMemo(objective, dual, JointSteps.create(problem, objective))

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """One sweep with the oracle, then ascent over the whole working set."""
        memo: NSlackMemo = state.memo
        dual = memo.dual
        eps = self._precision(objective, state)
        added = self._sweep(problem, objective, state, eps)
        if state.is_late:
            state.dual = max(state.dual, dual.value())
            return
        # without additions w did not move: every block was checked at the same model
        if added == 0 or self._is_due(objective, state):
            self._evaluate(problem, objective, state)
        if self._verdict(state) is None:
            self._solve_working_set(objective, state, eps)
        if objective.penalty == "hard" and state.dual > 0.5 / self.min_margin**2:
            self._report_conflict(dual, state)

    def _is_due(self, objective: Objective, state: State) -> bool:
        """Whether the shares of the gap, as of each visit, sum up to `tol` or less.

        The ε of a sweep divides the gap evenly among the blocks. To wait until none of
        them exceeds its part took 40 trees to a gap of 0.02 % where 1 % was enough.
        """
        if self.eps is not None or objective.penalty == "hard":
            return False
        return float(np.sum(state.memo.dual.gaps)) <= self.tol * state.dual

    def _sweep(
        self, problem: Problem, objective: Objective, state: State, eps: float
    ) -> int:
        """Visit all examples in order; returns the constraints added."""
        dual = state.memo.dual
        order = np.arange(problem.n_blocks)
        settings = {"eps": eps, "steps": self.steps, "limit": self.drop_after}
        if self.reoptimise == "block" and not self.repeat:
            return int(dual.sweep(order, state, **settings))
        added = 0
        for i in order:
            for _ in range(REPEATS if self.repeat else 1):
                new = dual.sweep(order[i : i + 1], state, **settings)
                added += new
                if new and self.reoptimise == "all":
                    self._solve_working_set(objective, state, eps)
                if not new or state.is_late:
                    break
            state.report(i / problem.n_blocks)
            if state.is_late:
                break
        return added

    def _solve_working_set(
        self, objective: Objective, state: State, eps: float
    ) -> None:
        """Ascend the dual over all constraints.

        Ends when no pair of a block has a slope above ε/10, or when the dual is known
        to be within ε/10·Σc of its optimum over the working set.
        """
        memo: NSlackMemo = state.memo
        dual = memo.dual
        order = np.arange(dual.problem.n_blocks)
        for _ in range(self.passes):
            slope = dual.polish(order, state, steps=self.steps, tol=0.1 * eps)
            if slope <= 0.1 * eps or state.is_late:
                break
            dual.rescale()
            if memo.joint is not None:
                worth = 0.1 * eps * float(np.sum(objective.weight))
                if memo.joint.solve(dual, worth / max(dual.value(), 1e-300)):
                    break
        state.dual = max(state.dual, dual.value())

    def _precision(self, objective: Objective, state: State) -> float:
        """The ε of this sweep: given, or what the wanted gap leaves to each block."""
        if self.eps is not None:
            return self.eps
        value = max(state.dual, 1e-12)
        if objective.penalty == "hard":
            return 0.25 * self.tol
        return 0.25 * self.tol * value / float(np.sum(objective.weight))

    def _evaluate(self, problem: Problem, objective: Objective, state: State) -> None:
        dual = state.memo.dual
        dual.rebuild()  # rounding of many small steps, or Ctrl-C between α and w
        state.dual = dual.value()
        evaluation = full_pass(problem, objective, dual.w, state)
        if evaluation is None:
            return
        dual.assess(evaluation, state)
        primal, found = evaluation.primal, evaluation.found
        # the last model is the one that the constraints add up to
        if state.keep_better(dual.w, primal, found) or self.eps is not None:
            state.primal, state.found = primal, found
            state.model = dual.w.copy()

    def _report_conflict(self, dual: BlockDual, state: State) -> None:
        support = dual.support()
        mass = np.bincount(support.cuts.block, support.alpha)
        blocks = np.flatnonzero(mass)[np.argsort(-mass[mass > 0], kind="stable")]
        shown = ", ".join(map(str, blocks[:20])) + (", …" if len(blocks) > 20 else "")
        state.stopped = "inseparable"
        state.note = (
            f"no model separates the data with a margin of {self.min_margin:g}: the "
            f"examples {shown} conflict; use a soft margin, or remove or repair them"
        )

    def finish(self, problem: Problem, objective: Objective, state: State) -> None:
        """Evaluate a model that was not, e.g. after Ctrl-C or a time limit."""
        if state.stopped in ("converged", "search exhausted"):
            return
        state.deadline = time.perf_counter() + GRACE
        self._evaluate(problem, objective, state)
        if not np.isfinite(state.found):
            state.model = state.memo.dual.w.copy()
