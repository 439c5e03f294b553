"""Subsequences and n-grams of one exact length, against their definitions."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise import SequenceTagger
from partwise.kernels import (
    AnnotatedNGram,
    ExactNGram,
    NGram,
    Normalized,
    Spectrum,
    gram,
    refuse_indefinite,
)
from partwise.readers.table import Table

WORDS = st.text("ab", min_size=1, max_size=7)
TOKENS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("XY")), min_size=1, max_size=5
)


def features(x, n, decay):
    """The feature space of Lodhi et al.: Σ λ^span over the occurrences of each u."""
    actual = Counter()
    for i in combinations(range(len(x)), n):
        actual[tuple(x[k] for k in i)] += decay ** (i[-1] - i[0] + 1)
    return actual


def dot(one, other):
    return sum(value * other[key] for key, value in one.items())


def pairs_of_windows(x, y, n, similarity):
    """All pairs of n tokens in a row, by the product of their similarities."""
    return sum(
        np.prod([similarity(x[i + k], y[j + k]) for k in range(n)])
        for i in range(len(x) - n + 1)
        for j in range(len(y) - n + 1)
    )


@given(
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(WORDS, min_size=1, max_size=4),
    st.integers(1, 5),
    st.sampled_from([0.05, 0.3, 1.0]),
)
def test_gap_weighted_subsequences_are_those_of_the_feature_space(X, Y, n, decay):
    wanted = [[dot(features(x, n, decay), features(y, n, decay)) for y in Y] for x in X]
    kernel = ExactNGram(n, decay)
    np.testing.assert_allclose(kernel(X, Y), wanted, rtol=1e-12, atol=0)
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)))


@given(WORDS, WORDS, st.integers(1, 5), st.sampled_from([0.3, 1.0]))
def test_all_lengths_together_are_the_sum_over_lengths(x, y, n, decay):
    parts = [ExactNGram(m, decay)([x], [y])[0, 0] for m in range(1, n + 1)]
    assert sum(parts) == pytest.approx(NGram(n, decay)([x], [y])[0, 0], rel=1e-12)


@given(
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(WORDS, min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_the_spectrum_counts_n_grams(X, Y, n):
    def counts(x):
        return Counter(x[i : i + n] for i in range(len(x) - n + 1))

    wanted = [[dot(counts(x), counts(y)) for y in Y] for x in X]
    assert Spectrum(n)(X, Y).tolist() == wanted
    assert Spectrum(n).diag(X).tolist() == [dot(counts(x), counts(x)) for x in X]


@given(
    st.lists(TOKENS, min_size=1, max_size=3),
    st.lists(TOKENS, min_size=1, max_size=3),
    st.sampled_from([(1.0, 0.0), (0.25, 2.0), (1.0, 1.0)]),
    st.integers(1, 3),
)
def test_annotated_tokens_agree_column_by_column(X, Y, weights, n):
    def similarity(a, b):
        return sum(v * (p == q) for v, p, q in zip(weights, a, b, strict=True))

    columns = ("word", "pos")
    wanted = [[pairs_of_windows(x, y, n, similarity) for y in Y] for x in X]
    actual = Spectrum(n, columns, weights)(X, Y)
    np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=0)
    parts = [ExactNGram(m, 0.5, columns, weights)(X, Y) for m in range(1, n + 1)]
    whole = AnnotatedNGram(n, 0.5, columns, weights)(X, Y)
    np.testing.assert_allclose(sum(parts), whole, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [ExactNGram(3, 0.5), ExactNGram(2, 0.9, ("word", "pos"), (1, 0.3)), Spectrum(2)],
)
def test_gram_matrices_are_positive_semidefinite(kernel):
    rng = np.random.default_rng(0)
    X = [
        [(str(w), str(w % 3)) for w in rng.integers(0, 4, rng.integers(1, 40))]
        for _ in range(70)
    ]
    for own in (kernel, Normalized(kernel)):
        assert own.is_positive
        K = gram(own, X)
        values = np.linalg.eigvalsh(K)
        assert values[0] > -1e-10 * values[-1]
        refuse_indefinite(own, K)
        single = gram(own, X, dtype="float32")
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, K, rtol=1e-6)


def test_lanes_lengths_and_company_do_not_matter():
    rng = np.random.default_rng(3)
    X = ["".join(rng.choice(list("abcd"), rng.integers(1, 40))) for _ in range(90)]
    for kernel in (ExactNGram(4, 0.7), Spectrum(2)):
        bound = kernel.bind(X)
        together = bound.block()
        for i, j in rng.integers(0, 90, (40, 2)):
            assert bound.block([i], [j])[0, 0] == together[i, j]


def test_long_gaps_fade_without_noise():
    """A pair that is far apart keeps its value; one that is not there has none."""
    x, y = "a" + 300 * "b" + "a", "a" + 300 * "c" + "a"
    value = ExactNGram(2, 0.5)([x], [y])[0, 0]
    assert value == pytest.approx(0.5 ** (2 * 302), rel=1e-12)
    assert ExactNGram(3, 0.5)([x], [y])[0, 0] == 0.0
    assert ExactNGram(2, 0.05)([x], [y])[0, 0] == 0.0  # below the least number


def test_short_sequences_have_no_subsequence():
    K = Normalized(ExactNGram(3))(["ab", "abc", "abcd"])
    assert not K[0].any() and K[1, 1] == pytest.approx(1.0)


def test_the_first_column_is_compared_by_default():
    X = Table.from_sequences([[("a", "X"), ("b", "Y")], [("c", "X"), ("d", "Y")]])
    for kernel in (ExactNGram(2), Spectrum(2)):
        assert kernel(X)[0, 1] == 0.0
        assert kernel.columns_of(X.columns) == ["word"]
        assert kernel.with_columns(X.columns).columns == ("word",)
        by_tags = kernel.set_params(columns=("pos",))
        assert by_tags(X)[0, 1] == by_tags(X)[0, 0] > 0


@pytest.mark.parametrize("kernel", [ExactNGram, Spectrum])
def test_settings_without_meaning_are_refused(kernel):
    for settings, message in [
        ({"n": 0}, "n=0: give a whole number from 1"),
        ({"weights": [-1.0]}, "weights=-1.0"),
        ({"columns": ["a", "b"], "weights": [1.0]}, "1 weights for 2 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernel(**settings).bind([["a"]])
    with pytest.raises(ValueError, match=r"decay=0\.0: give a number above 0"):
        ExactNGram(decay=0.0).bind([["a"]])


def test_a_model_keeps_its_kernel_by_name(tmp_path):
    X = [["a", "b", "c"], ["a", "c"], ["b", "b", "a"]]
    y = [["x", "y", "x"], ["x", "x"], ["y", "y", "x"]]
    tagger = SequenceTagger(kernel="spectrum:n=1", match="label+word", max_iter=20).fit(
        X, y
    )
    tagger.save(tmp_path / "m")
    again = SequenceTagger.load(tmp_path / "m")
    assert (
        again.model_.scoring.index.kernel.to_dict() == Spectrum(1, ("word",)).to_dict()
    )
    assert list(again.predict(X)) == list(tagger.predict(X))
