"""The concave-convex procedure, against enumeration of outputs and completions."""

import time
from itertools import product

import numpy as np
import pytest
from enumerated import small_problem, weights
from hypothesis import given, settings
from hypothesis import strategies as st
from places import optimum, posed

from partwise.certificate import certify
from partwise.objective import Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.cccp import CCCP
from partwise.solvers.one_slack import OneSlack
from partwise.testing.toys import ToyPlaces, toy_places

CONVEX = ["bundle", "bcfw", "one_slack", "n_slack"]


def latent_objective(problem, objective, w):
    """L(w), every output of every example tried."""
    structure, slack = problem.structure, []
    for x, y in zip(problem.blocks.X, problem.blocks.Y, strict=True):
        outputs = structure.enumerate(x)
        score = {output: structure.score(x, output, w) for output in outputs}
        truth = max(score[o] for o in outputs if o[0] == y[0])
        planes = [problem.formulation.plane(structure.loss(y, o)) for o in outputs]
        violation = [
            b - s * (truth - score[o])
            for (b, s), o in zip(planes, outputs, strict=True)
        ]
        slack.append(max(0.0, *violation))
    return objective.primal(float(w @ w), np.array(slack))


def assert_never_rises(state):
    values = [r.objective for r in state.memo.rounds]
    before = [r.before for r in state.memo.rounds]
    for value, start in zip(values, before, strict=True):
        assert value <= start * (1 + 1e-12)
    assert values[:-1] == before[1:]
    assert [point.primal for point in state.history] == values


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 7),
    seed=st.integers(0, 1000),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    convex=st.sampled_from(CONVEX),
    rows=st.integers(1, 3),
)
def test_the_objective_never_rises_and_is_that_of_the_model(n, seed, C, convex, rows):
    problem, objective = posed(n, seed, C=C, n_rows=rows)
    state = CCCP(convex, tol=1e-4).solve(problem, objective)
    assert state.stopped == "converged"
    assert_never_rises(state)
    assert state.primal == pytest.approx(
        latent_objective(problem, objective, state.model), rel=1e-9
    )
    best = optimum(problem, objective)  # of the completions of the last model
    assert state.dual <= best.value * (1 + 1e-6)
    assert best.lower * (1 - 1e-6) <= state.primal <= best.value * (1 + 1.1e-4)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_alternates_for_every_formulation(rescaling, penalty):
    for seed in range(3):
        problem, objective = posed(12, seed, rescaling=rescaling, penalty=penalty)
        state = CCCP("bcfw").solve(problem, objective)
        assert_never_rises(state)
        expected = latent_objective(problem, objective, state.model)
        assert state.primal == pytest.approx(expected, rel=1e-9)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), C=st.sampled_from([0.1, 10.0]))
def test_started_at_the_best_of_all_completions_it_stays_there(seed, C):
    problem, objective = posed(4, seed, C=C, n_rows=2)
    values = []
    for rows in product(range(2), repeat=4):
        labels = [y[0] for y in problem.blocks.Y]
        problem.begin_with(list(zip(labels, rows, strict=True)))
        values.append(optimum(problem, objective))
    best = min(values, key=lambda optimum: optimum.value)
    started = CCCP(tol=1e-6).solve(problem, objective, start=best.w)
    assert started.primal == pytest.approx(best.value, rel=1e-5)
    for state in (started, CCCP(restarts=3, tol=1e-6).solve(problem, objective)):
        assert state.primal >= best.lower * (1 - 1e-6)


@pytest.mark.parametrize("convex", [BCFW(), ProximalBundle(), OneSlack()], ids=str)
def test_rebased_planes_save_half_of_the_calls(convex):
    """In rounds that change up to a fifth of the completions."""
    n_warm = n_cold = 0
    problem, objective = posed(40, 1)
    state = convex.solve(problem, objective)
    for _ in range(6):
        old = problem.complete(state.model)
        if not len(old.block):
            break
        convex.rebase(state, old)
        state = convex.solve(problem, objective, start=state)
        if len(old.block) <= 8:
            n_warm += state.oracle_calls
            n_cold += convex.solve(problem, objective).oracle_calls
    assert 0 < n_warm <= 0.5 * n_cold


def test_stops_by_the_decrease_of_the_paper_and_of_its_program():
    problem, objective = posed(40)
    total = float(objective.weight.sum())
    printed = CCCP(eps=0.05).solve(problem, objective).memo.rounds
    problem, objective = posed(40)
    program = CCCP(eps=0.05, eps_times_C=True).solve(problem, objective).memo.rounds
    for rounds, least in ((printed, 0.05), (program, 0.05 * total)):

        def is_last(done, least=least):
            is_precise = done.tol * done.objective <= 0.51 * least
            is_small = done.before - done.objective <= least
            return is_precise and (is_small or not done.n_changed)

        assert [is_last(done) for done in rounds] == [False] * (len(rounds) - 1) + [
            True
        ]
    assert len(program) < len(printed)


