"""L-BFGS for the conditional likelihood (a conditional random field).

Minimises the smooth P(w) = ½‖w‖² + Σ c_i (log Z_i(w) − <w, φ(y_i)>) by steps along
−H·∇P, where H is the inverse Hessian that the last `memory` steps suggest (two-loop
recursion), with a line search for the weak Wolfe conditions

    P(w + td) ≤ P(w) + 10⁻⁴ t <∇P, d>,      <∇P(w + td), d> ≥ 0.9 <∇P, d>,

by doubling and bisection; t = 1 is tried first and nearly always accepted.

With the losses L(w) = P(w) − ½‖w‖² and their gradient g, any θ from 0 to 1 gives

    D = θ (L(w) − <w, g>) − ½ θ² ‖g‖²  ≤  min P :

Fenchel's dual at θg, whose −L* is concave, L − <w, g> at g and not negative at 0,
because L is not. At θ = 1 it is P(w) − ½‖∇P(w)‖², which is tight at the optimum and
says nothing far from it; the best θ makes a bound that rises from the first iteration.
Stops when (P − D)/P ≤ tol for the best bound seen.

It is written out here because SciPy's cannot be resumed after an iteration, as the one
outer loop of all solvers needs, and because its inner products go through a BLAS whose
bits depend on the number of threads.

Liu, Nocedal: On the limited memory BFGS method for large scale optimization,
Mathematical Programming 45, 1989. Nocedal, Wright: Numerical Optimization, 2nd ed.,
Algorithms 7.4 and 7.5. Lewis, Overton: Nonsmooth optimization via quasi-Newton methods,
Mathematical Programming 141, 2013 (line search).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partwise.certificate import log_loss
from partwise.protocol import (
    Floats,
    Likelihood,
    Model,
    Objective,
    Problem,
    Solver,
    Start,
    State,
)
from partwise.threads import add, add_scaled

ARMIJO, WOLFE = 1e-4, 0.9
TRIALS = 40  # of a line search; by then the step is below rounding


@dataclass
class LBFGSMemo:
    """Gradient at the model, and pairs (s, y, <s, y>) of the last steps."""

    gradient: Floats
    pairs: deque[tuple[Floats, Floats, float]] = field(default_factory=deque)


def combined(problem: Problem, one: Floats, coef: float, other: Floats) -> Floats:
    """One + coef·other, a new model."""
    return add(problem.n_jobs, one, coef, other, problem.zero())


@dataclass(eq=False, repr=False)
class LBFGS(Solver):
    """Limited-memory BFGS, for ``penalty="log"``.

    Parameters
    ----------
    tol : float
        Relative gap to reach.
    max_iter : int
        Iterations.
    time_limit : float or None
        Seconds.
    memory : int
        Steps from which curvature is learned.
    """

    penalties = ("log",)
    needs = (Likelihood,)
    eps = None

    tol: float = 1e-3
    max_iter: int = 1000
    time_limit: float | None = None
    memory: int = 10

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """Value and gradient at zero, or at the given model."""
        model = problem.zero()
        if start.model is not None:
            model[:] = start.model
        state = State(model=model)
        value, gradient = self._evaluate(problem, objective, state, model)
        state.memo = LBFGSMemo(gradient, deque(maxlen=self.memory))
        self._accept(problem, state, model, value, gradient)
        return state

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """One line search along the quasi-Newton direction."""
        memo: LBFGSMemo = state.memo
        direction = self._direction(problem, memo)
        slope = problem.dot(memo.gradient, direction)
        low, high, t = 0.0, np.inf, 1.0
        if not memo.pairs:  # no curvature known yet: a step of length one at most
            t = min(1.0, 1.0 / np.sqrt(max(-slope, 1e-300)))
        for _ in range(TRIALS):
            model = combined(problem, state.model, t, direction)
            value, gradient = self._evaluate(problem, objective, state, model)
            if value > state.primal + ARMIJO * t * slope:
                high = t
            elif problem.dot(gradient, direction) < WOLFE * slope:
                low = t
            else:
                break
            t = 2 * low if high == np.inf else 0.5 * (low + high)
        else:
            state.stopped = "rounding forbids a better step"
            return
        change = combined(problem, model, -1.0, state.model)
        turn = combined(problem, gradient, -1.0, memo.gradient)
        memo.pairs.append((change, turn, problem.dot(change, turn)))
        self._accept(problem, state, model, value, gradient)

    def _direction(self, problem: Problem, memo: LBFGSMemo) -> Floats:
        """−H·∇P by the two-loop recursion."""
        n_jobs = problem.n_jobs
        direction = combined(problem, problem.zero(), -1.0, memo.gradient)
        shares = []
        for change, turn, product in reversed(memo.pairs):
            share = problem.dot(change, direction) / product
            add_scaled(n_jobs, direction, -share, turn)
            shares.append(share)
        if memo.pairs:
            _, turn, product = memo.pairs[-1]
            scale = product / problem.dot(turn, turn)
            add_scaled(n_jobs, direction, 0.0, turn, share=scale)
        for change, turn, product in memo.pairs:
            share = shares.pop() - problem.dot(turn, direction) / product
            add_scaled(n_jobs, direction, share, change)
        return direction

    def _evaluate(
        self, problem: Problem, objective: Objective, state: State, model: Model
    ) -> tuple[float, Floats]:
        state.oracle_calls += problem.n_blocks
        return log_loss(problem, objective, model)

    def _accept(
        self,
        problem: Problem,
        state: State,
        model: Model,
        value: float,
        gradient: Floats,
    ) -> None:
        state.model, state.memo.gradient = model, gradient
        state.primal = state.found = value
        square = problem.dot(model, model)
        slope = problem.dot(gradient, gradient)
        inner = problem.dot(model, gradient)
        gain = value + 0.5 * square - inner  # L − <w, g>
        cost = slope - 2 * inner + square  # ‖g‖²
        bound = value - 0.5 * slope  # θ = 1
        if 0 < gain < cost:
            bound = 0.5 * gain**2 / cost
        state.dual = max(state.dual, bound, 0.0)  # no term of P is negative

    def export(self, state: State) -> dict[str, Any]:
        """Gradient, and the steps that determine curvature."""
        memo: LBFGSMemo = state.memo
        pairs = [{"change": s, "turn": y, "product": p} for s, y, p in memo.pairs]
        return {"gradient": memo.gradient, "pairs": pairs}

    def restore(
        self, problem: Problem, objective: Objective, tree: dict[str, Any]
    ) -> LBFGSMemo:
        """The memo that `export` described."""
        pairs = [(p["change"], p["turn"], p["product"]) for p in tree["pairs"]]
        return LBFGSMemo(tree["gradient"], deque(pairs, maxlen=self.memory))
