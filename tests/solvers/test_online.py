import numpy as np
import pytest
from enumerated import all_planes, optimum, small_problem, solve_qp, weights

from partwise.certificate import certify
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts
from partwise.solvers.online import MIRA, Pegasos, Perceptron
from partwise.structures.loop import LoopProblem

SOLVERS = [Perceptron(), MIRA(), MIRA(augmented=False), Pegasos(batch=5)]


class KBest(LoopProblem):
    """Lists all outputs, most violated first."""

    def k_best(self, model, k):
        raise AssertionError("MIRA asks for cuts")

    def k_cuts(self, model, rows, k):
        actual = []
        for i in rows:
            planes = []
            for v in range(self.structure.n_classes):
                loss = self.structure.loss(self.blocks.Y[i], v)
                code = self.blocks.place(int(i), v)
                b, scale = self.formulation.plane(loss)
                value = b - scale * self.blocks.margin(model, int(i), [code])
                planes.append((int(i), b, scale, value, value, code))
            actual += sorted(planes, key=lambda plane: -plane[3])[:k]
        block, b, scale, violation, bound, code = map(
            np.array, zip(*actual, strict=True)
        )
        indptr = np.arange(len(actual) + 1)
        return Cuts(block, b, scale, violation, bound, indptr, code.astype(np.int32))


def with_k_best(problem):
    blocks = problem.blocks
    return KBest(problem.structure, blocks.X, blocks.Y, problem.formulation)


def largest_margin(problem):
    """γ: the margin of the hard-margin optimum, and the largest ‖δ‖²."""
    _, _, a = all_planes(problem)
    d = a.shape[1]
    w, _ = solve_qp(np.eye(d), np.zeros(d), -a, -np.ones(len(a)))
    return 1 / np.linalg.norm(w), np.max(np.sum(a * a, axis=1))


@pytest.mark.parametrize("solver", [Perceptron(), Pegasos()])
def test_refuses_a_hard_margin_before_any_work(solver):
    problem = small_problem("hard")
    objective = weights(problem)._replace(penalty="hard")
    with pytest.raises(CapabilityError, match="runs penalty l1 or l2, not 'hard'"):
        solver.solve(problem, objective)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("averaged", [True, False])
def test_perceptron_mistakes_stay_below_the_bound(seed, averaged):
    problem = small_problem(n=60, noise=0.4, seed=seed)
    gamma, square = largest_margin(problem)
    solver = Perceptron(max_iter=1000, random_state=seed, averaged=averaged)
    state = solver.solve(problem, weights(problem))
    assert state.stopped == "converged"
    assert 0 < state.memo.mistakes <= square / gamma**2
    assert not problem.predict_codes(state.model).b.any()


def test_the_average_is_that_of_the_models_after_each_visit():
    problem = small_problem(n=20, noise=3.0)
    state = Perceptron(max_iter=2).solve(problem, weights(problem))
    rng = np.random.default_rng(0)
    w, total = problem.zero(), problem.zero()
    for _ in range(2):
        for i in rng.permutation(20):
            cuts = problem.predict_codes(w, np.array([i]))
            if cuts.b[0] > 0:
                w += problem.combine(cuts, np.ones(1))
            total += w
    np.testing.assert_allclose(state.model, total / 40, atol=1e-12)
    last = Perceptron(max_iter=2, averaged=False).solve(problem, weights(problem))
    np.testing.assert_allclose(last.model, w, atol=1e-12)


