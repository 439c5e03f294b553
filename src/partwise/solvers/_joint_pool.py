"""A pool of cuts per example that makes joint planes, for one-slack and bundle."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Cuts, Objective, Problem, Start, State
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._joint_steps import JointSteps
from partwise.solvers._planes import PlaneStore, add_plane
from partwise.solvers._starts import transferred

CAPACITY = 8
START = 9  # passes over given pools, without the oracle
RENEWAL = 30  # passes over rebased pools
SOLVED = 1e-4  # relative, of the optimum over the pools of few blocks


class JointPool:
    """Pools of planes whose dual point Σ α a is the best joint plane they can make.

    Of few blocks the dual is solved over all pools (`JointSteps`) after each pass: on
    200 sequences with a motif this took a seventh of the oracle calls of ascents over
    single blocks, in the same time.

    Parameters
    ----------
    problem : Problem
    objective : Objective
    polish : int
        Passes over the pools for each pass of the oracle: all but the last beside it,
        the last after its cuts have joined. More of them afterwards need fewer passes
        of the oracle, but on CoNLL-2000 (gap of 1 %) more time, and they wait.
    seed : int
        Of the order of those passes.
    """

    def __init__(
        self, problem: Problem, objective: Objective, polish: int, seed: int
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.polish = polish
        self.rng = np.random.default_rng(seed)
        self.dual = BlockDual(problem, objective, CAPACITY)
        self.joint = JointSteps.create(problem, objective)

    def begin(self, planes: PlaneStore, start: Start, state: State) -> bool:
        """Take over the dual of another fit; returns whether there was one."""
        support = transferred(self.problem, start)
        if support is None:
            return False
        self.dual.begin_from(support)
        self._ascend(state, START)
        self.join(planes, state)
        return True

    def renew(self, planes: PlaneStore, state: State) -> None:
        """Ascend after a change of truths, and add the plane that results."""
        self._ascend(state, RENEWAL)
        self.joint = JointSteps.create(self.problem, self.objective)
        self.join(planes, state)

    def prepare(self, state: State) -> None:
        """Ascend over the pools while the oracle is asked."""
        self._ascend(state, self.polish - 1)

    def enlarge(self, cuts: Cuts, state: State) -> None:
        """Enlarge the pools by the cuts of a pass, and ascend."""
        self.dual.show(cuts, state)
        self._ascend(state, min(self.polish, 1))

    def _ascend(self, state: State, passes: int) -> None:
        for _ in range(passes):
            order = self.rng.permutation(self.problem.n_blocks)
            self.dual.polish(order, state)

    def join(self, planes: PlaneStore, state: State) -> None:
        """Add the plane of the pools."""
        if self.joint is not None:
            self.joint.solve(self.dual, SOLVED)
        add_plane(planes, self.problem, self.objective, self.dual.support())
        state.n_planes += 1

    def export(self) -> dict[str, Any]:
        """All that the next pass depends on."""
        return {
            "dual": self.dual.export(),
            "rng": self.rng.bit_generator.state,
            "joint": None if self.joint is None else self.joint.export(),
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.dual.restore(tree["dual"])
        self.rng.bit_generator.state = tree["rng"]
        if self.joint is not None:
            self.joint.restore(tree["joint"])
