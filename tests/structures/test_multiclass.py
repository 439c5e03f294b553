"""Classes: compiled code against enumeration, the reference methods and liblinear."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from partwise.certificate import certify
from partwise.compiled import has_own_step
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.scorers.kernel import KernelScorer
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.lbfgs import LBFGS
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.loop import LoopProblem
from partwise.structures.multiclass import Multiclass
from partwise.structures.multiclass import _simplex_step as simplex
from partwise.testing import brute_force_optimum, check_structure

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]
TREE = np.array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0.5]])


def random_cost(rng, n_classes):
    """Whole numbers, so that there are ties; some confusions are free."""
    cost = rng.integers(0, 3, size=(n_classes, n_classes)).astype(float)
    np.fill_diagonal(cost, 0.0)
    return cost


def make(seed, *, n=5, n_classes=3, n_features=4, dense=False, cost="any", tree=False):
    """A structure, its data and a model; small whole numbers make ties likely."""
    rng = np.random.default_rng(seed)
    if cost == "any":
        cost = random_cost(rng, n_classes)
    attributes = rng.integers(-1, 2, size=(n_classes, 6)) if tree else None
    structure = Multiclass(n_classes, cost, attributes)
    X = rng.integers(-2, 3, size=(n, n_features)).astype(float)
    X[0] = 0.0  # a row without features
    y = rng.integers(n_classes, size=n)
    structure.setup(X, y)
    w = rng.integers(-2, 3, size=structure.n_psi_).astype(float)
    return structure, X if dense else sparse.csr_array(X), y, w


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n_classes": st.sampled_from([1, 2, 3, 5, 8, 25]),
        "n_features": st.integers(1, 9),
        "dense": st.booleans(),
        "cost": st.sampled_from(["zero_one", "any"]),
        "tree": st.booleans(),
    }
)


def all_scores(structure, X, w):
    rows = X.toarray() if sparse.issparse(X) else X
    classes = range(structure.n_classes)
    return np.array(
        [[structure.joint_feature(x, k) @ w for k in classes] for x in rows]
    )


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(FORMULATIONS))
def test_searches_are_enumerated_maxima(case, formulation):
    structure, X, y, w = make(**case)
    problem = structure.pack(X, y, formulation)
    cuts = problem.oracle(problem.expand(w))
    scores, cost = all_scores(structure, X, w), structure.cost_matrix()
    for i, k in enumerate(problem.outputs(cuts)):
        violations = [-np.inf if formulation.rescaling == "hard" else 0.0]
        for c in range(structure.n_classes):
            b, scale = formulation.plane(cost[y[i], c])
            if c != y[i] and (b > 0 or formulation.rescaling != "hard"):
                violations.append(b - scale * (scores[i, y[i]] - scores[i, c]))
        assert cuts.violation[i] == cuts.bound[i] == pytest.approx(max(violations))
        b, scale = formulation.plane(cost[y[i], k])
        assert (cuts.b[i], cuts.scale[i]) == (b, scale)
        if np.isfinite(cuts.violation[i]):
            margin = scores[i, y[i]] - scores[i, k]
            assert cuts.violation[i] == pytest.approx(b - scale * margin)
    margins = cuts.scale * (
        scores[np.arange(len(y)), y] - scores[range(len(y)), cuts.code]
    )
    np.testing.assert_allclose(problem.margins(problem.expand(w), cuts), margins)


@settings(max_examples=60, deadline=None)
@given(cases, st.integers(1, 6))
def test_best_classes_and_probabilities_are_enumerated(case, k):
    structure, X, y, w = make(**case)
    problem = structure.pack(X, None)
    model, scores = problem.expand(w), all_scores(structure, X, w)
    np.testing.assert_array_equal(problem.scores(model), scores)
    np.testing.assert_array_equal(problem.decode(model), scores.argmax(axis=1))
    assert structure.decode(X, w) == scores.argmax(axis=1).tolist()
    for i, best in enumerate(problem.k_best(model, k)):
        values = np.sort(scores[i])[::-1][:k]
        assert [value for _, value in best] == values.tolist()
        assert len({c for c, _ in best}) == len(best)
        assert all(scores[i, c] == value for c, value in best)
    share, log_z = problem.marginals(model)
    np.testing.assert_allclose(log_z, np.logaddexp.reduce(scores, axis=1))
    np.testing.assert_allclose(share, np.exp(scores - log_z[:, None]), atol=1e-15)
    # ties go to the first class, not to the truth, also where the truth is known
    known = structure.pack(X, y)
    cuts = known.predict_codes(known.expand(w))
    np.testing.assert_array_equal(cuts.code, scores.argmax(axis=1))
    np.testing.assert_array_equal(cuts.b, structure.cost_matrix()[y, cuts.code])


@settings(max_examples=40, deadline=None)
@given(cases, st.integers(1, 4))
def test_k_most_violated_planes(case, k):
    structure, X, y, w = make(**case)
    problem = structure.pack(X, y)
    rows = np.array([2, 0, 4])
    cuts = problem.k_cuts(problem.expand(w), rows, k)
    scores = all_scores(structure, X, w)
    violation = (
        structure.cost_matrix()[y] + scores - scores[np.arange(len(y)), y][:, None]
    )
    expected = -np.sort(-violation[rows], axis=1)[:, :k]
    np.testing.assert_allclose(cuts.violation, expected.ravel())
    np.testing.assert_allclose(
        violation[cuts.block, cuts.code], cuts.violation, atol=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(cases)
def test_gradient_of_the_likelihood(case):
    structure, X, y, w = make(**case)
    problem = structure.pack(X, y)
    weight = np.linspace(0.5, 2.0, len(y))
    loss, gradient = problem.log_likelihood(problem.expand(w), weight)
    rows = X.toarray() if sparse.issparse(X) else X
    expected = np.zeros_like(w)
    for i, x in enumerate(rows):
        psi = np.array(
            [structure.joint_feature(x, k) for k in range(structure.n_classes)]
        )
        scores = psi @ w
        log_z = np.logaddexp.reduce(scores)
        assert loss[i] == pytest.approx(log_z - scores[y[i]], abs=1e-12)
        expected += weight[i] * (np.exp(scores - log_z) @ psi - psi[y[i]])
    np.testing.assert_allclose(problem.compact(gradient), expected, atol=1e-10)


@pytest.mark.parametrize("attributes", [None, TREE], ids=["unit", "tree"])
@pytest.mark.parametrize(
    "cost", ["zero_one", [[0, 0, 1], [2, 0, 1], [3, 1, 0]]], ids=str
)
def test_public_check(cost, attributes):
    rng = np.random.default_rng(0)
    examples = [(rng.normal(size=4), int(k)) for k in (0, 1, 2, 2)]
    report = check_structure(Multiclass(3, cost, attributes), examples)
    assert report.skipped == ("complete",)


# ------------------------------------------------------------------ the exact step


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0]), min_size=1),
    st.sampled_from([1e-9, 0.3, 1.0, 50.0]),
)
def test_threshold_projects_onto_the_simplex(values, size):
    target = np.array(values) - max(values)
    target = target[target > -size]
    theta = simplex.threshold(target, len(target), size)
    alpha = np.maximum(target - theta, 0.0)
    assert alpha.sum() == pytest.approx(size)
    # the gradient of the distance is the same wherever there is mass, and no less
    gap = alpha - target
    assert (gap >= -theta - 1e-12).all()
    np.testing.assert_allclose(gap[alpha > 0], -theta, atol=1e-12)


@pytest.mark.parametrize("capacity", [1, 2, 8])
def test_pools_of_any_room_reach_the_optimum(capacity):
    structure, X, y, _ = make(3, n=12, n_classes=8, n_features=5)
    problem = structure.pack(X, y)
    assert has_own_step(problem.blocks)
    objective = Objective.create(20.0, 12, "l1")
    optimum = brute_force_optimum(structure, X.toarray(), y, 20.0).value
    state = BCFW(tol=1e-7, capacity=capacity).solve(problem, objective)
    assert state.stopped == "converged"
    assert state.dual <= optimum * (1 + 1e-9)
    assert state.primal == pytest.approx(optimum, rel=1e-6)


def test_pools_know_their_gram_matrices():
    structure, X, y, _ = make(3, n=12, n_classes=8, n_features=5)
    problem = structure.pack(X, y)
    state = BCFW(max_iter=2, capacity=1).solve(problem, Objective.create(50, 12, "l1"))
    pool = state.memo.dual.pool
    support = BCFW().planes_at_hand(state)
    table = problem.gram(support.cuts, support.cuts)
    assert pool.used.max() > 2
    for i, used in enumerate(pool.used):
        rows = np.flatnonzero(support.cuts.block == i)
        size = pool.room[i]
        begin = pool.gram_first[i]
        own = pool.gram[begin : begin + size * size].reshape(size, size)
        np.testing.assert_allclose(own[:used, :used], table[np.ix_(rows, rows)])


# --------------------------------------------------------------------- the solvers

SOLVERS = [
    BCFW(tol=1e-6), BCFW(tol=1e-6, batch=3), NSlack(tol=1e-6), OneSlack(tol=1e-6),
    ProximalBundle(tol=1e-6),
]  # fmt: skip


@pytest.mark.parametrize("attributes", [None, TREE], ids=["unit", "tree"])
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_every_solver_finds_the_enumerated_optimum(solver, formulation, attributes):
    is_hard = formulation.rescaling == "hard"
    if is_hard and "hard" not in solver.penalties:
        pytest.skip("no hard margins")
    rng = np.random.default_rng(1)
    cost = np.array([[0, 1, 2], [1, 0, 0], [2, 0.5, 0]])
    structure = Multiclass(3, cost, attributes)
    X = rng.normal(size=(10, 4))
    structure.setup(X, None)
    w = rng.normal(size=structure.n_psi_)
    y = np.array(structure.decode(X, w)) if is_hard else rng.integers(3, size=10)
    weight = np.linspace(1.0, 2.0, 10)
    optimum = brute_force_optimum(
        structure, X, y, 5.0, formulation, sample_weight=weight
    ).value
    penalty = "hard" if is_hard else formulation.penalty
    objective = Objective.create(5.0, 10, penalty, weight)
    problem = structure.pack(X, y, formulation)

    def check(state):
        assert state.dual <= optimum * (1 + 1e-8)
        assert state.primal >= optimum * (1 - 1e-8)

    state = solver.solve(problem, objective, callback=check)
    assert state.stopped == "converged"
    assert state.primal == pytest.approx(optimum, rel=1e-5)
    actual = certify(problem, objective, state.model, dual=state.dual)
    assert actual.exact_oracle and actual.relative_gap <= 2e-6


def test_steps_along_few_blocks_with_a_large_c_end_at_the_optimum():
    structure, X, y, _ = make(5, n=9, n_classes=5, n_features=3, cost="zero_one")
    objective = Objective.create(1e5, 9, "l1")
    optimum = brute_force_optimum(structure, X.toarray(), y, 1e5).value
    state = BCFW(tol=1e-4).solve(structure.pack(X, y), objective)
    assert state.stopped == "converged"
    assert state.primal == pytest.approx(optimum, rel=2e-4)


@pytest.mark.parametrize("n", [300, 12_000])  # the latter are visited in runs
def test_bits_do_not_depend_on_threads(n):
    structure, X, y, _ = make(0, n=n, n_classes=7, n_features=20)
    objective = Objective.create(1.0 * n, n, "l1")
    actual = []
    for n_jobs in (1, 2, 3):
        problem = structure.pack(X, y, n_jobs=n_jobs)
        assert (problem.run_length > 1) == (n > 300)
        state = BCFW(tol=0.05, max_iter=30).solve(problem, objective)
        actual.append((state.model.tobytes(), state.primal, state.dual))
    assert actual[0] == actual[1] == actual[2]


def test_compiled_training_is_that_of_the_reference():
    structure, X, y, _ = make(2, n=10, n_classes=4)
    objective = Objective.create(10.0, 10, "l1")
    packed = structure.pack(X, y)
    plain = LoopProblem(structure, list(X.toarray()), y.tolist(), Formulation())
    one = BCFW(tol=1e-8).solve(packed, objective)
    other = BCFW(tol=1e-8).solve(plain, objective)
    np.testing.assert_allclose(packed.compact(one.model), other.model, atol=1e-3)


@pytest.mark.parametrize("c", [0.01, 1.0])
def test_optimum_is_that_of_liblinear(c):
    X, y = load_digits(return_X_y=True)
    X, n = X / 16.0, len(y)
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=c, tol=1e-6,
        max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    problem, objective = Multiclass(10).pack(X, y), Objective.create(n * c, n, "l1")
    state = BCFW(tol=1e-4).solve(problem, objective)
    theirs = certify(problem, objective, problem.expand(peer.coef_.T.ravel())).primal
    assert state.primal == pytest.approx(theirs, rel=1e-4)
    assert theirs >= state.dual
    actual = BCFW(tol=1e-4).solve(
        Multiclass(10).pack(sparse.csr_array(X), y), objective
    )
    assert actual.primal == pytest.approx(theirs, rel=1e-4)


def test_log_loss_is_multinomial_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    X, y = load_digits(return_X_y=True)
    X, n = X / 16.0, len(y)
    peer = LogisticRegression(C=0.1, fit_intercept=False, tol=1e-8, max_iter=1000)
    peer.fit(X, y)
    problem = Multiclass(10).pack(X, y)
    objective = Objective.create(0.1 * n, n, "log")
    state = LBFGS(tol=1e-7).solve(problem, objective)
    weights = problem.compact(state.model).reshape(-1, 10)
    np.testing.assert_allclose(weights.T, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(
        problem.marginals(state.model)[0], peer.predict_proba(X), atol=1e-3
    )


# ------------------------------------------------------------------ kernels, refusals


@pytest.mark.parametrize("attributes", [None, np.ceil(TREE)], ids=["unit", "tree"])
@pytest.mark.parametrize("formulation", FORMULATIONS[:3], ids=str)
def test_a_linear_kernel_is_the_linear_model(formulation, attributes):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), rng.integers(3, size=20)
    structure = Multiclass(3, random_cost(rng, 3), attributes)
    objective = Objective.create(20.0, 20, formulation.penalty)
    linear = structure.pack(X, y, formulation)
    scorer = KernelScorer(X @ X.T, by_token=True)
    kernel = structure.pack(structure.label_keys(20), y, formulation, scorer=scorer)
    is_exact = attributes is None and formulation.is_additive
    assert has_own_step(kernel.blocks) == is_exact
    one = BCFW(tol=1e-7).solve(linear, objective)
    other = BCFW(tol=1e-7).solve(kernel, objective)
    assert other.primal == pytest.approx(one.primal, rel=1e-6)
    scores = kernel.scores(kernel.expand(kernel.compact(other.model)))
    np.testing.assert_allclose(scores, linear.scores(one.model), atol=2e-2)
    with pytest.raises(CapabilityError, match="log"):
        kernel.log_likelihood(other.model, objective.weight)


def test_a_dual_of_another_problem_is_found_by_its_examples():
    structure, X, y, _ = make(1, n=40, n_classes=4, n_features=6)
    one, two = structure.pack(X, y), structure.pack(X[::-1], y[::-1])
    assert one.keys() == two.keys()[::-1]
    dense = structure.pack(X.toarray(), y)
    assert len(set(dense.keys())) == len(set(one.keys()))


@pytest.mark.parametrize(
    "settings_, X, Y, text",
    [
        ({"n_classes": 0}, np.eye(2), [0, 0], "n_classes=0"),
        ({"cost": "hamming"}, np.eye(2), [0, 1], "zero_one"),
        ({"cost": np.ones((2, 2))}, np.eye(2), [0, 1], "diagonal"),
        ({"cost": -1 + np.eye(2)}, np.eye(2), [0, 1], "≥ 0"),
        ({"cost": np.zeros((3, 3))}, np.eye(2), [0, 1], "2 classes"),
        ({"attributes": np.eye(3)}, np.eye(2), [0, 1], "a row for each"),
        ({}, np.eye(2), [0, 2], r"Y\[1\] is 2"),
        ({}, np.eye(2), [0.0, 1.0], "whole numbers"),
        ({}, np.eye(2), [0], "2 rows"),
        ({}, np.zeros((0, 2)), [], "no rows"),
        ({}, [1.0, 2.0], [0, 1], "examples, features"),
        ({}, [["a"]], [0], "no matrix"),
        ({}, np.array([[np.nan]]), [0], "NaN"),
    ],
)
def test_refusals_name_what_is_wrong(settings_, X, Y, text):
    with pytest.raises(ValueError, match=text):
        Multiclass(**{"n_classes": 2} | settings_).pack(X, Y)


def test_kernels_want_attributes_that_are_there_or_not():
    with pytest.raises(CapabilityError, match="zeros and ones"):
        Multiclass(3, attributes=TREE).label_keys(2)
