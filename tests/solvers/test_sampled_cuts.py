"""Cutting planes from samples come near the optimum, at a cost that ignores n."""

import numpy as np
import pytest

from partwise.objective import Objective
from partwise.protocol import CapabilityError
from partwise.solvers import make_solver
from partwise.solvers.sampled_cuts import SampledCuts
from partwise.testing import brute_force_optimum
from partwise.testing.toys import toy_classes

C = 5.0


def solve(n, **settings):
    structure, X, Y = toy_classes(seed=1, n=n)
    problem = structure.pack(X, Y)
    objective = Objective.create(C, n, "l1")
    return SampledCuts(**settings).solve(problem, objective)


def test_the_model_is_near_the_optimum():
    state = solve(30, eps=0.02, sample=200)
    optimum = brute_force_optimum(*toy_classes(seed=1, n=30), C).value
    assert state.stopped == "converged"
    # each of two errors, of sampling and of ε, is below C·ε with room
    assert optimum - 1e-9 <= state.primal <= optimum + 4 * C * 0.02
    assert not np.isfinite(state.dual)


def test_more_examples_need_no_more_planes():
    few = solve(30, eps=0.05, sample=50)
    many = solve(300, eps=0.05, sample=50)
    assert few.stopped == many.stopped == "converged"
    assert many.n_iter <= 3 * few.n_iter


def test_a_seed_decides():
    one, two = (solve(30, sample=20, random_state=4) for _ in range(2))
    assert np.array_equal(one.model, two.model)


def test_weights_of_examples_are_respected():
    structure, X, Y = toy_classes(seed=1, n=12)
    weight = np.array([1.0] * 6 + [0.0] * 6) + 1e-9
    objective = Objective.create(C, 12, "l1", weight)
    state = SampledCuts(sample=100, eps=0.02).solve(structure.pack(X, Y), objective)
    half = brute_force_optimum(structure, X[:6], Y[:6], C).value
    assert state.primal <= half + 4 * C * 0.02


def test_what_is_refused():
    structure, X, Y = toy_classes(seed=1)
    problem = structure.pack(X, Y)
    for penalty in ("l2", "hard"):
        objective = Objective.create(C, len(X), penalty)
        with pytest.raises(CapabilityError, match="penalty"):
            make_solver("sampled_cuts", {}).solve(problem, objective)
    objective = Objective.create(C, len(X), "l1")
    with pytest.raises(ValueError, match="sample=0"):
        SampledCuts(sample=0).solve(problem, objective)
