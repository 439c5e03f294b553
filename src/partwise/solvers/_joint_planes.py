"""What one-slack and bundle share: planes under the slack term, and their pool of cuts.

Both keep planes that join one cut of every example (`_planes.py`), and, unless
``pool=False``, a pool of cuts per example that makes further planes (`_joint_pool.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partwise.protocol import Cuts, Model, Objective, Problem, State, Support
from partwise.solvers._joint_pool import JointPool
from partwise.solvers._memo import MemoSolver
from partwise.solvers._passes import Pass, full_pass
from partwise.solvers._planes import PlaneStore, add_cuts
from partwise.threads import run_beside


@dataclass
class JointPlanesMemo:
    """Planes of all examples together, and the pool of cuts of each."""

    objective: Objective
    planes: PlaneStore
    pool: JointPool | None

    def search(self, problem: Problem, model: Model, state: State) -> Pass | None:
        """A full pass of the oracle, see `full_pass`; the pool ascends beside it."""

        def ask() -> Pass | None:
            return full_pass(problem, self.objective, model, state)

        pool = self.pool
        if pool is None:
            return ask()
        return run_beside(problem.n_jobs, ask, lambda: pool.prepare(state), state.halt)

    def add_pass(self, problem: Problem, state: State, cuts: Cuts) -> None:
        """Add the plane of a pass of the oracle, and then that of the pool."""

        def add() -> None:
            add_cuts(self.planes, problem, self.objective, cuts)
            state.n_planes += 1

        pool = self.pool
        if pool is None:
            add()
            return
        run_beside(problem.n_jobs, add, lambda: pool.enlarge(cuts, state), state.halt)
        pool.join(self.planes, state)

    def rebase(self, old_truths: Cuts) -> None:
        """Planes and pools follow the new truths."""
        self.planes.rebase(old_truths)
        if self.pool is not None:
            self.pool.dual.rebase(old_truths)

    def export(self) -> dict[str, Any]:
        """Planes and pool, for a checkpoint."""
        pool = None if self.pool is None else self.pool.export()
        return {"planes": self.planes.export(), "pool": pool}

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.planes.restore(tree["planes"])
        if self.pool is not None:
            self.pool.restore(tree["pool"])


@dataclass(eq=False, repr=False)
class JointPlanesSolver(MemoSolver):
    """A solver whose memo is a `JointPlanesMemo`.

    Parameters
    ----------
    tol, eps, max_iter, time_limit
        See `Solver`; an iteration is a pass over the data.
    prune_after : int
        Drop a plane after so many solutions in a row without it.
    pool : bool
        Make joint planes of a pool of cuts per example, too.
    polish : int
        Passes over the pool for each pass of the oracle: all but the last beside it,
        the last after its cuts have joined the pool.
    random_state : int
        Seed of the order in which the pool is polished.
    """

    penalties = ("l1", "l2")

    tol: float = 1e-3
    eps: float | None = None
    max_iter: int = 10000
    time_limit: float | None = None
    prune_after: int = 50
    pool: bool = True
    polish: int = 2
    random_state: int = 0

    def _new_pool(self, problem: Problem, objective: Objective) -> JointPool | None:
        if self.pool and problem.n_blocks > 1:  # one example is a joint plane itself
            return JointPool(problem, objective, self.polish, self.random_state)
        return None

    def support(self, state: State) -> Support:
        """The cuts behind the lower bound, with their share of it."""
        return state.memo.planes.support()

    def planes_at_hand(self, state: State) -> Support:
        """All planes of the pool, which is nearer to the optimum than single passes."""
        pool = state.memo.pool
        return self.support(state) if pool is None else pool.dual.support(idle=True)
