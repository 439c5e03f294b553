"""Atomic kernels: trained as the model with explicit features is, in other words."""

import numpy as np
import pytest

from partwise.features.arc_keys import ArcHasher
from partwise.features.arcs import ArcFeaturizer
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.scorers.kernel import KernelScorer
from partwise.solvers import make_solver
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency._reference import all_trees
from partwise.testing.enumeration import EnumeratedStructure, brute_force_optimum

N, C = 8, 6.0
MATCH = "upos+bucket, form"


@pytest.fixture(scope="module")
def data():
    """Sentences, trees, and inputs in a feature space of three dimensions."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(2, 4, N)
    words = [
        [(str(rng.integers(3)), str(rng.integers(2))) for _ in range(n)]
        for n in lengths
    ]
    table = Table.from_sequences(words, ["form", "upos"])
    trees = [np.array(rng.choice(list(all_trees(int(n))))) for n in lengths]
    inputs = rng.integers(-2, 3, (N, 3)).astype(float)
    inputs[:, 0] += 1.0
    return table, trees, inputs, ArcHasher(MATCH).transform(table)


def scorer_of(gram):
    """In single precision, as parsers have it."""
    gram = None if gram is None else gram.astype(np.float32)
    return KernelScorer(gram, dtype=np.float32)


def pack(data, gram, structure=None, n_jobs=1, formulation=None):
    _, trees, _, keys = data
    return (structure or Arborescence()).pack(
        keys, np.concatenate(trees), formulation, scorer=scorer_of(gram), n_jobs=n_jobs
    )


def solve(problem, solver, max_iter=None, penalty="l1"):
    settings = {"tol": 1e-7, "max_iter": max_iter, "random_state": 0}
    objective = Objective.create(C, N, penalty)
    return make_solver(solver, settings).solve(problem, objective)


class ExplicitTrees(EnumeratedStructure):
    """φ(x, y) = input ⊗ how often each key occurs in the tree, all trees listed."""

    def __init__(self, keys, inputs, projective=False):
        self.keys = keys
        self.inputs = inputs
        self.projective = projective

    def setup(self, X, Y):
        self.distinct_ = np.unique(self.keys.key)
        self.n_psi_ = len(self.distinct_) * self.inputs.shape[1]
        return self

    def enumerate(self, i):
        n = int(np.diff(self.keys.offset)[i]) - 1
        return map(np.array, all_trees(n, projective=self.projective))

    def joint_feature(self, i, y):
        counts = np.zeros(len(self.distinct_))
        for d, h in enumerate(y):
            row = self.keys.key[self.keys.first[i] + h * len(y) + d]
            counts[np.searchsorted(self.distinct_, row)] += 1.0
        return np.outer(counts, self.inputs[i]).ravel()

    def loss(self, y, y_hat):
        return float(np.sum(y != y_hat))


@pytest.fixture(scope="module")
def optimum(data):
    _, trees, inputs, keys = data
    structure = ExplicitTrees(keys, inputs).setup(range(N), trees)
    return structure, brute_force_optimum(structure, range(N), trees, C)


@pytest.mark.parametrize("solver", ["bcfw", "n_slack", "one_slack", "bundle"])
def test_the_optimum_is_that_of_explicit_features(data, optimum, solver):
    inputs = data[2]
    state = solve(pack(data, inputs @ inputs.T), solver)
    assert state.primal == pytest.approx(optimum[1].value, rel=1e-6)
    assert state.dual <= state.primal * (1 + 1e-12)
    assert state.relative_gap <= 1e-7


def test_inner_products_are_those_of_the_feature_space(data, optimum):
    _, trees, inputs, _ = data
    structure, _ = optimum
    problem = pack(data, inputs @ inputs.T)
    cuts = problem.oracle(problem.zero())
    planes = np.array([
        structure.joint_feature(i, trees[i]) - structure.joint_feature(i, y_hat)
        for i, y_hat in enumerate(problem.outputs(cuts))
    ])  # fmt: skip
    np.testing.assert_allclose(problem.gram(cuts, cuts), planes @ planes.T, atol=1e-9)
    alpha, other = np.linspace(0.1, 1.0, N), np.linspace(1.0, -1.0, N)
    one, two = (problem.combine(cuts, each) for each in (alpha, other))
    assert problem.dot(one, two) == pytest.approx((alpha @ planes) @ (other @ planes))
    np.testing.assert_allclose(problem.margins(one, cuts), planes @ (alpha @ planes))


def test_projective_trees_with_slack_rescaling(data):
    _, trees, inputs, keys = data
    chosen = [next(iter(all_trees(len(y), projective=True))) for y in trees]
    chosen = [np.array(y) for y in chosen]
    formulation = Formulation("slack", "l1")
    tree = Arborescence(projective=True)
    problem = pack(
        (None, chosen, None, keys), inputs @ inputs.T, tree, formulation=formulation
    )
    structure = ExplicitTrees(keys, inputs, projective=True).setup(range(N), chosen)
    truth = brute_force_optimum(structure, range(N), chosen, C, formulation)
    state = solve(problem, "bcfw")
    assert state.primal == pytest.approx(truth.value, rel=1e-6)


def test_without_an_input_kernel_keys_are_hashed_features(data):
    """The parser's feature of a pair is two hashes: plain, and with its bucket."""
    table, trees, inputs, _ = data
    keys = ArcHasher("upos, upos+bucket").transform(table)
    bare = (table, trees, inputs, keys)
    featurizer = ArcFeaturizer("head.upos|dep.upos", hash_bits=12)
    features = featurizer.transform(table)
    linear = Arborescence().pack(features, np.concatenate(trees))
    expected = solve(linear, "bcfw").primal
    for gram in (None, np.ones((N, N))):
        assert solve(pack(bare, gram), "bcfw").primal == pytest.approx(
            expected, rel=1e-6
        )


