"""Exact solution over the pools of a few blocks, by cutting planes without the oracle.

Ascent over one block at a time takes short steps where few blocks share a large C. The
dual point of all pools, Σ α a, is a plane under the whole slack term; so is the sum of
the most violated planes in the pools at any model. Cutting planes over these
(one-slack, with the pools in the place of the oracle) end at the optimum over the pools
in a few rounds, each a small quadratic program, and the pools take over its α.

The quadratic programs grow with the number of planes, and on most problems sweeps over
single blocks do well alone: 40 dependency trees at C = 400 spent 0.5 s on each joint
solution and 0.01 s on the sweep before it, which raised the dual seven times as much.
So a joint solution that raises the dual by less than the visits before it did, or by
less than `tol`, is followed by 1, 2, 4, … calls without one, until one is worth it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Objective, Problem
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._planes import PlaneStore, add_plane

FEW = 256  # blocks up to which planes of all of them are few and small
ROUNDS = 50  # of cutting planes in a call, at most
PRUNE_AFTER = 50  # rounds in a row without a plane, after which it is dropped


class JointSteps:
    """Planes made of dual points and of planes in the pools, kept between sweeps."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.problem = problem
        self.objective = objective
        self.planes = PlaneStore(problem)
        self.value = 0.0  # of the dual after the last call
        self.in_vain = 0  # solutions in a row that gained little
        self.pause = 0  # calls to go without a solution

    @classmethod
    def create(cls, problem: Problem, objective: Objective) -> JointSteps | None:
        """None where sweeps do well alone: many blocks, or a hard margin."""
        if not 1 < problem.n_blocks <= FEW or objective.penalty == "hard":
            return None
        return cls(problem, objective)

    def solve(self, dual: BlockDual, tol: float) -> bool:
        """Bring the pools to their optimum within `tol`, relative.

        Returns whether they are there. Does nothing where visits of single blocks have
        done better lately.
        """
        before = dual.value()
        gain = before - self.value
        self.value = before
        if self.pause > 0:
            self.pause -= 1
            return False
        is_solved = self._solve_pools(dual, tol)
        self.value = dual.value()
        is_in_vain = self.value - before < max(gain, tol * abs(self.value))
        self.in_vain = self.in_vain + 1 if is_in_vain else 0
        if self.in_vain:
            self.pause = 2 ** (self.in_vain - 1)
        return is_solved

    def _solve_pools(self, dual: BlockDual, tol: float) -> bool:
        planes, objective = self.planes, self.objective
        is_solved = False
        add_plane(planes, self.problem, objective, dual.support())
        bound = planes.lower_bound()
        for _ in range(ROUNDS):
            model = planes.combine(planes.alpha)
            square = self.problem.dot(model, model)
            worst = dual.most_violated(model)
            margins = self.problem.margins(model, worst.cuts)
            slack = np.zeros(self.problem.n_blocks)
            slack[worst.cuts.block] = worst.cuts.b - margins
            is_solved = objective.primal(square, slack) - bound <= tol * abs(bound)
            if is_solved:
                break
            add_plane(planes, self.problem, objective, worst)
            before, bound = bound, planes.lower_bound()
            planes.drop_idle(PRUNE_AFTER, planes.alpha > 0)
            if bound <= before:  # rounding
                break
        if bound > dual.value():
            dual.load(planes.support(), keep=True)
        return is_solved

    def export(self) -> dict[str, Any]:
        """All that the next step depends on."""
        return {
            "planes": self.planes.export(),
            "value": self.value,
            "in_vain": self.in_vain,
            "pause": self.pause,
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.planes.restore(tree["planes"])
        self.value, self.in_vain = float(tree["value"]), int(tree["in_vain"])
        self.pause = int(tree["pause"])
