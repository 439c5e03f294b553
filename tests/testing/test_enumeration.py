"""The enumerated optimum against Clarabel and against its own bounds."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from partwise.objective import Objective
from partwise.testing import EnumeratedStructure, brute_force_optimum
from partwise.testing.enumeration import interior_point, minimum
from partwise.testing.structures import FORMULATIONS
from partwise.testing.toys import ToyClasses, toy_chain, toy_classes


def by_clarabel(P, q, G, h):
    settings_ = clarabel.DefaultSettings()
    settings_.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)),
        q,
        sparse.csc_matrix(G),
        h,
        [clarabel.NonnegativeConeT(len(h))],
        settings_,
    ).solve()
    return solution.obj_val


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_interior_point_agrees_with_clarabel(seed):
    rng = np.random.default_rng(seed)
    n, m = 5, 12
    root = rng.normal(size=(n, n))
    P, q = root @ root.T, rng.normal(size=n)
    G, h = rng.normal(size=(m, n)), rng.uniform(0.1, 1.0, size=m)
    z, multiplier = interior_point(P, q, G, h)
    assert np.isclose(0.5 * z @ P @ z + q @ z, by_clarabel(P, q, G, h), atol=1e-6)
    assert (multiplier >= 0).all() and (G @ z <= h + 1e-7).all()


@pytest.mark.parametrize("toy", [toy_classes, toy_chain])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("C", [0.1, 10.0, 100.0])
def test_bounds_of_the_optimum_meet(toy, formulation, C):
    structure, X, Y = toy(3, separable=formulation.rescaling == "hard")
    best = brute_force_optimum(structure, X, Y, C, formulation)
    assert best.lower <= best.value + 1e-12
    assert best.value - best.lower <= 1e-7 * best.value


def test_crammer_singer_agrees_with_scikit_learn():
    from sklearn.svm import LinearSVC

    class Plain(ToyClasses):
        def loss(self, y, y_hat):
            return float(y != y_hat)

    _, X, Y = toy_classes(1, 15)
    best = brute_force_optimum(Plain().setup(X, Y), X, Y, C=15 * 2.0)
    peer = LinearSVC(
        multi_class="crammer_singer", C=2.0, fit_intercept=False, tol=1e-8,
        max_iter=100000,
    ).fit(X, Y)  # fmt: skip
    assert np.allclose(best.w.reshape(3, -1), peer.coef_, atol=1e-4)


def test_contradictory_examples_have_no_hard_margin():
    structure = ToyClasses().setup([np.ones(2)] * 2, [0, 1])
    best = brute_force_optimum(
        structure, [np.ones(2)] * 2, [0, 1], formulation=FORMULATIONS[-1]
    )
    assert best.value == np.inf


def test_sample_weights_equal_repeated_examples():
    structure, X, Y = toy_classes(2, 6)
    twice = brute_force_optimum(structure, X + X[:1], Y + Y[:1], C=7.0)
    weighted = brute_force_optimum(
        structure, X, Y, C=7.0, sample_weight=[2, 1, 1, 1, 1, 1]
    )
    assert np.isclose(twice.value, weighted.value)


def test_no_wrong_output_leaves_the_zero_model():
    structure = ToyClasses(n_classes=1).setup([np.ones(2)], [0])
    best = brute_force_optimum(structure, [np.ones(2)], [0])
    assert best.value == pytest.approx(0.0, abs=1e-9)
    assert minimum(best.planes, Objective.create(1.0, 1, "hard")).value == 0.0


def test_enumeration_is_asked_for_by_name():
    class Forgot(EnumeratedStructure):
        def joint_feature(self, x, y):
            return np.zeros(1)

        def loss(self, y, y_hat):
            return 0.0

    with pytest.raises(NotImplementedError, match="Forgot lacks `enumerate"):
        Forgot().argmax(0, np.zeros(1))
