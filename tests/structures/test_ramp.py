"""The ramp loss: a bound of the loss below that of margin rescaling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import MulticlassClassifier, SequenceTagger, StructuredSVM
from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, KnownParts, Latent, Structure, offers
from partwise.solvers.cccp import CCCP
from partwise.structures.chain import Chain
from partwise.structures.ramp import RampProblem
from partwise.testing.enumeration import feature_matrix
from partwise.testing.toys import ToyClasses


def chains(n=8, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(rng.integers(1, 4)), 3)) for _ in range(n)]
    Y = [rng.integers(0, 2, size=len(x)) for x in X]
    return Chain(2).setup(X, Y), X, Y


def rows(n=8, seed=0):
    rng = np.random.default_rng(seed)
    return (
        ToyClasses().setup(
            X := list(rng.normal(size=(n, 2))), Y := rng.integers(0, 3, n)
        ),
        X,
        Y.tolist(),
    )


def posed(kind, n=8, seed=0, C=5.0):
    structure, X, Y = (chains if kind == "chain" else rows)(n, seed)
    way = Structure.pack if kind == "loop" else type(structure).pack
    return structure, X, Y, way(structure, X, Y), Objective.create(C * n, n, "l1")


def outputs_of(structure, x):
    if isinstance(structure, Chain):
        return [np.array(t) for t in np.ndindex(*(2,) * len(x))]
    return range(3)


def ramp(structure, x, y, w):
    """By enumeration."""
    score = feature_matrix(structure, x, list(outputs_of(structure, x))) @ w
    loss = [structure.loss(y, o) for o in outputs_of(structure, x)]
    return max(a + b for a, b in zip(score, loss, strict=True)) - max(score)


@pytest.mark.parametrize("kind", ["chain", "loop"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.0, 0.1, 1.0, 30.0]))
def test_the_bound_lies_between_the_loss_and_the_hinge(kind, seed, scale):
    structure, X, Y, hinge, _ = posed(kind, seed=seed)
    w = scale * np.random.default_rng(seed).normal(size=structure.n_psi_)
    problem = RampProblem(hinge)
    assert offers(problem, Latent) and offers(problem, KnownParts)
    model = hinge.expand(w)
    problem.complete(model)
    slack, wider = problem.oracle(model).bound, hinge.oracle(model).bound
    losses = hinge.predict_codes(model).b
    expected = [ramp(structure, x, y, w) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(slack, expected, atol=1e-8 * (1 + scale))
    assert (slack <= wider + 1e-8 * (1 + scale)).all()
    assert (losses <= slack + 1e-8 * (1 + scale)).all()


@pytest.mark.parametrize("kind", ["chain", "loop"])
@pytest.mark.parametrize("convex", ["bundle", "bcfw", "one_slack"])
def test_rounds_lower_the_ramp_objective(kind, convex):
    structure, X, Y, hinge, objective = posed(kind, n=10)
    problem = RampProblem(hinge)
    state = CCCP(convex, tol=1e-4).solve(problem, objective)
    for done in state.memo.rounds:
        assert done.objective <= done.before * (1 + 1e-12)
    w = problem.compact(state.model)
    slack = np.array([ramp(structure, x, y, w) for x, y in zip(X, Y, strict=True)])
    expected = objective.primal(float(w @ w), slack)
    assert state.primal == pytest.approx(expected, rel=1e-8)
    stated = certify(problem, objective, state.model, dual=state.dual)
    assert stated.is_local and stated.primal == pytest.approx(expected, rel=1e-8)
    assert stated.dual <= stated.primal * (1 + 1e-9)


def test_planes_are_those_of_the_given_problem_less_predictions():
    _, _, _, hinge, _ = posed("chain")
    problem = RampProblem(hinge)
    rng = np.random.default_rng(0)
    problem.complete(rng.normal(size=hinge.zero().shape))
    model = rng.normal(size=hinge.zero().shape)
    cuts = problem.oracle(model)
    np.testing.assert_allclose(cuts.b - problem.margins(model, cuts), cuts.violation)
    alpha = rng.random(len(cuts.block))
    dot = problem.dot(problem.combine(cuts, alpha), model)
    assert dot == pytest.approx(np.sum(alpha * problem.margins(model, cuts)))
    old = problem.complete(model)
    assert (problem.margins(model, old) >= -1e-12).all()
    assert not len(problem.complete(model).block)


def flipped(n, share, seed):
    """Three classes in the plane; some training labels are drawn anew, far out."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    angle = 2 * np.pi * y / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.35 * rng.normal(size=(n, 2))
    wrong = rng.random(n) < share
    given = np.where(wrong, (y + 1) % 3, y)
    X[wrong] *= 4
    return X, y, given


def test_flipped_labels_do_less_harm():
    hinges, ramps = [], []
    for seed in range(3):
        X, _, given = flipped(150, 0.2, seed)
        new, y, _ = flipped(500, 0.0, seed + 100)
        for loss, errors in (("hinge", hinges), ("ramp", ramps)):
            model = MulticlassClassifier(C=150.0, loss=loss).fit(X, given)
            errors.append(np.mean(model.predict(new) != y))
    assert np.mean(ramps) < np.mean(hinges)


def test_estimators_take_it():
    X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]] * 4
    y = [[0, 1, 0], [1, 1]] * 4
    svm = StructuredSVM(Chain(2), C=10.0, loss="ramp", solver="auto").fit(X, y)
    assert [list(row) for row in svm.predict(X)] == y
    assert svm.certificate_.is_local
    tokens = [[{"a": float(v)} for v in row] for row in y]
    tagger = SequenceTagger(C=10.0, loss="ramp").fit(
        tokens, [list(map(str, r)) for r in y]
    )
    assert tagger.score(tokens, [list(map(str, r)) for r in y]) == 1.0
    assert tagger.rounds_


def test_other_formulations_and_kernels_are_refused():
    structure, X, Y = chains()
    with pytest.raises(CapabilityError, match="needs formulation='margin'"):
        RampProblem(structure.pack(X, Y, Formulation("margin", "l2")))
    with pytest.raises(ValueError, match="loss='ramp' needs"):
        MulticlassClassifier(loss="ramp", penalty="l2").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="not of a kernel"):
        MulticlassClassifier(loss="ramp", kernel="rbf").fit(np.eye(3), [0, 1, 2])
