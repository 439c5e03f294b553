"""Frank-Wolfe and the n-slack working set: optimum, bounds, stopping rules."""

import numpy as np
import pytest

from partwise.certificate import certify
from partwise.features.arrays import as_features
from partwise.objective import Formulation, Objective
from partwise.solvers.bcfw import BCFW, visits
from partwise.solvers.n_slack import NSlack
from partwise.structures.chain import Chain
from partwise.testing import brute_force_optimum, check_solver

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]
SOLVERS = [
    BCFW(tol=1e-7),
    BCFW(tol=1e-6, batch=3),
    BCFW(tol=1e-5, averaging=True, polish=0),
    NSlack(tol=1e-7),
]


def chain_data(seed=0, *, separable=False, n=8, n_labels=3):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(1, 4), 6)) for _ in range(n)]
    chain = Chain(n_labels, order=1).setup(X, None)
    if separable:
        w = rng.normal(size=chain.n_psi_)
        return chain, X, [chain.argmax(x, w) for x in X]
    return chain, X, [list(rng.integers(0, n_labels, size=len(x))) for x in X]


def pack(chain, X, Y, formulation, **kwargs):
    return chain.pack(as_features(X), np.concatenate(Y), formulation, **kwargs)


def objective_for(formulation, n, C=5.0):
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    return Objective.create(C, n, penalty)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_optimum_of_chains_is_the_enumerated_one(solver, formulation):
    chain, X, Y = chain_data(separable=formulation.rescaling == "hard")
    optimum = brute_force_optimum(chain, X, Y, 5.0, formulation).value
    problem = pack(chain, X, Y, formulation)
    steps = []
    state = solver.solve(
        problem,
        objective_for(formulation, len(X)),
        callback=lambda s: steps.append((s.primal, s.dual)),
    )
    assert state.stopped == "converged"
    for primal, dual in steps:
        assert dual <= optimum * (1 + 1e-6) <= primal * (1 + 2e-6)
    assert state.primal == pytest.approx(optimum, rel=2 * solver.tol)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@pytest.mark.parametrize("solver", [BCFW(eps=0.01), NSlack(eps=0.01)], ids=str)
def test_eps_bounds_every_violation(solver, formulation):
    chain, X, Y = chain_data(3, separable=formulation.rescaling == "hard")
    problem = pack(chain, X, Y, formulation)
    objective = objective_for(formulation, len(X))
    state = solver.solve(problem, objective)
    assert state.stopped == "converged"
    dual = state.memo.dual
    violation = problem.oracle(state.model).violation
    slack = np.zeros(len(X))
    cuts = dual.support(idle=True).cuts
    np.maximum.at(slack, cuts.block, cuts.b - problem.margins(state.model, cuts))
    assert (violation <= slack + 0.01 + 1e-6).all()


@pytest.mark.parametrize(
    ("solver", "guarantees"),
    [(BCFW(tol=1e-7), ()), (NSlack(tol=1e-7), ()), (NSlack(), ("constraints", "eps"))],
    ids=str,
)
def test_the_papers_guarantees_hold(solver, guarantees):
    check_solver(solver, guarantees=guarantees)


@pytest.mark.parametrize("solver", [BCFW(tol=1e-4), NSlack(tol=1e-4)], ids=str)
def test_same_bits_for_every_number_of_threads(solver):
    chain, X, Y = chain_data(1, n=300)
    models = [
        solver.solve(
            pack(chain, X, Y, Formulation(), n_jobs=n_jobs),
            Objective.create(50.0, 300, "l1"),
        ).model
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*models)


