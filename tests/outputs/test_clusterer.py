"""SupervisedClusterer: metrics of the papers, coreference files, commands."""

import io
import json
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from partwise import SupervisedClusterer, load
from partwise.cli.app import run
from partwise.datasets import toy_clusters
from partwise.features.mention_pairs import NAMES, mention_pairs
from partwise.metrics import metric
from partwise.readers import ReaderError
from partwise.readers.coreference import read_coreference, write_coreference

TEXT = """#begin document (toy); part 0
toy\t0\t0\tAnn\t_\t(1)
toy\t0\t1\tsaw\t_\t
toy\t0\t2\tthe\t_\t(2|(3
toy\t0\t3\tboss\t_\t3)
toy\t0\t4\tof\t_\t
toy\t0\t5\tBob\t_\t(4)|2)

toy\t0\t0\tShe\t_\t(1)
toy\t0\t1\tleft\t_\t-
toy\t0\t2\tthe\t_\t(3
toy\t0\t3\tboss\t_\t3)
#end document
"""
KEY = [0] * 5 + [1] * 2 + [2] * 5  # Bagga and Baldwin, 1998, figure 1
FIRST = [0] * 5 + [1] * 7
SECOND = [0] * 5 + [1] * 2 + [0] * 5


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("muc_f1", 2 * 0.9 / 1.9, 2 * 0.9 / 1.9),  # precision 90 %, recall 100 %
        ("b_cubed_f1", 2 * 0.7619 / 1.7619, 2 * 0.5833 / 1.5833),  # 76 % and 58 %
        ("ceaf_m_f1", 0.833, 0.583),  # Luo, 2005, table 1
        ("ceaf_e_f1", 0.733, 0.667),
    ],
)
def test_metrics_of_published_examples(name, first, second):
    function = metric(name).function
    assert function([KEY], [FIRST]) == pytest.approx(first, abs=5e-4)
    assert function([KEY], [SECOND]) == pytest.approx(second, abs=5e-4)
    assert function([KEY], [KEY]) == pytest.approx(1.0)


def test_losses_of_the_paper():
    assert metric("mitre_loss").function([KEY], [FIRST]) == pytest.approx(
        5.263, abs=1e-3
    )
    assert metric("pair_loss").function([KEY], [FIRST]) == pytest.approx(100 * 10 / 66)
    assert metric("pair_loss").function([KEY], [KEY]) == 0
    mean = [
        metric(n).function([KEY], [FIRST])
        for n in ("muc_f1", "b_cubed_f1", "ceaf_e_f1")
    ]
    assert metric("conll_f1").function([KEY], [FIRST]) == pytest.approx(np.mean(mean))


def test_learns_to_cluster():
    X, y = toy_clusters(60)
    clusterer = SupervisedClusterer().fit(X[:30], y[:30])
    assert clusterer.score(X[30:], y[30:]) > 0.9
    assert clusterer.certificate_.is_local and clusterer.splits_ == 0
    values = [r.objective for r in clusterer.rounds_]
    assert values == sorted(values, reverse=True)
    sparse = [(n, pairs, csr_array(features)) for n, pairs, features in X]
    again = SupervisedClusterer().fit(sparse[:30], y[:30])
    assert again.certificate_.primal == pytest.approx(
        clusterer.certificate_.primal, rel=5e-3
    )


def test_a_smaller_penalty_links_more():
    X, y = toy_clusters(40)
    n_clusters = [
        sum(
            len(set(c))
            for c in SupervisedClusterer(link_penalty=r).fit(X, y).predict(X)
        )
        for r in (1.0, 0.01)
    ]
    assert n_clusters[1] <= n_clusters[0]


def test_items_with_a_function_of_pairs():
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 2, size=6) for _ in range(20)]
    X = [[3.0 * label + 0.3 * rng.normal() for label in labels] for labels in y]
    clusterer = SupervisedClusterer(
        pair_features=lambda a, b: [abs(a - b)], metric="muc_f1"
    ).fit(X, y)
    assert clusterer.score(X, y) > 0.95
    assert clusterer.predict([[1.0]])[0].tolist() == [0]


def test_candidate_links_that_split_clusters_are_counted():
    X = [(3, [(0, 1)], [[1.0]]), (2, [(0, 1)], [[-1.0]])]
    clusterer = SupervisedClusterer().fit(X, [[0, 0, 0], [0, 1]])
    assert clusterer.splits_ == 1


