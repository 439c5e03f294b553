"""Outputs without loss, bounds of searches, the papers' ε: true certificates."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import Chain, DependencyParser, StructuredSVM
from partwise.certificate import certify
from partwise.datasets import toy_dependencies
from partwise.features.arrays import as_features
from partwise.objective import Formulation, Objective
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.loop import LoopProblem
from partwise.testing import check_structure
from partwise.testing.toys import ToyClasses, toy_classes

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_problems import check_one

FREE = np.array([[0, 0, 1.0], [0, 0, 1.0], [1.0, 1.0, 0]])  # 0 for 1 costs nothing


def free_confusion(C=100.0, n=60):
    """Labels 0 and 1, which the loss does not tell apart, and label 2."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, size=n)
    labels = np.where(group == 0, rng.integers(0, 2, size=n), 2)
    X = [
        np.concatenate([[1.0 * (g == 0), 1.0 * (g == 1)], rng.normal(size=40)])[None]
        for g in group
    ]
    problem = Chain(3, order=0, cost=FREE).pack(as_features(X), labels, Formulation())
    return problem, Objective.create(C * n, n, "l1")


@pytest.mark.parametrize(
    "solver",
    [BCFW(), NSlack(), NSlack(eps=1e-3), OneSlack(max_iter=500),
     ProximalBundle(max_iter=500)],
    ids=str,
)  # fmt: skip
def test_free_confusions_of_a_chain_are_planes_for_every_solver(solver):
    problem, objective = free_confusion()
    state = solver.solve(problem, objective)
    actual = certify(problem, objective, state.model, dual=state.dual)
    assert state.stopped == "converged"
    if solver.eps is None:
        assert actual.relative_gap <= 1e-3
    else:
        assert actual.gap <= 1e-3 * np.sum(objective.weight) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["bcfw", "n_slack", "one_slack"])
def test_a_loss_of_heads_alone_is_trained_with_joint_labels(solver):
    X, y = toy_dependencies(20, random_state=0)
    parser = DependencyParser(
        C=200.0, cost="uas", labels="joint", solver=solver, tol=0.01, max_iter=300,
        hash_bits=14,
    ).fit(X, y)  # fmt: skip
    assert parser.certificate_.stopped == "converged"
    assert parser.certificate_.relative_gap <= 0.01


class Alike(ToyClasses):
    """Four classes; 0 and 1, as well as 2 and 3, are the same to the loss."""

    def setup(self, X, Y):
        self.n_psi_ = 4 * len(X[0])
        return self

    def enumerate(self, x):
        return range(4)

    def loss(self, y, y_hat):
        return float(y // 2 != y_hat // 2)


def true_slack(structure, x, y, w):
    """The largest violation of all outputs."""
    truth = structure.score(x, y, w)
    return max(
        structure.loss(y, v) + structure.score(x, v, w) - truth for v in range(4)
    )


def test_an_output_without_loss_hides_no_wrong_one():
    x = np.array([1.0, -2.0, 0.5])
    structure = Alike().setup([x], [0])
    w = np.zeros((4, 3))
    w[1] = 5 * x / (x @ x)  # as good as the truth
    w[2] = 3 * x / (x @ x)  # wrong
    problem = structure.pack([x], [0], Formulation())
    actual = certify(problem, Objective.create(1.0, 1, "l1"), w.ravel())
    slack = actual.primal - 0.5 * np.sum(w * w)
    assert slack == pytest.approx(true_slack(structure, x, 0, w.ravel())) == 5.0


@pytest.mark.parametrize("solver", [BCFW(), OneSlack(), ProximalBundle(), NSlack()])
def test_certificates_of_users_structures_count_all_outputs(solver):
    rng = np.random.default_rng(0)
    X, Y = list(rng.normal(size=(40, 6))), rng.integers(0, 4, size=40).tolist()
    structure = Alike().setup(X, Y)
    problem = structure.pack(X, Y, Formulation())
    objective = Objective.create(40.0, 40, "l1")
    w = solver.solve(problem, objective).model
    pairs = list(zip(X, Y, strict=True))
    slack = np.array([true_slack(structure, x, y, w) for x, y in pairs])
    actual = certify(problem, objective, w)
    assert actual.primal == pytest.approx(
        0.5 * w @ w + np.sum(objective.weight * slack)
    )
    assert "loss_augmented_argmax" in check_structure(Alike(), pairs[:5]).passed


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("solver", [NSlack, BCFW])
def test_eps_is_what_it_says(solver, n):
    rng = np.random.default_rng(n)
    X = [rng.normal(size=(12, 8)) for _ in range(n)]
    Y = [rng.integers(0, 3, size=12) for _ in X]
    problem = Chain(3).pack(as_features(X), np.concatenate(Y), Formulation())
    objective = Objective.create(float(n), n, "l1")
    state = solver(eps=0.01, max_iter=5000).solve(problem, objective)
    violation = problem.oracle(state.model).violation
    cuts = state.memo.dual.support(idle=True).cuts
    slack = np.zeros(n)
    np.maximum.at(slack, cuts.block, cuts.b - problem.margins(state.model, cuts))
    assert state.stopped == "converged"
    assert np.max(violation - slack) <= 0.01 + 1e-9
    assert state.gap <= 0.01 * n + 1e-9


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ([0, 1, 7, 1], "sequence 4 has the label 7, which is not one of 0 … 1"),
        ([0, -1, 1, 1], "sequence 4 has the label -1"),
        ([0, 1, 10**6, 1], "sequence 4 has the label 1000000"),
    ],
)
def test_labels_outside_the_alphabet_are_refused_by_example(labels, text):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(5)]
    with pytest.raises(ValueError, match=text):
        StructuredSVM(Chain(2), C=10.0).fit(X, [[0, 1, 0, 1]] * 4 + [labels])


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        ({"transitions": [[1, 0], [1, 1]]}, "sequence 0 has 1 after 0"),
        ({"starts": [0, 1]}, "sequence 0 has 0 as its first label"),
        ({"ends": [1, 0]}, "sequence 0 has 1 as its last label"),
    ],
)
def test_truths_that_masks_forbid_are_refused_by_example(masks, text):
    X = [np.ones((4, 3))] * 2
    with pytest.raises(ValueError, match=text):
        StructuredSVM(Chain(2, **masks), C=10.0).fit(X, [[0, 1, 0, 1]] * 2)


