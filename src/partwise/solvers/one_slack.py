"""One-slack cutting planes.

Minimises P(w) = ½‖w‖² + F(w), where F is the whole slack term Σ c_i ξ_i(w) (or
½ Σ c_i ξ_i(w)²), by planes under F that join one cut of every example (`_planes.py`):

1. the dual over the planes so far, max Σ α o − ½ αᵀGα with α ≥ 0 and Σ α = 1, is
   solved exactly (`_simplex_qp.py`); its value is a lower bound D of the optimum,
   w = Σ α g its model and ξ = max_p o_p − <w, g_p> its slack;
2. a full pass of the oracle at w gives P(w) and the most violated plane, which joins;
3. its cuts also join a pool of planes per example (`_pool_compiled.py`), whose dual is
   ascended block by block; the Σ α a of the pool is a joint plane, too, and joins. The
   pool is ascended on one thread while others ask the oracle or make planes.

The third step is what the papers' algorithm lacks: a plane per pass is little, and the
number needed grows with C. On CoNLL-2000 chunking (2,000 sentences, C = 200) a gap of
1 % takes 34 passes with the pool, 380 without (`benchmarks/batch_solvers.py`).
``pool=False`` is the papers' form; there, while cached cuts of the last passes make a
joint plane that is violated by enough, it is added without a pass of the oracle
(``cache=0`` for none).

Stops when (P − D)/P ≤ tol, P being the smallest value seen; or, with ``eps``, when
F(w) ≤ ξ + Cε, C = Σ c_i: the papers' rule that no joint constraint is violated by more
than ξ + ε. Only full passes count for either. At most O(C/ε) planes are added, whatever
the number of examples. Planes without a multiplier for 50 solutions are dropped.

Joachims, Hofmann, Yue, Yu: Predicting structured objects with support vector machines,
CACM 2009 (Algorithm 1, and its refinement with one joint constraint). Joachims, Finley,
Yu: Cutting-plane training of structural SVMs, Machine Learning 2009 (one slack, the
O(C/ε) bound, the cache). Teo, Vishwanathan, Smola, Le: Bundle methods for regularized
risk minimization, JMLR 2010 (linearising the risk as a whole, as L2 needs). Shah,
Kolmogorov, Lampert: A multi-plane block-coordinate Frank-Wolfe algorithm, CVPR 2015
(the pool).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Model, Objective, Problem, Start, State
from partwise.solvers._joint_planes import JointPlanesMemo, JointPlanesSolver
from partwise.solvers._memo import reusable_memo
from partwise.solvers._planes import PlaneStore, add_cuts


class CutCache:
    """The cuts of the last full passes, from which joint planes are made cheaply."""

    def __init__(self, size: int) -> None:
        self.passes: deque[Cuts] = deque(maxlen=size)

    def most_violated(self, problem: Problem, model: Model) -> Cuts | None:
        """The most violated cut of each block; None while there is no pass."""
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
class OneSlackMemo(JointPlanesMemo):
    """Planes, pool or cached cuts, and the solution of the last dual."""

    cache: CutCache
    model: Floats
    slack: float = 0.0
    in_vain: int = 0  # searches of the cache in a row without a useful plane
    pause: int = 0  # steps to go without a search

    def add_pass(self, problem: Problem, state: State, cuts: Cuts) -> None:
        """Add planes; without a pool, cache the cuts."""
        super().add_pass(problem, state, cuts)
        if self.pool is None:
            self.cache.passes.append(cuts)

    def rebase(self, old_truths: Cuts) -> None:
        """Planes and pools follow the new truths; cached cuts are of old ones."""
        super().rebase(old_truths)
        self.cache.passes.clear()

    def export(self) -> dict[str, Any]:
        """Planes, pool, cached cuts."""
        return super().export() | {
            "cache": [cuts._asdict() for cuts in self.cache.passes],
            "model": self.model,
            "slack": self.slack,
            "in_vain": self.in_vain,
            "pause": self.pause,
        }

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        super().restore(problem, tree)
        for cuts in tree["cache"]:
            self.cache.passes.append(Cuts(**cuts))
        self.model, self.slack = tree["model"], tree["slack"]
        self.in_vain, self.pause = tree["in_vain"], tree["pause"]


@dataclass(eq=False, repr=False)
class OneSlack(JointPlanesSolver):
    """One-slack cutting planes: few, joint cuts; best when examples are few or one.

    Parameters
    ----------
    tol, eps, max_iter, time_limit, prune_after, pool, polish, random_state
        See `JointPlanesSolver`.
    cache : int
        Without a pool: passes whose cuts are cached; with 0 every plane takes a pass
        of the oracle.
    cache_share : float
        A joint plane from the cache is used when its violation is at least this share
        of the duality gap by the violations found.
    cache_rounds : int
        Planes from the cache between two full passes, at most.

    Examples
    --------
    >>> from partwise.solvers.one_slack import OneSlack
    >>> OneSlack(eps=0.01).get_params()["eps"]
    0.01
    """

    loops = "one_slack"

    cache: int = 5
    cache_share: float = 0.5
    cache_rounds: int = 10

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """No planes; a given dual or model supplies the first ones."""
        memo = reusable_memo(start, OneSlackMemo, objective)
        if memo is not None:
            state = State(model=memo.model, memo=memo)
            if memo.pool is not None:
                memo.pool.renew(memo.planes, state)
            self._solve_dual(state)
            return state
        memo = self._new_memo(problem, objective)
        state = State(model=memo.model, dual=0.0, memo=memo)
        if memo.pool is not None and memo.pool.begin(memo.planes, start, state):
            return state
        if start.model is not None:
            self._pass(problem, objective, state, start.model)
        return state

    def _new_memo(self, problem: Problem, objective: Objective) -> OneSlackMemo:
        return OneSlackMemo(
            objective,
            PlaneStore(problem),
            self._new_pool(problem, objective),
            CutCache(0 if self.pool else self.cache),
            problem.zero(),
        )

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """Solve the dual, then call every oracle once."""
        memo: OneSlackMemo = state.memo
        self._solve_dual(state)
        if memo.pool is None:
            self._use_cache(problem, objective, state)
        self._pass(problem, objective, state, memo.model)

    def _use_cache(self, problem: Problem, objective: Objective, state: State) -> None:
        """Add planes from the cache while they are violated by enough.

        A search of the cache costs nearly an oracle pass where decoding is cheap, so
        after searches in vain the next 1, 3, 7, then 15 steps do without.
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
            if not excess > self.cache_share * (state.found - state.dual):
                memo.in_vain = memo.in_vain + 1 if round_ == 0 else 0
                memo.pause = min(2**memo.in_vain, 16) - 1
                return
            add_cuts(memo.planes, problem, objective, cuts)
            state.n_planes += 1
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
        self, problem: Problem, objective: Objective, state: State, model: Model
    ) -> None:
        """Evaluate a model by the oracle, which also yields planes."""
        memo: OneSlackMemo = state.memo
        evaluation = memo.search(problem, model, state)
        if evaluation is None:
            return
        state.keep_better(model, evaluation.primal, evaluation.found)
        total = float(np.sum(objective.weight))
        cuts = evaluation.cuts
        excess = objective.slack_term(cuts.bound) - memo.slack
        state.violation = max(excess, 0.0) / total
        excess = objective.slack_term(cuts.violation) - memo.slack
        state.violation_found = max(excess, 0.0) / total
        memo.add_pass(problem, state, cuts)

    def finish(self, problem: Problem, objective: Objective, state: State) -> None:
        """A run that ended within its first pass has the model of that pass."""
        if not np.isfinite(state.found):
            state.model = state.memo.model
