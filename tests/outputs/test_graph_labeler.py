"""`GraphLabeler`: graphs in all forms, hidden labels, files and the command line."""

import io
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from partwise import Chain, GraphLabeler, SequenceTagger, load
from partwise.cli.app import run
from partwise.datasets import toy_entities, toy_graphs
from partwise.protocol import CapabilityError
from partwise.readers import ReaderError, read_graphs
from partwise.structures.graph import grid_graph

X, Y = toy_graphs(30)
NEW, TRUTH = toy_graphs(20, random_state=1)


@pytest.fixture(scope="module")
def labeler():
    return GraphLabeler(C=30, tol=0.01).fit(X, Y)


def test_neighbours_help(labeler):
    alone = GraphLabeler(C=30, tol=0.01).fit([(x[0], []) for x in X], Y)
    assert labeler.score(NEW, TRUTH) > alone.score([(x[0], []) for x in NEW], TRUTH)
    assert labeler.certificate_.exact_oracle
    assert labeler.certificate_.relative_gap <= 0.01
    assert labeler.classes_.tolist() == ["ground", "house", "tree"]
    assert labeler.coef_.shape == (3, 4)
    assert labeler.edge_coef_.shape == (2, 3, 3)
    np.testing.assert_array_equal(
        labeler.edge_coef_, labeler.edge_coef_.transpose(0, 2, 1)
    )
    bounds = labeler.bounds(NEW)
    assert bounds.shape == (20, 2) and (bounds[:, 0] == bounds[:, 1]).all()


def test_forms_of_graphs(labeler):
    expected = labeler.predict(NEW).tolist()
    sparse = [(csr_array(x), e, csr_array(k)) for x, e, k in X]
    other = GraphLabeler(C=30, tol=0.01).fit(sparse, [np.array(y) for y in Y])
    assert other.predict(NEW).tolist() == expected
    named = [
        ([{f"v{f}": v for f, v in enumerate(row)} for row in x.tolist()], e.tolist(), k)
        for x, e, k in X
    ]
    other = GraphLabeler(C=30, tol=0.01).fit(named, Y)
    assert set(other.feature_names_) == {"v0", "v1", "v2", "v3"}
    assert other.score(named, Y) == pytest.approx(labeler.score(X, Y), abs=0.03)
    pictures = [np.zeros((3, 4, 2)) + k for k in range(3)]
    masks = [np.full((3, 4), k) for k in range(3)]
    grids = [grid_graph(picture) for picture in pictures]
    fitted = GraphLabeler(C=30).fit(grids, masks)
    assert fitted.score(grids, masks) == 1.0
    with pytest.raises(ValueError, match=r"2 features where .* fitted on 4"):
        labeler.predict(grids)
    with pytest.raises(ValueError, match="graph 0: edges have no features, those of"):
        labeler.predict([x[:2] for x in NEW])


def test_graphs_without_nodes_have_no_labels(labeler):
    nothing = (np.zeros((0, 4)), [], np.zeros((0, 2)))
    expected = labeler.predict(NEW[:2])
    predicted = labeler.predict([nothing, NEW[0], ([], []), NEW[1]])
    assert predicted.tolist() == [[], expected[0], [], expected[1]]
    known = [[None] * len(row) for row in expected]
    predicted = labeler.predict([nothing, NEW[0]], given=[[], known[0]])
    assert predicted.tolist() == [[], expected[0]]
    with pytest.raises(ValueError, match="graph 1: there is no node; leave this graph"):
        labeler.bounds([NEW[0], nothing])


def test_a_chain_as_a_graph():
    rng = np.random.default_rng(0)
    words, tags = toy_entities(30)
    rows = [rng.normal(size=(len(w), 5)) for w in words]
    tagger = SequenceTagger(C=5, tol=1e-4).fit(rows, tags)
    paths = [np.arange(len(w)) for w in words]
    graphs = [
        (x, np.stack([p[:-1], p[1:]], axis=1)) for x, p in zip(rows, paths, strict=True)
    ]
    labeler = GraphLabeler(C=5, tol=1e-4, directed=True).fit(graphs, tags)
    primal = tagger.certificate_.primal
    assert labeler.certificate_.primal == pytest.approx(primal, rel=2e-4)
    labeler.model_.weights = tagger.model_.weights  # the layouts are the same
    assert labeler.predict(graphs).tolist() == tagger.predict(rows).tolist()
    ranked = labeler.predict_topk(graphs, 3)
    for one, other in zip(ranked, tagger.predict_topk(rows, 3), strict=True):
        assert [s for _, s in one] == pytest.approx([s for _, s in other])
    assert isinstance(tagger.model_.structure, Chain)


