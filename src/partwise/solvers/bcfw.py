"""Block-coordinate Frank-Wolfe with a pool of planes per block.

Minimises P(w) of `protocol.py` by ascending its dual D(α), one block at a time:

1. the oracle gives the most violated plane of block i at the current w;
2. it joins the pool of the block, and pairwise steps with exact line search ascend
   the dual over the convex hull (L1) or cone (L2, hard) of the pool (`_cut_pool.py`);
3. w = Σ α a is updated.

Blocks are drawn in proportion to their last known share of the duality gap, mixed
with the uniform distribution. Between sweeps, cheap visits reuse the pools without
asking the oracle. Stops when (P(w) − D(α))/P(w) ≤ tol, where P is computed by a full
pass; the sum of the (stale) shares says when such a pass is worth it. With ``eps``:
when no constraint is violated by more than ξ_i + ε over the pool.

Lacoste-Julien, Jaggi, Schmidt, Pletscher: Block-coordinate Frank-Wolfe optimization
for structural SVMs, ICML 2013 (blocks, line search, averaging). Osokin, Alayrac,
Lukasewitz, Dokania, Lacoste-Julien: Minding the gaps for block Frank-Wolfe, ICML 2016
(gap sampling, pairwise steps, caching). Shah, Kolmogorov, Lampert: A multi-plane
block-coordinate Frank-Wolfe algorithm, CVPR 2015 (reuse of planes).
"""

from typing import Any

import numpy as np

from partwise.protocol import Model, Objective, Solver, State, Support
from partwise.solvers._cut_pool import BlockDual


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe; the default solver.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    eps : float or None
        The papers' constraint violation instead of `tol`.
    max_iter : int
        Sweeps over the data.
    time_limit : float or None
        Seconds.
    random_state : int
        Seed of the order of visits.
    steps : int
        Pairwise steps per visit.
    polish : int
        Visits to the pools, in sweeps, after each sweep with the oracle.
    capacity : int
        Planes per block to begin with; blocks that need more get more.
    averaging : bool
        Also try the average of the models after each sweep, weighted by its number.
    """

    def __init__(
        self,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        random_state: int = 0,
        steps: int = 10,
        polish: int = 1,
        capacity: int = 8,
        averaging: bool = False,
    ) -> None:
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.steps = steps
        self.polish = polish
        self.capacity = capacity
        self.averaging = averaging

    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """Empty pools and the zero model."""
        dual = BlockDual(problem, objective, self.capacity)
        rng = np.random.default_rng(self.random_state)
        return State(model=dual.w.copy(), memo=(dual, rng), dual=0.0)

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One sweep with the oracle, cheap sweeps without, a full pass when due."""
        dual, rng = state.memo
        order = self._order(dual.gaps, rng)
        dual.sweep(order, steps=self.steps)
        state.oracle_calls += len(order)
        everyone = rng.permutation(problem.n_blocks)
        for _ in range(self.polish):
            dual.polish(everyone, steps=self.steps)
        state.dual = max(state.dual, dual.value())
        promised = float(np.sum(dual.gaps))
        if promised <= self.tol * state.dual or state.n_iter + 1 >= self.max_iter:
            self._evaluate(problem, objective, state)

    def _order(self, gaps: Any, rng: Any) -> Any:
        n = len(gaps)
        if not np.isfinite(gaps).all() or gaps.sum() <= 0:
            return rng.permutation(n)
        share = np.maximum(gaps, 0.0)
        return rng.choice(n, size=n, p=0.8 * share / share.sum() + 0.2 / n)

    def _evaluate(self, problem: Any, objective: Objective, state: State) -> None:
        dual, _ = state.memo
        cuts = problem.oracle(dual.w)
        state.oracle_calls += problem.n_blocks
        primal = objective.primal(problem.dot(dual.w, dual.w), cuts.bound)
        if primal < state.primal:
            state.primal = primal
            state.model = dual.w.copy()

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Give the last model its chance: a limit or Ctrl-C may come before a pass."""
        if not np.array_equal(state.model, state.memo[0].w):
            self._evaluate(problem, objective, state)

    def support(self, state: State) -> Support:
        """Planes with α > 0."""
        return state.memo[0].support()
