"""Dependency parsers with kernels: fit, predict, explain, files."""

import numpy as np
import pytest

from partwise.datasets import toy_dependencies
from partwise.kernels import WordClusters, memory
from partwise.kernels.memory import GramTooLarge
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.objective import Formulation
from partwise.outputs.dependency.estimator import DependencyParser
from partwise.outputs.dependency.model import DependencyModel
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.report.support import support_tree_pictures
from partwise.scorers import kernel_index
from partwise.scorers.anchors import ForeignData

KERNEL = "normalized(annotated:n=2)"
MATCH = "xpos+distance, form+direction"


@pytest.fixture(scope="module")
def data():
    X, y = toy_dependencies(90, random_state=1)
    return X[:60], y[:60], X[60:], y[60:]


@pytest.fixture(scope="module")
def parser(data):
    settings = {"kernel": KERNEL, "match": MATCH, "C": 20.0, "tol": 0.02}
    return DependencyParser(hash_bits=12, **settings).fit(*data[:2])


def test_the_parser_has_learned(data, parser):
    X, y, X_new, y_new = data
    assert parser.certificate_.relative_gap <= 0.02
    assert parser.model_.kind == "KernelDependencyModel"
    assert parser.score(X, y) > 0.9
    assert parser.score(X_new, y_new) > 0.6
    assert set(parser.classes_) == {label for tree in y for label in tree.labels}


def test_the_index_gives_the_scores_of_training(data, parser):
    """New sentences are scored by postings, training ones by kept scores: the same."""
    X, y, *_ = data
    model = parser.model_
    problem = model.training_problem(X, y, Formulation())
    trained = problem.expand(model.weights)
    assert problem.n_slots > len(model.weights)
    (new,) = model.problems(X)
    scores = new.expand(model.weights)
    value, other = (p.decode(m)[1] for p, m in ((problem, trained), (new, scores)))
    np.testing.assert_allclose(value, other, rtol=1e-5)
    square = problem.dot(trained, trained)
    bound = problem.oracle(trained).bound
    primal = parser.objective_.primal(square, bound)
    assert primal == pytest.approx(parser.certificate_.primal, rel=1e-9)


def test_other_sentences_are_not_the_training_data(data, parser):
    X, y, *others = data
    with pytest.raises(ForeignData, match=r"is not there|differs"):
        parser.model_.training_problem(*others, Formulation())
    # the same tags, and so the same keys, with one other word
    strings = X.strings("form")
    columns = [X.strings(name) for name in X.columns]
    at = list(X.columns).index("lemma") if "lemma" in X.columns else 0
    columns[at] = [list(row) for row in columns[at]]
    columns[at][7][0] = "somebody"
    rows = [
        list(zip(*(column[i] for column in columns), strict=True))
        for i in range(len(strings))
    ]
    other = Table.from_sequences(rows, list(X.columns))
    with pytest.raises(ForeignData):
        parser.model_.training_problem(other, y, Formulation())


def test_explanations_add_up_to_the_lead(data, parser):
    X_new = data[2]
    explanation = parser.model_.explain(X_new[3], top=1000)
    assert sum(own.share for own in explanation.support) == pytest.approx(
        explanation.lead
    )
    for own in explanation.support:
        assert sum(share for *_, share in own.arcs) == pytest.approx(own.share)
        assert own.words == data[0][own.row].strings("form")[0]
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    tree = parser.predict(X_new[3:4])[0]
    assert explanation.winner == [
        f"{name}({head})" for head, name in zip(*tree, strict=True)
    ]
    assert "training sentence" in str(explanation)


def test_files_bring_the_same_parser_back(data, parser, tmp_path):
    X_new = data[2]
    path = tmp_path / "kernel.model"
    parser.save(path)
    again = DependencyParser.load(path)
    assert list(again.predict(X_new)) == list(parser.predict(X_new))
    assert again.match == ["xpos+distance", "form+direction"]
    assert again.certificate_ == parser.certificate_
    np.testing.assert_array_equal(again.margin(X_new), parser.margin(X_new))


def test_batches_change_nothing(data, parser, monkeypatch):
    whole = parser.margin(data[2])
    trees = list(parser.predict(data[2]))
    monkeypatch.setattr(
        kernel_index, "BATCH", 7 * parser.model_.scoring.index.n_anchors
    )
    assert len(list(parser.model_.problems(data[2]))) > 4
    np.testing.assert_array_equal(parser.margin(data[2]), whole)
    assert list(parser.predict(data[2])) == trees


def test_threads_do_not_change_bits(data, parser):
    settings = {"kernel": KERNEL, "match": MATCH, "C": 20.0, "tol": 0.02}
    two = DependencyParser(labels=None, n_jobs=2, **settings).fit(*data[:2])
    assert np.array_equal(two.model_.weights, parser.model_.weights)
    assert set(two.predict(data[2])[0].labels) == {"_"}


