"""Graphs: every decoder and every bound against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.structures.graph import Graph, GraphInput, grid_graph
from partwise.structures.graph._elimination import make_plan
from partwise.testing import check_structure


def random_graph(rng, n, density, n_features=2, n_edge_features=2):
    """A graph with small whole features, so that ties are frequent."""
    pairs = [
        (a, b) if rng.random() < 0.5 else (b, a)
        for a, b in itertools.combinations(range(n), 2)
        if rng.random() < density
    ]
    if pairs and rng.random() < 0.3:
        pairs.append(pairs[0])  # two edges between the same nodes
    features = rng.integers(-2, 3, (n, n_features)).astype(float)
    described = rng.integers(-1, 3, (len(pairs), n_edge_features)).astype(float)
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    return GraphInput(features, edges, described)


def draw(seed, n, n_labels, density, directed, whole=True, **settings):
    rng = np.random.default_rng(seed)
    graph = Graph(n_labels, directed=directed, **settings)
    x = random_graph(rng, n, density)
    size = graph.n_weights(2, 2)
    w = rng.integers(-2, 3, size).astype(float) if whole else rng.normal(size=size)
    truth = rng.integers(0, n_labels, n)
    return graph, x, w, truth


cases = st.tuples(
    st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 3),
    st.sampled_from([0.0, 0.3, 0.6, 1.0]), st.booleans(), st.booleans(),
)  # fmt: skip
DECODERS = [
    ("elimination", 0),
    ("auto", 0),
    ("messages", 0),
    ("messages", 3),
    ("messages", 10**6),
    ("milp", 0),
]


@pytest.mark.parametrize(("decoder", "nodes"), DECODERS)
@settings(max_examples=100, deadline=None)
@given(cases)
def test_searches_and_bounds(decoder, nodes, case):
    graph, x, w, truth = draw(*case, decoder=decoder, search_nodes=nodes)
    outputs = list(graph.enumerate(x))
    score = [graph.joint_feature(x, y) @ w for y in outputs]
    loss = [graph.loss(truth, y) for y in outputs]
    problem = graph.pack([x], [truth])
    cuts = problem.oracle(w)
    (actual,) = problem.outputs(cuts)
    at = graph.joint_feature(x, truth) @ w
    best = max(np.add(score, loss)) - at
    reached = graph.joint_feature(x, actual) @ w + graph.loss(truth, actual) - at
    assert cuts.violation[0] == pytest.approx(reached, abs=1e-8)
    assert cuts.b[0] == pytest.approx(graph.loss(truth, actual))
    assert cuts.bound[0] >= best - 1e-8
    assert cuts.bound[0] >= cuts.violation[0] >= -1e-8
    (labels,), value, bound = problem.decode(w)
    assert value[0] == pytest.approx(graph.joint_feature(x, labels) @ w, abs=1e-8)
    assert bound[0] >= max(score) - 1e-8
    is_exact = decoder in ("elimination", "auto", "milp") or nodes == 10**6
    if is_exact or len(x.edges) < 2:
        assert reached == pytest.approx(best, abs=1e-8)
        assert cuts.bound[0] == pytest.approx(best, abs=1e-8)
        assert value[0] == pytest.approx(max(score), abs=1e-8)
    margin = problem.margins(w, cuts)[0]
    assert margin == pytest.approx(at - graph.joint_feature(x, actual) @ w, abs=1e-8)
    difference = graph.joint_feature(x, truth) - graph.joint_feature(x, actual)
    np.testing.assert_allclose(problem.combine(cuts, np.ones(1)), difference, atol=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans(), st.booleans())
@example(0, 3, True, True)
def test_cuts(seed, n, whole, attracted):
    graph, x, w, _ = draw(seed, n, 2, 0.6, True, whole, decoder="cut")
    x = x._replace(edge_features=np.abs(x.edge_features))
    if attracted:
        edge = graph.weights_of(w, 2).edge
        edge[:, 0] += np.maximum(edge[:, 1] + edge[:, 2] - edge[:, 0] - edge[:, 3], 0)
    score = [graph.joint_feature(x, y) @ w for y in graph.enumerate(x)]
    (labels,), value, bound = graph.pack([x], None).decode(w)
    assert value[0] == pytest.approx(graph.joint_feature(x, labels) @ w, abs=1e-8)
    assert bound[0] >= max(score) - 1e-8
    if attracted:
        assert bound[0] == value[0] == pytest.approx(max(score), abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_the_maximum_flows_of_scipy(seed):
    """On a grid that is too large for enumeration, with whole capacities."""
    rng = np.random.default_rng(seed)
    x = grid_graph(rng.integers(-9, 10, (12, 15, 1)).astype(float), directions=False)
    attraction = int(rng.integers(1, 6))
    w = np.array([0.0, 1.0, 0.0, -attraction, 0.0])  # label 1 scores x
    _, value, bound = Graph(2, decoder="cut").pack([x], None).decode(w)
    n, gain = x.n_nodes, x.features[:, 0].astype(np.int32)
    source, sink = np.full(n, n), np.full(n, n + 1)
    first = np.concatenate([source, np.arange(n), *x.edges.T])
    second = np.concatenate([np.arange(n), sink, *x.edges.T[::-1]])
    edges = np.full(2 * len(x.edges), attraction)
    room = np.concatenate([np.maximum(-gain, 0), np.maximum(gain, 0), edges])
    network = csr_array((room.astype(np.int32), (first, second)), (n + 2, n + 2))
    cut = maximum_flow(network, n, n + 1).flow_value
    assert value[0] == bound[0] == pytest.approx(np.maximum(gain, 0).sum() - cut)


@settings(max_examples=60, deadline=None)
@given(cases, st.integers(1, 9), st.sampled_from(["elimination", "messages"]))
def test_k_best(case, k, decoder):
    graph, x, w, _ = draw(*case, decoder=decoder, search_nodes=10**6)
    scores = sorted(
        (graph.joint_feature(x, y) @ w for y in graph.enumerate(x)), reverse=True
    )
    (ranked,) = graph.pack([x], None).k_best(w, k)
    assert [score for _, score in ranked] == pytest.approx(scores[:k], abs=1e-8)
    assert len({tuple(y) for y, _ in ranked}) == len(ranked)
    for y, score in ranked:
        assert score == pytest.approx(graph.joint_feature(x, y) @ w, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(["elimination", "messages"]))
def test_banned_labels(case, decoder):
    graph, x, w, _ = draw(*case, decoder=decoder, search_nodes=10**6)
    rng = np.random.default_rng(case[0])
    banned = rng.random((x.n_nodes, graph.n_labels)) < 0.4
    banned[np.arange(x.n_nodes), rng.integers(0, graph.n_labels, x.n_nodes)] = False
    (labels,), value, _ = graph.pack([x], None).decode(w, banned)
    everyone = np.arange(x.n_nodes)
    allowed = [y for y in graph.enumerate(x) if not banned[everyone, y].any()]
    assert not banned[everyone, labels].any()
    best = max(graph.joint_feature(x, y) @ w for y in allowed)
    assert value[0] == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_the_contract_of_structures(directed, wrap):
    rng = np.random.default_rng(0)
    examples = []
    for n, density in ((3, 1.0), (4, 0.5), (1, 0.0), (2, 0.0)):
        x = random_graph(rng, n, density)
        x = x._replace(features=wrap(x.features), edge_features=wrap(x.edge_features))
        examples.append((x, rng.integers(0, 3, n)))
    check_structure(Graph(3, directed=directed), examples)


def test_batches_are_single_graphs():
    rng = np.random.default_rng(1)
    graph = Graph(3, directed=True)
    X = [random_graph(rng, n, 0.6) for n in (5, 1, 8, 3)]
    w = rng.normal(size=graph.n_weights(2, 2))
    together = graph.pack(X, None).decode(w)
    for i, x in enumerate(X):
        (labels,), value, bound = graph.pack([x], None).decode(w)
        assert labels.tolist() == together[0][i].tolist()
        assert (value[0], bound[0]) == (together[1][i], together[2][i])


def test_large_graphs():
    rng = np.random.default_rng(0)
    grid = grid_graph(rng.normal(size=(20, 20, 3)))
    graph = Graph(3)
    problem = graph.pack([grid], None)
    assert problem.methods() == ["messages"]
    w = np.append(np.eye(3).ravel(), np.tile([0.4, 0.0, 0.0, 0.4, 0.0, 0.4], 2))
    _, value, bound = problem.decode(w)
    assert value[0] <= bound[0] <= 1.01 * value[0]
    assert Graph(2).pack([grid], None).methods() == ["cut"]
    star = (np.ones((3001, 1)), [(0, k) for k in range(1, 3001)])
    ladder = np.arange(60).reshape(30, 2)
    edges = [*zip(ladder[:-1].ravel(), ladder[1:].ravel(), strict=True), *ladder]
    ladder_graph = (np.ones((60, 1)), np.array(edges))
    methods = Graph(3).pack([star, ladder_graph], None).methods()
    assert methods == ["elimination"] * 2
    assert make_plan(60, np.array(edges), 5).width == 2
    with pytest.raises(ValueError, match="too wide for decoder='elimination' with"):
        Graph(3, decoder="elimination").pack([grid], None)


def test_losses_with_weights():
    graph = Graph(2, cost=[[0.0, 2.0], [1.0, 0.0]])
    x = (np.zeros((3, 1)), [(0, 1), (1, 2)])
    problem = graph.pack([x], [[0, 1, 0]], node_weight=[[1.0, 5.0, 0.5]])
    cuts = problem.oracle(problem.zero())
    assert cuts.b[0] == cuts.violation[0] == cuts.bound[0] == 2.0 + 5.0 + 1.0


def test_training_reaches_its_gap():
    rng = np.random.default_rng(0)
    graph = Graph(3, directed=True)
    X = [random_graph(rng, 9, 0.5) for _ in range(12)]
    Y = [np.clip(x.features[:, 0].astype(int) + 1, 0, 2) for x in X]
    problem = graph.pack(X, Y)
    objective = Objective.create(12.0, 12, "l1")
    state = BCFW(tol=1e-3, random_state=0).solve(problem, objective)
    stated = certify(problem, objective, state.model, dual=state.dual)
    assert stated.exact_oracle
    assert stated.relative_gap <= 1e-3


def test_grids():
    x = grid_graph(np.zeros((3, 4, 5, 2)))
    assert x.n_nodes == 60
    assert x.edge_features.sum(axis=0).tolist() == [48.0, 45.0, 40.0]
    assert len(grid_graph(np.zeros((3, 3, 1)), connectivity=2).edges) == 20
    cells = np.indices((3, 3)).reshape(2, -1).T
    for a, b in grid_graph(np.zeros((3, 3, 1)), connectivity=2).edges:
        assert np.abs(cells[a] - cells[b]).max() == 1
    assert grid_graph(np.zeros((4, 1)), directions=False).edges.tolist() == [
        [0, 1], [1, 2], [2, 3],
    ]  # fmt: skip


class Drawn:
    """What `GraphInput` asks of a networkx graph."""

    def __init__(self, nodes, edges):
        self.nodes, self._edges = nodes, edges

    def edges(self, data):
        assert data
        return self._edges


def test_networkx_graphs():
    nodes = {"a": {"x": [1.0, 0.0]}, "b": {"x": [0.0, 1.0]}}
    x = GraphInput.create(Drawn(nodes, [("b", "a", {})]))
    assert x.names == ["a", "b"]
    assert x.edges.tolist() == [[1, 0]]
    assert x.edge_features.tolist() == [[1.0]]
    x = GraphInput.create(Drawn(nodes, [("b", "a", {"x": [3.0]})]))
    assert x.edge_features.tolist() == [[3.0]]
    with pytest.raises(ValueError, match="node 'b' has no attribute 'x'"):
        GraphInput.create(Drawn({"a": {"x": [1.0]}, "b": {}}, []))


def test_bad_input_is_named():
    one = np.ones((2, 1))
    with pytest.raises(ValueError, match="graph 0: an edge leads to a node that is"):
        Graph(2).pack([(one, [(0, 2)])], None)
    with pytest.raises(ValueError, match="graph 1: edge 0 connects node 1 with itself"):
        Graph(2).pack([(one, []), (one, [(1, 1)])], None)
    with pytest.raises(ValueError, match="graph 0: edge features have 2 rows"):
        Graph(2).pack([(one, [(0, 1)], np.ones((2, 1)))], None)
    with pytest.raises(ValueError, match="graph 0: an input is no graph"):
        Graph(2).pack([one], None)
    with pytest.raises(ValueError, match="graph 1 has 2 edge features where graph 0"):
        Graph(2).pack([(one, [(0, 1)]), (one, [(0, 1)], np.ones((1, 2)))], None)
    with pytest.raises(ValueError, match="graph 0 has 2 nodes in X"):
        Graph(2).pack([(one, [])], [[0]])
    with pytest.raises(ValueError, match="whole numbers below 2"):
        Graph(2).pack([(one, [])], [[0, 2]])
    with pytest.raises(ValueError, match="cuts need 2 labels"):
        Graph(3, decoder="cut").pack([(one, [])], None)
    with pytest.raises(ValueError, match="no sum over nodes"):
        Graph(3, cost="zero_one").pack([(one, [])], [[0, 1]])
    with pytest.raises(CapabilityError, match="frontier"):
        Graph(2).pack([(one, [])], [[0, 1]], Formulation("slack"))
    # neighbours that repel each other in a triangle: messages leave a gap
    triangle = (np.zeros((3, 1)), [(0, 1), (1, 2), (0, 2)])
    w = np.array([0.0, 0.0, -1.0, 0.0, -1.0])
    problem = Graph(2, decoder="messages").pack([triangle], None)
    with pytest.raises(CapabilityError, match="by messages, which did not prove"):
        problem.k_best(w, 2)
    problem = Graph(2, decoder="milp").pack([triangle], None)
    assert [score for _, score in problem.k_best(w, 7)[0]] == [-1.0] * 6 + [-3.0]
    grid = grid_graph(np.zeros((60, 60, 1)))
    with pytest.raises(ValueError, match="graph 0 is too large for decoder='milp'"):
        Graph(12, decoder="milp").pack([grid], None)


def test_hidden_labels_are_completed():
    rng = np.random.default_rng(3)
    graph = Graph(3, directed=True)
    x = random_graph(rng, 6, 0.6)
    w = rng.normal(size=graph.n_weights(2, 2))
    truth = np.array([0, -1, 2, -1, 1, -1])
    problem = graph.pack([x], [truth])
    known = truth >= 0
    before = problem.blocks.y.copy()
    keys = problem.keys()
    old = problem.complete(w)
    completed = problem.blocks.y.copy()
    assert completed[known].tolist() == truth[known].tolist()
    scores = [
        graph.joint_feature(x, y) @ w
        for y in graph.enumerate(x)
        if (y[known] == truth[known]).all()
    ]
    assert graph.joint_feature(x, completed) @ w == pytest.approx(max(scores))
    assert old.code.tolist() == before.tolist()
    assert problem.keys() == keys
    assert len(problem.complete(w).block) == 0
    cuts = problem.oracle(np.zeros(len(w)))
    assert cuts.b[0] == known.sum()  # hidden labels cost nothing


def test_completions_depend_on_the_model_alone():
    """With ties everywhere, whatever was completed before."""
    rng = np.random.default_rng(0)
    graph = Graph(3)
    x = random_graph(rng, 6, 0.6)
    problem = graph.pack([x], [np.array([0, -1, 2, -1, 1, -1])])
    problem.complete(rng.normal(size=graph.n_weights(2, 2)))
    problem.complete(problem.zero())
    one = problem.blocks.y.copy()
    problem.complete(rng.normal(size=graph.n_weights(2, 2)))
    problem.complete(problem.zero())
    assert problem.blocks.y.tolist() == one.tolist()


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(["elimination", "messages"]), st.integers(1, 3))
def test_types_of_nodes(case, decoder, n_types):
    """Labels of other types never occur; all else is as without types."""
    graph, x, w, _ = draw(*case, decoder=decoder, search_nodes=10**6)
    rng = np.random.default_rng(case[0])
    kinds = np.array(["a", "b", "c"][: min(n_types, graph.n_labels)])
    labels = [*kinds, *rng.choice(kinds, graph.n_labels - len(kinds))]
    graph.types = labels
    x = x._replace(types=rng.choice(kinds, x.n_nodes).tolist())
    outputs = list(graph.enumerate(x))
    fits = np.array(x.types)[:, None] == np.array(labels)
    assert len(outputs) == np.prod(fits.sum(axis=1))
    truth = outputs[rng.integers(len(outputs))]
    psi = np.array([graph.joint_feature(x, y) for y in outputs])
    score = psi @ w
    loss = np.array([graph.loss(truth, y) for y in outputs])
    problem = graph.pack([x], [truth])
    (actual,), value, bound = problem.decode(w)
    assert fits[np.arange(x.n_nodes), actual].all()
    assert value[0] == pytest.approx(max(score), abs=1e-8) == pytest.approx(bound[0])
    cuts = problem.oracle(w)
    best = max(score + loss) - graph.joint_feature(x, truth) @ w
    assert cuts.violation[0] == pytest.approx(best, abs=1e-8)
    assert cuts.bound[0] == pytest.approx(best, abs=1e-8)
    (ranked,) = problem.k_best(w, 3)
    expected = sorted(score, reverse=True)[:3]
    assert [s for _, s in ranked] == pytest.approx(expected, abs=1e-8)
    hidden = graph.pack([x], [np.where(rng.random(x.n_nodes) < 0.5, -1, truth)])
    if hasattr(hidden, "complete"):
        hidden.complete(w)
        assert fits[np.arange(x.n_nodes), hidden.blocks.y].all()
    if decoder == "elimination":
        node, log_z = problem.marginals(w)
        assert log_z[0] == pytest.approx(np.logaddexp.reduce(score))
        share = np.exp(score - log_z[0])
        for label in range(graph.n_labels):
            expected = share @ (np.array(outputs) == label)
            np.testing.assert_allclose(node[:, label], expected, atol=1e-9)
        losses, gradient = problem.log_likelihood(w, np.ones(1))
        at = graph.joint_feature(x, truth)
        assert losses[0] == pytest.approx(log_z[0] - at @ w, abs=1e-9)
        np.testing.assert_allclose(gradient, share @ psi - at, atol=1e-8)


def test_faults_of_types():
    x = (np.ones((2, 1)), [(0, 1)], None, ["a", "b"])
    graph = Graph(3, types=["a", "a", "b"])
    assert graph.pack([x], [[1, 2]]).blocks.banned.tolist() == [[0, 0, 1], [1, 1, 0]]
    with pytest.raises(ValueError, match="graph 0: a label of another type"):
        graph.pack([x], [[2, 2]])
    with pytest.raises(ValueError, match=r"graph 0: a node has type 'c'; .*'a', 'b'"):
        graph.pack([(*x[:3], ["a", "c"])], None)
    with pytest.raises(ValueError, match="graph 0: there are 1 types of 2 nodes"):
        graph.pack([(*x[:3], ["a"])], None)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_sums(case):
    graph, x, w, truth = draw(*case, decoder="elimination")
    outputs = np.array(list(graph.enumerate(x)))
    psi = np.array([graph.joint_feature(x, y) for y in outputs])
    score = psi @ w
    log_z = np.logaddexp.reduce(score)
    probability = np.exp(score - log_z)
    problem = graph.pack([x], [truth])
    node, actual = problem.marginals(w)
    assert actual[0] == pytest.approx(log_z)
    for label in range(graph.n_labels):
        expected = probability @ (outputs == label)
        np.testing.assert_allclose(node[:, label], expected, atol=1e-9)
    loss, gradient = problem.log_likelihood(w, np.array([2.0]))
    at = graph.joint_feature(x, truth)
    assert loss[0] == pytest.approx(log_z - at @ w, abs=1e-9)
    np.testing.assert_allclose(gradient, 2.0 * (probability @ psi - at), atol=1e-8)
