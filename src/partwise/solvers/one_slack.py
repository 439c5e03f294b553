"""One-slack cutting planes.

Minimises P(w) = ½‖w‖² + F(w), where F is the whole slack term Σ c_i ξ_i(w) (or
½ Σ c_i ξ_i(w)²), by planes under F that join one cut of every example (`_planes.py`):

1. the dual over the planes so far, max Σ α o − ½ αᵀGα with α ≥ 0 and Σ α = 1, is
   solved exactly (`_simplex_qp.py`); its value is a lower bound D of the optimum,
   w = Σ α g its model and ξ = max_p o_p − <w, g_p> its slack;
2. while cuts remembered from earlier passes make a joint plane that is violated by
   enough, it is added and 1. repeated without asking the oracle;
3. a full pass of the oracle at w gives P(w) and the most violated plane, which joins.

Stops when (P − D)/P ≤ tol, P being the smallest value seen; or, with ``eps``, when
F(w) ≤ ξ + Cε, C = Σ c_i: the papers' rule that no joint constraint is violated by more
than ξ + ε. Only full passes count for either. At most O(C/ε) planes are added, whatever
the number of examples. Planes without a multiplier for 50 solutions are forgotten.

Joachims, Hofmann, Yue, Yu: Predicting structured objects with support vector machines,
CACM 2009 (Algorithm 1, and its refinement with one joint constraint). Joachims, Finley,
Yu: Cutting-plane training of structural SVMs, Machine Learning 2009 (one slack, the
O(C/ε) bound, the cache). Teo, Vishwanathan, Smola, Le: Bundle methods for regularized
risk minimization, JMLR 2010 (linearising the risk as a whole, as L2 needs).
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Model, Objective, Solver, State, Support
from partwise.solvers._planes import PlaneStore, add_cuts


class CutCache:
    """The cuts of the last full passes, from which joint planes are made cheaply."""

    def __init__(self, size: int) -> None:
        self.passes: deque[Cuts] = deque(maxlen=size)

    def remember(self, cuts: Cuts) -> None:
        """Keep a pass; the oldest one goes."""
        self.passes.append(cuts)

    def most_violated(self, problem: Any, model: Model) -> Cuts | None:
        """Of each block the most violated cut at hand; None while there is none."""
        if not self.passes:
            return None
        violation = np.array([c.b - problem.margins(model, c) for c in self.passes])
        choice = np.argmax(violation, axis=0)
        rows = np.arange(len(choice))
        one = self.passes[0]  # a code's length depends on its block alone
        by_code = np.repeat(choice, np.diff(one.indptr))
        code = np.array([c.code for c in self.passes])
        best = violation[choice, rows]
        return one._replace(
            b=np.array([c.b for c in self.passes])[choice, rows],
            scale=np.array([c.scale for c in self.passes])[choice, rows],
            violation=best,
            bound=best,
            code=code[by_code, np.arange(len(by_code))],
        )


@dataclass
class OneSlackMemo:
    """Planes, remembered cuts, and the solution of the last dual."""

    planes: PlaneStore
    cache: CutCache
    model: Floats
    slack: float = 0.0
    in_vain: int = 0  # looks into the cache in a row that found nothing
    pause: int = 0  # steps to go without a look

    @property
    def n_planes(self) -> int:
        """Planes added so far, those of the cache included."""
        return self.planes.n_added


class OneSlack(Solver):
    """One-slack cutting planes: few, joint cuts; best when examples are few or one.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    eps : float or None
        The papers' constraint violation instead of `tol`.
    max_iter : int
        Full passes over the data.
    time_limit : float or None
        Seconds.
    prune_after : int
        Forget a plane after so many solutions in a row without it.
    cache : int
        Passes whose cuts are remembered; 0 asks the oracle for every plane.
    cache_share : float
        A joint plane from the cache is used when its violation is at least this share
        of the duality gap.
    cache_rounds : int
        Planes from the cache between two full passes, at most.

    Examples
    --------
    >>> from partwise.solvers.one_slack import OneSlack
    >>> OneSlack(eps=0.01).get_params()["eps"]
    0.01
    """

    penalties = ("l1", "l2")

    def __init__(
        self,
        tol: float = 1e-3,
        eps: float | None = None,
        max_iter: int = 10000,
        time_limit: float | None = None,
        prune_after: int = 50,
        cache: int = 5,
        cache_share: float = 0.5,
        cache_rounds: int = 10,
    ) -> None:
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.prune_after = prune_after
        self.cache = cache
        self.cache_share = cache_share
        self.cache_rounds = cache_rounds

    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """No planes; a given start supplies the first one."""
        zero = problem.zero()
        memo = OneSlackMemo(PlaneStore(problem), CutCache(self.cache), zero)
        state = State(model=zero, dual=0.0, memo=memo)
        if start is not None:
            self._pass(problem, objective, state, start)
        return state

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """Solve the dual, grow it from the cache, then ask every oracle once."""
        memo: OneSlackMemo = state.memo
        self._solve_dual(state)
        self._use_cache(problem, objective, state)
        excess = self._pass(problem, objective, state, memo.model) - memo.slack
        state.violation = max(excess, 0.0) / float(np.sum(objective.weight))

    def _use_cache(self, problem: Any, objective: Objective, state: State) -> None:
        """Add planes from the cache while they are violated by enough.

        A look costs nearly an oracle pass where decoding is cheap, so after looks
        in vain the next 1, 3, 7, then 15 steps do without.
        """
        memo: OneSlackMemo = state.memo
        if memo.pause > 0:
            memo.pause -= 1
            return
        for round_ in range(self.cache_rounds):
            cuts = memo.cache.most_violated(problem, memo.model)
            if cuts is None:
                return
            excess = objective.slack_term(cuts.violation) - memo.slack
            if not excess > self.cache_share * state.gap:
                memo.in_vain = memo.in_vain + 1 if round_ == 0 else 0
                memo.pause = min(2**memo.in_vain, 16) - 1
                return
            add_cuts(memo.planes, problem, objective, cuts)
            self._solve_dual(state)

    def _solve_dual(self, state: State) -> None:
        memo: OneSlackMemo = state.memo
        planes = memo.planes
        state.dual = max(state.dual, planes.lower_bound())
        planes.drop_idle(self.prune_after, planes.alpha > 0)
        used = np.flatnonzero(planes.alpha)
        margin = np.sum(planes.gram[:, used] * planes.alpha[used], axis=1)
        memo.slack = float(np.max(planes.offset - margin))
        memo.model = planes.combine(planes.alpha)

    def _pass(
        self, problem: Any, objective: Objective, state: State, model: Model
    ) -> float:
        """F(model) by the oracle, which also yields a plane and perhaps a record."""
        cuts = problem.oracle(model)
        state.oracle_calls += problem.n_blocks
        primal = objective.primal(problem.dot(model, model), cuts.bound)
        if primal < state.primal:
            state.primal = primal
            state.model = model
        add_cuts(state.memo.planes, problem, objective, cuts)
        if self.cache:
            state.memo.cache.remember(cuts)
        return objective.slack_term(cuts.bound)

    def support(self, state: State) -> Support:
        """The cuts behind the lower bound, with their share of it."""
        return state.memo.planes.support()
