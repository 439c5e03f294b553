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
most tenfold at once. As ρ → 0 the method is one-slack cutting planes.

The lower bound D is that of the problem without the proximal term: the one-slack dual
over the same planes, which needs their Gram matrix alone. Stops when (P(z) − D)/P(z) ≤
tol; or, with ``eps``, when P(z) − D ≤ Cε, which the papers' rule implies.

Kiwiel: Proximity control in bundle methods for convex nondifferentiable minimization,
Mathematical Programming 46, 1990. Yu, Joachims: Learning structural SVMs with latent
variables, ICML 2009, section 4 (for structural SVMs; warm start).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import Floats, Model, Objective, Solver, State, Support
from partwise.solvers._planes import PlaneStore, add_cuts

SERIOUS = 0.1  # share of the promised descent that moves the centre
GOOD = 0.5  # share above which ρ may fall
POOR = 1.0  # error of a plane at z, in promised descents, above which ρ may rise
PATIENCE = 3  # steps of one kind in a row before ρ changes


@dataclass
class BundleMemo:
    """Planes, and where they were last used.

    After a change of the truths, ``planes.rebase`` and a new `solve` that begins with
    this state go on without rebuilding the planes.
    """

    planes: PlaneStore
    alpha: Floats  # (m,) multipliers of the proximal dual
    margin: Floats  # (m,) <g_p, z>
    rho: float
    run: int = 0  # serious (> 0) or null (< 0) steps in a row since ρ last changed

    @property
    def n_planes(self) -> int:
        """Planes added so far."""
        return self.planes.n_added


class ProximalBundle(Solver):
    """Proximal bundle method: one-slack planes, steadier steps, cheap to restart.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    eps : float or None
        The papers' constraint violation instead of `tol`.
    max_iter : int
        Passes over the data.
    time_limit : float or None
        Seconds.
    rho : float
        First weight of the proximal term, relative to the ½‖w‖² of the objective.
    prune_after : int
        Forget a plane after so many steps in a row without it.

    Examples
    --------
    >>> from partwise.solvers.bundle import ProximalBundle
    >>> ProximalBundle(rho=2.0).get_params()["rho"]
    2.0
    """

    penalties = ("l1", "l2")

    def __init__(
        self,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 10000,
        time_limit: float | None = None,
        rho: float = 10.0,
        prune_after: int = 50,
    ) -> None:
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.rho = rho
        self.prune_after = prune_after

    def begin(
        self, problem: Any, objective: Objective, start: Model | State | None
    ) -> State:
        """The first centre; a `State` of this solver also brings its planes."""
        rho = self.rho
        planes = PlaneStore(problem)
        centre = problem.zero()
        if isinstance(start, State):
            planes, rho, centre = start.memo.planes, start.memo.rho, start.model
        elif start is not None:
            centre = start
        memo = BundleMemo(planes, planes.alpha.copy(), planes.dots(centre), rho)
        state = State(model=centre, dual=0.0, memo=memo)
        state.primal = self._pass(problem, objective, state, centre)
        memo.margin = planes.dots(centre)
        return state

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """Solve the proximal dual, ask every oracle once, move or stay."""
        memo: BundleMemo = state.memo
        planes, rho = memo.planes, memo.rho
        planes.ascend((1 + rho) * planes.offset - rho * memo.margin, memo.alpha)
        share = 1 / (1 + rho)
        model = planes.combine(share * memo.alpha, state.model, share * rho)
        margin = planes.dots(model)
        square = problem.dot(model, model)
        promise = state.primal - 0.5 * square - float(np.max(planes.offset - margin))
        primal = self._pass(problem, objective, state, model)
        descent = state.primal - primal
        if descent >= SERIOUS * promise:
            state.primal, state.model = primal, model
            memo.margin = np.append(margin, planes.dots(model, len(planes) - 1))
            self._after_serious(memo, descent, promise)
        else:
            centre = state.model
            memo.margin = np.append(memo.margin, planes.dots(centre, len(planes) - 1))
            slack = state.primal - 0.5 * problem.dot(centre, centre)
            error = slack - (planes.offset[-1] - memo.margin[-1])
            self._after_null(memo, descent, promise, error)
        state.dual = max(state.dual, planes.lower_bound())
        is_used = (planes.alpha > 0) | (memo.alpha > 0)
        keep = planes.drop_idle(self.prune_after, is_used)
        memo.alpha, memo.margin = memo.alpha[keep], memo.margin[keep]
        state.violation = state.gap / float(np.sum(objective.weight))

    def _after_serious(self, memo: BundleMemo, descent: float, promise: float) -> None:
        memo.run = max(memo.run + 1, 1)
        rho = memo.rho
        if descent >= GOOD * promise and memo.run > 1:
            rho = 2 * rho * (1 - descent / promise)
        elif memo.run > PATIENCE:
            rho /= 2
        rho = max(rho, memo.rho / 10, 1e-9)
        if rho < memo.rho:
            memo.rho, memo.run = rho, 1

    def _after_null(
        self, memo: BundleMemo, descent: float, promise: float, error: float
    ) -> None:
        memo.run = min(memo.run - 1, -1)
        if error > POOR * promise and memo.run < -PATIENCE:
            memo.rho = min(2 * memo.rho * (1 - descent / promise), 10 * memo.rho)
            memo.run = -1

    def _pass(
        self, problem: Any, objective: Objective, state: State, model: Model
    ) -> float:
        """P(model) by the oracle, which also yields a plane."""
        cuts = problem.oracle(model)
        state.oracle_calls += problem.n_blocks
        add_cuts(state.memo.planes, problem, objective, cuts)
        state.memo.alpha = np.append(state.memo.alpha, 0.0)
        return objective.primal(problem.dot(model, model), cuts.bound)

    def support(self, state: State) -> Support:
        """The cuts behind the lower bound, with their share of it."""
        return state.memo.planes.support()
