"""Exact solution over the pools of a few blocks, by cutting planes without the oracle.

Ascent over one block at a time takes short steps where few blocks share a large C. The
dual point of all pools, Σ α a, is a plane under the whole slack term; so is the sum of
the most violated planes at hand at any model. Cutting planes over these (one-slack,
with the pools in the place of the oracle) end at the optimum over the pools in a few
rounds, each a small quadratic program, and the pools take over its α.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Objective, Problem
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._planes import PlaneStore, add_plane

FEW = 64  # blocks up to which it is worth its quadratic programs
PRUNE_AFTER = 50  # rounds in a row without a plane, after which it is forgotten


class JointSteps:
    """Planes made of dual points and of planes at hand, kept between sweeps."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.problem = problem
        self.objective = objective
        self.planes = PlaneStore(problem)

    @classmethod
    def create(cls, problem: Problem, objective: Objective) -> JointSteps | None:
        """None where sweeps do well alone: many blocks, or a hard margin."""
        if not 1 < problem.n_blocks <= FEW or objective.penalty == "hard":
            return None
        return cls(problem, objective)

    def solve(self, dual: BlockDual, tol: float, rounds: int = 50) -> None:
        """Bring the pools to their optimum within `tol`, relative."""
        planes, objective = self.planes, self.objective
        add_plane(planes, self.problem, objective, dual.support())
        bound = planes.lower_bound()
        for _ in range(rounds):
            model = planes.combine(planes.alpha)
            square = self.problem.dot(model, model)
            worst = dual.most_violated(model)
            margins = self.problem.margins(model, worst.cuts)
            slack = np.zeros(self.problem.n_blocks)
            slack[worst.cuts.block] = worst.cuts.b - margins
            if objective.primal(square, slack) - bound <= tol * abs(bound):
                break
            add_plane(planes, self.problem, objective, worst)
            before, bound = bound, planes.lower_bound()
            planes.drop_idle(PRUNE_AFTER, planes.alpha > 0)
            if bound <= before:  # rounding
                break
        if bound > dual.value():
            dual.load(planes.support(), keep=True)

    def export(self) -> dict[str, Any]:
        """All that the next step depends on."""
        return self.planes.export()

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.planes.restore(tree)
