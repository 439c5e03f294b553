import numpy as np
import pytest
from enumerated import small_problem, weights
from scipy.optimize import minimize

from partwise.certificate import certify, log_loss
from partwise.protocol import CapabilityError
from partwise.solvers.lbfgs import LBFGS
from partwise.structures.loop import LoopProblem


class Likelihood(LoopProblem):
    """Conditional likelihood by listing the classes."""

    def log_likelihood(self, model, weight):
        structure, blocks = self.structure, self.blocks
        loss, gradient = np.zeros(self.n_blocks), self.zero()
        for i, (x, y) in enumerate(zip(blocks.X, blocks.Y, strict=True)):
            score = structure.scores(x, model)
            score = score - np.max(score)
            share = np.exp(score) / np.sum(np.exp(score))
            loss[i] = -np.log(share[y])
            share[y] -= 1.0
            gradient += weight[i] * np.outer(share, x).ravel()
        return loss, gradient


@pytest.fixture(params=[0, 1, 2])
def problem(request):
    base = small_problem(n=30, d=6, seed=request.param)
    return Likelihood(base.structure, base.blocks.X, base.blocks.Y, base.formulation)


def log_objective(problem, C):
    return weights(problem, C)._replace(penalty="log")


def scipy_optimum(problem, objective):
    answer = minimize(
        lambda w: log_loss(problem, objective, w),
        problem.zero(),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 0.0, "gtol": 1e-10, "maxiter": 10000},
    )
    return answer.fun


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_brackets_and_reaches_scipys_optimum(problem, C):
    objective = log_objective(problem, C)
    best = scipy_optimum(problem, objective)

    def check(state):
        assert state.dual <= best * (1 + 1e-9)
        assert state.primal >= best * (1 - 1e-9)

    state = LBFGS(tol=1e-8).solve(problem, objective, callback=check)
    assert state.stopped == "converged"
    assert state.primal == pytest.approx(best, rel=2e-8)


def test_the_bound_is_that_of_the_certificate(problem):
    objective = log_objective(problem, 10.0)
    state = LBFGS(tol=1e-4).solve(problem, objective)
    certificate = certify(problem, objective, state.model, dual=state.dual)
    assert certificate.primal == state.primal
    assert certificate.relative_gap <= 1e-4


def test_stops_where_rounding_forbids_more(problem):
    state = LBFGS(tol=1e-300).solve(problem, log_objective(problem, 10.0))
    assert state.stopped in ("rounding forbids a better step", "converged")
    assert state.relative_gap < 1e-12


def test_goes_on_from_a_start(problem):
    objective = log_objective(problem, 100.0)
    first = LBFGS(tol=1e-3).solve(problem, objective)
    again = LBFGS(tol=1e-3).solve(problem, objective, start=first.model)
    assert again.n_iter == 1
    assert again.primal <= first.primal


def test_limits_hold_and_ctrl_c_keeps_the_best_model(problem):
    objective = log_objective(problem, 1000.0)
    assert LBFGS(tol=1e-12, max_iter=3).solve(problem, objective).stopped == "max_iter"

    def interrupt(state):
        if state.n_iter == 2:
            raise KeyboardInterrupt

    state = LBFGS(tol=1e-12).solve(problem, objective, callback=interrupt)
    assert state.stopped == "interrupted"
    assert state.primal == log_loss(problem, objective, state.model)[0]


def test_equal_bits_on_repetition(problem):
    objective = log_objective(problem, 10.0)
    one, two = (LBFGS().solve(problem, objective) for _ in range(2))
    assert one.model.tobytes() == two.model.tobytes()


def test_refuses_planes_and_problems_without_likelihood():
    problem = small_problem()
    with pytest.raises(CapabilityError, match="LBFGS runs penalty log"):
        LBFGS().solve(problem, weights(problem))
    with pytest.raises(CapabilityError, match="needs `log_likelihood`"):
        LBFGS().solve(problem, log_objective(problem, 1.0))


def test_bound_is_never_negative(problem):
    objective = log_objective(problem, 1e6)  # the first gradient bounds nothing
    state = LBFGS(max_iter=1).solve(problem, objective)
    assert state.primal - 0.5 * np.sum(np.square(state.memo.gradient)) < 0
    assert 0 <= state.dual <= scipy_optimum(problem, objective)
    assert state.relative_gap <= 1


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e6])
def test_bound_rises_from_the_first_iteration(problem, C):
    """Fenchel's dual at a share of the gradient says something at every model."""
    objective = log_objective(problem, C)
    state = LBFGS(max_iter=40, tol=1e-12).solve(problem, objective)
    bounds = [point.dual for point in state.history]
    assert bounds[0] > 0
    assert bounds == sorted(bounds)
    assert bounds[-1] <= scipy_optimum(problem, objective) * (1 + 1e-9)
