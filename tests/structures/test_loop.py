"""The problem over a user's Python methods: codes, planes and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, take
from partwise.structures.loop import LoopProblem, refuse_missing, sparse_feature
from partwise.testing.enumeration import enumerate_planes
from partwise.testing.structures import FORMULATIONS
from partwise.testing.toys import ToyClasses, toy_chain, toy_classes


class OnlyTheFourMethods(ToyClasses):
    """A structure without optional capabilities."""

    def __getattribute__(self, name):
        if name in ("frontier", "two_best"):
            raise AttributeError(name)
        return super().__getattribute__(name)


@pytest.mark.parametrize("toy", [toy_classes, toy_chain])
@pytest.mark.parametrize("formulation", FORMULATIONS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.0, 0.1, 1.0, 10.0]))
def test_oracle_finds_the_most_violated_plane(toy, formulation, seed, scale):
    structure, X, Y = toy(seed)
    problem = LoopProblem(structure, X, Y, formulation)
    w = scale * np.random.default_rng(seed).normal(size=structure.n_psi_)
    planes = enumerate_planes(structure, X, Y, formulation, structure.enumerate)
    cuts = problem.oracle(w)
    slack = planes.slack(w, len(X))
    assert np.allclose(np.maximum(cuts.violation, 0), slack)
    assert np.array_equal(cuts.bound, cuts.violation)
    wrong = cuts.b > 0
    values = cuts.b - problem.margins(w, cuts)
    assert np.allclose(values[wrong], cuts.violation[wrong])


def test_combine_gram_and_margins_agree():
    structure, X, Y = toy_chain(1)
    problem = LoopProblem(structure, X, Y, Formulation("slack", "l2"))
    w = np.random.default_rng(1).normal(size=structure.n_psi_)
    cuts = problem.oracle(w)
    gram = problem.gram(cuts, cuts)
    normals = [problem.combine(take(cuts, [k]), np.ones(1)) for k in range(len(X))]
    assert np.allclose(gram, np.array(normals) @ np.array(normals).T)
    assert np.allclose(problem.margins(w, cuts), np.array(normals) @ w)
    alpha = np.arange(len(X), dtype=float)
    assert np.allclose(problem.combine(cuts, alpha), alpha @ np.array(normals))


def test_predictions_carry_their_loss():
    structure, X, Y = toy_chain(2)
    problem = LoopProblem(structure, X, Y, Formulation())
    w = np.random.default_rng(2).normal(size=structure.n_psi_)
    cuts = problem.predict_codes(w)
    outputs = problem.outputs(cuts)
    assert outputs == [structure.argmax(x, w) for x in X]
    assert list(cuts.b) == [
        structure.loss(y, h) for y, h in zip(Y, outputs, strict=True)
    ]


def test_rows_can_be_asked_in_any_order():
    structure, X, Y = toy_classes(3)
    problem = LoopProblem(structure, X, Y, Formulation())
    w = np.random.default_rng(3).normal(size=structure.n_psi_)
    everything, some = problem.oracle(w), problem.oracle(w, np.array([4, 1]))
    assert list(some.block) == [4, 1]
    assert list(some.violation) == list(everything.violation[[4, 1]])


def test_table_grows_with_outputs_and_not_with_calls():
    structure, X, Y = toy_classes(4)
    problem = LoopProblem(structure, X, Y, Formulation())
    for seed in range(50):
        problem.oracle(np.random.default_rng(seed).normal(size=structure.n_psi_))
    assert len(problem.blocks.table) <= 3 * len(X)


def test_push_and_wipe_are_inverse():
    structure, X, Y = toy_chain(5)
    problem = LoopProblem(structure, X, Y, Formulation())
    cuts = problem.oracle(np.ones(structure.n_psi_))
    model = problem.zero()
    problem.blocks.push(model, 3, cuts.code[3:4], 2.0)
    problem.blocks.wipe(model, 3, cuts.code[3:4])
    assert not model.any()


@pytest.mark.parametrize(
    ("formulation", "text"),
    [
        (Formulation("slack"), r"slack rescaling.*`frontier\(x, y, w\)`"),
        (Formulation("margin", "l2"), r"margin rescaling with penalty 'l2'.*frontier"),
        (Formulation("hard"), r"`two_best\(x, w\)` or `frontier\(x, y, w\)`"),
    ],
)
def test_missing_capability_is_named_before_any_work(formulation, text):
    structure = OnlyTheFourMethods()
    with pytest.raises(CapabilityError, match=text):
        refuse_missing(structure, formulation)
    with pytest.raises(CapabilityError, match="OnlyTheFourMethods"):
        LoopProblem(structure, [], [], formulation)


def test_additive_formulation_needs_no_capability():
    refuse_missing(OnlyTheFourMethods(), Formulation())


@pytest.mark.parametrize(
    ("psi", "text"),
    [
        (np.ones(2), "returned 2 values where n_psi_ is 3"),
        ((np.array([3]), np.ones(1)), "outside 0…2"),
        ((np.array([-1]), np.ones(1)), "outside 0…2"),
        (np.array([0.0, np.nan, 1.0]), "NaN or infinity"),
    ],
)
def test_faulty_features_are_refused(psi, text):
    with pytest.raises(ValueError, match=text):
        sparse_feature(psi, 3)


def test_features_may_be_dense_pairs_or_one_value_for_all():
    assert [list(v) for v in sparse_feature(np.array([0.0, 2.0]), 2)] == [[1], [2.0]]
    index, value = sparse_feature((np.array([0, 2]), 1.0), 3)
    assert list(index) == [0, 2] and list(value) == [1.0, 1.0]


def test_negative_loss_is_refused():
    class Paid(ToyClasses):
        def loss(self, y, y_hat):
            return -1.0

    structure, X, Y = toy_classes(0)
    structure = Paid().setup(X, Y)
    with pytest.raises(ValueError, match="loss of example 0 is -1"):
        LoopProblem(structure, X, Y, Formulation()).oracle(np.zeros(structure.n_psi_))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_truth_without_rivals_stands_for_itself(formulation):
    class Lonely(ToyClasses):
        def enumerate(self, x):
            return range(3) if x[0] > 0 else [1]

    X, Y = [np.ones(2), -np.ones(2)], [0, 1]
    structure = Lonely().setup(X, Y)
    problem = LoopProblem(structure, X, Y, formulation)
    cuts = problem.oracle(np.ones(structure.n_psi_))
    assert problem.outputs(cuts)[1] == 1
    asks = 0.0 if formulation.rescaling != "hard" else -np.inf
    assert cuts.violation[1] == cuts.bound[1] == asks
