"""A kernel on pairs trains what its explicit twin trains, without features."""

import numpy as np
import pytest
from enumerated import Classes

from partwise import JointKernel, StructuredSVM
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers import make_solver
from partwise.structures.joint_kernel import KernelModel, TensorKernel

N, D, K = 14, 4, 3


class KernelClasses(TensorKernel):
    """The classes of the twin, by k_X = <x, x'> and k_Y = [y = y']."""

    def __init__(self, n_classes=K):
        self.n_classes = n_classes

    def input_kernel(self, x, x2):
        return float(x @ x2)

    def output_kernel(self, y, y2):
        return float(y == y2)

    def loss(self, y, y_hat):
        return Classes().loss(y, y_hat)

    def outputs(self):
        return range(self.n_classes)

    def pre_image(self, x, score):
        return max(self.outputs(), key=score)

    def pre_image_penalized(self, x, y, score):
        return max(self.outputs(), key=lambda v: score(v) + self.loss(y, v))

    def frontier(self, x, y, score):
        return [(self.loss(y, v), v) for v in self.outputs() if v != y]

    def two_best(self, x, score):
        return sorted(self.outputs(), key=score)[:-3:-1]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = rng.integers(K, size=N).tolist()
    return 2.0 * np.eye(K, D)[Y] + 0.7 * rng.normal(size=(N, D)), Y


CASES = [
    ("n_slack", "margin", "l1"),
    ("n_slack", "slack", "l2"),
    ("n_slack", "hard", "l1"),
    ("one_slack", "margin", "l1"),
    ("bcfw", "margin", "l2"),
    ("bundle", "margin", "l1"),
]


def solve(structure, X, Y, solver, rescaling, penalty, **settings):
    formulation = Formulation(rescaling, penalty)
    problem = structure.setup(X, Y).pack(X, Y, formulation)
    name = "hard" if rescaling == "hard" else penalty
    objective = Objective.create(3.0, N, name)
    settings = {"tol": 1e-7, "random_state": 0} | settings
    return problem, make_solver(solver, settings).solve(problem, objective)


@pytest.mark.parametrize(("solver", "rescaling", "penalty"), CASES)
def test_the_optimum_of_the_explicit_twin(data, solver, rescaling, penalty):
    X, Y = data
    if rescaling == "hard":
        X = 4.0 * np.eye(K, D)[Y] + 0.2 * X
    _, linear = solve(Classes(), X, Y, solver, rescaling, penalty)
    _, kernel = solve(KernelClasses(), X, Y, solver, rescaling, penalty)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-6)
    assert kernel.relative_gap <= 1e-7


@pytest.mark.parametrize("solver", ["perceptron", "mira"])
def test_online_solvers_take_the_same_steps(data, solver):
    X, Y = data
    args = (X, Y, solver, "margin", "l1")
    _, linear = solve(Classes(), *args, max_iter=5)
    other, kernel = solve(KernelClasses(), *args, max_iter=5)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-9)
    w = np.zeros((K, D))
    model = other.compact(kernel.model)
    for (x, y), alpha in zip(model.pairs, model.alpha, strict=True):
        w[y] += alpha * x
    np.testing.assert_allclose(w.ravel(), linear.model, atol=1e-9)


def test_the_estimator_predicts_explains_and_starts_warm(data):
    X, Y = data
    X = list(X)
    linear = StructuredSVM(Classes(), C=3.0, tol=1e-6).fit(X, Y)
    svm = StructuredSVM(KernelClasses(), C=3.0, tol=1e-6).fit(X, Y)
    assert svm.predict(X).tolist() == linear.predict(X).tolist()
    assert svm.score(X, Y) == linear.score(X, Y)
    lead = svm.explain(X[0], top=100)
    assert sum(share for _, share in lead.reasons) == pytest.approx(lead.lead)
    np.testing.assert_allclose(svm.margin(X)[0, 1], lead.lead)
    assert svm.support_structures()[0][2] > 0
    again = StructuredSVM(
        KernelClasses(), C=3.0, tol=1e-6, solver="one_slack", warm_start=True
    )
    again.fit(X, Y).fit(X, Y)
    assert again.certificate_.relative_gap <= 1e-6
    with pytest.raises(ValueError, match=r"coef_\.pairs"):
        svm.save("nowhere")
    subset = KernelModel(KernelClasses(), list(svm.coef_.pairs), svm.coef_.alpha.copy())
    assert list(subset.structure.decode(X, subset)) == svm.predict(X).tolist()


