import pytest
from enumerated import check_bracket, optimum, small_problem, weights

from partwise.protocol import CapabilityError
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.one_slack import OneSlack


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_reaches_the_optimum_of_all_outputs(rescaling, penalty):
    for seed in range(3):
        problem = small_problem(rescaling, penalty, seed=seed)
        objective = weights(problem)
        best = optimum(problem, objective)
        state = check_bracket(ProximalBundle(tol=1e-7), problem, objective, best)
        assert state.stopped == "converged"
        assert state.primal == pytest.approx(best, rel=2e-7)


def test_the_value_of_the_centre_never_rises():
    problem = small_problem(n=40)
    state = ProximalBundle(tol=1e-5).solve(problem, weights(problem, 50.0))
    primal = [point.primal for point in state.history]
    assert primal == sorted(primal, reverse=True)


def test_primal_is_that_of_the_model():
    problem = small_problem(n=40)
    objective = weights(problem, 50.0)
    state = ProximalBundle(max_iter=7).solve(problem, objective)
    cuts = problem.oracle(state.model)
    square = problem.dot(state.model, state.model)
    assert state.primal == objective.primal(square, cuts.bound)
    assert state.oracle_calls == 8 * problem.n_blocks


def test_needs_fewer_passes_than_cutting_planes():
    problem = small_problem(n=60, d=8)
    objective = weights(problem, 500.0)
    bundle = ProximalBundle(pool=False, tol=1e-3).solve(problem, objective)
    planes = OneSlack(pool=False, tol=1e-3, cache=0).solve(problem, objective)
    assert bundle.n_iter < planes.n_iter


def test_eps_bounds_the_gap():
    problem = small_problem()
    state = ProximalBundle(eps=0.01).solve(problem, weights(problem, 5.0))
    assert state.stopped == "converged"
    assert state.gap <= 0.01 * 5.0


def test_begins_where_it_is_told():
    problem = small_problem(n=40)
    objective = weights(problem, 50.0)
    cold = ProximalBundle(tol=1e-4).solve(problem, objective)
    warm = ProximalBundle(tol=1e-4).solve(problem, objective, start=cold.model)
    assert warm.history[0].primal <= cold.primal
    again = ProximalBundle(tol=1e-4).solve(problem, objective, start=cold)
    assert again.n_iter < warm.n_iter <= cold.n_iter


def test_equal_bits_on_repetition():
    problem = small_problem(n=40)
    objective = weights(problem)
    one, two = (ProximalBundle().solve(problem, objective) for _ in range(2))
    assert one.model.tobytes() == two.model.tobytes()
    assert (one.primal, one.dual, one.n_iter) == (two.primal, two.dual, two.n_iter)


def test_refuses_a_hard_margin():
    problem = small_problem("hard")
    with pytest.raises(CapabilityError, match="ProximalBundle runs penalty l1 or l2"):
        ProximalBundle().solve(problem, weights(problem)._replace(penalty="hard"))
