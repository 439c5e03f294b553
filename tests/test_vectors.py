"""Vectors in registers compute what numpy computes."""

import numpy as np
import pytest
from numba import njit

from partwise.compiled import has_stripes, score_rows
from partwise.scorers._rows import SparseRows
from partwise.structures._semirings import MAX_PLUS, absorb
from partwise.vectors import (
    add,
    fill8,
    largest,
    load4,
    load8,
    multiply,
    spread4,
    spread8,
    store,
)


@njit
def in_eights(a, b, out):
    for k in range(0, a.size, 8):
        product = multiply(load8(a, k), spread8(b, k))
        store(out, k, largest(add(product, fill8(0.5)), load8(b, k)))


@njit
def in_fours(a, b, out):
    for k in range(0, a.size, 4):
        store(out, k, add(load4(a, k), spread4(b, k + 1)))


def test_operations_on_places_of_tables():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 8))
    out = np.empty((3, 8))
    in_eights(a, b, out)
    np.testing.assert_array_equal(out, np.maximum(a * b[:, :1] + 0.5, b))
    in_fours(a, b, out)
    second = np.repeat(b.reshape(-1, 4)[:, 1], 4).reshape(3, 8)
    np.testing.assert_array_equal(out, a + second)


@njit
def scores_of(rows, weights, first, last, out):
    score_rows(rows, weights, first, last, out)


@pytest.mark.parametrize("width", [1, 3, 4, 8, 12, 20, 24, 28, 60])
@pytest.mark.parametrize("step", [0, 1])
def test_scores_of_sparse_rows_of_any_width(width, step):
    rng = np.random.default_rng(width)
    indptr = np.array([0, 3, 3, 8, 9])
    indices = rng.integers(0, 6, 9).astype(np.int32)
    data = rng.normal(size=9) if step else np.ones(1)
    rows = SparseRows(indptr, indices, data, step, 6)
    assert has_stripes(rows)
    weights = rng.normal(size=(6, width))
    out = np.full((4, width), np.nan)
    scores_of(rows, weights, 1, 4, out)
    values = data if step else np.ones(9)
    for r, t in enumerate(range(1, 4)):
        here = slice(indptr[t], indptr[t + 1])
        np.testing.assert_allclose(
            out[r], values[here] @ weights[indices[here]], rtol=1e-12, atol=1e-12
        )
    assert np.isnan(out[3]).all()


@njit
def absorbed(into, t, m, source, u, table, first, stride, n):
    absorb(MAX_PLUS, into, t, m, source, u, table, first, stride, n)


@pytest.mark.parametrize("width", [1, 3, 4, 8, 12, 24, 28])
@pytest.mark.parametrize(("first", "stride", "n"), [(0, 1, 5), (2, 3, 4), (4, 1, 1)])
def test_maxima_over_sources(width, first, stride, n):
    rng = np.random.default_rng(width)
    into = rng.normal(size=(2, 3, width))
    source, table = rng.normal(size=(2, 12)), rng.normal(size=(12, width))
    table[:, 0] = -np.inf
    expected = into.copy()
    for s in range(first, first + n * stride, stride):
        expected[1, 2] = np.maximum(expected[1, 2], source[1, s] + table[s])
    absorbed(into, 1, 2, source, 1, table, first, stride, n)
    np.testing.assert_array_equal(into, expected)