def test_given_labels(labeler):
    fixed = [[None] * len(y) for y in TRUTH]
    for row, y in zip(fixed, TRUTH, strict=True):
        row[0], row[-1] = y[0], "tree"
    for row in labeler.predict(NEW, given=fixed):
        assert row[-1] == "tree"
    fixed[3][2] = "river"
    with pytest.raises(ValueError, match="given: graph 3 has label 'river'"):
        labeler.predict(NEW, given=fixed)


def test_hidden_labels():
    rng = np.random.default_rng(0)
    partly = [[label if rng.random() < 0.5 else None for label in y] for y in Y]
    fitted = GraphLabeler(C=30, tol=0.05).fit(X, partly)
    assert fitted.certificate_.is_local
    assert fitted.score(NEW, TRUTH) > 0.75


def stars(n, seed):
    """Six leaves of one label around a node of a type that is never labelled."""
    rng = np.random.default_rng(seed)
    graphs, labels = [], []
    for _ in range(n):
        sign = rng.choice([-1, 1])
        leaves = sign + 1.5 * rng.normal(size=6)
        features = np.append(leaves, 0.0)[:, None]
        kinds = ["leaf"] * 6 + ["cause"]
        graphs.append((features, [(k, 6) for k in range(6)], None, kinds))
        labels.append(["up" if sign > 0 else "down"] * 6 + [None])
    return graphs, labels


def test_types_that_are_never_labelled(tmp_path):
    settings = {"C": 60, "tol": 0.01, "directed": True}
    graphs, labels = stars(60, 0)
    new, truth = stars(100, 1)
    fitted = GraphLabeler(hidden_labels={"cause": 2}, **settings).fit(graphs, labels)
    assert fitted.classes_.tolist() == ["cause 0", "cause 1", "down", "up"]
    assert fitted.certificate_.is_local
    predicted = np.array(fitted.predict(new).tolist())
    assert set(predicted[:, 6]) <= {"cause 0", "cause 1"}
    leaves = [(x[:6], [], None, kinds[:6]) for x, _, _, kinds in graphs]
    alone = GraphLabeler(**settings).fit(leaves, [row[:6] for row in labels])
    apart = alone.predict([(x[:6], [], None, kinds[:6]) for x, _, _, kinds in new])
    expected = np.array([row[:6] for row in truth])
    gain = (predicted[:, :6] == expected).mean() - np.mean(
        np.array(apart.tolist()) == expected
    )
    assert gain > 0.1  # the hidden node makes leaves agree
    fitted.save(tmp_path / "stars.model")
    loaded = GraphLabeler.load(tmp_path / "stars.model")
    assert loaded.hidden_labels == {"cause": 2}
    assert loaded.predict(new).tolist() == predicted.tolist()
    text = GraphLabeler(hidden_labels="cause=2", **settings).fit(graphs, labels)
    np.testing.assert_array_equal(text.coef_, fitted.coef_)
    for wrong in ("cause", "cause=0", {"cause": 1.5}, 3):
        with pytest.raises(ValueError, match="hidden_labels"):
            GraphLabeler(hidden_labels=wrong).fit(graphs, labels)
    with pytest.raises(ValueError, match="no node has type 'part'"):
        GraphLabeler(hidden_labels={"part": 2}).fit(graphs, labels)


def test_weights_of_nodes_and_classes():
    plain = GraphLabeler(C=3, tol=0.01).fit(X, Y)
    heavy = GraphLabeler(C=3, tol=0.01, class_weight={"tree": 9.0}).fit(X, Y)

    def share(fitted):
        return np.mean(np.concatenate(fitted.predict(NEW)) == "tree")

    assert share(heavy) > share(plain)
    weights = [np.where(np.array(y) == "tree", 9.0, 1.0) for y in Y]
    same = GraphLabeler(C=3, tol=0.01).fit(X, Y, node_weight=weights)
    primal = heavy.certificate_.primal
    assert same.certificate_.primal == pytest.approx(primal, rel=0.01)
    GraphLabeler(C=3, class_weight="balanced", tol=0.5).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        GraphLabeler(cost="normalized", class_weight="balanced").fit(X, Y)


