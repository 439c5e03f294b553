"""Kernels of rows against scikit-learn, in all forms that rows can take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from partwise.features import Featurizer, as_features
from partwise.kernels import (
    RBF,
    BagOfWords,
    FromFunction,
    Linear,
    Pairwise,
    Polynomial,
    Precomputed,
    gram,
)
from partwise.kernels.inputs import VECTORS

PEERS = [
    (Linear(), "linear", {}),
    (Polynomial(3, 0.5, 0.2), "poly", {"degree": 3, "coef0": 0.5, "gamma": 0.2}),
    (Polynomial(7, 1.0, 0.1), "poly", {"degree": 7, "coef0": 1, "gamma": 0.1}),
    (RBF(0.3), "rbf", {"gamma": 0.3}),
]


def random_rows(n=40, n_features=11, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.4)


@pytest.mark.parametrize(("kernel", "name", "settings"), PEERS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_scikit_learn_agrees(kernel, name, settings, form):
    X, Y = random_rows(), random_rows(7, seed=1)
    wanted = pairwise_kernels(X, Y, metric=name, **settings)
    np.testing.assert_allclose(kernel(form(X), form(Y)), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(form(X), Y), wanted, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        kernel.diag(form(X)), np.diagonal(pairwise_kernels(X, metric=name, **settings))
    )


@pytest.mark.parametrize(
    ("name", "settings"),
    [("laplacian", {"gamma": 0.2}), ("sigmoid", {"coef0": 0.1}), ("cosine", {})],
)
def test_kernels_of_scikit_learn_by_name(name, settings):
    X, Y = random_rows(), random_rows(7, seed=1)
    kernel = Pairwise(name, **settings)
    np.testing.assert_allclose(
        kernel(X, Y), pairwise_kernels(X, Y, metric=name, **settings)
    )
    wanted = np.diagonal(pairwise_kernels(X, metric=name, **settings))
    np.testing.assert_allclose(kernel.diag(X), wanted)
    np.testing.assert_allclose(kernel.bind(X, Y).column_diagonal(), kernel.diag(Y))


def test_names_and_parameters_of_pairwise_kernels_are_checked():
    with pytest.raises(ValueError, match="choose from additive_chi2"):
        Pairwise("gauss").bind(np.eye(2))
    with pytest.raises(ValueError, match="cosine kernel has no parameter 'gamma'"):
        Pairwise("cosine", gamma=1.0).bind(np.eye(2))


@given(arrays(float, (5, 6), elements=st.integers(-3, 3)))
def test_dense_and_sparse_rows_give_the_same(X):
    exact = X @ X.T
    assert np.array_equal(Linear()(X), exact)
    assert np.array_equal(Linear()(sparse.csr_array(X)), exact)


def test_rows_of_features_and_of_sequences():
    X = [["the", "cat"], ["the", "dog", "the"]]
    features = Featurizer("word[-1..0]").fit_transform([list(x) for x in X])
    dots = Linear()(features)
    assert dots.shape == (5, 5)
    assert dots[0, 2] == 2.0  # both begin with "the"
    matrices = [np.eye(3)[:2], np.eye(3)]
    stacked = np.concatenate(matrices)
    assert np.array_equal(Linear()(matrices), stacked @ stacked.T)
    assert np.array_equal(Linear()(as_features(matrices)), stacked @ stacked.T)
    by_parts = [sparse.csr_array(m) for m in matrices]
    assert np.array_equal(RBF()(by_parts), RBF()(stacked))


def test_a_column_that_stands_twice_in_a_row_counts_twice():
    X = sparse.csr_array(([1.0, 2.0, 1.0], [1, 1, 0], [0, 3]), shape=(1, 2))
    assert Linear()(X)[0, 0] == 10.0
    assert Linear().diag(X)[0] == 10.0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "shape"),
        ([["a", "b"]], "no matrix of numbers"),
        ([[np.nan]], "NaN"),
        ([np.eye(2), np.eye(3)], "sequence 1 has 3 features"),
    ],
)
def test_what_is_no_matrix_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        Linear()(X)


def test_widths_must_agree():
    with pytest.raises(ValueError, match="X has 2 features and Y 3; make both"):
        Linear()(np.eye(2), np.eye(3))


@pytest.mark.parametrize(
    "kernel",
    [
        Polynomial(0),
        Polynomial(2.0),
        Polynomial(coef0=-1),
        Polynomial(gamma=0),
        RBF(-1),
    ],
)
def test_parameters_that_would_not_be_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match="give a"):
        kernel.bind(np.eye(2))


def test_gram_matrices_are_positive_semidefinite():
    X = random_rows()
    for kernel in (Linear(), Polynomial(3), RBF(2.0)):
        values = np.linalg.eigvalsh(kernel(X))
        assert values[0] > -1e-10 * values[-1]


def test_bags_of_words_count():
    X = [[("a", "X"), ("b", "X"), ("a", "Y")], [("a", "X"), ("c", "Y")]]
    assert BagOfWords()(X).tolist() == [[5.0, 2.0], [2.0, 2.0]]
    poly = BagOfWords(["word", "pos"], weights=[1.0, 2.0], degree=2, coef0=1.0)
    assert poly(X)[0, 1] == pytest.approx((2 + 2 * 3 + 1) ** 2)
    assert BagOfWords()(X, [[("z", "X")]]).tolist() == [[0.0], [0.0]]
    with pytest.raises(ValueError, match="2 weights for 1 columns"):
        BagOfWords(weights=[1.0, 2.0])(X)


def test_functions_see_pairs_or_batches():
    X = random_rows(20)
    pairs = FromFunction(lambda x, y: x @ y)
    batch = FromFunction(lambda a, b: a @ b.T, batch=True)
    np.testing.assert_allclose(pairs(X), X @ X.T)
    np.testing.assert_allclose(batch(X, X[:3]), X @ X[:3].T)
    np.testing.assert_allclose(batch.diag(X), (X * X).sum(axis=1))
    with pytest.raises(ValueError, match="gave shape"):
        FromFunction(lambda a, b: 1.0, batch=True)(X)
    with pytest.raises(ValueError, match="callable"):
        FromFunction("f").bind(X)


def test_precomputed_values_are_found_by_position():
    K = random_rows(6, 6)
    K = K @ K.T
    kernel = Precomputed(K)
    assert np.array_equal(kernel([4, 1], [0, 0, 5]), K[[4, 1]][:, [0, 0, 5]])
    assert np.array_equal(kernel.diag([2]), K[[2], [2]])
    assert kernel.bind([0]).block(dtype=np.float32).dtype == np.float64
    for X, message in (([6], "position 6"), ([-1], "position"), ([0.5], "positions")):
        with pytest.raises(ValueError, match=message):
            kernel(X)
    with pytest.raises(ValueError, match="square"):
        Precomputed(np.ones((2, 3)))([0])
    with pytest.raises(ValueError, match="give the matrix"):
        Precomputed()([0])


def test_scikit_learn_clones_sets_and_calls_kernels():
    kernel = clone(RBF(0.5) + 2.0 * Polynomial(3))
    kernel.set_params(left__gamma=0.25, right__kernel__degree=2)
    assert kernel.get_params()["right__kernel__degree"] == 2
    X = random_rows()
    y = (X[:, 0] > 0).astype(int)
    ours = SVC(kernel=RBF(0.5)).fit(X, y)
    theirs = SVC(kernel="rbf", gamma=0.5).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-6
    )


def test_matrices_survive_a_model_file():
    X = random_rows(5)
    for form in (np.asarray, sparse.csr_array):
        packed = VECTORS.pack(form(X))
        again = VECTORS.unpack(packed)
        assert np.array_equal(Linear()(again), Linear()(form(X)))
    for damage in (
        {"shape": np.array([5, 2**40])},
        {"shape": np.array([-5, 11])},
        {"indices": packed["indices"] + np.int32(11)},
        {"indptr": packed["indptr"][:-1]},
        {"data": packed["data"] * np.nan},
    ):
        with pytest.raises(ValueError, match=r"damaged|array|range|needed"):
            VECTORS.unpack(packed | damage)


def test_few_features_of_very_many_need_no_long_arrays():
    X = sparse.csr_array(
        ([1.0, 2.0, 3.0], [0, 2**31 - 2, 2**31 - 2], [0, 2, 3]), shape=(2, 2**31 - 1)
    )
    bound = Linear().bind(X)
    assert bound.x.n_features == 2
    assert bound.block().tolist() == [[5.0, 6.0], [6.0, 9.0]]


def test_single_precision_only_rounds():
    X = random_rows()
    assert np.array_equal(gram(RBF(), X, dtype=np.float32), RBF()(X).astype(np.float32))
