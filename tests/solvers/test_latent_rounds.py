"""Truths that change between convex problems: planes are rebased, not rebuilt."""

import numpy as np
import pytest
from places import optimum, posed

from partwise.datasets import planted_motifs
from partwise.protocol import Latent, offers
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.latent_loop import LatentLoopProblem
from partwise.structures.motif import Motif
from partwise.testing import check_structure
from partwise.testing.toys import ToyPlaces

SOLVERS = [
    BCFW(tol=1e-5),
    NSlack(tol=1e-5),
    OneSlack(tol=1e-5),
    OneSlack(tol=1e-5, pool=False),
    ProximalBundle(tol=1e-5),
    ProximalBundle(tol=1e-5, pool=False),
]


def test_a_structure_that_completes_is_packed_as_a_latent_problem():
    problem, _ = posed(n=4)
    assert isinstance(problem, LatentLoopProblem)
    assert offers(problem, Latent)
    pairs = [(x, y) for x, y in zip(problem.blocks.X, problem.blocks.Y, strict=True)]
    assert "complete" in check_structure(ToyPlaces(), pairs).passed


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
        for actual in (warm, cold):
            assert actual.stopped == "converged"
            assert actual.dual <= best.value * (1 + 1e-6)
            assert best.lower <= actual.primal <= best.value * (1 + 1.1e-5)
        n_warm, n_cold = n_warm + warm.oracle_calls, n_cold + cold.oracle_calls
        state = warm
    assert n_warm <= n_cold


def test_no_change_adds_nothing():
    """A problem on arrays, too: rounds that end leave all truths as they are."""
    X, y, _ = planted_motifs(6)
    problem = Motif(4, order=0).setup().pack(X, y)
    problem.complete(problem.zero())
    old = problem.complete(problem.zero())
    assert not len(old.block)
    assert not problem.combine(old, np.zeros(0)).any()
