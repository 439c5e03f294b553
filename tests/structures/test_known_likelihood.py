"""The likelihood of known labels, which sums over those that are not known."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from scipy.stats import entropy

from partwise import SequenceTagger
from partwise.certificate import log_loss
from partwise.datasets import toy_entities
from partwise.objective import Objective
from partwise.protocol import Latent, Likelihood, offers
from partwise.solvers._latent_runs import LatentLBFGS
from partwise.solvers.bcfw import BCFW
from partwise.structures.chain import Chain


def hidden_chains(order, boundary, seed=0, **masks):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 4, 5)]
    Y = [rng.integers(3, size=len(x)) for x in X]
    for y in Y[1:]:
        y[rng.random(len(y)) < 0.5] = -1
    Y[2][:] = -1  # nothing is known of this one
    chain = Chain(3, order=order, boundary=boundary, **masks)
    problem = chain.pack(X, Y, may_hide=True)
    assert offers(problem, Latent) and offers(problem, Likelihood)
    return chain, X, Y, problem, rng


def all_features(chain, x, y):
    """Features of all outputs, and which of them have the known labels."""
    chain.n_features_ = x.shape[1]
    outputs = [np.array(z) for z in product(range(3), repeat=len(x))]
    outputs = [z for z in outputs if chain.allows(z)]
    phi = np.array([chain.joint_feature(x, z) for z in outputs])
    return phi, np.array([bool(((y < 0) | (z == y)).all()) for z in outputs])


def brute_force(chain, X, Y, w):
    """Losses log Z − log Z(known), and E[φ] − E[φ | known], by enumeration."""
    losses, gradients = [], []
    for x, y in zip(X, Y, strict=True):
        phi, is_known = all_features(chain, x, y)
        one, other = phi @ w, phi[is_known] @ w
        losses.append(logsumexp(one) - logsumexp(other))
        gradients.append(softmax(one) @ phi - softmax(other) @ phi[is_known])
    return np.array(losses), np.array(gradients)


@pytest.mark.parametrize("boundary", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_value_and_gradient_against_all_outputs(order, boundary):
    chain, X, Y, problem, rng = hidden_chains(order, boundary)
    w = rng.normal(size=problem.compact(problem.zero()).size)
    weight = np.array([1.0, 0.5, 2.0, 3.0])
    expected, each = brute_force(chain, X, Y, w)
    loss, gradient = problem.log_likelihood(problem.expand(w), weight)
    np.testing.assert_allclose(loss, expected, atol=1e-10)
    np.testing.assert_allclose(problem.compact(gradient), weight @ each, atol=1e-10)
    assert abs(loss[2]) < 1e-10  # nothing known, nothing lost


def test_constraints_are_kept():
    allowed = np.ones((3, 3), bool)
    allowed[0, 0] = allowed[1, 2] = False
    X = [np.random.default_rng(1).normal(size=(4, 2))]
    Y = [np.array([0, -1, -1, 2])]
    chain = Chain(3, transitions=allowed)
    problem = chain.pack(X, Y, may_hide=True)
    w = np.random.default_rng(2).normal(size=problem.compact(problem.zero()).size)
    expected, each = brute_force(chain, X, Y, w)
    loss, gradient = problem.log_likelihood(problem.expand(w), np.ones(1))
    np.testing.assert_allclose(loss, expected, atol=1e-10)
    np.testing.assert_allclose(problem.compact(gradient), each[0], atol=1e-10)


def test_the_bound_is_that_of_the_problem_with_these_hidden_labels():
    """No weights do better as long as the distribution of hidden labels stays."""
    chain, X, Y, problem, _ = hidden_chains(1, False)
    objective = Objective.create(4.0, len(X), "log")
    tables = [all_features(chain, x, y) for x, y in zip(X, Y, strict=True)]
    for n_rounds in (1, 2, 4):
        state = LatentLBFGS(tol=1e-9, max_iter=n_rounds).solve(problem, objective)
        w = problem.compact(state.model)
        hidden = [softmax(phi[known] @ w) for phi, known in tables]

        def above(v, hidden=hidden):
            total = 0.5 * v @ v
            for (phi, known), q in zip(tables, hidden, strict=True):
                total += logsumexp(phi @ v) - q @ (phi[known] @ v) - entropy(q)
            return total  # c = 1

        assert above(w) == pytest.approx(state.primal)
        least = minimize(above, w).fun
        assert state.dual <= least + 1e-9 and least <= state.primal
    solved = LatentLBFGS(tol=1e-6).solve(problem, objective)
    assert solved.stopped == "converged" and solved.relative_gap <= 1e-6
    value, gradient = log_loss(problem, objective, solved.model)
    assert value == pytest.approx(solved.primal)
    assert problem.dot(gradient, gradient) <= 2e-6 * value
    primals = [point.primal for point in solved.history]
    assert primals == sorted(primals, reverse=True)


def test_a_tagger_learns_from_half_of_the_labels(tmp_path):
    X, y = toy_entities(120, random_state=3)
    rng = np.random.default_rng(0)
    partly = [[a if rng.random() < 0.5 else None for a in row] for row in y[:80]]
    tagger = SequenceTagger(loss="log").fit(X[:80], partly)
    certificate = tagger.certificate_
    assert certificate.is_local and certificate.relative_gap <= 1e-3
    assert tagger.rounds_ == []
    assert tagger.score(X[80:], y[80:]) > 0.93
    p = tagger.predict_marginals(X[80:81])[0]
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # all labels known: the plain conditional random field
    whole = SequenceTagger(loss="log").fit(X[:80], y[:80])
    assert not whole.certificate_.is_local
    assert tagger.score(X[80:], y[80:]) > whole.score(X[80:], y[80:]) - 0.05
    with pytest.raises(ValueError, match="solver='lbfgs'"):
        SequenceTagger(loss="log", solver=BCFW()).fit(X[:80], partly)
