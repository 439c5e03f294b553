"""Proximal bundle method.

Minimises P(w) = ½‖w‖² + F(w), F the whole slack term, by planes o − <w, g> under F as
`one_slack.py` does, but stays near the best point z so far. A step solves

    min_w  ½‖w‖² + max_p (o_p − <w, g_p>) + (ρ/2)‖w − z‖²

through its dual, max Σ α o' − ½ αᵀGα with Σ α = 1, o' = (1 + ρ)o − ρ<g, z>, whose model
is w = (Σ α g + ρz)/(1 + ρ). With v = P(z) − (½‖w‖² + max_p o_p − <w, g_p>) the promised
descent, a pass of the oracle at w decides:

* serious step, P(w) ≤ P(z) − v/10: z moves to w;
* null step: z stays, and the plane found at w improves the model of F.

ρ follows Kiwiel's proximity control: the quadratic through P(z), its promised slope and
P(w) suggests 2ρ(1 − descent/v). ρ falls towards it after good serious steps in a row,
and rises towards it after null steps in a row whose plane lies far below F at z; at
most tenfold at once, and to `MAX_RHO`. As ρ → 0 the method is one-slack cutting planes.
The proximal term guards against a poor model of F. A start with the planes of another
fit has a good one, while its centre may be far off (a larger C), so ρ begins smaller:
with ρ as of a cold start, doubling C took 17 instead of 14 passes on chunking.

As in `one_slack.py`, the cuts of a pass also join a pool of planes per example, and the
Σ α a of the pool is one more plane under F (``pool=False`` for the papers' form).

The lower bound D is that of the problem without the proximal term: the one-slack dual
over the same planes, which needs their Gram matrix alone. Stops when (P(z) − D)/P(z) ≤
tol; or, with ``eps``, when P(z) − D ≤ Cε, which the papers' rule implies.

Kiwiel: Proximity control in bundle methods for convex nondifferentiable minimization,
Mathematical Programming 46, 1990. Yu, Joachims: Learning structural SVMs with latent
variables, ICML 2009, section 4 (for structural SVMs; warm start).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Model, Objective, Problem, Start, State
from partwise.solvers._joint_planes import JointPlanesMemo, JointPlanesSolver
from partwise.solvers._memo import reusable_memo
from partwise.solvers._passes import Pass, evaluate
from partwise.solvers._planes import PlaneStore

SERIOUS = 0.1  # share of the predicted descent that moves the centre
GOOD = 0.5  # share above which ρ may fall
POOR = 1.0  # error of a plane at z, in predicted descents, above which ρ may rise
PATIENCE = 3  # steps of one kind in a row before ρ changes
MAX_RHO = 100.0  # beyond it steps stall: with one example and a large C it would rise
FAMILIAR = 0.1  # of the first ρ, where planes of an earlier run are a model of F
NOTHING = 1e-15  # a predicted descent this small, relative to P, is rounding


@dataclass
class BundleMemo(JointPlanesMemo):
    """Planes and pool, multipliers, and the weight of the proximal term."""

    alpha: Floats  # (m,) multipliers of the proximal dual
    margin: Floats  # (m,) <g_p, z>
    rho: float
    run: int = 0  # serious (> 0) or null (< 0) steps in a row since ρ last changed

    def add_pass(self, problem: Problem, state: State, cuts: Cuts) -> None:
        """Add planes, which the proximal dual does not use yet."""
        before = len(self.planes)
        super().add_pass(problem, state, cuts)
        self.alpha = np.append(self.alpha, np.zeros(len(self.planes) - before))

    def export(self) -> dict[str, Any]:
        """Planes, pool, multipliers, proximity."""
        return super().export() | {
            "alpha": self.alpha,
            "margin": self.margin,
            "rho": self.rho,
            "run": self.run,
        }

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        super().restore(problem, tree)
        self.alpha, self.margin = tree["alpha"], tree["margin"]
        self.rho, self.run = tree["rho"], tree["run"]


@dataclass(eq=False, repr=False)
class ProximalBundle(JointPlanesSolver):
    """Proximal bundle method: one-slack planes, steadier steps, cheap to restart.

    Parameters
    ----------
    tol, eps, max_iter, time_limit, prune_after, pool, polish, random_state
        See `JointPlanesSolver`.
    rho : float
        First weight of the proximal term, relative to the ½‖w‖² of the objective; a
        tenth of it after a warm start.

    Examples
    --------
    >>> from partwise.solvers.bundle import ProximalBundle
    >>> ProximalBundle(rho=2.0).get_params()["rho"]
    2.0
    """

    loops = "bundle"

    rho: float = 1.0

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """The first centre, with the planes of its pass and those of a given dual."""
        earlier = reusable_memo(start, BundleMemo, objective)
        memo = self._new_memo(problem, objective) if earlier is None else earlier
        memo.rho, memo.run = self.rho, 0
        centre = problem.zero() if start.model is None else start.model
        state = State(model=centre, dual=0.0, memo=memo)
        if memo.pool is not None and earlier is None:
            if memo.pool.begin(memo.planes, start, state):
                memo.rho *= FAMILIAR
            memo.alpha = memo.planes.alpha.copy()
        elif memo.pool is not None:  # rebased planes give a better centre than the last
            memo.pool.renew(memo.planes, state)
            state.dual = memo.planes.lower_bound()
            memo.alpha, memo.rho = memo.planes.alpha.copy(), self.rho * FAMILIAR
            state.model = centre = memo.planes.combine(memo.alpha)
        memo.add_pass(problem, state, evaluate(problem, objective, state))
        memo.margin = memo.planes.dots(centre)
        return state

    def _new_memo(self, problem: Problem, objective: Objective) -> BundleMemo:
        planes, pool = PlaneStore(problem), self._new_pool(problem, objective)
        return BundleMemo(
            objective, planes, pool, planes.alpha.copy(), np.zeros(1), self.rho
        )

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """Solve the proximal dual, call every oracle once, move or stay.

        Values by the violations found decide: planes are made of nothing else.
        """
        memo: BundleMemo = state.memo
        planes, rho = memo.planes, memo.rho
        planes.ascend((1 + rho) * planes.offset - rho * memo.margin, memo.alpha)
        share = 1 / (1 + rho)
        model = planes.combine(share * memo.alpha, state.model, share * rho)
        margin = planes.dots(model)
        square = problem.dot(model, model)
        predicted = state.found - 0.5 * square - float(np.max(planes.offset - margin))
        if predicted > NOTHING * abs(state.found):
            evaluation = memo.search(problem, model, state)
            if evaluation is None:
                return
            self._move(problem, state, model, margin, predicted, evaluation)
        state.dual = max(state.dual, planes.lower_bound())
        is_used = (planes.alpha > 0) | (memo.alpha > 0)
        keep = planes.drop_idle(self.prune_after, is_used)
        memo.alpha, memo.margin = memo.alpha[keep], memo.margin[keep]
        total = float(np.sum(objective.weight))
        state.violation = max(state.gap, 0.0) / total
        state.violation_found = max(state.found - state.dual, 0.0) / total
        if not predicted > NOTHING * abs(state.found) and self._verdict(state) is None:
            state.stopped = "rounding forbids a better step"

    def _move(
        self,
        problem: Problem,
        state: State,
        model: Model,
        margin: Floats,
        predicted: float,
        evaluation: Pass,
    ) -> None:
        """A serious step to `model`, or a null step that only adds its planes."""
        memo: BundleMemo = state.memo
        planes = memo.planes
        first = len(planes)
        memo.add_pass(problem, state, evaluation.cuts)
        descent = state.found - evaluation.found
        if descent >= SERIOUS * predicted:
            state.primal, state.found = evaluation.primal, evaluation.found
            state.model = model
            memo.margin = np.append(margin, planes.dots(model, first))
            self._after_serious(memo, descent, predicted)
            return
        centre = state.model
        memo.margin = np.append(memo.margin, planes.dots(centre, first))
        slack = state.found - 0.5 * problem.dot(centre, centre)
        error = slack - (planes.offset[first] - memo.margin[first])
        self._after_null(memo, descent, predicted, error)

    def _after_serious(
        self, memo: BundleMemo, descent: float, predicted: float
    ) -> None:
        memo.run = max(memo.run + 1, 1)
        rho = memo.rho
        if descent >= GOOD * predicted and memo.run > 1:
            rho = 2 * rho * (1 - descent / predicted)
        elif memo.run > PATIENCE:
            rho /= 2
        rho = max(rho, memo.rho / 10, 1e-9)
        if rho < memo.rho:
            memo.rho, memo.run = rho, 1

    def _after_null(
        self, memo: BundleMemo, descent: float, predicted: float, error: float
    ) -> None:
        memo.run = min(memo.run - 1, -1)
        if error > POOR * predicted and memo.run < -PATIENCE:
            larger = min(2 * memo.rho * (1 - descent / predicted), 10 * memo.rho)
            memo.rho = max(min(larger, MAX_RHO), memo.rho)
            memo.run = -1
