"""Which kernels are positive semidefinite, and which matrices are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.kernels import (
    RBF,
    AnnotatedNGram,
    BagOfWords,
    ConvolutionTree,
    FromFunction,
    Kernel,
    Linear,
    NGram,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    as_kernel,
    gram,
    positive,
    refuse_indefinite,
)

UNKNOWN = Precomputed(np.eye(1))  # nothing is known of it: its values are looked at
NOT_POSITIVE = "not positive semidefinite on these inputs"


def random_rows(n=60, n_features=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features))


def distance(x, y):
    return float(np.abs(x - y).sum())


# ------------------------------------------------------------------ what is known


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(3, 0.0),
        RBF(),
        BagOfWords(degree=2, coef0=1.0),
        NGram(),
        AnnotatedNGram(),
        ConvolutionTree(),
        Pairwise("linear"),
        Pairwise("poly"),
        Pairwise("poly", gamma=0.1, degree=2.0, coef0=0.0),
        Pairwise("rbf", gamma=0.1),
        Pairwise("laplacian"),
        Pairwise("chi2", gamma=2.0),
        Pairwise("cosine"),
        0.5 * Normalized(NGram()) + BagOfWords() * NGram(),
    ],
)
def test_kernels_that_always_are(kernel):
    assert kernel.is_positive is True
    refuse_indefinite(kernel, np.array([[-1.0]]))  # believed, not looked at


@pytest.mark.parametrize(
    "kernel",
    [
        Pairwise("sigmoid"),
        Pairwise("additive_chi2"),
        Pairwise("rbf", gamma=-0.1),
        Pairwise("laplacian", gamma=-0.1),
        Pairwise("chi2", gamma=-1.0),
        Pairwise("poly", gamma=-1.0),
        Pairwise("poly", coef0=-1.0),
        Pairwise("polynomial", degree=2.5),
        Pairwise("poly", degree=-1),
        FromFunction(min),
        Precomputed(np.eye(2)),
        Precomputed(),
    ],
)
def test_kernels_that_need_not_be_and_all_that_is_made_of_them(kernel):
    assert kernel.is_positive is False
    known = Linear()
    for made in (
        2 * kernel,
        Normalized(kernel),
        kernel + known,
        known + kernel,
        kernel * known,
        Normalized(0.5 * (known + known * kernel)),
    ):
        assert made.is_positive is False


def test_a_kernel_of_ones_own_promises_unless_it_says_otherwise():
    class Own(Linear):
        pass

    class Careful(Linear):
        is_positive = False

    assert Own().is_positive
    assert not (Own() + Careful()).is_positive
    assert isinstance(Own() + Careful(), Kernel)


# ------------------------------------------------- matrices that must not be refused


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank", [1, 7, 400])
def test_matrices_of_low_rank_pass(rank, dtype):
    X = random_rows(3000, rank)
    refuse_indefinite(UNKNOWN, (X @ X.T).astype(dtype))


@pytest.mark.parametrize("seed", range(3))
def test_single_precision_all_the_way_passes(seed):
    X = random_rows(800, 6, seed).astype(np.float32)
    rng = np.random.default_rng(seed)
    repeated = X[rng.integers(0, 5, len(X))]
    lengths = np.exp(5 * rng.normal(size=(len(X), 1))).astype(np.float32)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for rows in (X, repeated, X * lengths, unit):
        values = rows @ rows.T
        refuse_indefinite(UNKNOWN, values)
        refuse_indefinite(UNKNOWN, values.astype(np.float64))
    centred = X @ X.T
    centred -= centred.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    refuse_indefinite(UNKNOWN, centred)


@given(
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
    st.floats(-12, 12),
    st.booleans(),
)
def test_what_is_made_of_features_passes(n, rank, seed, magnitude, is_single):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, rank)) * np.exp(rng.normal(size=(n, 1)))
    values = X @ X.T * 10.0**magnitude
    refuse_indefinite(UNKNOWN, values.astype(np.float32) if is_single else values)


def test_zeros_and_nothing_pass():
    refuse_indefinite(UNKNOWN, np.zeros((3, 3)))
    refuse_indefinite(UNKNOWN, np.empty((0, 0)))
    refuse_indefinite(UNKNOWN, np.diag([1.0, 0.0, 2.0]))


def test_functions_of_a_user_pass():
    X = random_rows()
    for kernel in (
        FromFunction(lambda x, y: np.exp(-distance(x, y))),
        FromFunction(lambda x, y: float(np.float32(x @ y))),
        as_kernel("chi2 + 0.1*rbf"),
        Normalized(FromFunction(lambda x, y: (1 + x @ y) ** 3)),
    ):
        for dtype in ("float64", "float32"):
            refuse_indefinite(kernel, gram(kernel, np.abs(X), dtype=dtype))


# ------------------------------------------------------ matrices that must be refused


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "kernel",
    [
        Pairwise("sigmoid"),
        Pairwise("sigmoid", coef0=-1.0),
        Pairwise("sigmoid", gamma=0.01),
        Pairwise("additive_chi2"),
        Pairwise("rbf", gamma=-0.1),
        Pairwise("poly", degree=2, coef0=-1.0),
        Linear() + 10.0 * Pairwise("sigmoid"),
        RBF() * Pairwise("additive_chi2"),
        3.0 * Normalized(Pairwise("sigmoid", coef0=0.5)),
    ],
    ids=str,
)
def test_kernels_that_show_it_are_refused(kernel, dtype):
    X = np.abs(random_rows())
    with pytest.raises(ValueError, match=NOT_POSITIVE) as error:
        refuse_indefinite(kernel, gram(kernel, X, dtype=dtype))
    text = str(error.value)
    assert text.startswith(type(kernel).__name__)
    assert "use another kernel whose is_positive is True, such as 'rbf'" in text


def test_a_sigmoid_on_many_inputs_is_refused():
    kernel = Pairwise("sigmoid")
    X = random_rows(1500, 30)
    with pytest.raises(ValueError, match=r"an eigenvalue of -\d.*or less"):
        refuse_indefinite(kernel, gram(kernel, X, dtype="float32"))


def test_the_message_tells_the_eigenvalue_and_the_remedy():
    values = np.eye(5) - 0.3  # eigenvalues 1 and 1 - 5·0.3
    values[np.diag_indices(5)] = 1.0
    values *= 40.0
    with pytest.raises(ValueError, match=r"an eigenvalue of -0\.2 or less") as error:
        refuse_indefinite(Precomputed(values), values)
    assert "add a multiple of the identity" in str(error.value)
    assert "\n" not in str(error.value)
    refuse_indefinite(Precomputed(values), values + 0.21 * 40 * np.eye(5))
    with pytest.raises(ValueError, match="use another function"):
        kernel = FromFunction(distance)
        refuse_indefinite(kernel, kernel(random_rows()))


def test_single_entries_that_prove_it_are_named():
    values = np.eye(4)
    values[2, 2] = -0.5
    with pytest.raises(ValueError, match=r"k\(x, x\) = -0.5 of input 2"):
        refuse_indefinite(UNKNOWN, values)
    values = np.eye(4)
    values[3, 1] = values[1, 3] = -1.5
    with pytest.raises(
        ValueError, match=r"\|k\(x, y\)\| = 1.5 of inputs 1 and 3 exceeds .* = 1"
    ):
        refuse_indefinite(UNKNOWN, values)


def test_long_inputs_do_not_hide_the_others():
    kernel = Linear() + Pairwise("sigmoid")
    X = random_rows(200)
    X[0] *= 1e4
    with pytest.raises(ValueError, match=NOT_POSITIVE):
        refuse_indefinite(kernel, kernel(X))


def test_what_is_no_number_and_no_square_is_refused():
    for wrong in (np.nan, np.inf, -np.inf):
        values = np.eye(3)
        values[1, 2] = values[2, 1] = wrong
        with pytest.raises(ValueError, match=f"holds {wrong} for inputs 1 and 2"):
            refuse_indefinite(UNKNOWN, values)
    with pytest.raises(ValueError, match="one row and one column per"):
        refuse_indefinite(UNKNOWN, np.ones((2, 3)))


def test_a_mapped_matrix_is_looked_at(tmp_path):
    kernel = Pairwise("sigmoid")
    X = random_rows(100)
    values = gram(kernel, X, dtype="float32", cache_dir=tmp_path)
    assert isinstance(values, np.memmap)
    before = values.copy()
    with pytest.raises(ValueError, match=NOT_POSITIVE):
        refuse_indefinite(kernel, values)
    assert np.array_equal(values, before)


def test_a_sample_decides_where_all_would_be_too_many(monkeypatch):
    X = random_rows(300)
    good, bad = X @ X.T, Pairwise("sigmoid", gamma=0.01)(X)
    for setting, value in (("MOST", 50), ("free_memory", lambda: 2 * 8 * 50**2)):
        with monkeypatch.context() as change:
            change.setattr(positive, setting, value)
            refuse_indefinite(UNKNOWN, good)
            with pytest.raises(ValueError, match="an eigenvalue"):
                refuse_indefinite(UNKNOWN, bad)
            gross = good.copy()
            gross[3, 200] = gross[200, 3] = 1e3  # seen in the sample or not
            with pytest.raises(ValueError, match="of inputs 3 and 200"):
                refuse_indefinite(UNKNOWN, gross)
    monkeypatch.setattr(positive, "free_memory", lambda: None)
    refuse_indefinite(UNKNOWN, good)


# --------------------------------------------------------------------- asymmetry


def test_an_asymmetric_matrix_is_refused():
    values = 2 * np.eye(700)
    values[650, 3] = 0.5
    with pytest.raises(ValueError, match=r"0 and k.* = 0\.5 of inputs 3 and 650"):
        refuse_indefinite(UNKNOWN, values)
    kernel = Precomputed(values)
    everywhere = np.arange(700)
    for asked in (kernel, 2 * Normalized(kernel), kernel + Precomputed(np.eye(700))):
        with pytest.raises(ValueError, match=r"0 at \(3, 650\) and 0.5 at \(650, 3\)"):
            gram(asked, everywhere)
    gram(kernel, everywhere[:600])  # what is not asked for does not count
    assert gram(kernel, [650], [3])[0, 0] == 0.5


def test_an_asymmetric_function_is_refused():
    X = random_rows()
    with pytest.raises(ValueError, match="the other way round; use"):
        gram(lambda x, y: x[0] * y[1], X)
    with pytest.raises(ValueError, match="the other way round"):
        gram(
            FromFunction(lambda a, b: a[:, :1] - b[:, 0], batch=True) + as_kernel(min),
            X,
        )
    assert gram(max, []).shape == (0, 0)


def test_rounding_is_no_asymmetry():
    X = random_rows(300, 40).astype(np.float32)
    rng = np.random.default_rng(0)
    values = X @ X.T * (1 + 1e-7 * rng.normal(size=(300, 300)))
    refuse_indefinite(UNKNOWN, values)
    gram(Precomputed(values), np.arange(300))
    gram(FromFunction(lambda x, y: -distance(x, y) * (1 + 1e-7 * x[0])), X)


def test_normalisation_needs_squares_of_lengths():
    X = np.abs(random_rows())
    kernel = Normalized(Pairwise("sigmoid", coef0=-2.0))
    with pytest.raises(ValueError, match=r"k\(x, x\) = -.* square of a length"):
        kernel(X)
    with pytest.raises(ValueError, match="of input 1"):
        Normalized(FromFunction(lambda x, y: x * y - 2.0))([3.0, 0.5], [3.0])
    tiny = Normalized(Precomputed(np.diag([1.0, -1e-12])))
    assert tiny([0, 1]).tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert tiny([1], [0]).tolist() == [[0.0]]