@pytest.mark.parametrize("decoder", ["forest", "correlation"])
def test_a_document_of_a_thousand_items_takes_less_than_a_second(decoder):
    X, y = toy_clusters(20)
    clusterer = SupervisedClusterer(decoder=decoder).fit(X, y)
    one, other = np.triu_indices(1000, 1)
    features = np.random.default_rng(0).normal(size=(len(one), 3))
    x = (1000, np.column_stack([one, other]), features)
    clusterer.predict([x])
    began = time.process_time()  # one thread; other programs may be running
    clusterer.predict([x])
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (
            [(2, [(0, 2)], [[1.0]])],
            [[0, 0]],
            "a pair names an item outside",
        ),
        ([(2, [(0, 1)], [[1.0], [2.0]])], [[0, 0]], "1 pairs and 2 rows"),
        ([(2, [(0, 1)], [[np.nan]])], [[0, 0]], "NaN"),
        ([(2, [(0, 1)], [[1.0]])], [[0]], "one label per item"),
        ([5], [[0]], "document 0"),
        ([(2, [(0, 0.5)], [[1.0]])], [[0, 0]], "pairs are not whole numbers"),
        ([(2, [(0, 1)], [[1.0]])], [[0, None]], "document 0 has an item without"),
        ([(2, [(0, 1)], [[1.0]])], [[0, np.nan]], "document 0 has an item without"),
    ],
)
def test_wrong_data_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        SupervisedClusterer().fit(X, y)


def test_documents_without_links_or_items():
    X, y = toy_clusters(10)
    clusterer = SupervisedClusterer().fit([*X, (3, [], [])], [*y, [0, 0, 1]])
    assert clusterer.splits_ == 1
    predicted = clusterer.predict([(3, [], []), X[0], (0, [], [])])
    assert [each.tolist() for each in (predicted[0], predicted[2])] == [[0, 1, 2], []]
    assert clusterer.explain((2, [], [])).winner == ["apart"]


def test_coreference_files():
    (document,) = read_coreference(io.BytesIO(TEXT.encode()))
    assert document.mentions == [(0, 0), (2, 5), (2, 3), (5, 5), (6, 6), (8, 9)]
    assert document.entities == ["1", "2", "3", "4", "1", "3"]
    assert document.sentence == [0] * 6 + [1] * 4
    out = io.BytesIO()
    write_coreference(out, [document], [document.entities])
    again = read_coreference(io.BytesIO(out.getvalue()))[0]
    assert again.mentions == document.mentions and again.entities == document.entities
    n_items, pairs, features = mention_pairs(document)
    assert n_items == 6 and features.shape == (15, len(NAMES))
    values = {
        tuple(pair): {NAMES[k] for k in np.flatnonzero(row)}
        for pair, row in zip(pairs.tolist(), features, strict=True)
    }
    assert {"same words", "same head", "next sentence"} <= values[2, 5]
    assert {"second is a pronoun", "same number"} <= values[0, 4]
    assert {"nested", "one within the other's words"} <= values[1, 2]
    assert "one within the other's words" not in values[0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d\t0\t0\ta\t(1\n", ":1: the mention of entity 1 that begins here has no end"),
        ("d\t0\t0\ta\t1)\n", ":1: '1\\)' closes what is not open"),
        ("d\t0\t0\ta\tx\n", ":1: 'x' is no bracket"),
        ("d\t0\n", ":1: 2 columns"),
        ("", "no document"),
    ],
)
def test_bad_files_are_refused(text, message):
    with pytest.raises(ReaderError, match=message):
        read_coreference(io.BytesIO(text.encode()))