@pytest.mark.parametrize("how", ["project", "merge", "drop"])
def test_a_budget_of_sentences(data, parser, how):
    settings = {"kernel": KERNEL, "match": MATCH, "C": 20.0, "tol": 0.02}
    small = DependencyParser(
        labels=None, budget=25, over_budget=how, metric="uas", **settings
    )
    small.fit(*data[:2])
    assert small.model_.scoring.index.n_anchors == 25
    assert small.certificate_.dual == parser.certificate_.dual
    assert small.certificate_.primal >= parser.certificate_.dual
    assert "25 anchors" in small.certificate_.note
    assert small.score(*data[:2]) > 0.7


def test_keys_alone_without_a_kernel(data):
    X, y, X_new, y_new = data
    parser = DependencyParser(match="xpos+bucket", labels=None, tol=0.05, metric="uas")
    parser.fit(X, y)
    assert parser.model_.scoring.index.kernel is None
    assert parser.score(X_new, y_new) > 0.6
    explanation = parser.model_.explain(X_new[0], top=1000)
    assert sum(own.share for own in explanation.support) == pytest.approx(
        explanation.lead
    )
    assert "xpos=" in str(explanation) and "bucket" in str(explanation)
    assert len(parser.model_.scoring.index.names) == len(parser.model_.weights)


def test_a_function_of_the_user(data, tmp_path):
    def tags(sentence, head, dep):
        codes = np.append(-1, sentence.columns["xpos"].codes).astype(np.int64) + 1
        return 1000 * codes[head] + codes[dep]

    X, y, *_ = data
    named, own = (
        DependencyParser(match=match, labels=None, tol=0.05).fit(X, y)
        for match in ("xpos", [tags])
    )
    assert own.certificate_.primal == pytest.approx(named.certificate_.primal)
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        own.save(tmp_path / "model")


def test_a_kernel_of_the_user(data, tmp_path):
    """Sentences are compared by their words; the same as a bag of words."""

    def common(one, other):
        (x,), (z,) = one.strings("form"), other.strings("form")
        return float(sum(a == b for a in x for b in z))

    X, y, X_new, _ = data
    settings = {"match": "xpos", "labels": None, "tol": 0.05, "C": 1.0}
    own, named = (
        DependencyParser(kernel=kernel, **settings).fit(X[:20], y[:20])
        for kernel in (common, "bow:columns=form")
    )
    assert own.certificate_.primal == pytest.approx(named.certificate_.primal)
    assert list(own.predict(X_new)) == list(named.predict(X_new))
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        own.save(tmp_path / "model")


def test_word_clusters_belong_to_the_parser(data, tmp_path):
    X, y, X_new, _ = data
    settings = {
        "match": "cluster+distance, xpos",
        "kernel": "normalized(bow:columns=cluster)",
        "labels": None,
        "tol": 0.05,
        "C": 20.0,
    }
    parser = DependencyParser(clusters=12, **settings).fit(X, y)
    by_hand = WordClusters(n_clusters=12, column="form").fit(X)
    own = DependencyParser(**settings).fit(by_hand.transform(X), y)
    np.testing.assert_array_equal(parser.model_.weights, own.model_.weights)
    parser.save(tmp_path / "model")
    again = DependencyParser.load(tmp_path / "model")
    assert list(again.predict(X_new)) == list(own.predict(by_hand.transform(X_new)))
    assert again.explain(X_new[0]).lead == pytest.approx(parser.margin(X_new)[0, 1])
    assert again.clusters.clusters_ == by_hand.clusters_
    problem = again.model_.training_problem(X, y, Formulation())
    assert problem.n_blocks == len(X)
    with pytest.raises(ValueError, match="have already"):
        DependencyParser(clusters=12, **settings).fit(by_hand.transform(X), y)
    with pytest.raises(ValueError, match="give match= or kernel="):
        DependencyParser(clusters=12).fit(X, y)


def test_clusters_of_word_vectors(data, tmp_path):
    X, y, X_new, _ = data
    words = sorted(set(X.columns["form"].values) | set(X_new.columns["form"].values))
    rng = np.random.default_rng(0)
    vectors = {word: rng.normal(size=4) for word in words}
    settings = {"match": "cluster+distance, xpos", "labels": None, "tol": 0.05}
    clusters = WordClusters(12, column="form", vectors=vectors)
    parser = DependencyParser(clusters=clusters, **settings).fit(X, y)
    table = clusters.fit(X).transform(X_new)
    assert "c?" not in table.columns["cluster"].values  # new words have vectors, too
    parser.save(tmp_path / "model")
    again = DependencyParser.load(tmp_path / "model")
    assert list(again.predict(X_new)) == list(parser.predict(X_new))
    with pytest.raises(ValueError, match="give clusters=WordClusters"):
        again.fit(X, y)


# --------------------------------------------------------- warm starts, Gram matrices