@pytest.mark.parametrize("penalty", ["l1", "l2", "hard"])
def test_a_visit_of_mira_is_the_smallest_change(penalty):
    """Min ½‖w − w0‖² + slack over all outputs of one example, against Clarabel."""
    rescaling = "hard" if penalty == "hard" else "margin"
    formulation = Formulation(rescaling, "l1" if penalty == "hard" else penalty)
    base = small_problem(*formulation, n=1, seed=4)
    objective = weights(base, 0.7)._replace(penalty=penalty)
    _, b, a = all_planes(base)
    start = np.random.default_rng(0).normal(size=base.n_weights)
    d, slack = len(start), float(penalty != "hard")
    curvature = np.append(np.ones(d), 0.7 if penalty == "l2" else 0.0)
    linear = np.append(-start, 0.7 if penalty == "l1" else 0.0)
    rows = np.vstack([np.c_[-a, np.full(len(a), -slack)], np.eye(d + 1)[-1:] * -1])
    best, _ = solve_qp(np.diag(curvature), linear, rows, np.append(-b, 0.0))
    solver = MIRA(max_iter=1, k=3, averaged=False)
    state = solver.solve(with_k_best(base), objective, start=start)
    np.testing.assert_allclose(state.model, best[:d], atol=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_update_for_one_cut_is_that_for_several(penalty):
    problem = with_k_best(small_problem("slack", penalty, n=15))
    objective = weights(problem)
    fast = MIRA(max_iter=3).solve(problem, objective)
    problem.k_cuts = lambda model, rows, k: KBest.k_cuts(problem, model, rows, 1)
    general = MIRA(max_iter=3, k=2).solve(problem, objective)
    np.testing.assert_allclose(fast.model, general.model, atol=1e-10)


def test_mira_satisfies_separable_data():
    problem = small_problem(n=60, noise=0.2)
    state = MIRA(max_iter=1000).solve(problem, weights(problem, 1e6))
    assert state.stopped == "converged"
    assert np.max(problem.oracle(state.model).violation) <= 1e-12


def test_mira_names_what_k_best_needs():
    problem = small_problem()
    with pytest.raises(
        CapabilityError, match="needs `k_best` and `k_cuts`, which LoopProblem"
    ):
        MIRA(k=3).solve(problem, weights(problem))


@pytest.mark.parametrize(
    "penalty, project", [("l1", False), ("l1", True), ("l2", True)]
)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_pegasos_approaches_the_optimum(rescaling, penalty, project):
    problem = small_problem(rescaling, penalty, n=20)
    objective = weights(problem)
    best = optimum(problem, objective)
    solver = Pegasos(max_iter=400, batch=2, project=project)
    state = solver.solve(problem, objective)
    assert best * (1 - 1e-9) <= state.primal <= 1.01 * best


def test_pegasos_average_is_weighted_by_t_however_often_w_is_projected():
    problem = small_problem(n=10)
    models, norms = [], []

    def record(state):
        models.append(state.memo.w.copy())
        norms.append(np.linalg.norm(state.memo.w))

    solver = Pegasos(max_iter=200, batch=10)
    state = solver.solve(problem, weights(problem, 1e4), callback=record)
    t = np.arange(1, 201)
    expected = np.sum(t[:, None] * models, axis=0) / np.sum(t)
    np.testing.assert_allclose(state.model, expected, rtol=1e-10)
    radius = state.memo.radius
    assert max(norms) <= radius * (1 + 1e-12)
    assert np.isclose(norms, radius).sum() > 1


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_reports_the_primal_of_its_model_and_no_lower_bound(solver):
    problem = small_problem(n=30)
    objective = weights(problem)
    state = solver.set_params(max_iter=3).solve(problem, objective)
    certificate = certify(problem, objective, state.model)
    assert state.primal == certificate.primal
    assert state.dual == -np.inf
    assert state.stopped == "max_iter"
    assert certificate.gap >= state.primal - optimum(problem, objective)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_equal_bits_for_equal_seeds(solver):
    problem = small_problem(n=30)
    objective = weights(problem)
    solver.set_params(max_iter=3)
    one, two = (solver.solve(problem, objective) for _ in range(2))
    assert one.model.tobytes() == two.model.tobytes()
    solver.set_params(random_state=1)
    other = solver.solve(problem, objective)
    solver.set_params(random_state=0)
    assert one.model.tobytes() != other.model.tobytes()


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_goes_on_from_a_start(solver):
    problem = small_problem(n=30)
    objective = weights(problem)
    start = np.full(problem.n_weights, 0.1)
    state = solver.set_params(max_iter=1).solve(problem, objective, start=start)
    assert np.isfinite(state.primal)
    assert (start == 0.1).all()
