"""LatentStructuredSVM, and the latent SVM of Felzenszwalb as its binary case."""

import numpy as np
import pytest
from scipy.optimize import minimize

from partwise import LatentStructuredSVM, StructuredSVM
from partwise.protocol import Structure
from partwise.solvers.cccp import CCCP
from partwise.testing import StructureError, check_structure
from partwise.testing.toys import ToyPlaces, toy_places


class Parts(Structure):
    """Present (+1) at some row, or absent (−1): Ψ is that row, or zero."""

    def setup(self, X, Y):
        self.n_psi_ = X[0].shape[1]
        return self

    def joint_feature(self, x, y):
        label, row = y
        return x[row] if label > 0 else np.zeros(x.shape[1])

    def loss(self, y, y_hat):
        label = y[0] if isinstance(y, tuple) else y
        return float(label != y_hat[0])

    def _best(self, x, w, bonus):
        row = int(np.argmax(x @ w))
        return (1, row) if x[row] @ w + bonus > 0 else (-1, None)

    def argmax(self, x, w):
        return self._best(x, w, 0.0)

    def loss_augmented_argmax(self, x, y, w):
        return self._best(x, w, -float(y))

    def complete(self, x, y, w):
        return (1, int(np.argmax(x @ w))) if y > 0 else (-1, None)


def signs(n=30, seed=0):
    rng = np.random.default_rng(seed)
    y = [int(label) for label in rng.choice([-1, 1], size=n)]
    X = [rng.normal(size=(3, 3)) for _ in y]
    for x, label in zip(X, y, strict=True):
        x[:, 2] = 1.0
        if label > 0:
            x[rng.integers(3), 0] += 2.0
    return X, y


def felzenszwalb(X, y, C, w, rounds=30):
    """½‖w‖² + (C/n) Σ max(0, 1 − y f(x)), f(x) = max_h <w, x_h>, positives relabelled.

    Deformable part models, CVPR 2008, section 4.2: the positives keep the h of the last
    round, in which the problem is convex; solved here as a quadratic program by SLSQP.
    """
    n, d = len(X), X[0].shape[1]
    value = np.inf
    for _ in range(rounds):
        places = [int(np.argmax(x @ w)) for x in X]
        rows, signs, owner = [], [], []
        for i, (x, label) in enumerate(zip(X, y, strict=True)):
            for row in [places[i]] if label > 0 else range(len(x)):
                rows.append(x[row]), signs.append(label), owner.append(i)
        A = np.array(signs)[:, None] * np.array(rows)
        choose = np.eye(n)[owner]
        start = np.concatenate([w, np.ones(n) * 10])
        solved = minimize(
            lambda v: 0.5 * v[:d] @ v[:d] + C / n * v[d:].sum(),
            start,
            jac=lambda v: np.concatenate([v[:d], np.full(n, C / n)]),
            constraints={
                "type": "ineq",
                "fun": lambda v, A=A, K=choose: A @ v[:d] + K @ v[d:] - 1,
                "jac": lambda v, A=A, K=choose: np.hstack([A, K]),
            },
            bounds=[(None, None)] * d + [(0, None)] * n,
            options={"maxiter": 500, "ftol": 1e-12},
        )
        w = solved.x[:d]
        slack = [
            max(0.0, 1 - label * np.max(x @ w)) for x, label in zip(X, y, strict=True)
        ]
        before, value = value, 0.5 * w @ w + C / n * sum(slack)
        if before - value < 1e-9:
            break
    return w, value


@pytest.mark.parametrize("seed", range(4))
def test_the_binary_case_is_felzenszwalbs_latent_svm(seed):
    """Δ is 0/1 and Ψ(x, −1) = 0, so ξ = max(0, 1 − y f(x)) for either sign of y."""
    X, y = signs(seed=seed)
    first = np.random.default_rng(seed).normal(size=3)
    w, value = felzenszwalb(X, y, 15.0, first)
    svm = LatentStructuredSVM(Parts(), C=15.0, solver=CCCP(first_tol=1e-7, tol=1e-7))
    svm.fit(X, y, weights=first)
    assert svm.certificate_.primal == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(svm.coef_, w, atol=2e-3)


