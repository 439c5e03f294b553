"""Hidden Markov support vector machines, against what their paper writes down.

Altun, Tsochantaridis, Hofmann, ICML 2003. Sequences are so short that every labelling
can be listed, and the second-degree kernel has six explicit features.
"""

from itertools import pairwise, product

import numpy as np
import pytest
from enumerated import solve_qp

from partwise.features.label_keys import LabelHasher
from partwise.kernels import Polynomial
from partwise.objective import Formulation, Objective
from partwise.scorers.kernel import KernelScorer
from partwise.solvers.n_slack import NSlack
from partwise.solvers.online import Pegasos, Perceptron
from partwise.structures.chain import Chain

N, LABELS, WIDTH = 6, 2, 2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(rng.integers(2, 4), WIDTH)) for _ in range(N)]
    Y = [(np.prod(x, axis=1) > 0).astype(int) for x in X]  # no linear rule finds it
    return X, Y


def explicit(x):
    """Features whose inner product is (1 + <x, x'>)²."""
    a, b = x
    return np.array(
        [1, np.sqrt(2) * a, np.sqrt(2) * b, a * a, b * b, np.sqrt(2) * a * b]
    )


def joint(x, y):
    """Φ(x, y): observations by label, and label pairs (eqs. 4 to 6)."""
    emission, bigram = np.zeros((LABELS, 6)), np.zeros((LABELS, LABELS))
    for row, label in zip(x, y, strict=True):
        emission[label] += explicit(row)
    for a, b in pairwise(y):
        bigram[a, b] += 1
    return np.concatenate([emission.ravel(), bigram.ravel()])


def labellings(x):
    return [np.array(y) for y in product(range(LABELS), repeat=len(x))]


def planes(X, Y):
    """(block, δΦ, wrong tokens) of every wrong labelling."""
    actual = [
        (i, joint(x, y) - joint(x, v), int(np.sum(v != y)))
        for i, (x, y) in enumerate(zip(X, Y, strict=True))
        for v in labellings(x)
        if np.any(v != y)
    ]
    block, delta, loss = zip(*actual, strict=True)
    return np.array(block), np.array(delta), np.array(loss, float)


def pack(data, formulation, cost):
    X, Y = data
    gram = Polynomial(degree=2)(np.concatenate(X))
    return pack_gram(X, Y, gram, formulation, cost)


def pack_gram(X, Y, gram, formulation=None, cost="hamming"):
    keys = LabelHasher("label", range(LABELS)).transform(X)
    scorer = KernelScorer(gram, by_token=True)
    return Chain(LABELS, cost=cost).pack(
        keys, np.concatenate(Y), formulation, scorer=scorer
    )


def coefficients(problem, model):
    """β(t, σ) of all tokens and labels, and δ(σ, τ)."""
    rows = problem.blocks.rows
    beta = model[rows.slot[:, 0]].reshape(-1, LABELS)
    return beta, problem.compact_tail(model).reshape(LABELS, LABELS)


CASES = [("hard", "hamming"), ("l1", "zero_one"), ("l1", "hamming")]
CASES += [("l2", "zero_one"), ("l2", "hamming")]


@pytest.mark.parametrize(("penalty", "cost"), CASES)
def test_working_sets_reach_the_listed_optimum(data, penalty, cost):
    """Algorithm 2: hard margin, L1 and L2."""
    rescaling = "hard" if penalty == "hard" else "margin"
    formulation = Formulation(rescaling, "l2" if penalty == "l2" else "l1")
    problem = pack(data, formulation, cost)
    C = 5.0
    objective = Objective.create(C, N, penalty)
    state = NSlack(tol=1e-8).solve(problem, objective)
    block, delta, loss = planes(*data)
    b = np.ones(len(loss)) if cost == "zero_one" or penalty == "hard" else loss
    b = np.sqrt(b) if penalty == "l2" else b
    d = delta.shape[1]
    if penalty == "hard":
        best = solve_qp(np.eye(d), np.zeros(d), -delta, -b)[1]
    else:
        is_l2 = penalty == "l2"
        curvature = np.diag(np.r_[np.ones(d), np.full(N, is_l2 * C / N)])
        linear = np.r_[np.zeros(d), np.full(N, (not is_l2) * C / N)]
        rows = np.hstack([-delta, -np.eye(N)[block]])
        rows = np.vstack([rows, np.hstack([np.zeros((N, d)), -np.eye(N)])])
        best = solve_qp(curvature, linear, rows, np.r_[-b, np.zeros(N)])[1]
    assert state.primal == pytest.approx(best, rel=1e-6)
    assert state.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_papers_own_program_with_thresholds(data, penalty):
    """Eqs. 18 and 22: their C' is our n·C'/4, and their w twice ours."""
    X, Y = data
    own_C = 3.0
    formulation = Formulation("margin", penalty)
    problem = pack(data, formulation, "zero_one")
    objective = Objective.create(N * own_C / 4, N, penalty)
    state = NSlack(tol=1e-9).solve(problem, objective)
    rows = []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for v in labellings(x):
            sign = 1.0 if np.array_equal(v, y) else -1.0
            unit = np.eye(N)[i]
            rows.append(np.r_[-sign * joint(x, v), -sign * unit, -unit])
    d = len(rows[0]) - 2 * N
    rows += [np.r_[np.zeros(d + N), -unit] for unit in np.eye(N)]
    is_l2 = penalty == "l2"
    slack = np.full(N, own_C)
    curvature = np.r_[np.ones(d), np.zeros(N), is_l2 * slack]
    linear = np.r_[np.zeros(d + N), (not is_l2) * slack]
    bound = np.r_[-np.ones(len(rows) - N), np.zeros(N)]
    x, best = solve_qp(np.diag(curvature), linear, np.array(rows), bound)
    assert state.primal == pytest.approx(best / 4, rel=1e-6)
    # their w, and ours through the kernel: the same scores, twice as large
    tokens = np.concatenate(X)
    beta, _ = coefficients(problem, state.model)
    ours = Polynomial(degree=2)(tokens) @ beta
    theirs = (
        np.array([explicit(t) for t in tokens]) @ x[: LABELS * 6].reshape(LABELS, 6).T
    )
    np.testing.assert_allclose(2 * ours, theirs, atol=1e-3)


