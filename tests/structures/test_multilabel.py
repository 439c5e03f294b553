"""Sets of labels: every search against all sets, and training against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_selection import mutual_info_classif

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.constraints import PartConstraint, at_most, implies
from partwise.structures.multilabel import Multilabel
from partwise.structures.multilabel.constrained import satisfy
from partwise.structures.multilabel.graphs import (
    forest,
    label_pairs,
    mutual_information,
)
from partwise.testing import brute_force_optimum, check_structure
from partwise.testing.structures import FORMULATIONS

COSTS = ["hamming", "jaccard", "f1", "zero_one"]


def random_structure(rng, size, cost, graph, constrained):
    pairs = label_pairs(graph, rng.integers(0, 2, size=(20, size)))
    most, implications = None, []
    if constrained:
        most = int(rng.integers(1, size + 1)) if rng.random() < 0.6 else None
        for _ in range(int(rng.integers(0, 3))):
            a, b = rng.integers(size, size=2)
            if a != b:
                implications.append((int(a), int(b)))
    return Multilabel(size, pairs, cost, most, implications)


def random_problem(seed, structure, n=4, sparse_rows=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, 3)).astype(float)
    valid = structure.enumerate(X[0])
    Y = np.array([valid[k] for k in rng.integers(len(valid), size=n)])
    structure.setup(X, Y)
    w = rng.integers(-2, 3, size=structure.n_psi_).astype(float)
    w[rng.random(len(w)) < 0.5] *= rng.choice([0.0, 0.31])  # ties, and none
    return sparse.csr_array(X) if sparse_rows else X, Y, w, valid


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(COSTS),
    st.sampled_from(["independent", "tree", "full"]), st.booleans(), st.booleans(),
    st.sampled_from(FORMULATIONS),
)  # fmt: skip
def test_every_search_is_exact(seed, size, cost, graph, limited, dense, formulation):
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, size, cost, graph, limited)
    X, Y, w, valid = random_problem(seed, structure, sparse_rows=not dense)
    problem = structure.pack(X, Y, formulation)
    model = problem.expand(w)
    np.testing.assert_array_equal(problem.compact(model), w)
    cuts = problem.oracle(model)
    rows = X if dense else X.toarray()
    for i, y_hat in enumerate(problem.outputs(cuts)):
        scores = np.array([structure.joint_feature(rows[i], y) @ w for y in valid])
        truth = structure.joint_feature(rows[i], Y[i]) @ w
        planes = [formulation.plane(structure.loss(Y[i], y)) for y in valid]
        expected = max(
            b - scale * (truth - score)
            for (b, scale), score in zip(planes, scores, strict=True)
            if b > 0 or formulation.rescaling != "hard"
        ) if len(valid) > 1 or formulation.rescaling != "hard" else -np.inf  # fmt: skip
        assert structure.is_valid(y_hat)
        assert max(cuts.violation[i], 0) == pytest.approx(max(expected, 0), abs=1e-9)
        assert cuts.bound[i] == pytest.approx(cuts.violation[i])
    predicted = problem.decode(model)
    leads, best = problem.leads(model)
    for i, (x, y_hat) in enumerate(zip(rows, predicted, strict=True)):
        scores = np.array([structure.joint_feature(x, y) @ w for y in valid])
        assert structure.is_valid(y_hat)
        assert structure.joint_feature(x, y_hat) @ w == pytest.approx(scores.max())
        assert best[i] == pytest.approx(scores.max())
        for k in range(size):
            sides = [
                max((s for s, y in zip(scores, valid, strict=True) if y[k] == on),
                    default=-np.inf)
                for on in (0, 1)
            ]  # fmt: skip
            assert leads[i, k] == pytest.approx(sides[1] - sides[0], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(2, 5),
    st.sampled_from(["independent", "tree", "full"]), st.booleans(),
)  # fmt: skip
def test_constraints_of_predictions(seed, size, graph, limited):
    """The best set that satisfies them, by enumeration."""
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, size, "hamming", graph, limited)
    _, _, w, valid = random_problem(seed, structure)
    scores = rng.integers(-2, 3, size=(3, size)).astype(float)
    pair = w[3 * size :]
    names = [f"label {k}" for k in range(size)]
    a, b = rng.permutation(size)[:2]
    coef = rng.integers(-2, 3, size=size).astype(float)
    rules = [at_most(int(rng.integers(1, size))), implies(names[a], names[b])]
    rules.append(PartConstraint(names, coef, -1.0, 3.0))
    best = np.array([structure.best(row, pair) for row in scores])
    bounded = satisfy(structure, best, scores, pair, rules, names)
    allowed = [
        y for y in valid
        if y.sum() <= rules[0].upper and y[a] <= y[b] and -1 <= coef @ y <= 3
    ]  # fmt: skip
    pairs = structure.pair_array()
    for row, y_hat, free in zip(scores, bounded, best, strict=True):
        value = [row @ y + pair @ (y[pairs[:, 0]] * y[pairs[:, 1]]) for y in allowed]
        assert any(np.array_equal(y_hat, y) for y in allowed)
        at = row @ y_hat + pair @ (y_hat[pairs[:, 0]] * y_hat[pairs[:, 1]])
        assert at == pytest.approx(max(value), abs=1e-6)
        parts = [(names[k],) for k in np.flatnonzero(free)]
        if all(rule.holds(parts) for rule in rules):
            assert y_hat.tolist() == free.tolist()


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("graph", ["independent", "tree", "full"])
def test_the_public_check_passes(cost, graph):
    rng = np.random.default_rng(3)
    structure = random_structure(rng, 4, cost, graph, False)
    X, Y, _, _ = random_problem(3, structure, n=3)
    check_structure(structure, list(zip(X, Y, strict=True)), n_models=5)


def test_branch_and_bound_of_many_labels():
    """Larger than enumeration in Python, against the listing of all sets."""
    rng = np.random.default_rng(0)
    size, n = 12, 20
    structure = Multilabel(size, label_pairs("full", np.zeros((1, size))))
    X, Y = rng.normal(size=(n, 4)), rng.integers(0, 2, size=(n, size))
    structure.setup(X, Y)
    w = rng.normal(size=structure.n_psi_)
    problem = structure.pack(X, Y)
    cuts = problem.oracle(problem.expand(w))
    everything = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
    pairs = structure.pair_array()
    both = everything[:, pairs[:, 0]] * everything[:, pairs[:, 1]]
    table = w[: 4 * size].reshape(4, size)
    for i in range(n):
        scores = everything @ (X[i] @ table) + both @ w[4 * size :]
        loss = (everything != Y[i]).sum(axis=1)
        truth = structure.joint_feature(X[i], Y[i]) @ w
        assert cuts.violation[i] == pytest.approx((scores + loss).max() - truth)
        assert cuts.bound[i] == pytest.approx(cuts.violation[i])
    structure.search_nodes = 3
    short = structure.pack(X, Y).oracle(problem.expand(w))
    assert (short.bound >= cuts.violation - 1e-9).all()
    assert (short.violation <= cuts.violation + 1e-9).all()
    assert (short.bound > short.violation + 1e-9).any()


@pytest.mark.parametrize("graph", ["independent", "tree", "full"])
@pytest.mark.parametrize("cost", ["hamming", "f1"])
def test_training_reaches_the_enumerated_optimum(graph, cost):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(7, 2)), rng.integers(0, 2, size=(7, 3))
    structure = Multilabel(3, label_pairs(graph, Y), cost).setup(X, Y)
    best = brute_force_optimum(structure, list(X), list(Y), 20.0)
    objective = Objective.create(20.0, 7, "l1")
    problem = structure.pack(X, Y)
    for solver in (BCFW(tol=1e-6), OneSlack(tol=1e-6), NSlack(eps=1e-6, max_iter=500)):
        state = solver.solve(problem, objective)
        certificate = certify(problem, objective, state.model, dual=state.dual)
        assert certificate.primal == pytest.approx(best.value, rel=1e-4)
        assert certificate.dual <= best.value * (1 + 1e-7)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_steps_over_labels_keep_the_dual(C):
    """The planes of the pool give w, and a dual value below the primal."""
    rng = np.random.default_rng(2)
    n, size = 40, 9
    X, Y = rng.normal(size=(n, 5)), rng.integers(0, 2, size=(n, size))
    X[3] = 0.0  # a row without features
    problem = Multilabel(size).pack(X, Y)
    objective = Objective.create(C * n, n, "l1")
    solver = BCFW(tol=1e-6, max_iter=3000)
    state = solver.solve(problem, objective)
    assert state.stopped == "converged"
    support = solver.support(state)
    cuts, alpha = support.cuts, support.alpha
    mass = np.bincount(cuts.block, alpha, minlength=n)
    assert (alpha >= 0).all() and (mass <= C * (1 + 1e-12)).all()
    w = problem.combine(cuts, alpha)
    dual = float((alpha * cuts.b).sum() - 0.5 * (w @ w))
    primal = certify(problem, objective, state.model, dual=state.dual).primal
    assert dual <= primal * (1 + 1e-9) and dual == pytest.approx(primal, rel=2e-6)


def test_no_pairs_are_one_machine_per_label():
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(60, 3)) > 0).astype(int)
    problem = Multilabel(3).pack(X, Y)
    state = BCFW(tol=1e-8, max_iter=5000).solve(
        problem, Objective.create(60.0, 60, "l1")
    )
    weights = problem.compact(state.model).reshape(4, 3)
    for k in range(3):
        svm = LinearSVC(
            loss="hinge", fit_intercept=False, tol=1e-8, max_iter=200_000
        ).fit(X, Y[:, k])
        np.testing.assert_allclose(weights[:, k], svm.coef_[0], atol=2e-3)


def test_the_tree_has_the_largest_mutual_information():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, size=(200, 5))
    Y[:, 3] = Y[:, 1] ^ (rng.random(200) < 0.1)
    Y[:, 4] = Y[:, 3] ^ (rng.random(200) < 0.1)
    table = mutual_information(Y)
    expected = mutual_info_classif(Y, Y[:, 1], discrete_features=True)
    np.testing.assert_allclose(table[1], expected, atol=1e-9)
    pairs = label_pairs("tree", Y)
    assert len(pairs) == 4 and [1, 3] in pairs.tolist() and [3, 4] in pairs.tolist()
    assert forest(pairs, 5) is not None
    assert forest(label_pairs("full", Y), 5) is None
    assert len(label_pairs("tree", Y[:, :1])) == 0
    constant = np.zeros((3, 3), int)
    assert len(label_pairs("tree", constant)) == 2


def test_refusals():
    X = np.eye(2)
    with pytest.raises(ValueError, match=r"Y\[1\] has 2 labels"):
        Multilabel(2, max_labels=1).pack(X, [[0, 1], [1, 1]])
    with pytest.raises(ValueError, match=r"Y\[0\] has label 1 without label 0"):
        Multilabel(2, implications=[(1, 0)]).pack(X, [[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="holds more than 0 and 1"):
        Multilabel(2).pack(X, [[0, 2], [1, 1]])
    with pytest.raises(ValueError, match="shape"):
        Multilabel(2).pack(X, [[0], [1]])
    with pytest.raises(ValueError, match="cost"):
        Multilabel(2, cost="f2").pack(X, None)
    with pytest.raises(ValueError, match="a label with itself"):
        Multilabel(2, pairs=[(1, 1)]).pack(X, None)
    with pytest.raises(ValueError, match="twice"):
        Multilabel(2, pairs=[(1, 0), (0, 1)]).pack(X, None)
    with pytest.raises(ValueError, match="labels are 0 to 1"):
        Multilabel(2, pairs=[(1, 2)]).pack(X, None)
    many = Multilabel(20, pairs=[(0, 1)], cost="f1")
    with pytest.raises(CapabilityError, match="keep to 14 labels"):
        many.pack(X, np.zeros((2, 20), int))
    many.cost = "hamming"
    many.pack(X, np.zeros((2, 20), int))
    with pytest.raises(CapabilityError, match="slack rescaling"):
        many.pack(X, np.zeros((2, 20), int), Formulation("slack", "l1"))
    with pytest.raises(CapabilityError, match="use `pack`"):
        Multilabel(30).argmax(X[0], np.zeros(60))