def test_decoders_and_explanations(labeler, tmp_path):
    assert set(labeler.model_.methods(NEW)) == {"elimination"}
    passing = GraphLabeler(C=30, decoder="messages", tol=0.01).fit(X, Y)
    bounds = passing.bounds(NEW)
    assert (bounds[:, 0] <= bounds[:, 1]).all()
    explained = passing.explain(NEW[0])
    assert explained.runner_up is not None
    winner, runner = np.array(explained.winner), np.array(explained.runner_up)
    assert (winner != runner).sum() == 1
    branching = GraphLabeler(C=30, decoder="messages", search_nodes=10_000, tol=0.5)
    branching.fit(X[:5], Y[:5]).model_.weights = labeler.model_.weights
    ranked = zip(
        branching.predict_topk(NEW[:3], 3),
        labeler.predict_topk(NEW[:3], 3),
        strict=True,
    )
    for one, other in ranked:
        assert [s for _, s in one] == pytest.approx([s for _, s in other])
    for one in (labeler, passing):
        explanation = one.explain(NEW[1], top=1000)
        assert sum(c.share for c in explanation.contributions) == pytest.approx(
            explanation.lead
        )
    path = tmp_path / "m.model"
    passing.save(path)
    again = GraphLabeler.load(path)
    assert again.decoder == "messages" and again.C == 30
    assert again.predict(NEW).tolist() == passing.predict(NEW).tolist()
    assert load(path).predict(NEW) == passing.predict(NEW).tolist()


def test_temperatures():
    fitted = GraphLabeler(C=20, tol=0.1).fit(X[:20], Y[:20])
    before = fitted.predict(NEW).tolist()
    assert fitted.model_.calibrate(X[:20], Y[:20]) > 0
    assert fitted.predict(NEW).tolist() == before


def test_conditional_random_fields():
    field = GraphLabeler(C=30, loss="log", tol=1e-3).fit(X, Y)
    assert field.score(NEW, TRUTH) > 0.8
    for table in field.predict_marginals(NEW):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="without None in y"):
        field.fit(X, [[None, *y[1:]] for y in Y])
    with pytest.raises(CapabilityError, match="probabilities need"):
        GraphLabeler(loss="log", decoder="messages").fit(X, Y)


def test_networkx_graphs_by_name():
    class Drawn:
        nodes = {"a": {"x": [1.0, 0.0]}, "b": {"x": [0.0, 1.0]}}  # noqa: RUF012

        def edges(self, data):
            return [("a", "b", {})]

    fitted = GraphLabeler(C=10).fit([Drawn()] * 3, [{"a": 1, "b": 2}] * 3)
    assert fitted.predict([Drawn()])[0] == [1, 2]
    assert fitted.predict([Drawn()], given=[{"b": 1}])[0][1] == 1
    assert fitted.explain(Drawn()).tokens == ["a", "b"]
    assert fitted.score([Drawn()], [{"a": 1, "b": 2}]) == 1.0