def naive_perceptron(X, Y, epochs, seed):
    """Algorithm 1: α_i(y) of whole labellings, kernel values by eq. 7."""
    kernel = Polynomial(degree=2)
    alpha = {}

    def similarity(x, y, z, v):
        pairs = [(a, b) for a in pairwise(y) for b in pairwise(v)]
        same = np.equal.outer(np.asarray(y), np.asarray(v))
        return sum(a == b for a, b in pairs) + float(np.sum(same * kernel(x, z)))

    def F(x, y):
        return sum(a * similarity(X[i], v, x, y) for (i, v), a in alpha.items())

    rng, mistakes = np.random.default_rng(seed), 0
    for _ in range(epochs):
        for i in rng.permutation(len(X)):
            outputs = [tuple(map(int, v)) for v in labellings(X[i])]
            guess, truth = max(outputs, key=lambda v: F(X[i], v)), tuple(map(int, Y[i]))
            if guess != truth:
                mistakes += 1
                alpha[i, truth] = alpha.get((i, truth), 0) + 1
                alpha[i, guess] = alpha.get((i, guess), 0) - 1
    return alpha, mistakes


def test_the_dual_perceptron_is_its_naive_form(data):
    """β(i, t, σ) and δ(σ, τ) of eqs. 9 and 10 from the α of Algorithm 1."""
    X, Y = data
    alpha, mistakes = naive_perceptron(X, Y, epochs=4, seed=0)
    assert mistakes > 5
    offset = np.cumsum([0] + [len(x) for x in X])
    beta, delta = np.zeros((offset[-1], LABELS)), np.zeros((LABELS, LABELS))
    for (i, y), a in alpha.items():
        np.add.at(beta, (offset[i] + np.arange(len(y)), y), a)
        for pair in pairwise(y):
            delta[pair] += a
    problem = pack(data, Formulation(), "hamming")
    solver = Perceptron(max_iter=4, random_state=0, averaged=False)
    state = solver.solve(problem, Objective.create(1.0, N, "l1"))
    assert state.memo.mistakes == mistakes
    actual = coefficients(problem, state.model)
    np.testing.assert_allclose(actual[0], beta)
    np.testing.assert_allclose(actual[1], delta)


@pytest.mark.parametrize("averaged", [True, False])
def test_mistakes_stay_below_the_bound(data, averaged):
    """Theorem 1, with R the largest ‖δΦ‖."""
    _, delta, _ = planes(*data)
    d = delta.shape[1]
    w, _ = solve_qp(np.eye(d), np.zeros(d), -delta, -np.ones(len(delta)))
    bound = np.max(np.sum(delta**2, axis=1)) * (w @ w)
    problem = pack(data, Formulation(), "hamming")
    solver = Perceptron(max_iter=5000, averaged=averaged)
    state = solver.solve(problem, Objective.create(1.0, N, "l1"))
    assert state.stopped == "converged"
    assert 0 < state.memo.mistakes <= bound
    assert np.all(problem.predict_codes(state.model).b == 0)


def test_kernel_pegasos_takes_linear_steps(data):
    X, Y = data
    tokens = np.concatenate(X)
    linear_problem = Chain(LABELS).pack(X, Y)
    problem = pack_gram(X, Y, tokens @ tokens.T)
    objective = Objective.create(2.0, N, "l1")
    solver = Pegasos(max_iter=10, batch=2, project=False)
    linear = solver.solve(linear_problem, objective)
    kernel = solver.solve(problem, objective)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-9)
    beta, _ = coefficients(problem, kernel.model)
    weights = linear_problem.compact(linear.model)[: WIDTH * LABELS]
    np.testing.assert_allclose((tokens.T @ beta).ravel(), weights, atol=1e-9)
