"""Graded part losses against their definitions, their searches by enumeration."""

import pickle
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import LinearConstraint

from partwise import StructuredSVM
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.structures.parts import PartSelection
from partwise.structures.parts.loss import GradedTruth, PartLoss, box_overlap
from partwise.testing import brute_force_optimum, check_structure

SPANS = [(b, e) for e in range(1, 5) for b in range(e)]  # of four words


def subsets(n):
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


def all_sets(x):
    features = x[0] if isinstance(x, tuple) else x
    return subsets(len(features))


def pairs(x):
    return [y for y in all_sets(x) if len(y) == 2]


def disjoint(spans, y):
    """Whether no word is in two of the chosen spans."""
    words = [w for p in y for w in range(*spans[p])]
    return len(words) == len(set(words))


def no_overlap(spans):
    """One row per word: at most one span has it."""
    longest = max(end for _, end in spans)
    rows = [[b <= w < e for b, e in spans] for w in range(longest)]
    return LinearConstraint(np.array(rows, float), -np.inf, 1)


def similarities(n, seed, values=(0.0, 0.25, 0.5, 1.0)):
    """Few different values: many ties, and parts that are as good as each other."""
    table = np.random.default_rng(seed).choice(values, size=(n, n))
    np.fill_diagonal(table, 1.0)
    return table


def definition(y, y_hat, s, form, normalized):
    """The three forms, word for word."""
    y, y_hat = set(y), set(y_hat)
    unit = 1 / (2 * max(len(y), 1)) if normalized else 1.0

    def best(part):
        return max((s[a, part] for a in y), default=0.0)

    if form == "predicted":
        total = len(y) + len(y_hat) - 2 * sum(best(part) for part in y_hat)
    elif form == "wrong":
        total = len(y - y_hat) + sum(1 - best(part) for part in y_hat - y)
    else:
        actual = sum(max((s[a, b] for b in y_hat), default=0.0) for a in y)
        total = len(y) + len(y_hat) - 2 * actual
    return unit * total


sets = st.sets(st.integers(0, 5))
seeds = st.integers(0, 2**32 - 1)
forms = st.sampled_from(["predicted", "wrong", "true"])


# ------------------------------------------------------------------------ the loss


@given(sets, sets, seeds, forms, st.booleans())
def test_losses_are_those_of_the_definition(y, y_hat, seed, form, normalized):
    s = similarities(6, seed)
    expected = definition(y, y_hat, s, form, normalized)
    by_pair = PartLoss(normalized, lambda a, b: s[a, b], form)
    matrix = PartLoss(normalized, s, form)
    assert matrix.loss(y, y_hat) == pytest.approx(expected, abs=1e-12)
    assert by_pair.loss(y, y_hat) == matrix.loss(y, y_hat)
    assert matrix.loss(y, y) == 0.0
    # a truth has one row per part of the input, one column per true part
    for similarity in (s.T, s.T[:, sorted(y)]):
        truth = GradedTruth(y, similarity)
        actual = PartLoss(normalized, graded=form).loss(truth, y_hat)
        assert actual == pytest.approx(expected, abs=1e-12)


@given(sets, sets, seeds, st.sampled_from(["predicted", "wrong"]), st.booleans())
def test_terms_add_up_to_the_loss(y, y_hat, seed, form, normalized):
    loss = PartLoss(normalized, similarities(6, seed), form)
    for truth in (y, loss.truth(y, 6)):
        addition, constant = loss.terms(truth, 6)
        total = constant + addition[sorted(y_hat)].sum()
        assert total == pytest.approx(loss.loss(y, y_hat), abs=1e-12)


@given(sets, sets, st.booleans())
def test_equality_of_parts_is_the_plain_loss(y, y_hat, normalized):
    plain = PartLoss(normalized)
    for form in ("predicted", "true"):
        loss = PartLoss(normalized, np.eye(6), form)
        assert loss.loss(y, y_hat) == pytest.approx(plain.loss(y, y_hat))
    addition, constant = PartLoss(normalized, np.eye(6)).terms(y, 6)
    expected, c = plain.terms(y, 6)
    assert constant == c
    np.testing.assert_allclose(addition, expected)


