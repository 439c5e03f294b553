"""Block-coordinate Frank-Wolfe with a pool of planes per block.

Minimises P(w) of `objective.py` by ascending its dual D(α), one block at a time:

1. the oracle gives the most violated plane of block i at the current w;
2. it joins the pool of the block, and pairwise steps with exact line search ascend
   the dual over the convex hull (L1) or cone (L2, hard) of the pool
   (`_pool_compiled.py`);
3. w = Σ α a is updated.

A sweep visits blocks in proportion to their last known share of the duality gap
divided by what a visit costs, mixed with the uniform distribution (`visits`). Between
sweeps, cheap visits reuse the pools without asking the oracle.

Any violated plane raises the dual, so the first sweeps may search faster and miss the
most violated one, where a problem has such a search (`Problem.narrow_blocks`). All
outputs are searched in the sweeps from the one before the first full pass on, and in
all passes.

With few blocks and a large C, steps along single blocks are short: on six noisy
sequences at C = 10⁴, 1,000 sweeps left a gap of 49 %. Problems of few blocks whose
gaps have not halved in `PATIENCE` sweeps therefore have their pools solved exactly
after sweeps, as long as that pays (`_joint_steps.py`). Not from the start: twenty toy
sentences at C = 100 take 125 sweeps in 0.08 s alone, or 41 with exact solutions that
take 8 s and kernels of their own.

Stops when (P − D)/P ≤ tol, where P is computed by a full pass. It is made when the sum
of the shares, each as old as the last visit of its block, is small enough. With
``eps``: when a full pass finds no constraint violated by more than ξ_i + ε, ξ_i over
the pool, and the gap is no larger than that allows at the optimum over the pool.

Lacoste-Julien, Jaggi, Schmidt, Pletscher: Block-coordinate Frank-Wolfe optimization
for structural SVMs, ICML 2013 (blocks, line search, averaging). Osokin, Alayrac,
Lukasewitz, Dokania, Lacoste-Julien: Minding the gaps for block Frank-Wolfe, ICML 2016
(gap sampling, pairwise steps, caching). Shah, Kolmogorov, Lampert: A multi-plane
block-coordinate Frank-Wolfe algorithm, CVPR 2015 (reuse of planes).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.compiled import has_own_step
from partwise.protocol import Cuts, Floats, Ints, Model, Objective, Problem, State
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers._joint_steps import JointSteps
from partwise.solvers._passes import GRACE, full_pass
from partwise.solvers._pool_solver import PoolMemo, PoolSolver

WARM_POLISH = 10  # passes over the pools per sweep that begin with another dual
PATIENCE = 20  # sweeps in which the gaps of few blocks should halve
NARROW_TOL = 1e-3  # tolerances that single precision can reach with ease


@dataclass
class BCFWMemo(PoolMemo):
    """Pools, order of visits, average; `joint` once sweeps alone are too slow."""

    rng: np.random.Generator
    average: Floats | None
    effort: Floats
    totals: list[float]  # gaps of all blocks, after each of the last sweeps
    polish: int  # passes over the pools per sweep

    def rebase(self, old_truths: Cuts) -> None:
        """Pools and joint planes follow the new truths."""
        super().rebase(old_truths)
        self.totals = []

    def export(self) -> dict[str, Any]:
        """Pools, random state, average, joint planes."""
        return super().export() | {
            "rng": self.rng.bit_generator.state,
            "average": self.average,
            "polish": self.polish,
            "totals": np.array(self.totals),
        }

    def restore(self, problem: Problem, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        super().restore(problem, tree)
        self.rng.bit_generator.state = tree["rng"]
        self.polish = int(tree["polish"])
        if self.average is not None:
            self.average[:] = tree["average"]
        self.totals = [float(total) for total in tree["totals"]]


def visits(priority: Floats, rng: np.random.Generator, run_length: int = 1) -> Ints:
    """Which blocks a sweep visits, n of n in random order, some several times.

    Four fifths of the visits follow the `priority` of each block, one fifth is for all
    alike. A block with an expected number of visits v gets ⌊v⌋ or ⌈v⌉ of them: on
    CoNLL-2000, independent draws needed a sixth more visits to a gap of 1 %.

    With a `run_length` neighbours stay together in runs, which come in random order. A
    block is then drawn once at most, and there are fewer than n of them: n/5 on the
    tokens of CoNLL-2000 as single examples.
    """
    n = len(priority)
    share = np.maximum(priority, 0.0)
    is_known = bool(np.isfinite(share).all()) and share.sum() > 0
    if run_length > 1:
        drawn: Ints = np.arange(n)
        if is_known:
            wanted = 0.8 * n * share / share.sum() + 0.1
            drawn = np.flatnonzero(rng.random(n) < wanted)
        starts = rng.permutation(-(-len(drawn) // run_length)) * run_length
        order = (starts[:, None] + np.arange(run_length)).ravel()
        return drawn[order[order < len(drawn)]]
    if not is_known:
        return rng.permutation(n)
    wanted = np.cumsum(0.8 * n * share / share.sum() + 0.2)
    drawn = np.searchsorted(wanted, np.arange(n) + rng.random())
    return rng.permutation(np.minimum(drawn, n - 1))


@dataclass(eq=False, repr=False)
class BCFW(PoolSolver):
    """Block-coordinate Frank-Wolfe; the default solver.

    Parameters
    ----------
    tol, eps, max_iter, time_limit
        See `Solver`; an iteration is a sweep over the data.
    random_state : int
        Seed of the order of visits.
    steps : int
        Pairwise steps per visit.
    polish : int
        Passes over the pools after each sweep with the oracle.
    batch : int
        Blocks whose oracles are called at the same w, on `n_jobs` threads. Larger
        batches see older models: worth it where the oracle is slow.
    capacity : int
        Planes per block to begin with; blocks that need more get more.
    averaging : bool
        Also try the average of the models after each sweep, weighted by its number.

    Examples
    --------
    >>> BCFW(tol=0.01).set_params(batch=16)
    BCFW(tol=0.01, eps=None, max_iter=1000, time_limit=None, random_state=0, steps=10, \
polish=1, batch=16, capacity=8, averaging=False)
    """

    loops = "bcfw"
    memo_type = BCFWMemo

    tol: float = 1e-3
    eps: float | None = None
    max_iter: int = 1000
    time_limit: float | None = None
    random_state: int = 0
    steps: int = 10
    polish: int = 1
    batch: int = 1
    capacity: int = 8
    averaging: bool = False

    def _improve_start(self, problem: Problem, state: State) -> None:
        """Passes over the given planes, and more of them in each sweep."""
        if not has_own_step(problem.blocks):
            state.memo.polish = max(self.polish, WARM_POLISH)
        self._polish(state)

    def _new_memo(
        self, problem: Problem, objective: Objective, *, narrow: bool = True
    ) -> BCFWMemo:
        narrow = narrow and self.batch == 1  # a batch is searched by `Problem.oracle`
        return BCFWMemo(
            objective,
            BlockDual(problem, objective, self.capacity, narrow=narrow),
            joint=None,
            rng=np.random.default_rng(self.random_state),
            average=problem.zero() if self.averaging else None,
            effort=problem.effort(),
            totals=[],
            # visits with a step of their own cost no more than those of the pool alone
            polish=0 if has_own_step(problem.blocks) else self.polish,
        )

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """One sweep with the oracle, cheap ones without, a full pass when due."""
        memo: BCFWMemo = state.memo
        dual = memo.dual
        dual.detach(state.model)
        if self.batch == 1:
            self._sweep(problem, state)
        else:
            order = visits(dual.gaps / memo.effort, memo.rng)
            for first in range(0, len(order), self.batch):
                rows = order[first : first + self.batch]
                cuts = problem.oracle(dual.w, rows)
                state.oracle_calls += len(rows)
                state.n_planes += dual.show(cuts, state, steps=self.steps)
                state.report(first / len(order))
                if state.is_late:
                    break
        self._polish(state)
        dual.rescale()
        state.dual = max(state.dual, dual.value())
        if objective.penalty != "hard":
            state.estimate = state.dual + float(np.sum(dual.gaps))
        if memo.average is not None:
            k = state.n_iter + 1
            memo.average += 2 / (k + 1) * (dual.w - memo.average)
        if memo.joint is None and self._is_stalled(memo):
            memo.joint = JointSteps.create(problem, objective)
        is_solved = False
        if memo.joint is not None:
            is_solved = memo.joint.solve(dual, 0.1 * self.tol)
            state.dual = max(state.dual, dual.value())
        if is_solved or self._is_due(objective, state):
            if dual.is_narrow:
                dual.rebuild()  # and a sweep later it is worth a pass
                state.dual = dual.value()
            else:
                self._evaluate(problem, objective, state)

    def _sweep(self, problem: Problem, state: State) -> None:
        """About n visits with the oracle, in several turns where these are short."""
        memo: BCFWMemo = state.memo
        dual, done = memo.dual, 0
        while done < problem.n_blocks:
            order = visits(dual.gaps / memo.effort, memo.rng, problem.run_length)
            dual.sweep(order, state, steps=self.steps)
            done += max(len(order), 1)
            if state.is_late:
                break

    def _polish(self, state: State) -> None:
        """Visits that reuse the pools, in one random order."""
        memo: BCFWMemo = state.memo
        if not memo.polish:
            return
        order = memo.rng.permutation(len(memo.effort))
        for _ in range(memo.polish):
            memo.dual.polish(order, state, steps=self.steps)

    def _is_stalled(self, memo: BCFWMemo) -> bool:
        """Whether the gaps of all blocks have not halved in `PATIENCE` sweeps."""
        total = float(np.sum(memo.dual.gaps))
        memo.totals = [*memo.totals[-PATIENCE:], total]
        return len(memo.totals) > PATIENCE and total > 0.5 * memo.totals[0]

    def _is_due(self, objective: Objective, state: State) -> bool:
        """Whether the last shares of the gap predict a successful full pass."""
        dual = state.memo.dual
        least = NARROW_TOL if dual.is_narrow else 0.0
        if self.eps is not None:
            return bool(np.max(dual.excess) <= max(self.eps, least))
        tol = max(self.tol, least)
        if objective.penalty == "hard":  # ½‖w‖²/(1 − v)² is within 2v of the optimum
            return bool(np.max(dual.gaps) <= 0.5 * tol)
        # Shares seen at the last visits add up to more than the gap: on CoNLL-2000, the
        # only corpus where it was measured, by 6 to 60 % and less towards the end. A
        # pass that fails renews them, so a wrong guess costs one pass.
        # Narrow sweeps end a little earlier: one more sweep comes before the pass.
        allowed = tol / max(1 - tol, 1e-9) * state.dual
        factor = 1.5 if dual.is_narrow else 1.25
        return float(np.sum(dual.gaps)) <= factor * allowed

    def _evaluate(self, problem: Problem, objective: Objective, state: State) -> bool:
        """Full passes at the last model, and at the average; whether time allowed."""
        memo: BCFWMemo = state.memo
        dual = memo.dual
        # rounding of many small steps, or Ctrl-C between α and w
        dual.rebuild(recycle=state.model is not dual.w)
        state.dual = dual.value()
        models: list[Model] = [dual.w]
        if memo.average is not None:
            models.insert(0, memo.average)
        for model in models:
            evaluation = full_pass(problem, objective, model, state)
            if evaluation is None:
                return False
            primal, found = evaluation.primal, evaluation.found
            if model is dual.w:
                dual.assess(evaluation, state)
            # A model that meets the rule is preferred to one of smaller primal from
            # an earlier pass: it is the one that the support structures add up to.
            gap = min(primal, found) - state.dual
            is_met = self.eps is not None or gap <= self.tol * found
            if is_met:
                state.primal, state.found = primal, found
            if is_met or state.keep_better(model, primal, found):
                # not a copy, which is made when there is a next step: models are large
                state.model = model if model is dual.w else model.copy()
        return True

    def finish(self, problem: Problem, objective: Objective, state: State) -> None:
        """Evaluate the last model: a limit or Ctrl-C may come before a full pass."""
        if state.stopped in ("converged", "search exhausted"):
            return
        state.deadline = time.perf_counter() + GRACE
        is_evaluated = self._evaluate(problem, objective, state)
        if not is_evaluated and not state.primal <= state.estimate:
            state.model = state.memo.dual.w.copy()
            state.primal = state.found = np.inf  # left to the certificate's pass
