"""StructuredSVM with structures written in Python, and built-in ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from partwise import Chain, Structure, StructuredSVM
from partwise.protocol import CapabilityError


class Multiclass(Structure):
    """One of k classes; Δ is 0/1. Four methods, nothing else."""

    def setup(self, X, Y):
        self.k_ = max(Y) + 1
        self.n_psi_ = self.k_ * len(X[0])
        return self

    def joint_feature(self, x, y):
        return np.arange(y * len(x), (y + 1) * len(x)), x

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, x, w):
        return int(np.argmax(w.reshape(self.k_, -1) @ x))

    def loss_augmented_argmax(self, x, y, w):
        return int(np.argmax(w.reshape(self.k_, -1) @ x + (np.arange(self.k_) != y)))


class RankedMulticlass(Multiclass):
    """With the optional methods."""

    def frontier(self, x, y, w):
        score = w.reshape(self.k_, -1) @ x
        score[y] = -np.inf
        return [(1.0, int(np.argmax(score)))]

    def two_best(self, x, w):
        return [int(k) for k in np.argsort(-(w.reshape(self.k_, -1) @ x))[:2]]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    y = (X @ rng.normal(size=(5, 3)) + rng.normal(size=(90, 3))).argmax(1).tolist()
    return X, y


@pytest.mark.parametrize("solver", ["bcfw", "n_slack", "one_slack", "bundle"])
def test_optimum_is_that_of_crammer_and_singer(solver, data):
    X, y = data
    svm = StructuredSVM(Multiclass(), C=9.0, solver=solver, tol=1e-5).fit(X, y)
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=0.1, tol=1e-9,
        max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(svm.coef_, peer.coef_.ravel(), atol=5e-3)
    assert svm.certificate_.relative_gap <= 1e-5
    assert list(svm.predict(X)) == peer.predict(X).tolist()


@pytest.mark.parametrize("solver", ["perceptron", "mira", "pegasos"])
def test_online_solvers_take_four_methods(solver, data):
    X, y = data
    svm = StructuredSVM(Multiclass(), solver=solver, max_iter=20).fit(X, y)
    assert svm.score(X, y) > -0.45
    assert svm.certificate_.data_bound > 0


def test_what_is_missing_is_named_before_any_work(data):
    X, y = data
    with pytest.raises(CapabilityError, match="frontier"):
        StructuredSVM(Multiclass(), formulation="slack").fit(X, y)
    with pytest.raises(CapabilityError, match="frontier"):
        StructuredSVM(Multiclass(), penalty="l2").fit(X, y)
    with pytest.raises(CapabilityError, match="two_best"):
        StructuredSVM(Multiclass(), formulation="hard").fit(X, y)
    with pytest.raises(CapabilityError, match="generative_model"):
        StructuredSVM(Multiclass(), solver="generative").fit(X, y)


@pytest.mark.parametrize(
    "params", [{"formulation": "slack"}, {"penalty": "l2"}], ids=str
)
def test_optional_methods_open_the_other_formulations(params, data):
    X, y = data
    svm = StructuredSVM(RankedMulticlass(), C=9.0, **params).fit(X, y)
    assert svm.certificate_.relative_gap <= 1e-3
    score, lead = svm.margin(X[:1])[0]
    explained = svm.explain(X[0])
    assert explained.winner == svm.predict(X[:1])[0] != explained.runner_up
    assert explained.lead == pytest.approx(lead) and lead <= abs(score) + lead
    assert sum(share for _, share in explained.reasons) == pytest.approx(lead)


def test_built_in_structures_run_compiled():
    X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 2]]]
    svm = StructuredSVM(Chain(3), C=10.0, n_jobs=2).fit(X, [[0, 1, 2], [2, 2]])
    assert [list(y) for y in svm.predict(X)] == [[0, 1, 2], [2, 2]]


def test_the_users_structure_is_not_changed_and_clones(data):
    X, y = data
    structure = Multiclass()
    svm = StructuredSVM(structure).fit(X, y)
    assert not hasattr(structure, "n_psi_")
    assert clone(svm).structure is not structure
    search = GridSearchCV(svm, {"C": [1.0, 10.0]}, cv=2, error_score="raise")
    assert search.fit(X, y).best_score_ > -0.5


def test_support_structures_are_wrong_outputs_with_mass(data):
    X, y = data
    svm = StructuredSVM(Multiclass(), C=9.0).fit(X, y)
    rows = svm.support_structures()
    assert rows and all(y[i] != output and alpha > 0 for i, output, alpha in rows)
    mass = np.bincount([i for i, _, _ in rows], [a for _, _, a in rows])
    assert (mass <= 9.0 / 90 * (1 + 1e-9)).all()


def test_save_and_load_ask_for_the_structure(data, tmp_path):
    X, y = data
    svm = StructuredSVM(Multiclass(), C=7.0, tol=0.02).fit(X, y)
    svm.save(tmp_path / "m")
    again = StructuredSVM.load(tmp_path / "m", Multiclass().setup(X, y))
    values, subset = again.get_params(deep=False), svm.get_params(deep=False)
    assert {**values, "structure": 0} == {**subset, "structure": 0}
    assert list(again.predict(X)) == list(svm.predict(X))
    assert again.certificate_ == svm.certificate_
    with pytest.raises(ValueError, match="call setup"):
        StructuredSVM.load(tmp_path / "m", Multiclass())
    with pytest.raises(ValueError, match="Multiclass, not RankedMulticlass"):
        StructuredSVM.load(tmp_path / "m", RankedMulticlass().setup(X, y))


def test_bad_input_is_named(data):
    X, y = data
    with pytest.raises(TypeError, match=r"partwise\.Structure"):
        StructuredSVM("chain").fit(X, y)
    with pytest.raises(ValueError, match="X has 90 examples and y 89"):
        StructuredSVM(Multiclass()).fit(X, y[:-1])
    with pytest.raises(ValueError, match="no example"):
        StructuredSVM(Multiclass()).fit([], [])


class Forgetful(Multiclass):
    def setup(self, X, Y):
        super().setup(X, Y)


class Silent(Multiclass):
    def loss_augmented_argmax(self, x, y, w):
        return None


class Wordy(Multiclass):
    def loss(self, y, y_hat):
        return "large"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": Multiclass}, "structure is the class Multiclass; give an inst"),
        ({"structure": "chain"}, "structure is 'chain'; give an instance of a class"),
        ({"structure": Forgetful()}, "Forgetful.setup returned None; end it with `ret"),
        ({"structure": Silent()}, " returned None, no output"),
        ({"structure": Wordy()}, " is 'large'; it must be a number"),
        ({"structure": Multiclass(), "tol": 0}, "tol=0: give a positive number"),
        (
            {"structure": Multiclass(), "loss": "log"},
            "solver='bcfw' does not go with loss='log'; choose from auto, lbfgs",
        ),
    ],
)
def test_slips_in_a_structure_are_named(data, settings, message):
    X, y = data
    with pytest.raises((TypeError, ValueError)) as refused:
        StructuredSVM(**settings).fit(X, y)
    assert message in str(refused.value)
    with pytest.raises(TypeError, match="X is None; give a list of inputs"):
        StructuredSVM(Multiclass()).fit(None, y)
