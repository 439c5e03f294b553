import numpy as np
import pytest
from enumerated import solve_qp
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.solvers._simplex_qp import OPTIMAL, UNBOUNDED, maximise


def solve_simplex_qp(gram, b, total=np.inf, *, is_equality=False, start=None):
    """α and status; an inequality has one more plane, of zeros, for the rest."""
    m = len(b)
    size = m + (np.isfinite(total) and not is_equality)
    table, offset, alpha = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    table[:m, :m], offset[:m] = gram, b
    if start is not None:
        alpha[:m], alpha[m:] = start, total - np.sum(start)
    status = maximise(table, offset, alpha, size, total, 1e-12, 100 + 20 * size)
    return alpha[:m], status


def random_program(seed, m, d, kind):
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(m, d)) * 10 ** rng.uniform(-1, 1)
    if kind == "repeated":
        planes = planes[rng.integers(m, size=m)]
    elif kind == "parallel":
        planes = planes[:1] + 1e-4 * planes
    elif kind == "integer":
        planes = rng.integers(-1, 2, size=(m, d)).astype(float)
    gram = planes @ planes.T
    return (gram + gram.T) / 2, rng.normal(size=m) + rng.integers(2)


def kkt_residual(gram, b, alpha, total, is_equality):
    """Largest violation of the optimality conditions, relative to b and Gα."""
    product = gram @ alpha
    slope = b - product
    scale = max(np.abs(b).max(), np.abs(product).max(), 1e-300)
    used = alpha > 0
    if is_equality or np.sum(alpha) >= total * (1 - 1e-12):
        mu = slope[used].max()
        if not is_equality:
            mu = max(mu, 0.0)
    else:
        mu = 0.0
    off = np.abs(slope[used] - mu).max(initial=0.0)
    return max(off, np.max(slope - mu)) / scale


programs = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(1, 40),
    st.sampled_from(["full", "repeated", "parallel", "integer"]),
)


@settings(deadline=None, max_examples=200)
@given(programs, st.floats(0.01, 100.0), st.booleans())
def test_optimality_conditions_hold_on_the_simplex(program, total, is_equality):
    gram, b = random_program(*program)
    alpha, status = solve_simplex_qp(gram, b, total, is_equality=is_equality)
    assert status == OPTIMAL
    assert np.min(alpha) >= 0
    spent = np.sum(alpha)
    assert spent <= total * (1 + 1e-12)
    if is_equality:
        assert spent == pytest.approx(total, rel=1e-12)
    assert kkt_residual(gram, b, alpha, total, is_equality) < 1e-10


@pytest.mark.parametrize("kind", ["full", "repeated", "parallel", "integer"])
@pytest.mark.parametrize("case", ["at most", "exactly", "cone"])
def test_value_is_clarabels(kind, case):
    for seed in range(10):
        m = 20
        gram, b = random_program(seed, m, 25 if case == "cone" else 10, kind)
        if case == "cone":
            gram = gram + 0.1 * np.eye(m)  # bounded
        total = np.inf if case == "cone" else 3.0
        alpha, status = solve_simplex_qp(gram, b, total, is_equality=case == "exactly")
        rows, bound = -np.eye(m), np.zeros(m)
        if case != "cone":
            rows = np.vstack([np.ones((1, m)), rows])
            bound = np.concatenate([[total], bound])
        value = -solve_qp(gram, -b, rows, bound, int(case == "exactly"))[1]
        assert status == OPTIMAL
        assert b @ alpha - 0.5 * alpha @ gram @ alpha == pytest.approx(
            value, rel=1e-8, abs=1e-8
        )


def test_a_cone_without_curvature_is_unbounded():
    direction = np.array([[1.0], [-1.0]])
    alpha, status = solve_simplex_qp(direction @ direction.T, np.ones(2))
    assert status == UNBOUNDED
    assert np.min(alpha) >= 0


def test_warm_start_needs_no_round_at_the_optimum():
    gram, b = random_program(0, 40, 20, "full")
    alpha, _ = solve_simplex_qp(gram, b, 2.0, is_equality=True)
    again = alpha.copy()
    # refinements, then one round that finds nothing to enter
    assert maximise(gram, b, again, 40, 2.0, 1e-12, 5) == OPTIMAL
    np.testing.assert_allclose(again, alpha, atol=1e-12)


def test_an_unusable_start_is_replaced():
    gram, b = random_program(1, 15, 5, "repeated")
    best, _ = solve_simplex_qp(gram, b, 1.0)
    start = np.full(15, 1 / 15)  # dependent planes, all of them free
    alpha, status = solve_simplex_qp(gram, b, 1.0, start=start)
    assert status == OPTIMAL
    value = [b @ a - 0.5 * a @ gram @ a for a in (best, alpha)]
    assert value[0] == pytest.approx(value[1], rel=1e-12)