@pytest.mark.parametrize("solver", ["perceptron", "mira", "pegasos"])
def test_online_solvers_take_the_steps_of_the_linear_model(data, solver):
    table, trees, inputs, _ = data
    keys = ArcHasher("upos, upos+bucket").transform(table)
    features = ArcFeaturizer("head.upos|dep.upos", hash_bits=12).transform(table)
    linear = Arborescence().pack(features, np.concatenate(trees))
    problem = pack((table, trees, inputs, keys), np.ones((N, N)))
    settings = {"max_iter": 3, "random_state": 0}
    if solver == "pegasos":
        settings["project"] = False
    objective = Objective.create(C, N, "l1")
    one = make_solver(solver, settings).solve(linear, objective)
    two = make_solver(solver, settings).solve(problem, objective)
    assert two.primal == pytest.approx(one.primal, rel=1e-9)
    again = problem.expand(problem.compact(two.model))
    np.testing.assert_allclose(two.model, again, atol=1e-9)


def test_scores_stay_those_of_the_coefficients(data):
    inputs = data[2]
    problem = pack(data, inputs @ inputs.T)
    model = solve(problem, "bcfw", max_iter=40).model
    again = problem.expand(problem.compact(model))
    np.testing.assert_allclose(model, again, atol=1e-9)


def test_equal_bits_for_every_number_of_threads(data):
    inputs = data[2]
    for solver in ("bcfw", "one_slack"):
        one, two = (
            solve(pack(data, inputs @ inputs.T, n_jobs=n), solver, max_iter=5).model
            for n in (1, 2)
        )
        assert np.array_equal(one, two)


def test_best_heads_are_a_relaxation(data):
    inputs = data[2]
    gram = inputs @ inputs.T
    trees = solve(pack(data, gram), "bcfw").primal
    heads = pack(data, gram, Arborescence(construction="best_heads"))
    assert solve(heads, "bcfw").primal >= trees * (1 - 1e-6)


def test_what_is_refused(data):
    problem = pack(data, None)
    with pytest.raises(CapabilityError, match="log"):
        problem.log_likelihood(problem.zero(), np.ones(N))
    with pytest.raises(CapabilityError, match="labels"):
        KernelScorer().bind(data[3], 2)
    with pytest.raises(ValueError, match="one column per training input"):
        KernelScorer(np.ones((2, 3)))
    with pytest.raises(ValueError, match="2 rows for 8 sequences"):
        KernelScorer(np.ones((2, 2))).bind(data[3])
    with pytest.raises(CapabilityError, match="no single token"):
        KernelScorer(np.eye(8), by_token=True).bind(data[3])