def test_a_warm_start_goes_on(data):
    X, y, *_ = data
    settings = {"match": MATCH, "C": 20.0, "tol": 0.02, "labels": None}
    parser = DependencyParser(
        kernel=KERNEL, solver="one_slack", warm_start=True, max_iter=8, **settings
    )
    with pytest.warns(UserWarning, match="max_iter"):
        before = parser.fit(X[:40], y[:40]).certificate_.primal
        after = parser.fit(X[:40], y[:40]).certificate_.primal
    assert after < before
    with pytest.warns(UserWarning, match="max_iter"):  # more sentences may be added
        parser.fit(X, y)
    with pytest.raises(ValueError, match="others may be added at the end"):
        parser.fit(X[20:], y[20:])
    with pytest.raises(ValueError, match="another kernel"):
        parser.set_params(kernel="bow").fit(X, y)
    parser.set_params(kernel=KERNEL)
    with pytest.raises(ValueError, match="match= has changed"):
        parser.set_params(match="form").fit(X, y)
    with pytest.raises(ValueError, match="which had a kernel"):
        parser.set_params(kernel=None, match=None).fit(X, y)


def test_a_gram_matrix_is_found_again(data, parser, tmp_path):
    X, y, *_ = data
    values = []
    settings = {"kernel": KERNEL, "match": MATCH, "C": 20.0, "tol": 0.02}
    options = {"cache_dir": tmp_path, "progress": values.append}
    mapped = DependencyParser(labels=None, gram_options=options, **settings)
    for _ in range(2):
        mapped.fit(X, y)
        assert np.array_equal(mapped.model_.weights, parser.model_.weights)
    assert len(list(tmp_path.iterdir())) == 1
    assert sum(progress.done == 1 for progress in values) == 1


def test_a_gram_matrix_that_does_not_fit(data, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    with pytest.raises(GramTooLarge, match=r"cache_dir.*fewer sentences"):
        DependencyParser(kernel=KERNEL).fit(*data[:2])


# ------------------------------------------------------------------------ the dual


def test_the_dual_is_kept_and_adds_up(data, parser, tmp_path):
    X, y, *_ = data
    parser.save(tmp_path / "kernel.model", keep_dual=True)
    model = load_model(tmp_path / "kernel.model")
    problem = model.training_problem(X, y, Formulation())
    cuts = model.support.cuts
    rows = model.support.rows[cuts.block]
    w = problem.combine(cuts._replace(block=rows), model.support.alpha)
    subset = problem.expand(model.weights)
    assert problem.dot(w - subset, w - subset) < 1e-12 * problem.dot(subset, subset)
    masses = np.bincount(rows, model.support.alpha)
    assert masses.max() <= 20.0 / 60 * (1 + 1e-9)
    parser.save(tmp_path / "small.model")
    assert load_model(tmp_path / "small.model").support is None


def test_support_structures_are_drawn(data, parser):
    pictures = support_tree_pictures(parser.model_, n_sentences=3, n_trees=2)
    assert 3 <= len(pictures) <= 6
    support = parser.model_.support
    lengths = np.diff(support.offset)[support.cuts.block]
    best = int(np.argmax(np.where(lengths <= 20, support.alpha, 0.0)))
    row = int(support.rows[support.cuts.block[best]])
    assert pictures[0].caption.startswith(f"Training sentence {row}: ")
    assert f"α = {support.alpha[best]:.3g}" in pictures[0].caption
    words = data[0][row].strings("form")[0]
    assert all(f">{word}<" in pictures[0].image for word in words)
    assert "wrong" in pictures[0].image and "truth" in pictures[0].image
    model = parser.model_
    without = DependencyModel(model.scoring, model.structure, [], model.weights)
    assert support_tree_pictures(without) == []


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"kernel": KERNEL, "loss": "log"}, CapabilityError, "no kernel form"),
        ({"kernel": KERNEL, "order": 2}, CapabilityError, "order=1"),
        ({"kernel": "rbf"}, ValueError, "does not compare sentences"),
        ({"match": "nothing+distance"}, ValueError, "needs a column 'nothing'"),
        ({"kernel": "bow:columns=nothing"}, ValueError, "a column 'nothing'"),
        ({"kernel": KERNEL, "budget": 0}, ValueError, "positive whole number"),
        ({"kernel": KERNEL, "gram_options": {"cache": 1}}, ValueError, "cache_dir"),
        ({"kernel": KERNEL, "gram_options": {"dtype": "int8"}}, ValueError, "float32"),
        ({"match": "form", "budget": 3}, ValueError, "give kernel="),
    ],
)
def test_what_is_refused(data, settings, error, text):
    with pytest.raises(error, match=text):
        DependencyParser(labels=None, max_iter=1, **settings).fit(*data[:2])


DAMAGES = {
    "anchor": lambda a: a + 10**6,
    "key": lambda a: a[::-1],
    "begin": lambda a: a + 1,
    "row": lambda a: a * 0,
    "weight": lambda a: a * np.nan,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_files_are_refused(parser, tmp_path, name):
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    path = tmp_path / "kernel.model"
    save_model(parser.model_, path)
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    arrays = load_file(path)
    name = f"index/{name}"
    arrays[name] = np.ascontiguousarray(DAMAGES[name.split("/")[1]](arrays[name]))
    save_file(arrays, path, metadata)
    with pytest.raises(ModelFileError, match="damaged model file"):
        load_model(path)
