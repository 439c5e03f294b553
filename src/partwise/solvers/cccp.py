"""Concave-convex procedure, for truths with hidden parts.

Minimises, over w, the objective of `objective.py` with the hidden parts h of each truth
chosen by the model itself,

    L(w) = ½‖w‖² + Σ_i c_i ξ_i(w),
    ξ_i(w) = max_{ŷ,ĥ} [Δ(y_i, ŷ, ĥ) + <w, φ(x_i, ŷ, ĥ)>] − max_h <w, φ(x_i, y_i, h)>

(L1 margin rescaling; else ξ_i(w) = min_h of the slack with (y_i, h) for a truth).
It is the difference of two convex functions. With completions h fixed in the second
maximum it is convex, lies above L, and touches L where h are the best completions. So
rounds of

1. a convex solve with completions fixed, to a relative gap that shrinks from
   `first_tol` to the last precision as rounds gain less;
2. completion: h_i = argmax_h <w, φ(x_i, y_i, h)>, after which the planes of the convex
   solver follow the new truths (`Solver.rebase`) instead of being found again,

never raise L: U(w') ≤ U(w) = L(w) for the better of the result and the start, and
completing lowers U(w') to L(w'). `Round` records it, and a round that cannot improve on
its start keeps the start.

Stops when a round at the last precision lowers L by

* ``tol``: no more than tol·L, the relative gap of the convex problem at the new
  completions being at most tol, too;
* ``eps``: less than ε, as printed in the paper (it takes ε = 0.001, and 0.05 for
  coreference), the gap being at most ε/2; with ``eps_times_C``, less than C·ε with
  C = Σ c_i, as in the authors' program;

or leaves all completions as they were. The result is a local minimum or a saddle point.
The dual is that of the convex problem at the last completions: no weights do better as
long as these completions stand. `restarts` runs from several first completions and
keeps the one of smallest L.

``self_paced=True`` begins with the examples of small slack (half of them, after a first
loose round with all), and admits those of 1.3 times the slack in each round until all
are in; only then rounds count for the stopping rule.

Yu, Joachims: Learning structural SVMs with latent variables, ICML 2009, section 4 (its
Algorithm 1 has the sign of line 6 reversed, and v_t lacks the factor −C). Yuille,
Rangarajan: The concave-convex procedure, Neural Computation 15, 2003. Kumar, Packer,
Koller: Self-paced learning for latent variable models, NIPS 2010.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from partwise.parameters import ParameterError
from partwise.protocol import (
    Checkpoint,
    Latent,
    Model,
    Objective,
    Problem,
    Solver,
    Start,
    State,
    Support,
)
from partwise.solvers import make_solver
from partwise.solvers._latent_runs import (
    RunCheckpoint,
    Runs,
    best_of,
    complete_at_random,
    export_last,
    export_runs,
    follow_truths,
    learn_known,
    local_dual,
    restore_last,
    restore_runs,
    start_of,
)
from partwise.solvers._passes import evaluate
from partwise.state import EXACT

EASE = 0.1  # of the last decrease: the gap that the next convex solve may leave
PACE = 1.3  # by which the slack of admitted examples grows, each round
POLISH = 10  # passes over pools, which rebased planes fill from the start
IDLE = 1e-6  # weight of an example that is not admitted yet; 0 would have no dual
LIMITS = ("time limit", "interrupted", "callback")


class Round(NamedTuple):
    """One round, for the log."""

    objective: float  # L(w) after completion
    before: float  # L of the start; infinite when it was not known
    tol: float  # relative gap of the convex solve
    dual: float  # of the convex problem solved
    n_iter: int  # iterations of the convex solver
    oracle_calls: int
    n_changed: int  # examples with another completion afterwards
    kept_start: bool  # whether the convex solve found nothing better than its start
    n_admitted: int  # examples with full weight


@dataclass
class CCCPMemo:
    """The convex solver with its last state, and how far rounds have come."""

    convex: Solver
    last: State | Start
    precision: float  # of the next convex solve
    rounds: list[Round] = field(default_factory=list)
    admitted: float = np.inf  # slack up to which examples are admitted


@dataclass(eq=False, repr=False)
class CCCP(Solver):
    """Concave-convex procedure: complete the hidden parts, solve, and again.

    Parameters
    ----------
    convex : str or Solver
        Solver of the convex problems: ``"bundle"``, ``"bcfw"``, ``"one_slack"``,
        ``"n_slack"``, or an object with settings of its own, whose stopping rule is
        replaced.
    tol : float
        Relative decrease of a round to stop at, and relative gap of its convex problem.
    eps : float or None
        Decrease to stop at instead of `tol`, as printed in the paper.
    eps_times_C : bool
        Multiply `eps` by C, as the authors' program does.
    max_iter : int
        Rounds.
    time_limit : float or None
        Seconds.
    random_state : int
        Seed of random first completions, and of the convex solver.
    first_tol : float
        Relative gap of the first round.
    first : {"given", "random"}
        Those of the start, of known parts or as packed; or random completions.
    restarts : int
        Runs, of which the best is kept; all but the first begin at random completions.
    self_paced : bool
        Begin with easy examples.
    """

    needs = (Latent,)
    loops = "bundle"  # of the convex solver by default

    convex: Any = "bundle"
    tol: float = 1e-3
    eps: float | None = None
    eps_times_C: bool = False
    max_iter: int = 100
    time_limit: float | None = None
    random_state: int = 0
    first_tol: float = 0.1
    first: str = "given"
    restarts: int = 1
    self_paced: bool = False

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """What the convex solver cannot run is refused, too."""
        super().refuse(problem, objective)
        if self.first not in ("given", "random"):
            raise ParameterError("first", self.first, "choose 'given' or 'random'")
        if not self.restarts >= 1:
            raise ParameterError("restarts", self.restarts, "give 1 or more")
        self._convex().refuse(problem, objective)

    def _convex(self) -> Solver:
        """A copy of the convex solver, whose stopping rule each round sets."""
        if isinstance(self.convex, Solver):
            solver = copy.copy(self.convex)
        else:
            settings = {"random_state": self.random_state}
            if self.convex in ("bundle", "one_slack"):
                settings["polish"] = POLISH
            solver = make_solver(self.convex, settings)
        solver.eps = None
        return solver

    # -------------------------------------------------------------------- rounds

    def begin(self, problem: Any, objective: Objective, start: Start) -> State:
        """First completions: by a model of the start or of known parts, or random."""
        clock = time.perf_counter()
        state = State(model=problem.zero())
        if start.model is None and self.first == "given":
            convex = self._convex()
            convex.tol = self.first_tol
            if self.time_limit is not None:  # the rest is for rounds
                convex.time_limit = self.time_limit / 2
            start = start._replace(model=learn_known(problem, objective, convex, state))
        if start.model is not None:
            state.model = start.model
            problem.complete(start.model)
            evaluate(problem, objective, state)
        elif self.first == "random":
            complete_at_random(problem, self.random_state)
        state.memo = CCCPMemo(self._convex(), start, self.first_tol)
        spent = time.perf_counter() - clock
        if self.time_limit is not None and spent >= self.time_limit:
            state.stopped = "time limit"  # a round would take several passes
        return state

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One round: a convex solve, then completion at its result."""
        memo: CCCPMemo = state.memo
        weighted, n_admitted = self._pace(problem, objective, state)
        is_whole = n_admitted == problem.n_blocks
        before = state.found if is_whole else np.inf
        last = self._last_precision(objective, state) if np.isfinite(before) else 0.0
        tol = max(memo.precision, last)
        convex = memo.convex
        convex.tol = tol
        if state.deadline < np.inf:
            convex.time_limit = max(state.deadline - time.perf_counter(), 1e-3)
        solved = convex.solve(
            problem, weighted, start=memo.last, pulse=lambda _: state.report()
        )
        state.oracle_calls += solved.oracle_calls
        state.n_planes += solved.n_planes
        kept_start = not solved.found <= before
        if not kept_start:
            state.model, state.primal, state.found = (
                solved.model, solved.primal, solved.found,
            )  # fmt: skip
        old_truths = problem.complete(state.model)
        convex.rebase(solved, old_truths)
        solved.model = state.model
        follow_truths(problem, objective, state, old_truths, is_current=is_whole)
        if is_whole:
            bound = local_dual(problem, objective, convex, solved, old_truths)
            # no term is negative; a convex solver without a dual has no bound
            state.dual = max(bound, 0.0) if np.isfinite(bound) else bound
        memo.rounds.append(
            Round(
                state.found, before, tol, solved.dual, solved.n_iter,
                solved.oracle_calls, len(old_truths.block), kept_start, n_admitted,
            )
        )  # fmt: skip
        memo.last = solved
        if self.self_paced and memo.admitted > -np.inf:  # the next weights are others
            planes = convex.planes_at_hand(solved)
            memo.last = start_of(problem, solved.model, planes)
        if solved.stopped in LIMITS:
            state.stopped = solved.stopped
        elif is_whole:
            self._judge(objective, state)
        else:
            memo.precision = max(memo.precision / 2, self.tol)

    def _last_precision(self, objective: Objective, state: State) -> float:
        """The relative gap of the last convex problem."""
        if self.eps is None:
            return self.tol
        size = max(abs(state.found), 1e-300)
        return min(0.5 * self._least_decrease(objective, state) / size, 0.5)

    def _least_decrease(self, objective: Objective, state: State) -> float:
        """A round that lowers the objective by less is the last one."""
        if self.eps is None:
            return self.tol * abs(state.found)
        total = float(np.sum(objective.weight))
        return self.eps * total if self.eps_times_C else self.eps

    def _judge(self, objective: Objective, state: State) -> None:
        """Whether rounds have come to their end; else how precise the next one is."""
        memo, done = state.memo, state.memo.rounds[-1]
        last = self._last_precision(objective, state)
        decrease = max(done.before - done.objective, 0.0)
        is_precise = done.tol <= last * (1 + EXACT)
        is_small = decrease <= self._least_decrease(objective, state)
        if self.eps is None and state.relative_gap_found > self.tol:
            is_small = False  # the new completions leave more to gain
        if is_precise and (is_small or not done.n_changed):
            state.stopped = "converged"
        wanted = EASE * decrease / max(abs(state.found), 1e-300)
        if not done.n_changed:  # the same convex problem again, more precisely
            wanted = last
        memo.precision = max(min(memo.precision, wanted), last)

    def _pace(
        self, problem: Any, objective: Objective, state: State
    ) -> tuple[Objective, int]:
        """The objective with the weights of this round, and how many are full."""
        memo: CCCPMemo = state.memo
        n = problem.n_blocks
        is_first = not memo.rounds and not np.isfinite(state.found)
        if not self.self_paced or is_first or memo.admitted == -np.inf:
            return objective, n
        cuts = problem.oracle(state.model)
        state.oracle_calls += n
        slack = np.maximum(cuts.violation, 0.0)
        if memo.admitted == np.inf:
            memo.admitted = float(np.median(slack))
        else:
            memo.admitted *= PACE
        is_easy = slack <= memo.admitted
        if is_easy.all() or not memo.admitted > 0:
            memo.admitted = -np.inf  # from now on all
            return objective, n
        weight = np.where(is_easy, 1.0, IDLE) * objective.weight
        return objective._replace(weight=weight), int(is_easy.sum())

    def _verdict(self, state: State) -> str | None:
        """The duality gap of one convex problem does not end the rounds."""
        if state.stopped:
            return state.stopped
        if state.n_iter >= self.max_iter:
            return "max_iter"
        if self.time_limit is not None and state.seconds >= self.time_limit:
            return "time limit"
        return None

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Note the number of rounds, and rises of the objective."""
        memo: CCCPMemo = state.memo
        if not memo.rounds:
            return
        rises = sum(r.objective > r.before * (1 + EXACT) for r in memo.rounds)
        state.note = f"local optimum after {len(memo.rounds)} rounds"
        if rises:
            state.note += f"; it rose in {rises} of them, for searches are not exact"

    def support(self, state: State) -> Support | None:
        """Planes of the last convex problem; their a are those of its completions."""
        memo: CCCPMemo = state.memo
        if isinstance(memo.last, State):
            return memo.convex.support(memo.last)
        return memo.last.support

    def export(self, state: State) -> dict[str, Any]:
        """The rounds so far, and where the next one begins; or `Runs`."""
        if isinstance(state.memo, Runs):
            run = replace(state, memo=state.memo.memo)
            return {"runs": export_runs(self, state.memo), "run": self.export(run)}
        memo: CCCPMemo = state.memo
        return {
            "last": export_last(memo.convex, memo.last),
            "precision": memo.precision,
            "rounds": memo.rounds,
            "admitted": memo.admitted,
        }

    def restore(
        self, problem: Any, objective: Objective, tree: dict[str, Any]
    ) -> CCCPMemo | Runs:
        """The memo that `export` described; the problem is completed as it was."""
        if "runs" in tree:
            runs = restore_runs(self, problem, objective, tree["runs"])
            runs.memo = self.restore(problem, objective, tree["run"])
            return runs
        convex = self._convex()
        last = restore_last(problem, objective, convex, tree["last"])
        rounds = [Round(*each) for each in tree["rounds"]]
        return CCCPMemo(convex, last, tree["precision"], rounds, tree["admitted"])

    # ------------------------------------------------------------------ restarts

    def solve(
        self,
        problem: Any,
        objective: Objective,
        *,
        start: Start | State | Model | None = None,
        checkpoint: Checkpoint | None = None,
        callback: Callable[[State], Any] | None = None,
        pulse: Callable[[State], Any] | None = None,
    ) -> State:
        """Minimise, by one run or the best of several; see `Solver.solve`.

        The problem is left with the completions of the model returned.
        """
        if self.restarts == 1:
            return super().solve(
                problem, objective, start=start, checkpoint=checkpoint,
                callback=callback, pulse=pulse,
            )  # fmt: skip
        self.refuse(problem, objective)
        stored: Any = checkpoint and RunCheckpoint(checkpoint, self, problem, objective)
        if stored and stored.result is not None:
            return stored.result
        runs, limit = [self._run(r) for r in range(self.restarts)], self.time_limit
        best = best_of(runs, problem, objective, start, callback, pulse, limit, stored)
        if checkpoint is not None:
            checkpoint.end(self, best)
        return best

    def _run(self, r: int) -> CCCP:
        """The solver of one run."""
        settings: dict[str, Any] = {"restarts": 1}
        if r:
            seed = np.random.SeedSequence([self.random_state, r]).generate_state(1)[0]
            settings |= {"first": "random", "random_state": int(seed)}
        return type(self)(**(self.get_params(deep=False) | settings))