def test_precision_tightens():
    problem, objective = posed(40)
    rounds = CCCP(first_tol=0.2, tol=1e-4).solve(problem, objective).memo.rounds
    tolerances = [r.tol for r in rounds]
    assert tolerances[0] == 0.2 and tolerances[-1] == 1e-4
    assert tolerances == sorted(tolerances, reverse=True)


def test_the_best_of_several_runs_is_kept():
    problem, objective = posed(20)
    single = [
        CCCP(first="random", random_state=seed).solve(problem, objective).found
        for seed in range(3)
    ]
    assert len(set(single)) > 1
    solver = CCCP(first="random", restarts=4)
    state = solver.solve(problem, objective)
    listed = [float(v) for v in state.note.rpartition("objectives ")[2].split(", ")]
    assert len(listed) == 4
    assert state.found == pytest.approx(min(listed), rel=1e-5)
    assert certify(problem, objective, state.model).primal == pytest.approx(state.found)
    again = solver.solve(*posed(20))
    assert again.model.tobytes() == state.model.tobytes()


def test_self_pace_ends_with_all_examples():
    problem, objective = posed(40)
    state = CCCP(self_paced=True).solve(problem, objective)
    admitted = [r.n_admitted for r in state.memo.rounds]
    assert min(admitted) < 40 and admitted[-1] == 40
    assert state.stopped == "converged"
    expected = latent_objective(problem, objective, state.model)
    assert state.primal == pytest.approx(expected, rel=1e-9)
    last = admitted[::-1].index(min(40, *admitted)) if min(admitted) < 40 else 0
    whole = state.memo.rounds[len(admitted) - last :]
    assert all(r.objective <= r.before * (1 + 1e-12) for r in whole)


def test_limits_end_the_rounds():
    problem, objective = posed(40)
    state = CCCP(max_iter=2).solve(problem, objective)
    assert (state.stopped, state.n_iter) == ("max_iter", 2)
    problem, objective = posed(40)
    state = CCCP(tol=1e-9, time_limit=0.2).solve(problem, objective)
    assert state.stopped in ("time limit", "converged") and state.seconds < 2
    problem, objective = posed(40)
    state = CCCP().solve(problem, objective, callback=lambda s: s.n_iter == 1)
    assert (state.stopped, state.n_iter) == ("callback", 1)


def test_the_certificate_is_marked_local():
    problem, objective = posed(20)
    state = CCCP().solve(problem, objective)
    stated = certify(problem, objective, state.model, dual=state.dual)
    assert stated.is_local and stated.primal == pytest.approx(state.primal)
    assert any("local" in said for said in stated.statements())
    assert stated.relative_gap <= 1.1e-3


def test_refuses_what_it_cannot_run():
    problem = small_problem()
    with pytest.raises(CapabilityError, match="CCCP needs `complete`"):
        CCCP().solve(problem, weights(problem))
    problem, objective = posed(6)
    with pytest.raises(CapabilityError, match="ProximalBundle runs penalty"):
        CCCP().solve(problem, objective._replace(penalty="hard"))
    with pytest.raises(ValueError, match="first='none': choose"):
        CCCP(first="none").solve(problem, objective)
    with pytest.raises(ValueError, match="restarts=0"):
        CCCP(restarts=0).solve(problem, objective)


class SlowPlaces(ToyPlaces):
    """Takes five thousandths of a second per search."""

    def loss_augmented_argmax(self, x, y, w):
        time.sleep(0.005)
        return super().loss_augmented_argmax(x, y, w)

    def complete(self, x, y, w):
        time.sleep(0.005)
        return super().complete(x, y, w)


def test_a_time_limit_is_shared_by_the_runs_and_ends_the_first_round():
    CCCP(max_iter=2).solve(*posed(40))  # compiles
    X, Y = toy_places(40)
    objective = Objective.create(1e6, 40, "l1")
    problem = SlowPlaces().setup(X, Y).pack(X, Y)  # a pass takes a fifth of a second
    began = time.perf_counter()
    state = CCCP(tol=1e-12, restarts=20, time_limit=0.5).solve(problem, objective)
    assert time.perf_counter() - began < 2.0  # with a pass for each run: 8
    assert state.stopped == "time limit" and np.isfinite(state.found)
    assert state.note.count(",") < 19  # runs without time are not begun


def test_no_round_begins_when_the_first_completion_has_taken_all_time():
    X, Y = toy_places(40)
    problem = SlowPlaces().setup(X, Y).pack(X, Y)
    objective = Objective.create(1.0, 40, "l1")
    state = CCCP(first="random", time_limit=0.01).solve(problem, objective)
    assert state.stopped == "time limit" and state.n_iter == 0
    assert not state.memo.rounds and np.isfinite(state.model).all()