@given(sets, sets, seeds)
def test_what_is_never_negative(y, y_hat, seed):
    s = similarities(6, seed)
    assert PartLoss(similarity=s, graded="wrong").loss(y, y_hat) >= 0
    if len(y_hat) <= len(y):
        assert PartLoss(similarity=s).loss(y, y_hat) >= 0


def test_disjoint_spans_never_have_a_negative_loss():
    loss = PartLoss(similarity=box_overlap(SPANS))
    outputs = [y for y in subsets(len(SPANS)) if disjoint(SPANS, y)]
    for y in outputs:
        losses = [loss.loss(y, y_hat) for y_hat in outputs]
        assert min(losses) == 0.0 and losses.count(0.0) == 1


def test_overlaps_of_spans_and_boxes():
    spans = box_overlap([(0, 4), (1, 3), (4, 5)], [(0, 2)])
    np.testing.assert_allclose(spans.ravel(), [0.5, 1 / 3, 0])
    boxes = box_overlap([(0, 0, 2, 2), (1, 1, 3, 3), (2, 0, 4, 2)])
    np.testing.assert_allclose(boxes[0], [1, 1 / 7, 0])
    np.testing.assert_array_equal(np.diagonal(boxes), 1.0)
    for bad in ([(3, 3)], [(0, 1, 2)], [1, 2]):
        with pytest.raises(ValueError, match="box"):
            box_overlap(bad)
    with pytest.raises(ValueError, match="one row per box"):
        box_overlap([(0, 1)], [(0, 0, 1, 1)])


# ---------------------------------------------------------------------- the search


@njit
def two_best_parts(scores, shape, selected):
    for _ in range(shape[0]):
        p = np.argmax(scores)
        selected[p] = 1
        scores[p] = -np.inf


def augmented(structure, x, y, outputs, w):
    """Score plus loss of every output."""
    features = x[0] if isinstance(x, tuple) else x
    scores = [features[list(o)].sum(axis=0) @ w for o in outputs]
    return np.array(scores) + [structure.loss(y, o) for o in outputs]


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 6), st.sampled_from([0.0, 0.3, 3.0]), st.booleans())
def test_searches_find_the_worst_output(seed, n, scale, normalized):
    """Weights of zero leave the losses alone, with all their ties."""
    rng = np.random.default_rng(seed)
    s = similarities(n, seed)
    x = rng.integers(-1, 2, size=(n, 3)).astype(float)
    y = sorted(rng.choice(n, size=2, replace=False).tolist())
    w = scale * rng.normal(size=3)
    loss = PartLoss(normalized, s)
    free = PartLoss(normalized, s, "wrong")
    cases = [
        (PartSelection(size=2, part_loss=loss), x, pairs(x)),
        (PartSelection(method="top", size=2, part_loss=loss), x, pairs(x)),
        (PartSelection(method="positive", part_loss=free), x, list(all_sets(x))),
        (PartSelection(part_loss=free), x, list(all_sets(x))),
        (PartSelection(decoder=two_best_parts, part_loss=loss), (x, [2]), pairs(x)),
    ]
    for structure, own, outputs in cases:
        structure.setup([own], [y])
        actual = structure.loss_augmented_argmax(own, y, w)
        assert tuple(actual) in outputs
        reached = augmented(structure, own, y, [tuple(actual)], w)[0]
        best = augmented(structure, own, y, outputs, w).max()
        assert reached == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("form", ["predicted", "wrong"])