def test_scores_are_sums_over_terms(data):
    X, Y = data
    svm = StructuredSVM(KernelClasses(), C=3.0).fit(X, Y)
    score = svm.coef_.at(X[0])
    weights = svm.structure_.weighted_outputs(X[0], score)
    for y in range(K):
        by_terms = sum(a for y_j, a in weights if y_j == y)
        assert score(y) == pytest.approx(by_terms)
    assert len(list(score.terms())) == len(svm.coef_)


def test_kernel_values_are_computed_once(data):
    X, Y = data
    calls = []

    class Counting(KernelClasses):
        def kernel(self, x, y, x2, y2):
            calls.append((x.tobytes(), y, x2.tobytes(), y2))
            return super().kernel(x, y, x2, y2)

    solve(Counting(), X, Y, "n_slack", "margin", "l1")
    assert len(calls) == len(set(calls)) <= (N * K) ** 2


def test_outputs_may_be_arrays_and_lists(data):
    class Bits(JointKernel):
        def kernel(self, x, y, x2, y2):
            return float(np.sum((y == y2) * (1.0 + x * x2)))

        def loss(self, y, y_hat):
            return float(np.mean(y != y_hat))

        def outputs(self):
            return [np.array([a, b]) for a in (0, 1) for b in (0, 1)]

        def pre_image(self, x, score):
            return max(self.outputs(), key=score)

        def pre_image_penalized(self, x, y, score):
            return max(self.outputs(), key=lambda v: score(v) + self.loss(y, v))

    rng = np.random.default_rng(1)
    X = list(rng.normal(size=(20, 2)))
    Y = [(x > 0).astype(int) for x in X]
    svm = StructuredSVM(Bits(), C=100.0).fit(X, Y)
    assert svm.score(X, Y) > -0.05
    assert svm.certificate_.relative_gap <= 1e-3


def test_what_is_missing_is_named(data):
    X, Y = data

    class Bare(KernelClasses):
        frontier = two_best = property()  # as if absent

    with pytest.raises(CapabilityError, match="frontier"):
        StructuredSVM(Bare(), formulation="slack").fit(X, Y)
    with pytest.raises(CapabilityError, match="two_best"):
        StructuredSVM(Bare(), formulation="hard").fit(X, Y)
    with pytest.raises(CapabilityError, match="explicit"):
        KernelClasses().joint_feature(X[0], 0)


def test_a_kernel_that_is_no_number_is_refused(data):
    X, Y = data

    class Broken(KernelClasses):
        def kernel(self, x, y, x2, y2):
            return np.nan

    with pytest.raises(ValueError, match="NaN, infinity"):
        StructuredSVM(Broken()).fit(X, Y)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (lambda x, x2: -1.0, "positive semidefinite"),
        (lambda x, x2: x - x2 + 1.0, "not symmetric"),
        (lambda x, x2: np.nan, "NaN, infinity"),
    ],
)
def test_kernels_that_bound_nothing_are_refused(values, words):
    class Wrong(JointKernel):
        def kernel(self, x, y, x2, y2):
            return float(y == y2) * values(x, x2)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def pre_image(self, x, score):
            return max((0, 1), key=score)

        def pre_image_penalized(self, x, y, score):
            return max((0, 1), key=lambda v: score(v) + self.loss(y, v))

    with pytest.raises(ValueError, match=words):
        StructuredSVM(Wrong(), C=10.0).fit([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1])
