"""Explicit features against the kernels that they stand for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from partwise import SequenceTagger
from partwise.datasets import toy_entities
from partwise.features import Featurizer, as_features
from partwise.kernels import (
    RBF,
    ConvolutionTree,
    NGram,
    Normalized,
    Nystroem,
    Polynomial,
    RandomFourier,
)

X = np.random.default_rng(0).normal(size=(60, 5))


def test_random_fourier_features_approach_the_gaussian():
    wanted = RBF(0.3)(X)
    errors = []
    for n in (100, 10_000):
        phi = RandomFourier(0.3, n).fit_transform(X)
        assert phi.shape == (60, n)
        errors.append(np.abs(phi @ phi.T - wanted).max())
    assert errors[1] < 0.06
    assert errors[1] < errors[0] / 3  # falls as 1/√n


def test_random_fourier_features_do_not_depend_on_form_or_company():
    sampler = RandomFourier(n_components=37).fit(X)
    phi = sampler.transform(X)
    np.testing.assert_allclose(sampler.transform(sparse.csr_array(X)), phi, atol=1e-12)
    assert np.array_equal(sampler.transform(X[[3]])[0], phi[3])
    assert np.array_equal(RandomFourier(n_components=37).fit_transform(X), phi)
    other = RandomFourier(n_components=37, random_state=1).fit_transform(X)
    assert not np.array_equal(other, phi)


def test_nystroem_is_exact_when_all_inputs_are_landmarks():
    words = ["gattaca", "gatt", "taca", "cata", "gattaca", "tag"]
    trees = [("S", (("N", (w,)), ("V", ("b",)))) for w in "aabc"]
    for kernel, inputs in (
        (RBF(0.3), X),
        (Polynomial(2), X),
        (Normalized(NGram(3)), words),
        (ConvolutionTree(), trees),
    ):
        phi = Nystroem(kernel, 100).fit_transform(inputs)
        np.testing.assert_allclose(phi @ phi.T, kernel(inputs), atol=1e-7)


def test_directions_that_landmarks_do_not_fill_are_left_out():
    words = ["ab", "ab", "ba"]
    phi = Nystroem("ngram:n=2", 3).fit(words)
    assert phi.n_features_ == 2
    assert phi.feature_names_ == ["k0", "k1"]


def test_more_landmarks_are_closer():
    wanted = RBF(0.1)(X)
    errors = []
    for n in (5, 50):
        phi = Nystroem(RBF(0.1), n).fit_transform(X)
        errors.append(np.abs(phi @ phi.T - wanted).max())
    assert errors[1] < errors[0] / 2


def test_nystroem_does_not_depend_on_threads_or_company():
    words = [
        "".join(np.random.default_rng(i).choice(list("abc"), 9)) for i in range(80)
    ]
    one = Nystroem("ngram", 20).fit(words)
    two = Nystroem("ngram", 20, n_jobs=2).fit(words)
    phi = one.transform(words)
    assert np.array_equal(phi, two.transform(words))
    assert np.array_equal(one.transform(words[5:6])[0], phi[5])


def test_rows_of_sequences_come_back_sequence_by_sequence():
    parts = [X[:10], X[10:11], X[11:]]
    for maker in (RandomFourier(n_components=8), Nystroem("rbf:gamma=0.1", 8)):
        whole = maker.fit_transform(X)
        for given in (parts, [sparse.csr_array(p) for p in parts], as_features(parts)):
            actual = maker.transform(given)
            assert [len(part) for part in actual] == [10, 1, 49]
            np.testing.assert_allclose(np.concatenate(actual), whole, atol=1e-12)


def test_a_tagger_trains_on_approximate_kernels():
    train, y = toy_entities(40)
    featurizer = Featurizer("word[-1..1]")
    rows = featurizer.fit_transform(train)
    kernel = Nystroem(Polynomial(2), n_components=100).fit(rows)
    inputs = kernel.transform(rows)
    tagger = SequenceTagger(max_iter=20, tol=0.05).fit(inputs, y)
    right = [a == b for p, t in zip(tagger.predict(inputs), y, strict=True)
             for a, b in zip(p, t, strict=True)]  # fmt: skip
    assert np.mean(right) > 0.9


def test_scikit_learn_clones_and_pipes():
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5).astype(int)
    for maker in (RandomFourier(0.3, 300), Nystroem(RBF(0.3), 60)):
        model = make_pipeline(clone(maker), LinearSVC(C=10.0)).fit(X, y)
        assert model.score(X, y) > 0.95


def test_what_was_fitted_survives_a_file():
    for maker, inputs in (
        (RandomFourier(0.3, 7), X),
        (Nystroem(RBF(0.3), 6), X),
        (Nystroem("ngram:n=2", 3), ["ab", "b", "ba"]),
        (Nystroem(ConvolutionTree(), 2), [("N", ("a",)), ("N", ("b",))]),
    ):
        phi = maker.fit_transform(inputs)
        meta, arrays = maker.state()
        again = type(maker).from_state(meta, arrays)
        assert np.array_equal(again.transform(inputs), phi)
        for damage in ({"kind": "other"}, {"kernel": {}}, {"n_components": 0}):
            if damage.keys() <= meta.keys():
                with pytest.raises(ValueError, match=r"not the state|damaged|give"):
                    type(maker).from_state(meta | damage, arrays)
        for name in arrays:
            with pytest.raises(ValueError, match=r"damaged|array|offsets"):
                type(maker).from_state(meta, arrays | {name: arrays[name][:-1]})


def test_wrong_use_is_explained(monkeypatch):
    with pytest.raises(ValueError, match="call fit first"):
        RandomFourier().transform(X)
    with pytest.raises(ValueError, match=r"4 features where .* fitted on 5"):
        RandomFourier().fit(X).transform(X[:, :4])
    with pytest.raises(ValueError, match="n_components=0"):
        Nystroem(n_components=0).fit(X)
    with pytest.raises(ValueError, match="zero on all landmarks"):
        Nystroem("linear").fit(np.zeros((3, 2)))
    monkeypatch.setattr("partwise.kernels.approximations.free_memory", lambda: 1000)
    with pytest.raises(ValueError, match="hash_bits"):
        RandomFourier().fit(X)