def test_commands(tmp_path, capsys):
    data, model = str(tmp_path / "toy.conll"), str(tmp_path / "coref.model")
    (tmp_path / "toy.conll").write_text(TEXT + TEXT.replace("toy", "two"))
    assert not run(["train", "cluster", data, "--model", model, "--C", "100", "--json"])
    assert json.loads(capsys.readouterr().out)["certificate"]["is_local"]
    assert not run(["evaluate", model, data])
    assert " mentions\n" in capsys.readouterr().out.split("muc_f1")[0]
    assert not run(["evaluate", model, data, "--json"])
    document = json.loads(capsys.readouterr().out)["metrics"]
    assert (
        document["muc_f1"] > 0.5 and document["pair_loss"] < 20
    )  # "Bob", too, is near "She"
    assert not run(["verify", model, data])
    assert "verified" in capsys.readouterr().out
    bare = tmp_path / "bare.conll"
    bare.write_text("d\t0\t0\tAnn\t-\n")
    assert run(["train", "cluster", str(bare), "--model", str(tmp_path / "m")]) == 2
    assert "bare.conll: no mention; give files of CoNLL" in capsys.readouterr().err
    assert not run(["predict", model, str(bare)])
    assert capsys.readouterr().out == bare.read_text()
    assert not run(["predict", model, data, "--output", str(tmp_path / "out")])
    actual = read_coreference(tmp_path / "out")
    assert len(actual) == 2 and actual[0].entities[2] == actual[0].entities[5]
    assert not run(
        ["train", "cluster", data, "--model", model, "--report", str(tmp_path / "r")]
    )
    assert load(model).structure.link_penalty == 1.0


def test_candidates_and_features_are_chosen_at_the_shell(tmp_path, capsys):
    data, model = str(tmp_path / "toy.conll"), str(tmp_path / "m")
    (tmp_path / "toy.conll").write_text(TEXT + TEXT.replace("toy", "two"))
    train = ["train", "cluster", data, "--model", model]
    assert not run([*train, "--window", "1", "--templates", "words,mentions"])
    narrow = capsys.readouterr().err
    assert load(model).feature_names[:-1] == NAMES[:4] + NAMES[25:]
    assert not run(["verify", model, data])  # with the same candidates and features
    assert not run(["predict", model, data, "--output", str(tmp_path / "out")])
    assert not run(train)
    n_links = [
        int(text.split(" candidate links")[0].split()[-1])
        for text in (narrow, capsys.readouterr().err)
    ]
    assert n_links[0] < n_links[1]
    for options, message in (
        (["--window", "0"], "--window 0: give a"),
        (
            ["--templates", "words,color"],
            "'color' is no template of pairs; choose from words",
        ),
        (["--formulation", "slack"], "--formulation slack: choose"),
        (["--loss", "log"], "--loss log: choose"),
    ):
        assert run([*train, *options]) == 2
        assert message in capsys.readouterr().err
    help_of = {}
    for task in ("cluster", "motif"):
        assert not run(["train", task, "--help"])
        help_of[task] = " ".join(capsys.readouterr().out.replace("│", "").split())
    for text in help_of.values():
        assert "conditional" not in text and "hinge" in text
    assert "slack|hard" not in help_of["cluster"] + help_of["motif"]


@pytest.mark.parametrize("exact_items", [0, 8])
def test_correlation_clustering_learns(exact_items):
    X, y = toy_clusters(60)
    clusterer = SupervisedClusterer(
        decoder="correlation", exact_items=exact_items, metric="pair_loss"
    ).fit(X[:30], y[:30])
    wrong = metric("pair_loss").function(y[30:], clusterer.predict(X[30:]))
    assert wrong < 10
    stated = clusterer.certificate_
    assert not stated.is_local  # nothing is hidden
    assert stated.at_least <= stated.at_most
    if exact_items:
        assert stated.exact_oracle and stated.relative_gap <= 1.1e-3
    assert clusterer.rounds_ == []


def test_correlation_clusterers_survive_files(tmp_path):
    X, y = toy_clusters(20)
    settings = {"decoder": "correlation", "exact_items": 5, "link_penalty": 0.5}
    clusterer = SupervisedClusterer(**settings).fit(X, y)
    clusterer.save(tmp_path / "m")
    again = SupervisedClusterer.load(tmp_path / "m")
    assert {name: getattr(again, name) for name in settings} == settings
    for one, other in zip(clusterer.predict(X), again.predict(X), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"exact_items": 5}, "exact_items=5 does not go with decoder='forest'"),
        ({"decoder": "correlation", "restarts": 2}, "restarts=2 does not go with"),
        ({"decoder": "tree"}, "decoder='tree'"),
        ({"exact_items": -1}, "exact_items=-1"),
    ],
)
def test_settings_that_exclude_each_other(settings, message):
    X, y = toy_clusters(5)
    with pytest.raises(ValueError, match=message):
        SupervisedClusterer(**settings).fit(X, y)
