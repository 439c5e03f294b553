"""Right solvers pass; broken ones are caught by the condition they break."""

import numpy as np
import pytest

from partwise.protocol import Solver, State, Support
from partwise.solvers.bcfw import BCFW
from partwise.testing import SolverError, check_solver
from partwise.testing.toys import toy_classes


def test_frank_wolfe_passes():
    report = check_solver(BCFW(tol=1e-5))
    assert len(report.passed) == 10 and not report.skipped


def test_one_slack_passes_with_its_theorem():
    one_slack = pytest.importorskip("partwise.solvers.one_slack")
    report = check_solver(one_slack.OneSlack(tol=1e-5), guarantees=("planes",))
    assert report.passed[-1] == "planes"
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
        state.memo[1].uniform(size=Restless.runs)
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
    with pytest.raises(SolverError, match="no `n_planes`"):
        check_solver(BCFW(tol=1e-3), guarantees=("constraints",))


class TooManyPlanes(BCFW):
    """Counts more planes than the theorem allows."""

    class Memo(tuple):
        n_planes = 10**9

    def finish(self, problem, objective, state):
        state.memo = self.Memo(state.memo)


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
        n_mistakes = 0

    def begin(self, problem, objective, start):
        return State(model=problem.zero(), memo=self.Memo())

    def step(self, problem, objective, state):
        before = state.memo.n_mistakes
        for i in range(problem.n_blocks):
            cut = problem.predict_codes(state.model, np.array([i]))
            if cut.b[0] > 0:
                state.model = state.model + problem.combine(cut, np.ones(1))
                state.memo.n_mistakes += self.extra
        if state.memo.n_mistakes == before:
            state.stopped = "converged"


def test_perceptron_makes_no_more_mistakes_than_its_theorem_allows():
    assert check_solver(CountingPerceptron()).passed[-1] == "mistakes"
    with pytest.raises(SolverError, match="more than R²/γ²"):
        check_solver(CountingPerceptron(extra=10**6))


def test_toys_are_separable_when_asked():
    _, X, Y = toy_classes(0, separable=True)
    assert len(X) == len(Y)
