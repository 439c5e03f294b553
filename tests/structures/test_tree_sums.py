"""Log Z and arc probabilities against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from tree_cases import LONGEST, cases, trees

from partwise.structures.dependency._sums import (
    new_sum_work,
    projective_sums,
    spanning_sums,
)
from tree_reference import first_order_score

WORK = new_sum_work(LONGEST + 2)


def enumerate_sums(score, n, space):
    values = np.array([first_order_score(score, tree) for tree in space])
    log_total = logsumexp(values)
    marginal = np.zeros((n + 1, n + 1))
    if log_total > -np.inf:
        for tree, p in zip(space, np.exp(values - log_total), strict=True):
            for d, h in enumerate(tree, 1):
                marginal[h, d] += p
    return log_total, marginal


# at scale 30 words prefer each other by e^30, where the Laplacian loses all digits;
# at 900 products of weights leave the range of floats
@pytest.mark.parametrize("sums", [projective_sums, spanning_sums])
@given(case=cases(), single_root=st.booleans(), scale=st.sampled_from([1, 30, 900]))
def test_sums_over_all_trees(sums, case, single_root, scale):
    n = case.n
    score = case.score(scale=scale)
    space = trees(n, sums is projective_sums, single_root)
    log_total, expected = enumerate_sums(score, n, space)
    marginal = np.full((case.size, case.size), 7.0)
    value = sums(score, n, single_root, WORK, marginal)
    assert value == log_total or value == pytest.approx(log_total, abs=1e-10 * scale)
    np.testing.assert_allclose(marginal[: n + 1, : n + 1], expected, atol=1e-11 * scale)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0, 500.0])
def test_long_sentences(single_root, scale):
    """A word's heads sum to one; with one root so do the root's words."""
    n = 60
    score = scale * np.random.default_rng(0).normal(size=(n + 1, n + 1))
    work = new_sum_work(n)
    marginal = np.empty((n + 1, n + 1))
    totals = []
    for sums in (projective_sums, spanning_sums):
        totals.append(sums(score, n, single_root, work, marginal))
        assert marginal.min() >= 0.0
        np.testing.assert_allclose(marginal[:, 1:].sum(axis=0), 1.0, atol=1e-9)
        if single_root:
            assert marginal[0].sum() == pytest.approx(1.0, abs=1e-9)
    assert totals[0] <= totals[1]
    if scale == 0.0:  # Cayley's formula
        power = n - 1
        count = np.log(n) * power if single_root else np.log(n + 1) * power
        assert totals[1] == pytest.approx(count, rel=1e-12)


@pytest.mark.parametrize("sums", [projective_sums, spanning_sums])
def test_marginals_are_derivatives(sums):
    n, step = 8, 1e-5
    rng = np.random.default_rng(1)
    score = 2.0 * rng.normal(size=(n + 1, n + 1))
    work = new_sum_work(n)
    marginal, other = np.empty((2, n + 1, n + 1))
    for single_root in (False, True):
        sums(score, n, single_root, work, marginal)
        for h, d in [(0, 1), (0, 5), (3, 4), (4, 3), (8, 1), (1, 8)]:
            up, down = score.copy(), score.copy()
            up[h, d] += step
            down[h, d] -= step
            rise = sums(up, n, single_root, work, other)
            rise -= sums(down, n, single_root, work, other)
            assert rise / (2 * step) == pytest.approx(marginal[h, d], abs=1e-7)
