"""Right solvers pass; broken ones are caught by the condition they break."""

import numpy as np
import pytest
from scipy.optimize import minimize

from partwise.certificate import log_loss
from partwise.protocol import Likelihood, Solver, State, Support, take
from partwise.solvers.bcfw import BCFW
from partwise.testing import SolverError, check_solver
from partwise.testing.enumeration import Planes, minimum


def test_frank_wolfe_passes():
    report = check_solver(BCFW(tol=1e-5))
    assert len(report.passed) == 11 and not report.skipped


def test_one_slack_passes_with_its_theorem():
    one_slack = pytest.importorskip("partwise.solvers.one_slack")
    report = check_solver(one_slack.OneSlack(tol=1e-5), guarantees=("planes", "eps"))
    assert report.passed[-2:] == ("planes", "eps")
    assert report.skipped == ("hard on ToyClasses", "hard on ToyChain")


class DualTooLarge(BCFW):
    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        state.dual *= 1.5


class DualFalls(BCFW):
    def step(self, problem, objective, state):
        state.dual = -np.inf
        super().step(problem, objective, state)
        state.dual -= 0.05 * state.n_iter


class PrimalTooSmall(BCFW):
    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        state.primal *= 0.5


class AnotherModel(BCFW):
    """Returns a model whose primal it did not compute."""

    def finish(self, problem, objective, state):
        state.model = 0.5 * state.model


class GivesUp(BCFW):
    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        state.stopped = "bored"


class LooseStop(BCFW):
    """Says that it converged after one sweep."""

    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        self._evaluate(problem, objective, state)
        state.stopped = "converged"


class Restless(BCFW):
    """Its order of visits depends on something outside."""

    runs = 0

    def begin(self, problem, objective, start):
        Restless.runs += 1
        state = super().begin(problem, objective, start)
        state.memo.rng.uniform(size=Restless.runs)
        return state


class HalfSupport(BCFW):
    def support(self, state):
        found = super().support(state)
        return Support(found.cuts, 0.5 * found.alpha)


class NegativeSupport(BCFW):
    def support(self, state):
        found = super().support(state)
        return Support(found.cuts, -found.alpha)


class ForeignPlanes(BCFW):
    def support(self, state):
        found = super().support(state)
        return Support(found.cuts._replace(b=found.cuts.b + 1), found.alpha)


class IgnoresWeights(BCFW):
    """Optimises the mean whatever the weights of the examples."""

    def solve(self, problem, objective, *, start=None, callback=None):
        mean = np.full(len(objective.weight), objective.weight.mean())
        return super().solve(
            problem, objective._replace(weight=mean), start=start, callback=callback
        )


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (DualTooLarge, "is above the optimum"),
        (DualFalls, "dual fell"),
        (PrimalTooSmall, "is below the optimum"),
        (AnotherModel, "states primal"),
        (GivesUp, "stopped by 'bored'"),
        (LooseStop, "more than tol"),
        (Restless, "different models"),
        (HalfSupport, "support has dual value"),
        (NegativeSupport, "some α is negative"),
        (ForeignPlanes, "is not the plane"),
        (IgnoresWeights, "optimum|states primal"),
    ],
)
def test_broken_solver_is_caught(solver, text):
    with pytest.raises(SolverError, match=text) as caught:
        check_solver(solver(tol=1e-4))
    assert solver.__name__ in str(caught.value)


class Subgradient(Solver):
    """A solver without a dual: plain subgradient steps."""

    penalties = ("l1",)
    tol, eps, time_limit = 1e-3, None, None

    def __init__(self, max_iter=20):
        self.max_iter = max_iter

    def begin(self, problem, objective, start):
        return State(model=problem.zero())

    def step(self, problem, objective, state):
        cuts = problem.oracle(state.model)
        plane = problem.combine(cuts, objective.slope(cuts.violation))
        rate = 1.0 / (state.n_iter + 2)
        state.model = (1 - rate) * state.model + rate * plane


def test_solver_without_a_dual_skips_what_needs_one():
    report = check_solver(Subgradient())
    assert report.passed == (
        "margin l1 on ToyClasses",
        "margin l1 on ToyChain",
        "slack l1 on ToyClasses",
        "slack l1 on ToyChain",
    )


def test_counts_are_asked_for_by_name():
    with pytest.raises(SolverError, match="no `mistakes`"):
        check_solver(BCFW(tol=1e-3), guarantees=("mistakes",))


class TooManyPlanes(BCFW):
    """Counts more planes than the theorem allows."""

    def finish(self, problem, objective, state):
        super().finish(problem, objective, state)
        state.n_planes = 10**9


def test_broken_theorem_is_named():
    with pytest.raises(SolverError, match="planes for n = 6"):
        check_solver(TooManyPlanes(tol=1e-3, max_iter=100), guarantees=("planes",))


