"""Losses as objects: their values, the searches they need, and losses of users."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from partwise.datasets import toy_treebank
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers import make_solver
from partwise.structures.chain import Chain
from partwise.structures.dependency import Arborescence
from partwise.structures.losses import (
    ADDITIVE,
    FRONTIER,
    TWO_BEST,
    ArcLoss,
    BracketF1,
    Brackets,
    CostMatrix,
    Hamming,
    NormalizedHamming,
    TokenLoss,
    ZeroOne,
)
from partwise.structures.parts import PartLoss
from partwise.structures.phrase import Grammar

L1, L2 = Formulation("margin", "l1"), Formulation("margin", "l2")
SLACK, HARD = Formulation("slack", "l1"), Formulation("hard", "l1")


class Distance(TokenLoss):
    """How far a label is from the true one, and twice as far at the first token."""

    def __init__(self, first=2.0):
        self.first = first

    def costs(self, y, n_labels):
        distance = np.abs(np.subtract.outer(np.asarray(y), np.arange(n_labels)))
        weight = np.where(np.arange(len(y)) == 0, self.first, 1.0)
        return weight[:, None] * distance


class Halves(Distance):
    """The same in units of one half."""

    def unit(self, n):
        return 0.5

    def costs(self, y, n_labels):
        return super().costs(y, n_labels) / 2


@pytest.mark.parametrize(
    ("loss", "search"),
    [
        (Hamming(), [ADDITIVE, FRONTIER, FRONTIER, TWO_BEST]),
        (ZeroOne(), [TWO_BEST] * 4),
        (BracketF1(), [FRONTIER, FRONTIER, FRONTIER, TWO_BEST]),
        (PartLoss(), [ADDITIVE, FRONTIER, FRONTIER, TWO_BEST]),
    ],
)
def test_the_search_follows_from_loss_and_formulation(loss, search):
    assert [loss.search_under(f) for f in (L1, L2, SLACK, HARD)] == search


@pytest.mark.parametrize(
    "loss",
    [Hamming(), NormalizedHamming(), CostMatrix([[0, 1, 2], [3, 0, 1], [1, 1, 0]]),
     Distance(), Halves()],
)  # fmt: skip
def test_costs_of_tokens_are_the_loss(loss):
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        y, y_hat = rng.integers(0, 3, (2, n))
        y[0], y_hat[0] = 2, 2  # so that all three labels are known
        table = loss.costs(y, 3)
        assert loss.loss(y, y_hat) == pytest.approx(table[np.arange(n), y_hat].sum())
        packed = loss.pack(y, np.array([0, n]), 3)
        again = packed.unit[0] * packed.table[packed.row]
        np.testing.assert_allclose(again, table)


@pytest.mark.parametrize("formulation", [L1, L2, SLACK, Formulation("slack", "l2")])
@pytest.mark.parametrize("loss", [Distance(), Halves()])
def test_a_new_loss_of_tokens_trains(loss, formulation):
    """A class in this file is all that the engine is told."""
    rng = np.random.default_rng(3)
    X = [sparse.csr_array(rng.integers(0, 2, (n, 4)).astype(float)) for n in (2, 3, 1)]
    chain = Chain(3, cost=loss).setup(X, None)
    Y = [rng.integers(0, 3, x.shape[0]) for x in X]
    problem = chain.pack(X, Y, formulation)
    objective = Objective.create(3.0, len(X), formulation.penalty)
    state = make_solver("bcfw", {"tol": 1e-6, "max_iter": 500}).solve(
        problem, objective
    )
    assert state.stopped == "converged"
    w = problem.compact(state.model)
    cuts = problem.oracle(state.model)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        truth = chain.joint_feature(x, y) @ w
        violation = []
        for y_hat in chain.enumerate(x):
            b, scale = formulation.plane(loss.loss(y, y_hat))
            violation.append(b - scale * (truth - chain.joint_feature(x, y_hat) @ w))
        assert cuts.violation[i] == pytest.approx(max(violation), abs=1e-9)
    primal = objective.primal(float(w @ w), cuts.violation)
    assert primal - state.dual <= 2e-6 * primal
    if formulation == L1:
        best = chain.loss_augmented_argmax(X[0], Y[0], w)
        value = loss.loss(Y[0], best) + chain.joint_feature(X[0], best) @ w
        value -= chain.joint_feature(X[0], Y[0]) @ w
        assert value == pytest.approx(cuts.violation[0])


class Broken(TokenLoss):
    def __init__(self, table):
        self.table = table

    def costs(self, y, n_labels):
        return np.array(self.table, float)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1]], "one row per token"),
        ([[0, 1, 1], [0, 1, 1]], "one column"),
        ([[0, -1], [1, 0]], "≥ 0"),
        ([[1, 0], [1, 0]], "0 for the true labels"),
        ([[0, np.nan], [1, 0]], "NaN"),
    ],
)
def test_costs_of_users_are_checked(table, message):
    with pytest.raises(ValueError, match=message):
        Chain(2, cost=Broken(table)).pack([np.eye(2)], [np.array([0, 1])])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Chain(2, cost="free").delta,
            r"cost='free': choose hamming, normalized, zero_one or give a matrix",
        ),
        (lambda: Chain(2, cost=BracketF1()).delta, r"cost=BracketF1\(\): choose ham"),
        (
            lambda: Arborescence(cost="free").delta,
            "cost='free': choose uas, las or a number from 0 to 1",
        ),
        (lambda: Arborescence(cost=2).delta, "cost=2: choose uas, las or a number"),
        (
            lambda: Grammar(cost="free").delta,
            "cost='free': choose zero_one, brackets, f1",
        ),
        (lambda: Grammar(cost=Hamming()).delta, r"cost=Hamming\(\): choose zero_one"),
        (lambda: Grammar(cost=Brackets(-1)).setup(None, []), "give numbers ≥ 0"),
    ],
)
def test_unknown_losses_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_objects_and_names_are_the_same():
    y, y_hat = [0, 1, 1, 0], [0, 0, 0, 0]
    for name, loss in (("hamming", Hamming()), ("normalized", NormalizedHamming()),
                       ("zero_one", ZeroOne())):  # fmt: skip
        one, other = Chain(2, cost=name), Chain(2, cost=loss)
        assert one.loss(y, y_hat) == other.loss(y, y_hat)
    arcs = Arborescence(3, cost=ArcLoss(0.5, normalized=True))
    same = Arborescence(3, cost=0.5, normalized=True)
    assert arcs.loss([7, 0], [8, 3]) == same.loss([7, 0], [8, 3]) == 0.75


@pytest.mark.parametrize(
    ("loss", "saved"),
    [(NormalizedHamming(), "normalized"), (ArcLoss(1.0), "las"), (ArcLoss(0.5), 0.5),
     (BracketF1(), "f1"), (Brackets(), "brackets"), (ZeroOne(), "zero_one")],
)  # fmt: skip
def test_files_keep_names_and_numbers(loss, saved):
    assert loss.saved() == saved


@pytest.mark.parametrize("loss", [Distance(), Brackets(missed=2.0), PartLoss()])
def test_losses_without_a_name_are_not_saved(loss):
    with pytest.raises(ValueError, match="before saving"):
        loss.saved()


@pytest.mark.parametrize("formulation", [L1, L2, SLACK])
def test_brackets_with_costs_of_their_own(formulation):
    """Margins of the most violated tree against all trees of short sentences."""
    X, Y = toy_treebank(12)
    chosen = [i for i, x in enumerate(X) if len(x) <= 5][:3]
    X, Y = [X[i] for i in chosen], [Y[i] for i in chosen]
    grammar = Grammar(cost=Brackets(missed=2.0, spurious=0.5)).setup(X, Y)
    problem = grammar.pack(X, Y, formulation)
    w = np.random.default_rng(0).normal(size=grammar.n_psi_)
    cuts = problem.oracle(w)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        truth = grammar.joint_feature(x, y) @ w
        planes = [
            (formulation.plane(grammar.loss(y, o)), grammar.joint_feature(x, o) @ w)
            for o in grammar.enumerate(x)
        ]
        expected = max(b - scale * (truth - score) for (b, scale), score in planes)
        assert cuts.violation[i] == pytest.approx(expected)


def test_uneven_costs_have_no_frontier():
    uneven = Distance(first=0.3)
    with pytest.raises(CapabilityError, match="whole numbers"):
        Chain(3, cost=uneven).pack([np.eye(3)], [np.array([0, 1, 2])], SLACK)


def test_losses_need_numpy_alone():
    code = (
        "import sys, partwise.structures.losses; "
        "print({'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "set()", run.stderr
