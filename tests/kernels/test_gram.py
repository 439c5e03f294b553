"""Gram matrices: tiles, threads, files, limits."""

import os
import warnings
from importlib import import_module

import numpy as np
import pytest

from partwise.kernels import (
    RBF,
    AnnotatedNGram,
    FromFunction,
    GramTooLarge,
    Linear,
    NGram,
    Normalized,
    Polynomial,
    Precomputed,
    estimate,
    gram,
    memory,
    strips,
)
from partwise.readers.table import Table

# the package has a function of the same name
gram_module = import_module("partwise.kernels.gram")


def random_words(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcd"), rng.integers(1, 15))) for _ in range(n)]


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(gram_module, "TILE", 64)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_jobs", [2, 5, -1])
def test_bits_do_not_depend_on_the_number_of_threads(small_tiles, dtype, n_jobs):
    X = random_words()
    kernel = Normalized(NGram(4))
    one = gram(kernel, X, dtype=dtype)
    many = gram(kernel, X, dtype=dtype, n_jobs=n_jobs)
    assert one.dtype == dtype
    assert np.array_equal(one, many)
    assert np.array_equal(one, one.T)
    assert np.array_equal(np.diagonal(one), np.ones(len(X), dtype))


def test_every_entry_is_in_its_place(small_tiles):
    X, Y = random_words(150), random_words(70, seed=1)
    kernel = NGram(3, 0.6)
    whole = kernel.bind(X, Y).block()
    assert np.array_equal(gram(kernel, X, Y, n_jobs=2), whole)
    np.testing.assert_allclose(gram(kernel, X), kernel.bind(X).block(), rtol=1e-13)
    seen = np.full(whole.shape, np.nan)
    for rows, values in strips(kernel, X, Y, size=40, n_jobs=2):
        seen[rows] = values
    assert np.array_equal(seen, whole)


def test_the_symmetric_half_is_computed_once(small_tiles):
    asked = []

    def product(A, B):
        asked.append(len(A) * len(B))
        return A @ B.T

    X = np.random.default_rng(0).normal(size=(256, 3))
    K = gram(FromFunction(product, batch=True), X)
    np.testing.assert_allclose(K, X @ X.T)
    tiles = [size for size in asked if size == 64 * 64]
    assert len(tiles) == 4 * 5 // 2


def test_blocks_take_any_positions():
    X = np.random.default_rng(0).normal(size=(9, 3))
    bound = RBF().bind(X)
    whole = bound.block()
    assert np.array_equal(bound.block([3, -1, 3], slice(2, 5)), whole[[3, 8, 3], 2:5])
    assert bound.block([], None).shape == (0, 9)
    for wrong in ([9], [-10], [0.5], [[1]]):
        with pytest.raises(IndexError):
            bound.block(wrong)


def test_an_estimate_comes_before_the_work(small_tiles, tmp_path):
    class Recorder:
        def __init__(self):
            self.calls = []

        def begin(self, estimate):
            self.calls.append(estimate.bytes)

        def __call__(self, progress):
            self.calls.append(progress.done)

    X = random_words(100)
    for folder, expected in ((None, 1), (tmp_path, 1), (tmp_path, 0)):
        progress = Recorder()
        gram(NGram(2), X, dtype="float32", cache_dir=folder, progress=progress)
        assert progress.calls[:1] == [40_000] * expected
        assert bool(progress.calls[1:]) == bool(expected)


def test_progress_is_told_and_can_stop(small_tiles):
    X = random_words(200)
    values = []
    gram(NGram(2), X, progress=lambda p: values.append(p))
    shares = [p.done for p in values]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert values[-1].remaining == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(KeyboardInterrupt):
        gram(NGram(2), X, n_jobs=2, progress=lambda p: True)


def test_an_error_in_a_thread_reaches_the_caller(small_tiles):
    def fail(x, y):
        raise ZeroDivisionError("in the kernel")

    with pytest.raises(ZeroDivisionError, match="in the kernel"):
        gram(fail, list(range(200)), n_jobs=2)
    with pytest.raises(ValueError, match=r"beyond .* in float64"):
        gram(lambda x, y: float("nan"), [1, 2])


def test_an_estimate_tells_seconds_and_bytes():
    X = random_words(600)
    guess = estimate(NGram(), X, dtype="float32", seconds=0.2)
    assert guess.bytes == 600 * 600 * 4
    assert 0 < guess.seconds < 60
    assert "MB" in str(guess)
    assert estimate("linear", np.empty((0, 2))).seconds == 0.0


def test_what_does_not_fit_is_refused_with_the_remedy(monkeypatch):
    X = np.zeros((1000, 1))
    with pytest.raises(GramTooLarge) as error:
        gram("linear", X, memory_limit=5_000_000)
    text = str(error.value)
    for part in ("1000 × 1000", "7.6 MB", "4.8 MB", "float32", "cache_dir", "Nystroem"):
        assert part in text
    assert (
        gram("linear", X, dtype="float32", memory_limit=5_000_000).nbytes == 4_000_000
    )
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    with pytest.raises(GramTooLarge, match="are free"):
        gram("linear", X)
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert gram("linear", X).shape == (1000, 1000)


def test_free_memory_is_a_sensible_number():
    free = memory.free_memory()
    assert free is None or 2**20 < free < 2**50


def test_wrong_settings_are_refused():
    for settings, message in (
        ({"dtype": "int32"}, "choose float64 or float32"),
        ({"dtype": "nonsense"}, "choose float64 or float32"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ):
        with pytest.raises(ValueError, match=message):
            gram("linear", np.eye(2), **settings)
    with pytest.raises(ValueError, match="size=0"):
        next(strips("linear", np.eye(2), size=0))


# ---------------------------------------------------------------------------- files


def cached(folder, kernel, X, Y=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return gram(kernel, X, Y, cache_dir=folder, **settings)


@pytest.fixture
def no_work(monkeypatch):
    """Fail when a matrix is computed."""

    def refuse():
        def fill(*args):
            raise AssertionError("computed again")

        monkeypatch.setattr(gram_module, "_fill", fill)

    return refuse


def test_a_matrix_is_found_again(tmp_path, no_work):
    X, Y = random_words(50), random_words(20, seed=1)
    kernel = AnnotatedNGram(3)
    first = cached(tmp_path, kernel, X, Y, dtype="float32", n_jobs=2)
    assert np.array_equal(first, gram(kernel, X, Y, dtype="float32"))
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]
    no_work()
    again = cached(tmp_path, AnnotatedNGram(3), list(X), list(Y), dtype="float32")
    assert np.array_equal(first, again)
    again[0, 0] = 7.0  # stays in memory
    assert np.array_equal(first, cached(tmp_path, kernel, X, Y, dtype="float32"))


def test_equal_content_is_found_whatever_its_form(tmp_path, no_work):
    X = [["a", "b", "a"], ["b", "c"]]
    cached(tmp_path, NGram(2), X)
    no_work()
    cached(tmp_path, NGram(2), Table.from_sequences([["z"], *X])[1:])
    # only equality of symbols counts
    cached(tmp_path, NGram(2), [["x", "y", "x"], ["y", "w"]])


@pytest.mark.parametrize(
    "other",
    [
        (NGram(3), ["ab", "b"], {}),
        (NGram(2, 0.4), ["ab", "b"], {}),
        (NGram(2), ["ab", "a"], {}),
        (NGram(2), ["a", "bb"], {}),
        (NGram(2), ["ab", "b"], {"dtype": "float32"}),
        (NGram(2), ["ab", "b"], {"Y": ["ab", "b"]}),
        (Normalized(NGram(2)), ["ab", "b"], {}),
    ],
)
def test_any_change_is_a_miss(tmp_path, no_work, other):
    cached(tmp_path, NGram(2), ["ab", "b"])
    no_work()
    kernel, X, settings = other
    with pytest.raises(AssertionError, match="computed again"):
        cached(tmp_path, kernel, X, **settings)


def test_matrices_of_numbers_are_told_apart(tmp_path):
    X = np.eye(3)
    for change in (X, X * 2, X[:2], np.eye(3, 4)):
        K = cached(tmp_path, Polynomial(), change)
        assert np.array_equal(K, Polynomial()(change))
    assert len(list(tmp_path.iterdir())) == 4
    K = cached(tmp_path, Precomputed(X), [0, 2], [1])
    assert np.array_equal(K, np.zeros((2, 1)))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "longer", "other"])