def test_oracles_of_segments_find_the_most_violated_one(form):
    """Segments of a sentence, chosen by an integer program; also without any."""
    rng = np.random.default_rng(0)
    loss = PartLoss(similarity=box_overlap(SPANS), graded=form)
    structure = PartSelection(no_overlap(SPANS), part_loss=loss)
    outputs = [y for y in subsets(len(SPANS)) if disjoint(SPANS, y)]
    examples = [
        (rng.normal(size=(len(SPANS), 3)), y) for y in ([0, 4], [9], [], [0, 2, 5, 9])
    ]
    structure.setup(*zip(*examples, strict=True))
    problem = structure.pack(*zip(*examples, strict=True))
    for scale in (0.0, 0.1, 1.0):
        w = scale * rng.normal(size=3)
        cuts = problem.oracle(w)
        for i, (x, y) in enumerate(examples):
            values = augmented(structure, x, y, outputs, w)
            expected = values.max() - x[list(y)].sum(axis=0) @ w
            assert cuts.violation[i] == pytest.approx(expected)


def test_graded_selections_pass_every_check():
    rng = np.random.default_rng(1)
    s = similarities(5, 0, values=(0.0, 0.25, 0.6))
    examples = [(rng.normal(size=(5, 3)), [0, 2]), (rng.normal(size=(5, 3)), [3, 4])]
    structure = PartSelection(size=2, part_loss=PartLoss(similarity=s))
    report = check_structure(structure, examples, enumerate=pairs)
    assert "pack[margin, l1]" in report.passed
    assert {"frontier", "pack[slack, l1]", "pack[margin, l2]"} <= set(report.skipped)
    compiled = PartSelection(decoder=two_best_parts, part_loss=PartLoss(similarity=s))
    examples = [((x, [2]), y) for x, y in examples]
    report = check_structure(compiled, examples, enumerate=pairs)
    assert "pack[margin, l1]" in report.passed


def test_outputs_as_good_as_the_truth_have_planes_without_offset():
    """Parts 0 and 1 are alike: choosing the other one is a plane with b = 0."""
    s = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    X = [(np.eye(3), [1])]
    structure = PartSelection(decoder=two_best_parts, part_loss=PartLoss(similarity=s))
    problem = structure.setup(X, [[0]]).pack(X, [[0]])
    w = np.array([0.0, 5.0, 0.0])  # part 1 outscores the truth
    cuts = problem.oracle(w)
    assert cuts.b[0] == 0.0 and cuts.violation[0] == pytest.approx(5.0)
    assert [list(y) for y in problem.outputs(cuts)] == [[1]]
    cuts = problem.oracle(np.array([0.0, 0.5, 0.0]))  # part 2 is worse by its loss
    assert cuts.b[0] == 1.0 and cuts.violation[0] == pytest.approx(1.0)


def test_training_reaches_the_enumerated_optimum():
    rng = np.random.default_rng(3)
    s = similarities(5, 1, values=(0.0, 0.3, 0.7))
    X = [rng.normal(size=(5, 3)) for _ in range(12)]
    Y = [sorted(rng.choice(5, size=2, replace=False).tolist()) for _ in X]
    python = PartSelection(method="top", size=2, part_loss=PartLoss(similarity=s))
    best = brute_force_optimum(python.setup(X, Y), X, Y, C=3.0, enumerate=pairs)
    plain = PartSelection(method="top", size=2).setup(X, Y)
    other = brute_force_optimum(plain, X, Y, C=3.0, enumerate=pairs)
    assert best.value < other.value - 1e-3  # near misses cost less
    shaped = [(x, [2]) for x in X]
    compiled = PartSelection(decoder=two_best_parts, part_loss=PartLoss(similarity=s))
    objective = Objective.create(3.0, len(X), "l1")
    for structure, own in ((python, X), (compiled.setup(shaped, Y), shaped)):
        state = BCFW(tol=1e-6).solve(structure.pack(own, Y), objective)
        assert state.stopped == "converged"
        assert state.dual <= best.value + 1e-7 and best.lower <= state.primal + 1e-7