class CountingPerceptron(Solver):
    """Visits examples in turn; adds δΨ at each mistake, `extra` times counted."""

    penalties = ("l1",)
    tol, eps, time_limit = 1e-3, None, None
    guarantees = ("mistakes",)

    def __init__(self, max_iter=200, extra=1):
        self.max_iter = max_iter
        self.extra = extra

    class Memo:
        mistakes = 0

    def begin(self, problem, objective, start):
        return State(model=problem.zero(), memo=self.Memo())

    def step(self, problem, objective, state):
        before = state.memo.mistakes
        for i in range(problem.n_blocks):
            cut = problem.predict_codes(state.model, np.array([i]))
            if cut.b[0] > 0:
                state.model = state.model + problem.combine(cut, np.ones(1))
                state.memo.mistakes += self.extra
        if state.memo.mistakes == before:
            state.stopped = "converged"


def test_perceptron_makes_no_more_mistakes_than_its_theorem_allows():
    assert check_solver(CountingPerceptron()).passed[-1] == "mistakes"
    with pytest.raises(SolverError, match="more than R²/γ²"):
        check_solver(CountingPerceptron(extra=10**6))


class WorkingSet(Solver):
    """Algorithm 1 of ICML 2004 to the letter: a constraint, then the whole program."""

    guarantees = ("constraints", "eps")
    time_limit = None

    class Memo:
        def __init__(self):
            self.cuts, self.w, self.slack = [], None, None

    def __init__(self, tol=1e-4, eps=None, max_iter=200):
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter

    def begin(self, problem, objective, start):
        memo = self.Memo()
        memo.w, memo.slack = problem.zero(), np.zeros(problem.n_blocks)
        return State(model=problem.zero(), dual=0.0, memo=memo)

    def step(self, problem, objective, state):
        memo, eps = state.memo, 1e-7 if self.eps is None else self.eps
        cuts = problem.oracle(memo.w)
        state.oracle_calls += problem.n_blocks
        primal = objective.primal(problem.dot(memo.w, memo.w), cuts.bound)
        if primal < state.primal:
            state.primal, state.model = primal, memo.w
        excess = cuts.violation - memo.slack
        state.violation = float(excess.max())
        if state.violation > eps:
            memo.cuts.append(take(cuts, [int(np.argmax(excess))]))
            state.n_planes += 1
            self._reoptimise(problem, objective, state)

    def _reoptimise(self, problem, objective, state):
        memo = state.memo
        block, b, scale = (np.array([cut[k][0] for cut in memo.cuts]) for k in range(3))
        a = np.array([problem.combine(cut, np.ones(1)) for cut in memo.cuts])
        planes = Planes(block, b, b, scale, a / scale[:, None])
        best = minimum(planes, objective)
        state.dual = max(state.dual, best.lower)
        memo.w, memo.slack = best.w, planes.slack(best.w, problem.n_blocks)


def test_algorithm_1_keeps_its_theorems():
    assert check_solver(WorkingSet()).passed[-2:] == ("constraints", "eps")


class SlowWorkingSet(WorkingSet):
    """Solves its program only half way."""

    def _reoptimise(self, problem, objective, state):
        before = state.dual
        super()._reoptimise(problem, objective, state)
        if self.eps is not None:
            state.dual = before


def test_dual_that_hardly_rises_breaks_proposition_2():
    with pytest.raises(SolverError, match="Proposition 2"):
        check_solver(SlowWorkingSet())


class NeverSatisfied(WorkingSet):
    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        if self.eps is not None:
            state.violation = np.inf


def test_stopping_rule_of_the_papers_must_stop():
    with pytest.raises(SolverError, match="stopped by 'max_iter' at violation inf"):
        check_solver(NeverSatisfied(), guarantees=("eps",))


class OptimisticHard(BCFW):
    """Believes in the hard margin of the two contradictory examples."""

    def step(self, problem, objective, state):
        super().step(problem, objective, state)
        if objective.penalty == "hard" and problem.n_blocks == 2:
            state.stopped = "converged"


def test_hard_margin_of_contradictions_is_caught():
    with pytest.raises(SolverError, match="contradictory examples"):
        check_solver(OptimisticHard(tol=1e-3))


class LogSolver(Solver):
    """The conditional likelihood by scipy; `short` stops early."""

    penalties = ("log",)
    needs = (Likelihood,)
    eps, time_limit = None, None

    def __init__(self, tol=1e-4, max_iter=1, maxiter=1000):
        self.tol = tol
        self.max_iter = max_iter
        self.maxiter = maxiter

    def begin(self, problem, objective, start):
        return State(model=problem.zero())

    def step(self, problem, objective, state):
        found = minimize(
            lambda w: log_loss(problem, objective, w), state.model, jac=True,
            method="L-BFGS-B", options={"maxiter": self.maxiter},
        )  # fmt: skip
        state.model, state.primal = found.x, found.fun


def test_log_likelihood_is_compared_with_its_optimum():
    assert check_solver(LogSolver()).passed == ("log on ToyChain",)
    with pytest.raises(SolverError, match="the optimum is"):
        check_solver(LogSolver(maxiter=1))


class AcceptsNothing(BCFW):
    penalties = ()


def test_solver_that_accepts_nothing_is_no_solver():
    with pytest.raises(SolverError, match="accepts none"):
        check_solver(AcceptsNothing())
