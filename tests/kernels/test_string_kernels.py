"""Gap-weighted subsequences against enumeration and the published recursion."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.kernels import AnnotatedNGram, NGram, gram
from partwise.readers.table import Table

WORDS = st.text("abc", min_size=1, max_size=6)


def enumerate_pairs(x, y, n, decay, similarity):
    """The definition: all pairs of subsequences of equal length."""
    total = 0.0
    for length in range(1, n + 1):
        for i in combinations(range(len(x)), length):
            for j in combinations(range(len(y)), length):
                product = 1.0
                for a, b in zip(i, j, strict=True):
                    product *= similarity(x[a], y[b])
                total += product * decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


def lodhi(x, y, n, decay):
    """Definition 2 of Lodhi et al., with K'_i as there, summed over lengths."""

    def inner(i, s, t):
        if i == 0:
            return 1.0
        if min(len(s), len(t)) < i:
            return 0.0
        return decay * inner(i, s[:-1], t) + sum(
            inner(i - 1, s[:-1], t[:j]) * decay ** (len(t) - j + 1)
            for j in range(len(t))
            if t[j] == s[-1]
        )

    def of_length(i, s, t):
        if min(len(s), len(t)) < i:
            return 0.0
        return of_length(i, s[:-1], t) + sum(
            inner(i - 1, s[:-1], t[:j]) * decay**2
            for j in range(len(t))
            if t[j] == s[-1]
        )

    return sum(of_length(i, x, y) for i in range(1, n + 1))


@given(
    st.lists(WORDS, min_size=1, max_size=3),
    st.lists(WORDS, min_size=1, max_size=3),
    st.integers(1, 5),
    st.sampled_from([0.05, 0.3, 0.5, 1.0]),
)
def test_blocks_equal_the_enumeration(X, Y, n, decay):
    wanted = [
        [enumerate_pairs(x, y, n, decay, lambda a, b: a == b) for y in Y] for x in X
    ]
    kernel = NGram(n, decay)
    np.testing.assert_allclose(kernel(X, Y), wanted, rtol=1e-12, atol=0)
    single = gram(kernel, X, Y, dtype="float32")
    np.testing.assert_allclose(single, wanted, rtol=2e-6, atol=0)


@given(WORDS, WORDS, st.integers(1, 4), st.sampled_from([0.2, 0.5, 1.0]))
def test_the_published_recursion_gives_the_same(x, y, n, decay):
    assert NGram(n, decay)([x], [y])[0, 0] == pytest.approx(lodhi(x, y, n, decay))


TOKENS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("XY"), st.sampled_from("pqr")),
    min_size=1,
    max_size=5,
)


@given(
    st.lists(TOKENS, min_size=1, max_size=3),
    st.lists(TOKENS, min_size=1, max_size=3),
    st.lists(st.sampled_from([0.0, 0.25, 1.0, 2.0]), min_size=3, max_size=3),
    st.integers(1, 4),
)
def test_annotated_tokens_agree_column_by_column(X, Y, weights, n):
    if not any(weights):
        weights[0] = 1.0

    def similarity(a, b):
        return sum(
            v * (one == other) for v, one, other in zip(weights, a, b, strict=True)
        )

    wanted = [[enumerate_pairs(x, y, n, 0.5, similarity) for y in Y] for x in X]
    kernel = AnnotatedNGram(n, 0.5, weights=weights)
    np.testing.assert_allclose(kernel(X, Y), wanted, rtol=1e-12, atol=0)


def test_one_column_is_the_kernel_of_symbols():
    X = [["a", "b", "a"], ["b", "b"]]
    assert np.array_equal(AnnotatedNGram(3, 0.4)(X), NGram(3, 0.4)(X))


def test_columns_are_chosen_by_name_and_weighed_equally():
    X = Table.from_sequences([[("a", "X"), ("b", "Y")], [("b", "X")]])
    pos = NGram(2, column="pos")(X)
    assert np.array_equal(pos, NGram(2)([["X", "Y"], ["X"]]))
    both = AnnotatedNGram(1, 1.0, columns=["word", "pos"])(X)
    assert both.tolist() == [[2.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="no column 'lemma'; there are word, pos"):
        NGram(column="lemma")(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lanes_lengths_and_company_do_not_matter(dtype):
    rng = np.random.default_rng(3)
    X = ["".join(rng.choice(list("abcd"), rng.integers(1, 40))) for _ in range(90)]
    bound = NGram(4, 0.7).bind(X)
    together = bound.block(dtype=dtype)
    assert together.dtype == dtype
    for i, j in rng.integers(0, 90, (40, 2)):
        assert bound.block([i], [j], dtype)[0, 0] == together[i, j]
    np.testing.assert_allclose(together, together.T, rtol=1e-5)


@pytest.mark.parametrize("decay", [0.02, 0.5])
def test_sums_that_fade_over_long_gaps_stay_right(decay):
    x, y = "a" + 300 * "b" + "a", "a" + 300 * "c" + "a"
    wanted = 4 * decay**2 + decay ** (2 * 302)
    assert NGram(3, decay)([x], [y])[0, 0] == pytest.approx(wanted, rel=1e-12)
    assert gram(NGram(3, decay), [x], [y], dtype="float32") == pytest.approx(
        wanted, rel=1e-6
    )
    assert NGram(3, decay)([300 * "b"], [300 * "c"])[0, 0] == 0.0
    assert gram(NGram(3, decay), [300 * "b"], [y], dtype="float32")[0, 0] == 0.0


def test_single_precision_gives_way_where_it_would_overflow():
    x = 150 * "a"
    bound = NGram(20, 1.0).bind([x])
    value = bound.block(dtype=np.float32)
    assert value.dtype == np.float64
    assert value[0, 0] == pytest.approx(bound.row_diagonal()[0])
    with pytest.raises(ValueError, match="normalise it"):
        gram(NGram(20, 1.0), [x], [x], dtype="float32")


def test_weights_too_small_for_single_precision_are_computed_in_double():
    kernel = AnnotatedNGram(2, 0.5, weights=[1e-30])
    X = [["a", "b"], ["a"]]
    assert np.all(gram(kernel, X, dtype="float32") > 0)


def test_gram_matrices_are_positive_semidefinite():
    rng = np.random.default_rng(0)
    X = [
        [(str(w), str(w % 3)) for w in rng.integers(0, 8, rng.integers(1, 12))]
        for _ in range(40)
    ]
    for kernel in (NGram(3), AnnotatedNGram(4, 0.8, weights=[1.0, 0.3])):
        values = np.linalg.eigvalsh(kernel(X))
        assert values[0] > -1e-10 * values[-1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: give a whole number from 1"),
        ({"n": 2.5}, "whole number"),
        ({"decay": 0.0}, "decay=0.0: give a number above 0 and at most 1"),
        ({"decay": 1.5}, "at most 1"),
        ({"weights": [-1.0]}, "weights=-1.0"),
        ({"weights": [0.0]}, "above zero"),
        ({"columns": ["a", "a"]}, "different names"),
        ({"columns": ["a", "b"], "weights": [1.0]}, "1 weights for 2 columns"),
    ],
)
def test_settings_without_meaning_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AnnotatedNGram(**settings).bind([["a"]])


def test_inputs_that_are_no_sequences_are_refused():
    with pytest.raises(ValueError, match="one string"):
        NGram()("abc")
    with pytest.raises(ValueError, match="no sequences"):
        NGram()([])
    with pytest.raises(ValueError, match="sequence 1 has no tokens"):
        NGram()(["a", ""])
    with pytest.raises(ValueError, match="no column 'pos'"):
        NGram()([[("a", "X")]], [["a"]])
