"""Taxonomies against definitions written out, and sets of nodes by enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.solvers.one_slack import OneSlack
from partwise.structures.taxonomy import NodeSets, Taxonomy
from partwise.structures.taxonomy.nodes import Nodes
from partwise.testing import brute_force_optimum, check_structure


def random_nodes(seed, n, lattice=False):
    """Node k has parents among those before it, or none."""
    rng = np.random.default_rng(seed)
    parents = {}
    for k in range(n):
        most = min(k, 2 if lattice else 1)
        count = int(rng.integers(0, most + 1))
        parents[f"n{k}"] = [f"n{p}" for p in rng.choice(k, size=count, replace=False)]
    return Nodes.read(parents)


def up_sets(nodes):
    """Ancestors of each node with the fewest steps to them, by walking."""
    actual = []
    for k in range(len(nodes)):
        steps, front = {k: 0}, [k]
        while front:
            z = front.pop(0)
            for up in nodes.parents[z]:
                if up not in steps:
                    steps[up] = steps[z] + 1
                    front.append(up)
        actual.append(steps)
    return actual


def height_below(nodes, z):
    children = [k for k, up in enumerate(nodes.parents) if z in up]
    return max((1 + height_below(nodes, c) for c in children), default=0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans())
def test_losses_are_those_of_the_definition(seed, n, lattice):
    nodes = random_nodes(seed, n, lattice)
    ups = up_sets(nodes)
    height = [height_below(nodes, z) for z in range(n)]
    assert nodes.heights().tolist() == height
    everyone = np.arange(n)
    tree, path = nodes.tree_loss(everyone), nodes.path_loss(everyone)
    tops = [z for z in range(n) if not nodes.parents[z]]
    to_root = [1 + min(ups[z].get(t, np.inf) for t in tops) for z in range(n)]
    for a, b in itertools.product(range(n), repeat=2):
        common = ups[a].keys() & ups[b].keys()
        root = 1 + max(height)
        first = min((height[z] for z in common), default=root)
        assert tree[a, b] == (0 if a == b else first)
        steps = [ups[a][z] + ups[b][z] for z in common]
        assert path[a, b] == min([*steps, to_root[a] + to_root[b]])
    marks = np.zeros((n, n), bool)
    for z in range(n):
        marks[z, list(ups[z])] = True
    np.testing.assert_array_equal(nodes.ancestors(), marks)


def test_the_first_common_ancestor_of_a_lattice_is_the_lowest():
    nodes = Nodes.read({"a": ["x", "low"], "b": ["x", "low"], "x": "top", "c": "x2",
                        "x2": "x", "low": None})  # fmt: skip
    of = np.array([nodes.number[name] for name in "ab"])
    assert nodes.tree_loss(of).tolist() == [[0, 1], [1, 0]]  # low, not x


def test_tables_are_checked():
    with pytest.raises(ValueError, match="cycle: "):
        Nodes.read({"a": "b", "b": "a"})
    with pytest.raises(ValueError, match="no node 'z'"):
        Nodes.read({"a": "b"}, ["a", "z"])
    with pytest.raises(ValueError, match="int and str"):
        Nodes.read({1: "b"})
    with pytest.raises(ValueError, match="needs paths"):
        Nodes.read("/", [3])
    paths = Nodes.read("/", ["a/b/c", "a/d"])
    assert paths.names == ["a", "a/b", "a/d", "a/b/c"]
    assert paths.parents == [(), (0,), (0,), (1,)]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(2, 8), st.booleans(),
    st.sampled_from(["tree", "path", "zero_one"]),
    st.sampled_from(["ancestors", "balanced", "class"]),
)  # fmt: skip
def test_classes_of_a_taxonomy_are_searched_exactly(seed, n, lattice, cost, features):
    nodes = random_nodes(seed, n, lattice)
    classes = [
        name for name, leaf in zip(nodes.names, nodes.is_leaf(), strict=True) if leaf
    ]
    structure = Taxonomy(nodes, classes, cost, features)
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(3, 3)).astype(float)
    y = rng.integers(len(classes), size=3).tolist()
    check_structure(structure, list(zip(X, y, strict=True)), n_models=5, seed=seed)


def test_balanced_attributes_have_one_length():
    nodes = Nodes.read("/", ["a/b/c/d", "a/b/e", "f/g"])
    structure = Taxonomy(nodes, ["a/b/c/d", "a/b/e", "f/g", "f"], features="balanced")
    marks = structure.attribute_matrix()
    assert np.sum(marks**2, axis=1) == pytest.approx([2.0, 2.0, 2.0, 1.0])
    known = structure.nodes.number
    assert marks[0, known["a"]] == pytest.approx(3**-0.5)
    assert marks[1, known["a"]] == pytest.approx(2**-0.5)
    assert marks[1, known["a/b/e"]] == 1.0
    assert np.array_equal(marks > 0, structure.nodes.ancestors()[structure.numbers])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_training_reaches_the_enumerated_optimum(rescaling):
    nodes = Nodes.read("/", ["a/b", "a/c", "d/e", "d/f", "d/g/h"])
    classes = [name for name, leaf in zip(nodes.names, nodes.is_leaf()) if leaf]  # noqa: B905
    structure = Taxonomy(nodes, classes)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), np.arange(8) % 5
    formulation = Formulation(rescaling, "l1")
    objective = Objective.create(20.0, 8, "l1")
    best = brute_force_optimum(structure.setup(X, y), list(X), y.tolist(), 20.0,
                               formulation)  # fmt: skip
    problem = structure.pack(X, y, formulation)
    for solver in (BCFW(tol=1e-6), OneSlack(tol=1e-6)):
        state = solver.solve(problem, objective)
        certificate = certify(problem, objective, state.model, dual=state.dual)
        assert certificate.primal == pytest.approx(best.value, rel=1e-4)
        assert certificate.dual <= best.value * (1 + 1e-7)


# ------------------------------------------------------------------------ sets


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000), st.integers(1, 7),
    st.sampled_from(["optional", "mandatory", "in a lattice"]),
    st.sampled_from(["uniform", "siblings"]), st.booleans(),
)  # fmt: skip
def test_sets_of_nodes_are_searched_exactly(seed, n, kind, node_cost, dense):
    is_lattice = kind == "in a lattice"
    nodes = random_nodes(seed, n, is_lattice)
    structure = NodeSets(nodes, node_cost, "optional" if is_lattice else kind)
    assert structure.costs().sum() == pytest.approx(1.0)
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(4, 3)).astype(float)
    valid = structure.enumerate(X[0])
    Y = np.array([valid[k] for k in rng.integers(len(valid), size=4)])
    structure.setup(X, Y)
    problem = structure.pack(X if dense else sparse.csr_array(X), Y)
    w = rng.integers(-2, 3, size=structure.n_psi_).astype(float)
    model = problem.expand(w)
    np.testing.assert_array_equal(problem.compact(model), w)
    cuts = problem.oracle(model)
    for i, y_hat in enumerate(problem.outputs(cuts)):
        truth = structure.joint_feature(X[i], Y[i]) @ w
        violations = [
            structure.loss(Y[i], y) - truth + structure.joint_feature(X[i], y) @ w
            for y in valid
        ]
        assert structure.is_valid(y_hat)
        assert cuts.violation[i] == cuts.bound[i] == pytest.approx(max(violations))
        assert cuts.b[i] == pytest.approx(structure.loss(Y[i], y_hat))
        margin = truth - structure.joint_feature(X[i], y_hat) @ w
        assert cuts.violation[i] == pytest.approx(cuts.b[i] - margin)
    for x, y_hat in zip(X, problem.decode(model), strict=True):
        scores = [structure.joint_feature(x, y) @ w for y in valid]
        assert structure.is_valid(y_hat)
        assert structure.joint_feature(x, y_hat) @ w == pytest.approx(max(scores))
        assert structure.joint_feature(x, structure.argmax(x, w)) @ w == max(scores)


@pytest.mark.parametrize("leaves", ["optional", "mandatory", "in a lattice"])
def test_sets_pass_the_public_check(leaves):
    nodes = Nodes.read("/", ["a/b", "a/c", "d", "d/e/f"])
    if leaves == "in a lattice":
        leaves, table = "optional", nodes.table()
        nodes = Nodes.read(table | {"a/b": ["a", "d"], "d/e/f": ["d/e", "a"]})
    structure = NodeSets(nodes, "siblings", leaves)
    X = np.random.default_rng(0).normal(size=(3, 2))
    Y = structure.closure([["a/b"], ["a/c", "d/e/f"], ["d/e/f", "a/b"]])
    check_structure(structure, list(zip(X, Y, strict=True)))
    objective = Objective.create(10.0, 3, "l1")
    best = brute_force_optimum(structure.setup(X, Y), list(X), list(Y), 10.0)
    problem = structure.pack(X, Y)
    state = BCFW(tol=1e-6).solve(problem, objective)
    certificate = certify(problem, objective, state.model, dual=state.dual)
    assert certificate.primal == pytest.approx(best.value, rel=1e-4)


def test_sets_in_a_lattice_do_not_depend_on_the_size_of_scores():
    structure = NodeSets(random_nodes(3, 7, lattice=True))
    rng = np.random.default_rng(0)
    for _ in range(20):
        score = rng.normal(size=7)
        best = max(structure.enumerate(None), key=lambda y: y @ score)
        for scale in (1e-30, 1.0, 1e30):
            np.testing.assert_array_equal(structure.best(scale * score), best)
    assert not structure.best(np.zeros(7)).any()


def test_costs_of_nodes():
    nodes = Nodes.read("/", ["a/b", "a/c", "d"])
    cost = NodeSets(nodes, "siblings").costs()
    assert cost * 6 == pytest.approx([1.5 * 4 / 3, 1.5 * 4 / 3, 1.0, 1.0])
    with pytest.raises(ValueError, match="choose uniform"):
        NodeSets(nodes, "other").costs()
    with pytest.raises(ValueError, match="not all zero"):
        NodeSets(nodes, np.zeros(4)).costs()


def test_refusals():
    lattice = Nodes.read({"a": ["b", "c"]})
    with pytest.raises(CapabilityError, match="several parents"):
        NodeSets(lattice, leaves="mandatory").pack(np.eye(2), None)
    tree = Nodes.read("/", ["a/b"])
    with pytest.raises(ValueError, match="closed under parents"):
        NodeSets(tree).pack(np.eye(1), [[0, 1]])
    with pytest.raises(ValueError, match="leaf below"):
        NodeSets(tree, leaves="mandatory").pack(np.eye(1), [[1, 0]])
    with pytest.raises(CapabilityError, match="frontier"):
        NodeSets(tree).pack(np.eye(1), [[1, 1]], Formulation("slack", "l1"))
    with pytest.raises(ValueError, match="is no node"):
        NodeSets(tree).closure([["z"]])
    with pytest.raises(ValueError, match="give a list"):
        NodeSets(tree).closure(["a/b"])
