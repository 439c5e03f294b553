"""Truths that change between convex problems: planes are rebased, not rebuilt."""

import numpy as np
import pytest

from partwise.objective import Formulation, Objective
from partwise.protocol import Latent, offers
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.loop import LatentLoopProblem
from partwise.testing import check_structure
from partwise.testing.enumeration import EnumeratedStructure, Planes, minimum

SOLVERS = [
    BCFW(tol=1e-5),
    NSlack(tol=1e-5),
    OneSlack(tol=1e-5),
    OneSlack(tol=1e-5, pool=False),
    ProximalBundle(tol=1e-5),
    ProximalBundle(tol=1e-5, pool=False),
]


class Places(EnumeratedStructure):
    """A class is observed; the row of the input that shows it is hidden."""

    def setup(self, X, Y):
        self.n_psi_ = 2 * X[0].shape[1]
        return self

    def enumerate(self, x):
        return [(label, row) for label in range(2) for row in range(len(x))]

    def joint_feature(self, x, y):
        label, row = y
        psi = np.zeros((2, x.shape[1]))
        psi[label] = x[row]
        return psi.ravel()

    def loss(self, y, y_hat):
        return float(y[0] != y_hat[0])

    def complete(self, x, y, w):
        rows = [(y[0], row) for row in range(len(x))]
        return max(rows, key=lambda output: self.score(x, output, w))


def posed(n=40, seed=0):
    rng = np.random.default_rng(seed)
    Y = [(int(label), None) for label in rng.integers(0, 2, size=n)]
    X = [rng.normal(size=(3, 4)) for _ in Y]
    for x, (label, _) in zip(X, Y, strict=True):
        x[rng.integers(3)] += 2.0 * np.eye(4)[label]
    structure = Places().setup(X, Y)
    problem = structure.pack(X, Y, Formulation())
    return problem, Objective.create(5.0 * n, n, "l1")


def optimum(problem, objective):
    """The convex problem with the present completions, by enumeration."""
    structure, block, loss, delta = problem.structure, [], [], []
    for i, x in enumerate(problem.blocks.X):
        truth = structure.joint_feature(x, problem.completed[i])
        for y_hat in structure.enumerate(x):
            psi = structure.joint_feature(x, y_hat)
            if (psi != truth).any():
                block.append(i)
                loss.append(structure.loss(problem.blocks.Y[i], y_hat))
                delta.append(truth - psi)
    b, one = np.array(loss), np.ones(len(loss))
    return minimum(Planes(np.array(block), b, b, one, np.array(delta)), objective)


def test_a_structure_that_completes_is_packed_as_a_latent_problem():
    problem, _ = posed(n=4)
    assert isinstance(problem, LatentLoopProblem)
    assert offers(problem, Latent)
    pairs = [(x, y) for x, y in zip(problem.blocks.X, problem.blocks.Y, strict=True)]
    assert "complete" in check_structure(Places(), pairs).passed


def test_completion_returns_the_old_truths_of_what_changed():
    problem, _ = posed()
    w = np.random.default_rng(1).normal(size=problem.n_weights)
    before = [problem.structure.joint_feature(x, y) for x, y in zip(
        problem.blocks.X, problem.completed, strict=True)]  # fmt: skip
    old = problem.complete(w)
    after = [problem.structure.joint_feature(x, y) for x, y in zip(
        problem.blocks.X, problem.completed, strict=True)]  # fmt: skip
    changed = [i for i in range(40) if (before[i] != after[i]).any()]
    assert 0 < len(changed) < 40 and old.block.tolist() == changed
    mass = np.random.default_rng(2).uniform(size=len(changed))
    expected = sum(
        m * (after[i] - before[i]) for m, i in zip(mass, changed, strict=True)
    )
    np.testing.assert_allclose(problem.combine(old, mass), expected, atol=1e-12)
    assert not len(problem.complete(w).block)


@pytest.mark.parametrize("n", [12, 80])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_rebased_planes_lead_to_the_optimum_with_fewer_calls(solver, n):
    problem, objective = posed(n)
    state = solver.solve(problem, objective)
    best = optimum(problem, objective)
    assert state.dual <= best.value * (1 + 1e-6) and best.lower <= state.primal
    n_warm = n_cold = 0
    for _ in range(3):
        solver.rebase(state, problem.complete(state.model))
        best = optimum(problem, objective)
        warm = solver.solve(problem, objective, start=state)
        cold = solver.solve(problem, objective)
        for found in (warm, cold):
            assert found.stopped == "converged"
            assert found.dual <= best.value * (1 + 1e-6)
            assert best.lower <= found.primal <= best.value * (1 + 1.1e-5)
        n_warm, n_cold = n_warm + warm.oracle_calls, n_cold + cold.oracle_calls
        state = warm
    assert n_warm <= n_cold
