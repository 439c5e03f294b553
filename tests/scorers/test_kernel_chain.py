"""Kernel chains: trained as the model with explicit features is, in other words.

Anchors are single tokens or whole sequences, and there may be several hash functions.
"""

from itertools import pairwise, product

import numpy as np
import pytest

from partwise.features.label_keys import LabelHasher
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.scorers.budget import keep_within
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.kernel_index import IndexScorer, KernelIndex
from partwise.solvers import make_solver
from partwise.structures.chain import Chain
from partwise.testing.enumeration import EnumeratedStructure, brute_force_optimum

N, WIDTH, C = 8, 3, 4.0
LABELS = ["B-X", "I-X", "O"]


@pytest.fixture(scope="module")
def data():
    """Sequences of words, labels, and features of tokens and of sequences."""
    rng = np.random.default_rng(0)
    words = [list(rng.choice(["a", "b"], rng.integers(2, 4))) for _ in range(N)]
    Y = [rng.integers(0, len(LABELS), len(x)) for x in words]
    tokens = [rng.integers(-2, 3, (len(x), WIDTH)).astype(float) for x in words]
    whole = rng.integers(-2, 3, (N, WIDTH)).astype(float)
    return words, Y, tokens, whole


def pack(data, match, by_token, formulation=None, n_jobs=1, order=1):
    words, Y, tokens, whole = data
    keys = LabelHasher(match, LABELS).transform(words)
    rows = None
    if by_token is not None:
        rows = np.concatenate(tokens) if by_token else whole
    scorer = KernelScorer(
        None if rows is None else rows @ rows.T, by_token=bool(by_token)
    )
    return Chain(len(LABELS), order=order).pack(
        keys, np.concatenate(Y), formulation, scorer=scorer, n_jobs=n_jobs
    )


def solve(problem, solver, penalty="l1", max_iter=None, tol=1e-7):
    settings = {"tol": tol, "max_iter": max_iter, "random_state": 0}
    return make_solver(solver, settings).solve(problem, Objective.create(C, N, penalty))


def type_of(label):
    return label.removeprefix("B-").removeprefix("I-")


# what must agree, in plain Python, of a token's word and its label
AGREE = {
    "label": lambda word, label: label,
    "type": lambda word, label: type_of(label),
    "label+word": lambda word, label: (label, word),
}


class ExplicitChain(EnumeratedStructure):
    """φ(x, y) = Σ_tokens [what agrees] ⊗ input, label pairs, and transitions."""

    def __init__(self, data, match, by_token, order=1):
        self.words, _, self.tokens, self.whole = data
        self.match = match.split(", ")
        self.by_token = by_token
        self.order = order

    def setup(self, X, Y):
        names = {}
        for i, words in enumerate(self.words):
            for y in self.enumerate(i):
                for name in self.parts(words, y):
                    names.setdefault(name, len(names))
        self.names_ = names
        self.n_inputs_ = 1 if self.by_token is None else WIDTH
        self.n_psi_ = len(names) * self.n_inputs_ + len(LABELS) ** 2
        return self

    def parts(self, words, y):
        """Name and token of each part."""
        actual = {}
        for t, (word, label) in enumerate(zip(words, y, strict=True)):
            for match in self.match:
                if match != "bigram":
                    name = match, AGREE[match](word, LABELS[label])
                    actual.setdefault(name, []).append(t)
        if "bigram" in self.match:
            for t, pair in enumerate(pairwise(map(int, y))):
                actual.setdefault(("bigram", pair), []).append(t)
        return actual

    def enumerate(self, i):
        return map(np.array, product(range(len(LABELS)), repeat=len(self.words[i])))

    def joint_feature(self, i, y):
        table = np.zeros((len(self.names_), self.n_inputs_))
        for name, places in self.parts(self.words[i], y).items():
            for t in places:
                one = 1.0
                if self.by_token is not None:
                    one = self.tokens[i][t] if self.by_token else self.whole[i]
                table[self.names_[name]] += one
        pairs = np.zeros((len(LABELS), len(LABELS)))
        if self.order:
            np.add.at(pairs, (y[:-1], y[1:]), 1.0)
        return np.append(table, pairs)

    def loss(self, y, y_hat):
        return float(np.sum(np.asarray(y) != y_hat))


CASES = [
    ("label", True, "margin", "l1"),
    ("label", False, "margin", "l1"),
    ("label, type", True, "slack", "l2"),
    ("label+word, type", False, "margin", "l1"),
    ("label+word, label, bigram", False, "margin", "l1"),
    ("label+word, bigram", False, "slack", "l1"),
    ("label, label+word", None, "margin", "l1"),
]


