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

The dual over S is block-separable (L1) or nearly so, hence ascent over one block at a
time, warm-started, with full passes after each sweep; the paper mentions both.
Constraints whose α has been zero for many visits are dropped. A sweep that adds
nothing leaves w unchanged, so it has checked every constraint at one and the same w:
no constraint is violated by more than ξ_i + ε.

With `tol` instead of `eps`, ε follows the gap: a sweep looks for violations above the
share of the gap that each block may keep.

For a hard margin the dual is unbounded when the data cannot be separated. It is then
stopped when the dual passes ½/γ² for the smallest margin γ worth having
(`min_margin`), because every separating w of margin γ has ½‖w‖² = ½/γ²; the blocks
with α > 0 are the examples that conflict.

Tsochantaridis, Hofmann, Joachims, Altun: Support vector machine learning for
interdependent and structured output spaces, ICML 2004 (Algorithm 1, Propositions 1 and
2, Theorem 1).
"""

from typing import Any

import numpy as np

from partwise.protocol import Model, Objective, Solver, State, Support
from partwise.solvers._cut_pool import BlockDual

SHARD = 64  # examples between two looks at the clock


class NSlack(Solver):
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
    """

    def __init__(
        self,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        steps: int = 50,
        passes: int = 200,
        drop_after: int = 50,
        min_margin: float = 1e-3,
    ) -> None:
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.steps = steps
        self.passes = passes
        self.drop_after = drop_after
        self.min_margin = min_margin

    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """An empty working set and the zero model."""
        dual = BlockDual(problem, objective, capacity=4)
        return State(model=dual.w.copy(), memo=dual, dual=0.0)

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One sweep with the oracle, then ascent over the whole working set."""
        dual = state.memo
        order = np.arange(problem.n_blocks)
        eps = self._precision(problem, objective, state)
        added = 0
        for first in range(0, problem.n_blocks, SHARD):
            part = order[first : first + SHARD]
            added += dual.sweep(part, eps=eps, steps=self.steps, limit=self.drop_after)
            state.oracle_calls += len(part)
            if state.is_late():
                state.dual = max(state.dual, dual.value())
                return
        if added == 0:
            # w did not move, so every block was checked at one and the same model
            state.violation = min(state.violation, eps)
            self._evaluate(problem, objective, state)
        if added or (self.eps is None and state.relative_gap > self.tol):
            for _ in range(self.passes):
                if dual.polish(order, steps=self.steps, tol=0.1 * eps) <= 0.1 * eps:
                    break
                if state.is_late():
                    break
                dual.rescale()
            state.dual = max(state.dual, dual.value())
        if objective.penalty == "hard" and state.dual > 0.5 / self.min_margin**2:
            self._report_conflict(dual, state)

    def _precision(self, problem: Any, objective: Objective, state: State) -> float:
        """The ε of this sweep: given, or what the wanted gap leaves to each block."""
        if self.eps is not None:
            return self.eps
        value = max(state.dual, 1e-12)
        if objective.penalty == "hard":
            return 0.25 * self.tol
        return 0.25 * self.tol * value / float(np.sum(objective.weight))

    def _evaluate(self, problem: Any, objective: Objective, state: State) -> None:
        dual = state.memo
        cuts = problem.oracle(dual.w)
        state.oracle_calls += problem.n_blocks
        primal = objective.primal(problem.dot(dual.w, dual.w), cuts.bound)
        state.dual = max(state.dual, dual.value())
        if primal < state.primal:
            state.primal = primal
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

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Evaluate a model that was not, e.g. after Ctrl-C or a time limit."""
        dual = state.memo
        dual.rebuild()
        self._evaluate(problem, objective, state)

    def support(self, state: State) -> Support:
        """The working set's constraints with α > 0."""
        return state.memo.support()
