import numpy as np
import pytest
from enumerated import all_planes, check_bracket, optimum, small_problem, weights

from partwise.protocol import CapabilityError, Cuts, join
from partwise.solvers._planes import PlaneStore
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.one_slack import OneSlack

FORMULATIONS = [
    (rescaling, penalty)
    for rescaling in ("margin", "slack")
    for penalty in ("l1", "l2")
]


@pytest.mark.parametrize("rescaling, penalty", FORMULATIONS)
@pytest.mark.parametrize("cache", [0, 5])
def test_reaches_the_optimum_of_all_outputs(rescaling, penalty, cache):
    for seed in range(3):
        problem = small_problem(rescaling, penalty, seed=seed)
        objective = weights(problem)
        best = optimum(problem, objective)
        solver = OneSlack(tol=1e-7, cache=cache)
        state = check_bracket(solver, problem, objective, best)
        assert state.stopped == "converged"
        assert state.primal == pytest.approx(best, rel=2e-7)
        assert state.dual == pytest.approx(best, rel=2e-7)


def test_eps_is_the_joint_violation_of_the_papers():
    problem = small_problem()
    objective = weights(problem)
    state = OneSlack(eps=0.01).solve(problem, objective)
    assert state.stopped == "converged"
    assert 0 <= state.violation <= 0.01
    assert state.gap <= 0.01 * 5.0 + 1e-12  # P − D ≤ Cε


@pytest.mark.parametrize("n", [12, 120])
def test_planes_stay_below_the_bound_whatever_the_number_of_examples(n):
    """Joachims, Finley, Yu 2009: log₂(Δ/4R²C) + 16R²C/ε iterations."""
    problem = small_problem(n=n, noise=0.3)
    C, eps = 5.0, 0.1
    objective = weights(problem, C)
    state = OneSlack(eps=eps, pool=False, cache=0).solve(problem, objective)
    _, b, a = all_planes(problem)
    square = np.max(np.sum(a * a, axis=1))
    rounds = max(np.ceil(np.log2(np.max(b) / (4 * square * C))), 0)
    assert state.n_planes <= rounds + np.ceil(16 * square * C / eps)
    assert state.n_planes < 60  # in practice, for 12 as for 120 examples


def test_pruned_planes_do_not_cost_the_optimum():
    problem = small_problem(n=30)
    objective = weights(problem, 50.0)
    best = optimum(problem, objective)
    state = check_bracket(
        OneSlack(tol=1e-6, prune_after=5, pool=False), problem, objective, best
    )
    assert state.stopped == "converged"
    assert len(state.memo.planes) < state.n_planes


def test_the_cache_spares_oracle_calls():
    problem = small_problem(n=60, d=8)
    objective = weights(problem, 50.0)
    calls = [
        OneSlack(tol=1e-4, pool=False, cache=cache)
        .solve(problem, objective)
        .oracle_calls
        for cache in (0, 5)
    ]
    assert calls[1] < calls[0]


def test_a_start_at_the_optimum_is_recognised_at_once():
    problem = small_problem()
    objective = weights(problem)
    first = OneSlack(tol=1e-6).solve(problem, objective)
    again = OneSlack(tol=1e-3, max_iter=1).solve(problem, objective, start=first.model)
    assert again.primal <= first.primal * (1 + 1e-12)


def test_equal_bits_on_repetition():
    problem = small_problem(n=40)
    objective = weights(problem)
    one, two = (OneSlack().solve(problem, objective) for _ in range(2))
    assert one.model.tobytes() == two.model.tobytes()
    assert (one.primal, one.dual, one.n_iter) == (two.primal, two.dual, two.n_iter)


def test_refuses_a_hard_margin():
    problem = small_problem("hard")
    objective = weights(problem)._replace(penalty="hard")
    with pytest.raises(CapabilityError, match="OneSlack runs penalty l1 or l2"):
        OneSlack().solve(problem, objective)


class Space:
    """What a store asks of a problem: models, and their inner product."""

    def __init__(self, size, metric=None, n_jobs=1):
        self.size, self.metric, self.n_jobs = size, metric, n_jobs
        self.is_euclidean = metric is None

    def zero(self):
        return np.zeros(self.size)

    def dot(self, one, other):
        return float(one @ self.metric @ other)