# ------------------------------------------------------------------- inexact searches


class Relaxed(LoopProblem):
    """An exact search that tells a bound a little above it, as a relaxation does."""

    def _search(self, blocks, model, rows):
        cuts = super()._search(blocks, model, rows)
        return cuts._replace(bound=cuts.violation + 0.05)


class Heuristic(LoopProblem):
    """A search that often misses the best output, and knows no bound."""

    def _search(self, blocks, model, rows):
        cuts = super()._search(blocks, model, rows)
        if not blocks.with_loss:
            return cuts
        for r, i in enumerate(cuts.block):
            place = blocks.place(int(i), (len(blocks.table) + r) % 3)
            output = blocks.table[place]
            gap = blocks.truth[i].dot(model) - output.dot(model)
            cuts.code[r], cuts.b[r], cuts.scale[r] = place, output.loss, 1.0
            cuts.violation[r] = output.loss - gap
        return cuts._replace(bound=np.full(len(cuts.b), np.inf))


BATCH = [BCFW(max_iter=300, batch=40, polish=3), OneSlack(max_iter=300),
         ProximalBundle(max_iter=300), OneSlack(max_iter=300, pool=False)]  # fmt: skip


def posed(kind):
    structure, X, Y = toy_classes(0, n=80)
    exact = LoopProblem(structure, X, Y, Formulation())
    return kind(structure, X, Y, Formulation()), exact, Objective.create(80.0, 80, "l1")


@pytest.mark.parametrize("solver", BATCH, ids=str)
def test_a_bounded_search_ends_with_a_real_gap(solver):
    problem, exact, objective = posed(Relaxed)
    state = solver.solve(problem, objective)
    usual = solver.solve(exact, objective)
    assert state.stopped == "search exhausted"
    assert state.oracle_calls <= 1.5 * usual.oracle_calls
    actual = certify(problem, objective, state.model, dual=state.dual)
    true = certify(exact, objective, state.model).primal
    assert actual.search == "bounded" and not actual.exact_oracle
    assert actual.at_least <= true <= actual.at_most
    assert actual.lower <= usual.primal
    assert actual.gap == pytest.approx(actual.at_most - actual.lower)
    assert "at most" in actual.statements()[0]
    assert actual.to_dict()["exact_oracle"] is False


@pytest.mark.parametrize("solver", BATCH, ids=str)
def test_a_heuristic_search_claims_nothing_that_is_not_so(solver):
    problem, exact, objective = posed(Heuristic)
    state = solver.solve(problem, objective)
    optimum = BCFW(tol=1e-6).solve(exact, objective)
    actual = certify(problem, objective, state.model, dual=state.dual)
    true = certify(exact, objective, state.model).primal
    assert state.stopped in ("search exhausted", "max_iter")
    assert actual.search == "heuristic" and actual.gap is None
    assert actual.at_least <= true * (1 + 1e-9)
    assert max(state.dual, actual.lower) <= optimum.primal
    assert "heuristic" in actual.statements()[0]


def test_a_tight_bound_is_exact():
    problem, _, objective = posed(Relaxed)
    problem._search = lambda blocks, model, rows: LoopProblem._search(
        problem, blocks, model, rows
    )
    actual = certify(problem, objective, np.zeros(problem.n_weights))
    assert actual.exact_oracle and actual.at_most == actual.at_least


class Rounded(ToyClasses):
    """Misses now and then, but knows a bound: the loss-augmented score of all."""

    exact_oracle = False

    def loss_augmented_argmax(self, x, y, w):
        best = super().loss_augmented_argmax(x, y, w)
        return (best + 1) % 3 if x[0] > 1 else best

    def loss_augmented_bound(self, x, y, w):
        best = super().loss_augmented_argmax(x, y, w)
        return self.loss(y, best) + self.score(x, best, w)


def test_a_users_bound_reaches_the_certificate():
    _, X, Y = toy_classes(0, n=40)
    svm = StructuredSVM(Rounded(), C=40.0).fit(X, Y)
    certificate = svm.certificate_
    structure = ToyClasses().setup(X, Y)
    exact = LoopProblem(structure, X, Y, Formulation())
    true = certify(exact, Objective.create(40.0, 40, "l1"), svm.coef_).primal
    assert certificate.search == "bounded"
    assert certificate.at_least <= true <= certificate.at_most * (1 + 1e-12)
    assert check_structure(Rounded(), list(zip(X[:5], Y[:5], strict=True)))


# ---------------------------------------------------------------- random problems


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_problems_have_true_certificates(seed):
    counts, faults = check_one(seed)
    assert not faults
    assert counts["runs"] or counts["refused"]