@pytest.mark.parametrize(("match", "by_token", "rescaling", "penalty"), CASES)
def test_the_optimum_is_that_of_explicit_features(
    data, match, by_token, rescaling, penalty
):
    formulation = Formulation(rescaling, penalty)
    structure = ExplicitChain(data, match, by_token).setup(range(N), data[1])
    truth = brute_force_optimum(structure, range(N), data[1], C, formulation)
    problem = pack(data, match, by_token, formulation)
    for solver in ("bcfw", "n_slack"):
        state = solve(problem, solver, penalty)
        assert state.primal == pytest.approx(truth.value, rel=1e-6)
        assert state.dual <= state.primal * (1 + 1e-12)


@pytest.mark.parametrize("solver", ["one_slack", "bundle"])
@pytest.mark.parametrize(("match", "by_token"), [("label", True), ("bigram", False)])
def test_joint_planes_too(data, solver, match, by_token):
    structure = ExplicitChain(data, match, by_token).setup(range(N), data[1])
    truth = brute_force_optimum(structure, range(N), data[1], C)
    state = solve(pack(data, match, by_token), solver)
    assert state.primal == pytest.approx(truth.value, rel=1e-6)


def test_pairs_of_labels_without_transitions(data):
    structure = ExplicitChain(data, "label, bigram", False, order=0)
    structure.setup(range(N), data[1])
    truth = brute_force_optimum(structure, range(N), data[1], C)
    state = solve(pack(data, "label, bigram", False, order=0), "bcfw")
    assert state.primal == pytest.approx(truth.value, rel=1e-6)


@pytest.mark.parametrize(("match", "by_token"), [c[:2] for c in CASES])
def test_inner_products_are_those_of_the_feature_space(data, match, by_token):
    structure = ExplicitChain(data, match, by_token).setup(range(N), data[1])
    problem = pack(data, match, by_token)
    cuts = problem.oracle(problem.zero())
    planes = np.array([
        structure.joint_feature(i, data[1][i]) - structure.joint_feature(i, y_hat)
        for i, y_hat in enumerate(problem.outputs(cuts))
    ])  # fmt: skip
    np.testing.assert_allclose(problem.gram(cuts, cuts), planes @ planes.T, atol=1e-9)
    alpha, other = np.linspace(0.1, 1.0, N), np.linspace(1.0, -1.0, N)
    one, two = (problem.combine(cuts, each) for each in (alpha, other))
    assert problem.dot(one, two) == pytest.approx((alpha @ planes) @ (other @ planes))
    np.testing.assert_allclose(problem.margins(one, cuts), planes @ (alpha @ planes))
    again = problem.expand(problem.compact(one))
    np.testing.assert_allclose(one, again, atol=1e-9)