def test_a_damaged_file_is_computed_again(tmp_path, damage):
    X = random_words(40)
    good = np.array(cached(tmp_path, NGram(2), X))
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-100:]
    elif damage == "flip":
        data[len(data) // 2] ^= 1
    elif damage == "empty":
        data.clear()
    elif damage == "longer":
        data += b"xx"
    else:
        np.save(path, np.zeros((40, 40)))
        data = bytearray(path.read_bytes())
    path.unlink()
    path.write_bytes(data)
    with pytest.warns(RuntimeWarning, match="damaged, .* computed again"):
        again = gram(NGram(2), X, cache_dir=tmp_path)
    assert np.array_equal(again, good)
    assert np.array_equal(cached(tmp_path, NGram(2), X), good)


def test_nothing_half_written_is_left(tmp_path, small_tiles):
    X = random_words(200)
    with pytest.raises(KeyboardInterrupt):
        gram(NGram(2), X, cache_dir=tmp_path / "new", progress=lambda p: p.done > 0.3)
    assert os.listdir(tmp_path / "new") == []


def test_functions_and_full_disks_cannot_be_cached(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        gram(lambda x, y: 1.0, [1, 2], cache_dir=tmp_path)
    usage = memory.shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(memory.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(GramTooLarge, match="give another cache_dir"):
        gram(Linear(), np.eye(3), cache_dir=tmp_path)
