"""A kernel scorer trains the model that the linear scorer trains, in other words."""

import numpy as np
import pytest

from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.scorers.kernel import KernelScorer
from partwise.solvers import make_solver
from partwise.structures.chain import Chain

N, WIDTH, LABELS = 12, 8, 3


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(2, 6), WIDTH)) for _ in range(N)]
    Y = [rng.integers(0, LABELS, len(x)) for x in X]
    return X, Y, np.concatenate(X)


def solve(problem, solver, penalty, max_iter=None):
    settings = {"tol": 1e-7, "max_iter": max_iter, "random_state": 0}
    C = 2.0
    objective = Objective.create(C, N, penalty)
    return make_solver(solver, settings).solve(problem, objective)


CASES = [
    ("n_slack", "margin", "l1"),
    ("n_slack", "slack", "l2"),
    ("bcfw", "margin", "l1"),
    ("one_slack", "margin", "l1"),
    ("bundle", "margin", "l1"),
]


@pytest.mark.parametrize(("solver", "rescaling", "penalty"), CASES)
def test_a_linear_kernel_has_the_linear_optimum(data, solver, rescaling, penalty):
    X, Y, rows = data
    chain, formulation = Chain(LABELS), Formulation(rescaling, penalty)
    linear = solve(chain.pack(X, Y, formulation), solver, penalty)
    scorer = KernelScorer(rows @ rows.T)
    problem = chain.pack(X, Y, formulation, scorer=scorer)
    kernel = solve(problem, solver, penalty)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-6)
    assert kernel.relative_gap <= 1e-7


@pytest.mark.parametrize("solver", ["perceptron", "mira"])
def test_online_solvers_take_the_same_steps(data, solver):
    X, Y, rows = data
    chain = Chain(LABELS)
    linear_problem = chain.pack(X, Y)
    problem = chain.pack(X, Y, scorer=KernelScorer(rows @ rows.T))
    linear = solve(linear_problem, solver, "l1", max_iter=4)
    kernel = solve(problem, solver, "l1", max_iter=4)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-9)
    # w = Σ β x: the coefficients of the anchors give the linear weights
    beta = problem.compact(kernel.model)[: len(rows) * LABELS].reshape(-1, LABELS)
    weights = linear_problem.compact(linear.model)[: WIDTH * LABELS]
    np.testing.assert_allclose((rows.T @ beta).ravel(), weights, atol=1e-9)


def test_the_inner_product_is_that_of_the_feature_space(data):
    X, Y, rows = data
    chain = Chain(LABELS)
    linear = chain.pack(X, Y)
    kernel = chain.pack(X, Y, scorer=KernelScorer(rows @ rows.T))
    cuts = kernel.oracle(kernel.zero())
    alpha = np.linspace(0.1, 1.0, N)
    other = np.linspace(1.0, -1.0, N)
    one, two = (kernel.combine(cuts, each) for each in (alpha, other))
    three, four = (linear.combine(cuts, each) for each in (alpha, other))
    assert kernel.dot(one, two) == pytest.approx(linear.dot(three, four))


def test_a_log_loss_is_refused(data):
    X, Y, rows = data
    problem = Chain(LABELS).pack(X, Y, scorer=KernelScorer(rows @ rows.T))
    with pytest.raises(CapabilityError, match="Nystroem"):
        problem.log_likelihood(problem.zero(), np.ones(N))


def test_a_gram_matrix_must_be_square():
    with pytest.raises(ValueError, match="one row and one column"):
        KernelScorer(np.ones((2, 3)))