def typed(n, seed):
    """Pages and their authors; "other" is a label of both types."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        topic = int(rng.integers(3))
        features = rng.normal(scale=0.4, size=(4, 3)) + np.eye(3)[topic]
        page = ("other", "science", "sport")[topic]
        author = ("other", "professor", "coach")[topic]
        kinds = ["page", "author", "page", "author"]
        X.append((features.round(3), [(0, 1), (0, 2), (2, 3)], None, kinds))
        y.append([page, author, page, author])
    return X, y


def test_types_of_nodes(tmp_path, capsys):
    X, Y = typed(30, 0)
    new, truth = typed(20, 1)
    fitted = GraphLabeler(C=30, tol=0.01).fit(X, Y)
    names = ["coach", "other", "professor", "other", "science", "sport"]
    assert fitted.classes_.tolist() == names
    assert fitted.coef_.shape == (6, 3)
    assert fitted.score(new, truth) > 0.9
    given = [[None, "coach", None, None]] * 20
    assert {row[1] for row in fitted.predict(new, given=given)} == {"coach"}
    with pytest.raises(ValueError, match="'coach' of a node of type 'page', which"):
        fitted.predict(new, given=[["coach", None, None, None]] * 20)
    with pytest.raises(ValueError, match="a node has type None"):
        fitted.predict([x[:3] for x in new])
    fitted.save(tmp_path / "m")
    again = GraphLabeler.load(tmp_path / "m")
    assert again.predict(new).tolist() == fitted.predict(new).tolist()
    assert again.fit(X, Y).classes_.tolist() == names
    with pytest.raises(ValueError, match="some graphs have types"):
        GraphLabeler().fit([X[0], X[1][:2]], Y[:2])
    hidden = [[None, *row[1:]] for row in Y]
    partly = GraphLabeler(C=30, tol=0.05).fit(X, hidden)
    assert partly.score(new, truth) > 0.8
    for name, (graphs, labels) in (("train", (X, Y)), ("new", (new, truth))):
        lines = [
            {"nodes": x.tolist(), "edges": e, "types": kinds, "labels": row}
            for (x, e, _, kinds), row in zip(graphs, labels, strict=True)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / name).write_text(text)
    paths = {name: str(tmp_path / name) for name in ("train", "new", "n")}
    assert (
        run(["train", "label", paths["train"], "--model", paths["n"], "--C", "30"]) == 0
    )
    assert run(["verify", paths["n"], paths["train"]]) == 0
    capsys.readouterr()
    assert run(["evaluate", paths["n"], paths["new"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["node_accuracy"] > 0.9
    broken = {"nodes": [[1]], "edges": [], "types": [1]}
    with pytest.raises(ReaderError, match='"types" must be a list of 1 strings'):
        read_graphs(io.BytesIO(json.dumps(broken).encode()))


def test_integer_programs():
    searched = GraphLabeler(C=5, tol=0.1, decoder="milp", max_iter=3)
    with pytest.warns(ConvergenceWarning):
        searched.fit(X[:3], Y[:3])
    assert searched.certificate_.exact_oracle
    assert set(searched.model_.methods(NEW)) == {"milp"}
    bounds = searched.bounds(NEW[:2])
    assert (bounds[:, 0] == bounds[:, 1]).all()
    exact = GraphLabeler(C=5, tol=0.5).fit(X[:3], Y[:3])
    exact.model_.weights = searched.model_.weights
    np.testing.assert_allclose(exact.bounds(NEW[:2]), bounds, rtol=1e-9)


# ---------------------------------------------------------------- command line


def write(path, n, seed, **more):
    graphs, truths = toy_graphs(n, random_state=seed)
    lines = [
        json.dumps(
            {
                "nodes": x.tolist(), "edges": e.tolist(), "edge_features": k.tolist(),
                "labels": y, "known": [y[0], *[None] * (len(y) - 1)],
            }
        )
        for (x, e, k), y in zip(graphs, truths, strict=True)
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")


def test_the_command_line(tmp_path, capsys):
    train, new = tmp_path / "train.jsonl", tmp_path / "new.jsonl"
    write(train, 20, 0)
    write(new, 6, 1)
    model, report = tmp_path / "m.model", tmp_path / "r.html"

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask(
        "train", "label", train, "--model", model, "--dev", new, "--report", report,
        "--directed", "--C", 20,
    )  # fmt: skip
    assert done["certificate"]["relative_gap"] <= 1e-3
    assert "By label" in report.read_text(encoding="utf-8")
    answer = ask("evaluate", model, new)
    assert answer["metrics"]["node_accuracy"] == done["dev"]["node_accuracy"] > 0.7
    assert answer["proven_best"] == 6
    labels = ask("predict", model, new)["labels"]
    assert len(labels) == 6
    assert len(ask("predict", model, new, "--topk", 2)["topk"][0]) == 2
    known = ask("predict", model, new, "--given", "known")["labels"]
    assert [row[0] for row in known] == [y[0] for y in toy_graphs(6, random_state=1)[1]]
    assert ask("verify", model, train)["holds"]
    facts = ask("inspect", model)
    assert facts["graph"]["decoder"] == "auto"
    assert facts["searches in training"] == {"elimination": 20}
    assert ask("explain", model, new)["winner"] == labels[0]
    output = tmp_path / "out.jsonl"
    assert run(["predict", str(model), str(new), "--output", str(output)]) == 0
    written = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["labels"] for line in written] == labels
    assert "known" in written[0]
    empty = '{"nodes": [], "edges": [], "labels": []}\n'
    new.write_text(empty + new.read_text() + empty, encoding="utf-8")
    assert ask("predict", model, new)["labels"] == [[], *labels, []]
    ranked = ask("predict", model, new, "--topk", 2)["topk"]
    assert [row[0]["labels"] for row in ranked] == [[], *labels, []]
    assert run(["evaluate", str(model), str(new)]) == 2
    assert f"{new}: graph 1 has no nodes; leave it out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]\n", ":1: no graph"),
        ('{"nodes": [[1]], "edges": []}\n{"nodes": 3}\n', ':2: "nodes" must be a list'),
        ('{"nodes": [[1], [2, 3]], "edges": []}\n', "numbers of one length"),
        ('{"nodes": [[1], [2]], "edges": [[0, 2]]}\n', "is no pair of different nodes"),
        (
            '{"nodes": [[1]], "edges": [], "labels": []}\n',
            "must be a list of 1",
        ),
        ('{"nodes": [[1]], "edges": [], "labels": [1.5]}\n', "label 1.5 is no string"),
        ('{"nodes": [[1]]\n', ":1: no JSON ("),
        ("a graph\n", "; write a graph on each line, as in"),
        ('{"nodes": [[NaN]], "edges": []}\n', "numbers of one length"),
        ("\n", "no line with a graph"),
    ],
)
def test_bad_files_are_refused(text, message):
    with pytest.raises(ReaderError) as caught:
        read_graphs(io.BytesIO(text.encode()))
    assert message in str(caught.value)
