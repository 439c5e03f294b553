"""One-slack cutting planes from samples: a plane costs r examples, whatever n.

As `one_slack.py`, except that each joint plane is an estimate: r examples are drawn
with replacement, in proportion to their weights c_i, and each stands for C/r,

    F(w) ≈ o − <w, g>,   g = (C/r) Σ_j a_j,   o = (C/r) Σ_j b_j,   C = Σ c_i,

over the drawn examples whose most violated cut is violated. Stops when the planes of
`patience` samples in a row are violated by at most ξ + ε. A plane that overestimates is
not a lower bound, so there is no dual: the certificate has the bound from data alone.
The number of planes is O(1/ε²), and each kernel model has at most r examples per plane.

Yu, Joachims: Training structural SVMs with kernels using sampled cuts, KDD 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import (
    CapabilityError,
    Floats,
    Objective,
    Problem,
    Solver,
    Start,
    State,
)
from partwise.solvers._passes import evaluate
from partwise.solvers._planes import PlaneStore


@dataclass
class SampledMemo:
    """Planes, the solution over them, and the random state of the draws."""

    planes: PlaneStore
    rng: np.random.Generator
    model: Floats
    slack: float = 0.0
    quiet: int = 0  # samples in a row without a violated plane


@dataclass(eq=False, repr=False)
class SampledCuts(Solver):
    """Cutting planes from samples: for kernels on many examples.

    Parameters
    ----------
    eps : float
        Violation of a sampled plane, per unit of C, that is small enough.
    sample : int
        Examples per plane, drawn with replacement.
    patience : int
        Samples in a row that must find no more.
    max_iter : int
        Planes.
    time_limit : float or None
        Seconds.
    prune_after : int
        Drop a plane after so many solutions in a row without it.
    random_state : int
    """

    penalties = ("l1",)
    tol = 1e-3  # never reached without a lower bound

    eps: float = 0.05
    sample: int = 100
    patience: int = 3
    max_iter: int = 1000
    time_limit: float | None = None
    prune_after: int = 50
    random_state: int = 0

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """Samples and patience are positive."""
        super().refuse(problem, objective)
        for name in ("sample", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: give a positive whole number"
                )

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """No planes; a given start only says where the first one touches."""
        if self.eps is None:  # within rounds over hidden parts
            raise CapabilityError(
                "SampledCuts has no bound to stop by, and cannot solve the convex "
                "problems of rounds; choose another solver"
            )
        model = problem.zero() if start.model is None else start.model
        rng = np.random.default_rng(self.random_state)
        return State(model=model, memo=SampledMemo(PlaneStore(problem), rng, model))

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """Draw examples, add their plane, and solve over all planes."""
        memo: SampledMemo = state.memo
        total = float(np.sum(objective.weight))
        share = objective.weight / total
        rows = np.sort(memo.rng.choice(problem.n_blocks, self.sample, p=share))
        cuts = problem.oracle(memo.model, rows)
        state.oracle_calls += len(rows)
        mass = np.where(cuts.violation > 0.0, total / self.sample, 0.0)
        excess = float(np.sum(mass * cuts.violation)) - memo.slack
        violation = max(excess, 0.0) / total
        memo.quiet = memo.quiet + 1 if violation <= self.eps else 0
        state.violation = violation if memo.quiet >= self.patience else np.inf
        state.violation_found = state.violation
        square = problem.dot(memo.model, memo.model)
        state.estimate = 0.5 * square + float(np.sum(mass * cuts.violation))
        if memo.quiet >= self.patience:
            return
        planes = memo.planes
        offset = float(np.sum(mass * cuts.b))
        planes.add(problem.combine(cuts, mass), offset, cuts, mass)
        state.n_planes += 1
        planes.lower_bound()  # of the sampled planes, not of the objective
        planes.drop_idle(self.prune_after, planes.alpha > 0)
        used = np.flatnonzero(planes.alpha)
        margin = np.sum(planes.gram[:, used] * planes.alpha[used], axis=1)
        memo.slack = float(np.max(planes.offset - margin))
        memo.model = planes.combine(planes.alpha)
        state.model = memo.model

    def finish(self, problem: Problem, objective: Objective, state: State) -> None:
        """Evaluate the model once, on all examples."""
        evaluate(problem, objective, state)

    def export(self, state: State) -> dict[str, Any]:
        """Planes, random state, and the solution over them."""
        memo: SampledMemo = state.memo
        return {
            "planes": memo.planes.export(),
            "rng": memo.rng.bit_generator.state,
            "model": memo.model,
            "slack": memo.slack,
            "quiet": memo.quiet,
        }

    def restore(
        self, problem: Problem, objective: Objective, tree: dict[str, Any]
    ) -> SampledMemo:
        """The memo that `export` described."""
        planes = PlaneStore(problem)
        planes.restore(tree["planes"])
        rng = np.random.default_rng(self.random_state)
        rng.bit_generator.state = tree["rng"]
        return SampledMemo(planes, rng, tree["model"], tree["slack"], tree["quiet"])