@pytest.mark.parametrize(("match", "by_token"), [c[:2] for c in CASES])
def test_the_index_gives_the_scores_of_training(data, match, by_token):
    """New data are scored by postings, training data by kept scores: the same."""
    words, _, tokens, whole = data
    problem = pack(data, match, by_token)
    model = problem.settle(solve(problem, "bcfw", tol=1e-3).model)
    weights = problem.compact(model)
    hasher = LabelHasher(match, LABELS)
    keys = hasher.transform(words)
    kernel = inputs = None
    if by_token is not None:
        from partwise.kernels import Linear

        kernel, inputs = Linear(), np.concatenate(tokens) if by_token else whole
    index, beta = KernelIndex.create(
        kernel, inputs, keys, problem.blocks.rows, weights[: problem.n_slots],
        by_token=bool(by_token), offset=keys.offset, words=lambda i: words[i],
        describe=lambda part, h: hasher.describe(words, keys, part, h),
        dtype="float64",
    )  # fmt: skip
    new = problem.structure.pack(keys, None, scorer=IndexScorer(index, inputs))
    scores = new.expand(np.append(beta, weights[problem.n_slots :]))
    for one, other in zip(problem.decode(model), new.decode(scores), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    for one, other in zip(problem.marginals(model), new.marginals(scores), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    slots = index.slots(inputs, keys, problem.blocks.rows, keys.offset)
    np.testing.assert_array_equal(weights[slots], beta)
    parts = list(range(int(keys.first[1])))
    values = np.zeros(len(parts))
    for part, _, _, share in index.shares(inputs, keys, parts, beta):
        values[part] += share
    slot, n_slots = problem.blocks.rows.slot[: len(parts)], problem.n_slots
    expected = np.where(slot < 0, 0.0, model[n_slots + slot]).sum(axis=1)
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("solver", "rescaling", "penalty"),
    [
        ("bcfw", "margin", "l1"),
        ("one_slack", "margin", "l1"),
        ("bundle", "margin", "l1"),
        ("n_slack", "slack", "l2"),
    ],
)
def test_a_linear_kernel_has_the_optimum_of_the_linear_scorer(
    data, solver, rescaling, penalty
):
    _, Y, tokens, _ = data
    formulation = Formulation(rescaling, penalty)
    linear = solve(
        Chain(len(LABELS)).pack(tokens, Y, formulation), solver, penalty
    ).primal
    problem = pack(data, "label", True, formulation)
    assert solve(problem, solver, penalty).primal == pytest.approx(linear, rel=1e-6)


@pytest.mark.parametrize("solver", ["perceptron", "mira"])
def test_online_solvers_take_the_steps_of_the_linear_model(data, solver):
    _, Y, tokens, _ = data
    linear_problem = Chain(len(LABELS)).pack(tokens, Y)
    problem = pack(data, "label", True)
    linear = solve(linear_problem, solver, max_iter=4)
    kernel = solve(problem, solver, max_iter=4)
    assert kernel.primal == pytest.approx(linear.primal, rel=1e-9)


def test_equal_bits_for_every_number_of_threads(data):
    for solver in ("bcfw", "one_slack"):
        one, two = (
            solve(
                pack(data, "label+word, bigram", False, n_jobs=n), solver, max_iter=5
            ).model
            for n in (1, 2)
        )
        assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("match", "by_token"), [("label", True), ("label+word", False)]
)
def test_projection_is_least_squares(data, match, by_token):
    """The nearest model on the kept anchors, key by key."""
    problem = pack(data, match, by_token)
    model = solve(problem, "bcfw", tol=1e-3).model
    postings = problem.blocks.rows.postings
    beta = model[: problem.n_slots].copy()
    small = keep_within(postings, beta, 4, "project")
    subset = np.unique(postings.anchor[small != 0])
    assert 0 < len(subset) <= 4
    rough = keep_within(postings, beta, 4, "drop")
    merged = keep_within(postings, beta, 4, "merge")

    def distance(other):
        away = np.append(beta - other, np.zeros(problem.n_weights - problem.tail))
        whole = problem.with_scores(away)
        return problem.dot(whole, whole)

    assert distance(small) <= min(distance(rough), distance(merged)) + 1e-9
    # no step along a kept slot brings it nearer: the residual has no score there
    residual = np.append(beta - small, np.zeros(problem.n_weights - problem.tail))
    scores = problem.values(problem.with_scores(residual))[: problem.n_slots]
    is_kept = np.isin(postings.anchor, np.unique(postings.anchor[rough != 0]))
    np.testing.assert_allclose(scores[is_kept], 0.0, atol=1e-8)


def test_large_values_do_not_lose_small_coefficients():
    """What counts is β·√k(a, a): anchors of very different lengths."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 2)) * 10.0 ** (-4 * (i % 2)) for i in range(6)]
    Y = [rng.integers(0, 2, 4) for _ in X]
    rows = np.concatenate(X) * 1e4
    keys = LabelHasher("label", [0, 1]).transform(X)
    scorer = KernelScorer(rows @ rows.T, by_token=True)
    problem = Chain(2).pack(keys, np.concatenate(Y), scorer=scorer)
    state = make_solver("bcfw", {"tol": 1e-4}).solve(
        problem, Objective.create(5.0, 6, "l1")
    )
    settled = problem.settle(state.model)
    objective = Objective.create(5.0, 6, "l1")
    value = objective.primal(
        problem.dot(settled, settled), problem.oracle(settled).bound
    )
    assert value == pytest.approx(state.primal, rel=1e-6)


def test_what_is_refused(data):
    problem = pack(data, "label", True)
    with pytest.raises(CapabilityError, match="Nystroem"):
        problem.log_likelihood(problem.zero(), np.ones(N))
    with pytest.raises(ValueError, match="one row and one column"):
        KernelScorer(np.ones((2, 3)))
    with pytest.raises(CapabilityError, match="bigram"):
        pack(data, "bigram", True)
    keys = LabelHasher("label", LABELS).transform(data[0])
    with pytest.raises(ValueError, match="2 rows for"):
        KernelScorer(np.eye(2), by_token=True).bind(keys, 4)
