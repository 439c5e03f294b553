"""Chains of which some labels are hidden: completion, losses and first models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.objective import Formulation, Objective
from partwise.solvers.bcfw import BCFW
from partwise.solvers.cccp import CCCP
from partwise.structures.chain import Chain


def agreeing(chain, x, y):
    """All outputs that agree with the known labels."""
    return [
        code
        for code in chain.enumerate(x)
        if all(a in (-1, b) for a, b in zip(y, code, strict=True))
    ]


def observed_loss(chain, y, code):
    """Δ of the known tokens alone."""
    known = [t for t, label in enumerate(y) if label >= 0]
    if not known:
        return 0.0
    return chain.loss([y[t] for t in known], [code[t] for t in known])


def draw_problem(seed, order, cost="hamming", n=3, **settings):
    rng = np.random.default_rng(seed)
    chain = Chain(3, order=order, cost=cost, boundary=bool(seed % 2), **settings)
    lengths = rng.integers(1, 5, size=n)
    X = [rng.integers(-1, 2, size=(length, 2)).astype(float) for length in lengths]
    Y = [rng.integers(-1, 3, size=length) for length in lengths]
    Y[0][0] = 1
    chain.setup(X, Y)
    return chain, X, Y, rng


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2]))
def test_completion_and_objective_by_brute_force(seed, order):
    chain, X, Y, rng = draw_problem(seed, order)
    problem = chain.pack(X, Y, may_hide=True)
    if not any((y < 0).any() for y in Y):
        assert not hasattr(problem, "complete")
        return
    plain = rng.integers(-2, 3, size=chain.n_psi_).astype(float)  # with ties
    model = problem.expand(plain)
    problem.complete(model)
    value = 0.0
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        offset = problem.blocks.offset
        done = problem.blocks.y[offset[i] : offset[i + 1]]
        scores = [plain @ chain.joint_feature(x, c) for c in agreeing(chain, x, y)]
        assert all(a in (-1, b) for a, b in zip(y, done, strict=True))
        assert plain @ chain.joint_feature(x, done) == pytest.approx(max(scores))
        augmented = max(
            observed_loss(chain, y, c) + plain @ chain.joint_feature(x, c)
            for c in chain.enumerate(x)
        )
        value += augmented - max(scores)
    assert problem.oracle(model).violation.sum() == pytest.approx(value)
    # completions depend on the model alone
    again = problem.blocks.y.copy()
    problem.complete(problem.zero())
    problem.complete(model)
    assert (problem.blocks.y == again).all()


@pytest.mark.parametrize(
    ("formulation", "cost"),
    [
        (Formulation(), "zero_one"),
        (Formulation("slack", "l1"), "hamming"),
        (Formulation("margin", "l2"), "hamming"),
        (Formulation("hard", "l1"), "hamming"),
        (Formulation(), "normalized"),
    ],
)
def test_other_losses_count_known_labels_alone(formulation, cost):
    for seed in range(8):
        chain, X, Y, rng = draw_problem(seed, 1, cost)
        Y[1][:1] = -1
        problem = chain.pack(X, Y, formulation, may_hide=True)
        plain = rng.normal(size=chain.n_psi_)
        model = problem.expand(plain)
        problem.complete(model)
        cuts = problem.oracle(model)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            best = max(plain @ chain.joint_feature(x, c) for c in agreeing(chain, x, y))
            actual = []
            for code in chain.enumerate(x):
                loss = observed_loss(chain, y, code)
                if not loss and formulation.rescaling != "margin":
                    continue
                b, scale = formulation.plane(loss)
                margin = best - plain @ chain.joint_feature(x, code)
                actual.append(b - scale * margin)
            if actual:
                assert cuts.violation[i] == pytest.approx(max(actual))


def test_rounds_reach_a_local_optimum_below_all_starts():
    chain, X, Y, _ = draw_problem(4, 1, n=6)
    problem = chain.pack(X, Y, may_hide=True)
    objective = Objective.create(6.0, 6, "l1")
    state = CCCP("bcfw", tol=1e-6).solve(problem, objective)
    values = [done.objective for done in state.memo.rounds]
    assert values == sorted(values, reverse=True)
    assert state.dual - 1e-9 <= state.primal <= values[0]


def test_started_at_the_best_completion_it_stays_there():
    chain, X, Y, _ = draw_problem(11, 1, n=2)
    objective = Objective.create(4.0, 2, "l1")
    best, start = np.inf, None
    options = [agreeing(chain, x, y) for x, y in zip(X, Y, strict=True)]
    for codes in itertools.product(*options):
        problem = chain.pack(X, Y, may_hide=True)
        problem.blocks.y[:] = np.concatenate(codes)
        solved = BCFW(tol=1e-7).solve(problem, objective)  # completions fixed
        if solved.primal < best:
            best, start = solved.primal, solved.model
    problem = chain.pack(X, Y, may_hide=True)
    state = CCCP("bcfw", tol=1e-7).solve(problem, objective, start=start)
    assert state.found == pytest.approx(best, rel=1e-5)


def test_masks_hold_for_completions():
    transitions = np.ones((3, 3), bool)
    transitions[0, 2] = transitions[2, 2] = False
    chain = Chain(3, transitions=transitions)
    X = [np.ones((3, 1))]
    problem = chain.pack(X, [np.array([-1, 2, -1])], may_hide=True)
    assert problem.blocks.y[0] == 1 and problem.blocks.y[2] != 2
    with pytest.raises(ValueError, match="no sequence which the constraints allow"):
        Chain(3, transitions=np.eye(3, dtype=bool)).pack(
            X, [np.array([0, -1, 2])], may_hide=True
        )
    with pytest.raises(ValueError, match="no token has a label"):
        chain.pack(X, [np.full(3, -1)], may_hide=True)