def test_inseparable_data_name_the_examples_that_conflict():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(2, 4)) for _ in range(6)]
    X[4] = X[1]
    Y = [[0, 1], [0, 1], [1, 1], [0, 0], [1, 0], [1, 0]]
    problem = pack(Chain(2).setup(X, None), X, Y, Formulation("hard"))
    state = NSlack().solve(problem, Objective.create(1.0, 6, "hard"))
    assert state.stopped == "inseparable"
    assert "1" in state.note and "4" in state.note
    assert "soft margin" in state.note


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_sample_weights_count_like_copies(penalty):
    chain, X, Y = chain_data(5, n=4)
    formulation = Formulation("margin", penalty)
    copies = [0, 0, 1, 2, 2, 2, 3]
    once = BCFW(tol=1e-7).solve(
        pack(chain, X, Y, formulation),
        Objective.create(3.0, 4, penalty, [2, 1, 3, 1]),
    )
    twice = BCFW(tol=1e-7).solve(
        pack(chain, [X[i] for i in copies], [Y[i] for i in copies], formulation),
        Objective.create(3.0, 7, penalty),
    )
    assert once.primal == pytest.approx(twice.primal, rel=1e-5)


def test_certificate_bounds_the_optimum_from_data_alone():
    chain, X, Y = chain_data(2)
    problem = pack(chain, X, Y, Formulation())
    objective = Objective.create(5.0, len(X), "l1")
    best = BCFW(tol=1e-8).solve(problem, objective)
    for max_iter in (1, 2, 5):
        rough = BCFW(max_iter=max_iter).solve(problem, objective)
        certificate = certify(problem, objective, rough.model, dual=rough.dual)
        assert certificate.primal == pytest.approx(rough.primal)
        assert certificate.lower <= best.primal * (1 + 1e-9)
        assert certificate.primal - certificate.data_bound <= best.primal


def test_time_limit_and_callback_stop_with_a_bound():
    chain, X, Y = chain_data(1, n=50)
    problem = pack(chain, X, Y, Formulation())
    objective = Objective.create(500.0, 50, "l1")
    limited = BCFW(tol=1e-12, time_limit=0.001).solve(problem, objective)
    assert limited.stopped == "time limit"
    assert limited.dual <= limited.primal < np.inf
    stopped = BCFW(tol=1e-12).solve(problem, objective, callback=lambda s: True)
    assert stopped.stopped == "callback"
    assert stopped.n_iter == 1
    assert stopped.primal < np.inf


def test_interrupted_training_keeps_a_certified_model():
    chain, X, Y = chain_data(1, n=20)
    problem = pack(chain, X, Y, Formulation())
    objective = Objective.create(50.0, 20, "l1")

    def press_ctrl_c(state):
        if state.n_iter == 2:
            raise KeyboardInterrupt

    state = BCFW(tol=1e-12).solve(problem, objective, callback=press_ctrl_c)
    assert state.stopped == "interrupted"
    assert state.primal == pytest.approx(
        certify(problem, objective, state.model).primal
    )


def test_a_sweep_visits_blocks_by_their_promise():
    promise = np.array([0.0, 1.0, 3.0]).repeat(50)
    counts = np.zeros(150)
    for seed in range(20):
        order = visits(promise, np.random.default_rng(seed))
        assert len(order) == 150
        times = np.bincount(order, minlength=150)
        expected = 0.8 * 150 * promise / promise.sum() + 0.2
        assert (np.abs(times - expected) < 1).all()
        counts += times
    assert np.abs(counts[:50].mean() - 20 * 0.2) < 0.5
    for useless in (np.full(4, np.inf), np.zeros(4), -np.ones(4)):
        order = visits(useless, np.random.default_rng(0))
        assert sorted(order) == [0, 1, 2, 3]


def test_neighbours_are_visited_in_runs():
    promise = np.where(np.arange(1000) % 10 == 0, 1.0, 0.0)
    order = visits(promise, np.random.default_rng(0), 8)
    assert len(set(order.tolist())) == len(order)  # once at most
    assert set(np.flatnonzero(promise)) <= set(order.tolist())
    assert len(order) < 300
    assert np.mean(np.diff(order) > 0) > 0.85  # rising within runs
    unknown = visits(np.full(20, np.inf), np.random.default_rng(0), 8)
    assert sorted(unknown.tolist()) == list(range(20))
