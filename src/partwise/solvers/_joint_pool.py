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
RENEWAL = 10  # ascents over rebased pools, without the oracle
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
        Passes over the pools after each pass of the oracle.
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
        for _ in range(3):  # cheap: without the oracle
            self._ascend(state)
        self._join(planes, state)
        return True

    def renew(self, planes: PlaneStore, state: State) -> None:
        """Ascend after a change of truths, and add the plane that results."""
        for _ in range(RENEWAL):
            self._ascend(state)
        self.joint = JointSteps.create(self.problem, self.objective)
        self._join(planes, state)

    def add_to(self, planes: PlaneStore, cuts: Cuts, state: State) -> None:
        """Enlarge the pools by the cuts of a pass, ascend, and add their plane."""
        n_planes = state.n_planes
        self.dual.show(cuts, state)
        state.n_planes = n_planes  # constraints of these solvers are joint planes
        self._ascend(state)
        self._join(planes, state)

    def _ascend(self, state: State) -> None:
        for _ in range(self.polish):
            order = self.rng.permutation(self.problem.n_blocks)
            self.dual.polish(order, state)

    def _join(self, planes: PlaneStore, state: State) -> None:
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