def test_learns_hidden_rows():
    X, y = toy_places(60)
    svm = LatentStructuredSVM(ToyPlaces(), C=60.0, restarts=3).fit(X, y)
    assert svm.score(X, y) > -0.3  # by chance: -0.5
    assert [label for label, _ in svm.complete(X, y)] == [label for label, _ in y]
    assert svm.certificate_.is_local and svm.certificate_.relative_gap <= 1.1e-3
    values = [r.objective for r in svm.rounds_]
    assert values == sorted(values, reverse=True)
    assert [point.primal for point in svm.history_] == values
    assert svm.n_iter_ == len(values)


def test_begins_where_it_is_told():
    X, y = toy_places(20)
    svm = LatentStructuredSVM(ToyPlaces(), C=20.0)
    given = [(label, 0) for label, _ in y]
    zero = svm.fit(X, y, completions=given).certificate_.primal
    rows = [(label, 1) for label, _ in y]
    other = svm.fit(X, y, completions=rows).certificate_.primal
    again = svm.fit(X, y, weights=svm.coef_)
    assert again.certificate_.primal <= other * (1 + 1e-9)
    assert np.isfinite([zero, other]).all()
    with pytest.raises(ValueError, match="completion of example 0"):
        svm.fit(X, y, completions=[(1 - label, 0) for label, _ in y])
    with pytest.raises(ValueError, match="not both"):
        svm.fit(X, y, completions=given, weights=svm.coef_)


@pytest.mark.parametrize("solver", ["bundle", "bcfw", "one_slack", "n_slack"])
def test_solvers_by_name_are_those_of_the_convex_problems(solver):
    X, y = toy_places(20)
    svm = LatentStructuredSVM(ToyPlaces(), C=20.0, solver=solver).fit(X, y)
    assert isinstance(svm.solver_, CCCP)
    assert svm.certificate_.stopped == "converged"


def test_survives_files_and_warm_starts(tmp_path):
    X, y = toy_places(20)
    svm = LatentStructuredSVM(ToyPlaces(), C=20.0, restarts=2, warm_start=True)
    svm.fit(X, y)
    first = svm.certificate_.primal
    assert svm.fit(X, y).certificate_.primal <= first * (1 + 1e-9)
    svm.save(tmp_path / "m")
    loaded = LatentStructuredSVM.load(tmp_path / "m", svm.structure_)
    assert loaded.restarts == 2 and loaded.certificate_.is_local
    assert list(loaded.predict(X)) == list(svm.predict(X))


def test_a_loss_never_sees_a_completion():
    seen = []

    class Watched(ToyPlaces):
        def loss(self, y, y_hat):
            seen.append(y)
            return super().loss(y, y_hat)

    X, y = toy_places(8)
    LatentStructuredSVM(Watched(), C=8.0).fit(X, y)
    assert {row for _, row in seen} == {None}


def test_structures_without_completion_are_refused():
    X, y = toy_places(4)

    class Whole(ToyPlaces):
        complete = None

    with pytest.raises(TypeError, match=r"no `complete\(x, y, w\)`"):
        LatentStructuredSVM(Whole()).fit(X, y)
    svm = StructuredSVM(ToyPlaces(), C=4.0).fit(X, y)  # completes, too
    assert svm.certificate_.is_local


class Stubborn(ToyPlaces):
    """Completes with the first row, whatever the model says."""

    def complete(self, x, y, w):
        return (y[0], 0)


class Liar(ToyPlaces):
    """Completes with another class."""

    def complete(self, x, y, w):
        return (1 - y[0], 0)


def test_check_structure_tries_completions():
    X, y = toy_places(3)
    pairs = list(zip(X, y, strict=True))
    report = check_structure(ToyPlaces(), pairs)
    assert {"complete", "pack[margin, l1]"} <= set(report.passed)
    with pytest.raises(StructureError, match=r"Stubborn\.complete is wrong"):
        check_structure(Stubborn(), pairs)
    with pytest.raises(StructureError, match=r"Liar\.complete is wrong"):
        check_structure(Liar(), pairs)