def test_inputs_with_boxes_of_their_own():
    """The truth brings its similarities; sizes differ from input to input."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for n in (3, 5, 1, 7, 4, 6):
        corner = rng.uniform(0, 3, size=(n, 2))
        boxes = np.hstack([corner, corner + rng.uniform(1, 3, size=(n, 2))])
        overlap = box_overlap(boxes)
        X.append(np.column_stack([overlap[:, 0], rng.normal(size=n)]))
        Y.append(GradedTruth([0], overlap))
    svm = StructuredSVM(PartSelection(method="top", size=1), C=10.0, tol=1e-3)
    svm.fit(X, Y)
    assert svm.certificate_.relative_gap <= 1e-3
    assert svm.score(X, Y) == 0.0
    losses = [
        PartLoss().loss(y, [p])
        for x, y in zip(X, Y, strict=True)
        for p in range(len(x))
    ]
    assert any(0 < loss < 1 for loss in losses)


# ------------------------------------------------------------------------ refusals


def test_what_is_not_linear_is_refused_with_a_remedy():
    loss = PartLoss(similarity=np.eye(3), graded="true")
    x = np.ones((3, 2))
    for call in (
        lambda: loss.terms([0], 3),
        lambda: PartSelection(part_loss=loss).setup([x], [[0]]),
    ):
        with pytest.raises(CapabilityError, match="train with graded='predicted'"):
            call()
    with pytest.raises(ValueError, match="choose from predicted, wrong, true"):
        PartLoss(similarity=np.eye(3), graded="best").terms([0], 3)


@pytest.mark.parametrize("method", ["milp", "positive", "search"])
def test_negative_losses_are_found_before_training(method):
    """Parts that resemble true ones would be paid for beside them."""
    s = np.full((4, 4), 0.9)
    np.fill_diagonal(s, 1.0)
    X = [np.ones((4, 2))] * 2
    structure = PartSelection(method=method, part_loss=PartLoss(similarity=s))
    with pytest.raises(ValueError, match=r"example 1: .* loss -0\.4, .*graded='wrong'"):
        structure.setup(X, [[0, 1, 2, 3], [2, 3]])
    one = PartSelection(size=1, part_loss=PartLoss(similarity=s))
    one.setup(X, [[2], [3]])


@pytest.mark.parametrize(
    "formulation",
    [Formulation("slack"), Formulation("margin", "l2"), Formulation("hard")],
)
def test_other_formulations_are_refused(formulation):
    X, Y = [np.eye(3)], [[0]]
    overlap = np.eye(3)
    for loss, truths in (
        (PartLoss(similarity=overlap), Y),
        (None, [GradedTruth([0], overlap)]),
    ):
        structure = PartSelection(size=1, part_loss=loss).setup(X, truths)
        assert not hasattr(structure, "frontier")
        with pytest.raises(CapabilityError, match="formulation='margin'"):
            structure.pack(X, truths, formulation)


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (np.ones((2, 3)), "square matrix"),
        (np.ones(3), "square matrix"),
        (np.eye(2), "knows 2 parts and not part 2"),
        (np.eye(3) * 0.5, "part 0 has similarity 0.5 to itself"),
        (np.eye(3) - 0.1 * (1 - np.eye(3)), "parts 0 and 1 is -0.1"),
        (np.where(np.eye(3), 1, np.nan), "parts 0 and 1 is nan"),
        (lambda a, b: 2.0 if a != b else 1.0, "parts 0 and 1 is 2.0"),
        (lambda a, b: 0.0, "part 0 has similarity 0.0 to itself"),
    ],
)
def test_similarities_that_are_none_are_refused(similarity, message):
    loss = PartLoss(similarity=similarity)
    with pytest.raises(ValueError, match=message):
        PartSelection(size=1, part_loss=loss).setup([np.eye(3)], [[0]])


def test_truths_that_do_not_fit_are_refused():
    for similarity in (np.eye(3)[:, :2], np.ones(3), np.eye(1)):
        with pytest.raises(ValueError, match="GradedTruth has"):
            GradedTruth([1], similarity)
    with pytest.raises(ValueError, match="3 parts where the input has 4"):
        PartSelection(size=1).setup([np.eye(4)], [GradedTruth([0], np.eye(3))])


def test_graded_truths_can_be_copied():
    y = pickle.loads(pickle.dumps(GradedTruth([2, 0], np.eye(3))))
    assert list(y) == [0, 2] and len(y) == 2 and repr(y) == "GradedTruth([0, 2])"