def store_of(models, metric=None, n_jobs=1):
    store = PlaneStore(Space(models.shape[1], metric, n_jobs))
    for p, model in enumerate(models):
        store.add(model, float(p), cut_of(p), np.array([2.0]))
    return store


def cut_of(block):
    zero, one = np.zeros(1), np.ones(1)
    place, code = np.array([0, 1]), np.zeros(1, np.int32)
    return Cuts(np.array([block]), zero, one, zero, zero, place, code)


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_the_store_computes_what_dense_algebra_does(density):
    rng = np.random.default_rng(0)
    models = rng.normal(size=(20, 33)) * (rng.random((20, 33)) < density)
    store = store_of(models)
    everything = np.vstack([np.zeros(33), models])
    w, alpha = rng.normal(size=33), rng.random(21)
    np.testing.assert_allclose(store.dots(w), everything @ w, atol=1e-12)
    np.testing.assert_allclose(store.gram, everything @ everything.T, atol=1e-12)
    np.testing.assert_allclose(store.combine(alpha), alpha @ everything, atol=1e-12)
    assert store.square(alpha) == pytest.approx(np.sum((alpha @ everything) ** 2))


def test_planes_of_a_kernel_model_use_its_inner_product():
    rng = np.random.default_rng(0)
    root, models = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    store = store_of(models, root @ root.T)
    expected = models @ root @ root.T @ models.T
    np.testing.assert_allclose(store.gram[1:, 1:], expected)


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_long_planes_have_the_same_bits_on_two_threads(density):
    rng = np.random.default_rng(0)
    models = rng.normal(size=(3, 150_000)) * (rng.random((3, 150_000)) < density)
    one, two = store_of(models), store_of(models, n_jobs=2)
    assert np.array_equal(one.gram, two.gram)
    alpha, base = rng.random(4), rng.normal(size=150_000)
    both = [store.combine(alpha, base, 0.5) for store in (one, two)]
    assert np.array_equal(*both)
    np.testing.assert_allclose(both[0], alpha[1:] @ models + 0.5 * base)
    np.testing.assert_allclose(one.gram[1:, 1:], models @ models.T, atol=1e-9)


def test_dropped_planes_take_their_rows_along():
    models = np.random.default_rng(0).normal(size=(5, 4))
    store = store_of(models)
    keep = store.drop_idle(0, np.array([0, 1, 0, 1, 0, 1], bool))
    subset = models[[0, 2, 4]]
    assert keep.tolist() == [0, 1, 3, 5]
    assert store.offset.tolist() == [0, 0, 2, 4]
    np.testing.assert_allclose(store.gram[1:, 1:], subset @ subset.T)


def test_rebased_planes_are_those_of_the_new_truth():
    rng = np.random.default_rng(0)
    models, change = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    store = store_of(models)
    store.problem.n_blocks = 5
    store.problem.combine = lambda cuts, mass: mass @ change[cuts.block]
    old_truths = join([cut_of(i) for i in range(5)])
    store.rebase(old_truths)
    fresh = store_of(models + 2.0 * change)
    np.testing.assert_allclose(store.gram, fresh.gram)
    np.testing.assert_allclose(store.combine(np.ones(6)), fresh.combine(np.ones(6)))


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("solver", [OneSlack(tol=1e-3), ProximalBundle(tol=1e-3)])
def test_the_support_is_a_dual_of_cuts_that_proves_the_bound(solver, penalty):
    problem = small_problem("margin", penalty)
    objective = weights(problem)
    state = solver.solve(problem, objective)
    cuts, alpha = solver.support(state)
    mass = np.bincount(cuts.block, alpha, minlength=problem.n_blocks)
    offset = np.bincount(cuts.block, alpha * cuts.b, minlength=problem.n_blocks)
    assert (alpha > 0).all() and (mass <= objective.cap() * (1 + 1e-12)).all()
    w = problem.combine(cuts, alpha)
    proved = objective.dual(problem.dot(w, w), offset, mass)
    assert state.dual * (1 - 1e-9) <= proved <= state.primal
    outputs = list(zip(cuts.block.tolist(), cuts.code.tolist(), strict=True))
    assert len(set(outputs)) == len(outputs)
