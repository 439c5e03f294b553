"""Kernel taggers: hidden Markov support vector machines behind the tagger's interface.

All fits share one layout of data, so that the chain's kernels compile once.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from partwise import SequenceTagger
from partwise.certificate import certify
from partwise.cli import main
from partwise.datasets import toy_entities
from partwise.kernels import (
    GramTooLarge,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    memory,
)
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.objective import Formulation
from partwise.outputs.sequence import file as sequence_file
from partwise.protocol import CapabilityError
from partwise.readers import Table, write_columns
from partwise.scorers import kernel_index

KERNEL = "normalized(poly:degree=2)"
SETTINGS = {"C": 10.0, "tol": 1e-4, "templates": ["word[-1..1]", "pos[0]"]}


@pytest.fixture(scope="module")
def data():
    return toy_entities(60, random_state=0)


@pytest.fixture(scope="module")
def tagger(data):
    X, y = data
    return SequenceTagger(kernel=KERNEL, **SETTINGS).fit(X[:40], y[:40])


def test_it_learns_and_certifies(tagger, data):
    X, y = data
    assert tagger.certificate_.relative_gap <= 1e-4
    assert tagger.score(X[40:], y[40:]) > 0.75
    assert tagger.score(X[:40], y[:40]) > 0.95


def test_a_linear_kernel_is_the_linear_tagger(data):
    X, y = data
    linear = SequenceTagger(**SETTINGS).fit(X[:40], y[:40])
    kernel = SequenceTagger(kernel=Linear(), **SETTINGS).fit(X[:40], y[:40])
    assert kernel.certificate_.primal == pytest.approx(
        linear.certificate_.primal, rel=2e-4
    )
    # w = Σ β x of the anchors, for the key of each label
    anchors = kernel.model_.scoring.index.anchors.inputs
    beta = kernel.coef_.toarray()
    w = np.zeros((linear.n_features_in_, len(beta)))
    row = np.repeat(np.arange(anchors.n_rows), np.diff(anchors.indptr))
    np.add.at(w, anchors.indices, anchors.data[:, None] * beta.T[row])
    labels = [name.removeprefix("label=") for name in kernel.key_names_]
    order = np.searchsorted(linear.classes_, labels)
    away = np.linalg.norm(w.T - linear.coef_[order]) / np.linalg.norm(linear.coef_)
    assert away < 0.05
    assert list(kernel.predict(X)) == list(linear.predict(X))


def test_only_anchors_with_weight_are_kept(tagger, data):
    X, _ = data
    n_labels, n_anchors = tagger.coef_.shape
    assert 0 < n_anchors < sum(len(x) for x in X[:40])
    largest = np.abs(tagger.coef_.toarray()).max(axis=0)
    assert largest.min() > 1e-12 * largest.max()
    name = tagger.feature_names_[3]
    anchors = tagger.model_.scoring.index.anchors
    row, t = anchors.row[3], anchors.token[3]
    assert name == f"sequence {row}, token {t}: {X[row][t][0]}"
    assert n_labels == len(tagger.classes_)


def test_batches_change_nothing(tagger, data, monkeypatch):
    X, _ = data
    whole = list(tagger.predict(X)), tagger.margin(X), tagger.predict_marginals(X)
    n_anchors = tagger.coef_.shape[1]
    monkeypatch.setattr(kernel_index, "BATCH", 20 * n_anchors)
    batches = list(tagger.model_.problems(X))
    assert len(batches) > 10
    assert max(batch.blocks.offset[-1] for batch in batches) <= 20
    assert list(tagger.predict(X)) == whole[0]
    np.testing.assert_array_equal(tagger.margin(X), whole[1])
    for one, other in zip(tagger.predict_marginals(X), whole[2], strict=True):
        np.testing.assert_array_equal(one, other)
    given = [[None] * len(x) for x in X]
    given[50][0] = "B-LOC"
    assert tagger.predict(X, given=given)[50][0] == "B-LOC"


def test_the_number_of_threads_does_not_show(tagger, data):
    X, y = data
    other = clone(tagger).set_params(n_jobs=2).fit(X[:40], y[:40])
    np.testing.assert_array_equal(other.model_.weights, tagger.model_.weights)
    np.testing.assert_array_equal(other.margin(X), tagger.margin(X))


def test_explain_shares_add_up(tagger, data):
    X, _ = data
    explanation = tagger.explain(X[45], top=10**6)
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    # w = Σ α a, so the support structures carry the whole lead as well
    assert sum(s.share for s in explanation.support) == pytest.approx(
        explanation.lead, rel=1e-6
    )
    assert "sequence" in str(explanation)


def test_a_budget_is_kept_and_told(tagger, data):
    X, y = data
    limit = tagger.coef_.shape[1] // 2
    values = {}
    for how in ("project", "merge", "drop"):
        small = clone(tagger).set_params(budget=limit, over_budget=how)
        small.fit(X[:40], y[:40])
        assert small.coef_.shape[1] == limit
        certificate = small.certificate_
        # the optimum is that of the whole model, and so is its bound
        assert certificate.dual == tagger.certificate_.dual
        assert "budget" in certificate.note
        assert certificate.primal > tagger.certificate_.primal
        assert small.model_.support is None
        values[how] = certificate.primal
    assert values["project"] < values["drop"]
    ample = clone(tagger).set_params(budget=10**6).fit(X[:40], y[:40])
    assert ample.certificate_ == tagger.certificate_


def test_grid_search_sees_kernels(data):
    X, y = data
    search = GridSearchCV(
        SequenceTagger(**SETTINGS),
        {"kernel": [KERNEL, Normalized(Polynomial(degree=3))]},
        cv=2,
        error_score="raise",
    ).fit(X[:30], y[:30])
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"kernel": KERNEL, "loss": "log"}, CapabilityError, "Nystroem"),
        ({"kernel": KERNEL, "solver": "hmm"}, CapabilityError, "Nystroem"),
        ({"kernel": "tree"}, ValueError, "trees"),
        ({"kernel": "ngram", "templates": "word"}, ValueError, "leave it out"),
        ({"match": "word"}, ValueError, "label.word"),
        ({"kernel": KERNEL, "match": "bigram"}, ValueError, "whole sequences"),
        ({"match": "label", "budget": 3}, ValueError, "give kernel="),
        ({"match": "label", "min_count": 2}, ValueError, "min_count= is for"),
        ({"match": 5}, ValueError, "neither a name nor a function"),
        ({"kernel": "poly:degree=0"}, ValueError, "degree"),
        ({"kernel": KERNEL, "budget": 0}, ValueError, "budget=0"),
        ({"kernel": KERNEL, "budget": 3, "over_budget": "x"}, ValueError, "project"),
        ({"budget": 3}, ValueError, "give kernel="),
        ({"gram_options": {}}, ValueError, "give kernel="),
        ({"kernel": KERNEL, "gram_options": {"cache": 1}}, ValueError, "cache_dir"),
        ({"kernel": KERNEL, "gram_options": {"dtype": "int8"}}, ValueError, "float32"),
    ],
)
def test_what_makes_no_sense_is_refused(data, settings, error, words):
    X, y = data
    with pytest.raises(error, match=words):
        SequenceTagger(**settings).fit(X[:3], y[:3])


def test_a_gram_matrix_that_does_not_fit(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    with pytest.raises(GramTooLarge, match="fewer sequences"):
        SequenceTagger(kernel=KERNEL).fit(X, y)


def test_a_warm_start_goes_on(data):
    X, y = data
    tagger = SequenceTagger(kernel=KERNEL, warm_start=True, solver="bundle", **SETTINGS)
    first = tagger.fit(X[:40], y[:40]).n_iter_
    again = tagger.fit(X[:40], y[:40]).n_iter_
    assert again < first
    assert tagger.certificate_.relative_gap <= 1e-4
    more = X[:40] + X[:10], y[:40] + y[:10]  # more sequences, of the same features
    tagger.fit(*more)
    whole = clone(tagger).fit(*more)
    assert tagger.certificate_.primal == pytest.approx(whole.certificate_.primal, 2e-4)
    with pytest.raises(ValueError, match="its own training data"):
        tagger.fit(X[20:], y[20:])
    with pytest.raises(ValueError, match="another kernel"):
        tagger.set_params(kernel="poly").fit(X[:50], y[:50])
    tagger.set_params(kernel=KERNEL, match="type")
    with pytest.raises(ValueError, match="match= has changed"):
        tagger.fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="leave kernel= as it was"):
        tagger.set_params(kernel=None, match=None).fit(X[:50], y[:50])


def test_a_linear_model_is_no_start_for_a_kernel(data):
    X, y = data
    tagger = SequenceTagger(warm_start=True, **SETTINGS).fit(X[:10], y[:10])
    with pytest.raises(ValueError, match="had no kernel"):
        tagger.set_params(kernel=KERNEL).fit(X[:10], y[:10])


def test_a_gram_matrix_in_single_precision(tagger, data, tmp_path):
    """With a solver that compiles little: the rows are of another type."""
    X, y = data
    options = {"dtype": "float32", "cache_dir": tmp_path / "grams"}
    single = clone(tagger).set_params(solver="one_slack", gram_options=options)
    single.fit(X[:40], y[:40])
    assert single.certificate_.relative_gap <= 1e-4
    assert single.certificate_.primal == pytest.approx(
        tagger.certificate_.primal, rel=2e-4
    )
    small = clone(single).set_params(budget=50).fit(X[:40], y[:40])
    assert np.isfinite(small.model_.weights).all() and small.coef_.shape[1] == 50
    assert len(list((tmp_path / "grams").iterdir())) == 1
    single.save(tmp_path / "f.model")
    again = SequenceTagger.load(tmp_path / "f.model")
    assert list(again.predict(X)) == list(single.predict(X))
    codes = np.concatenate([np.searchsorted(again.classes_, row) for row in y[:40]])
    problem = again.model_.training_problem(X[:40], codes, Formulation())
    assert problem.blocks.rows.postings.gram.dtype == np.float32


def test_a_function_of_two_rows(data):
    X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 1]], np.eye(3)[[0, 0]]]
    y = [["a", "b", "c"], ["c", "b"], ["a", "a"]]
    tagger = SequenceTagger(kernel=lambda x, z: float(x @ z), C=10.0).fit(X, y)
    assert list(tagger.predict(X)) == y
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        tagger.save("nowhere.model")


def test_a_matrix_of_the_user(data):
    """Tokens are rows of the matrix, also those to predict."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2))
    matrix = Polynomial(degree=2)(points)
    numbers = np.arange(12.0)[:, None]
    X = [numbers[:4], numbers[4:8], numbers[8:]]
    y = [["+" if p > 0 else "-" for p in points[int(x[0, 0]) :][: len(x)].prod(1)]
         for x in X]  # fmt: skip
    tagger = SequenceTagger(kernel=Precomputed(matrix), C=100.0).fit(X[:2], y[:2])
    rows = [points[:4], points[4:8], points[8:]]
    named = SequenceTagger(kernel="poly:degree=2", C=100.0).fit(rows[:2], y[:2])
    assert list(tagger.predict(X)) == list(named.predict(rows))
    assert tagger.certificate_.primal == pytest.approx(named.certificate_.primal)
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        tagger.save("nowhere.model")
    with pytest.raises(ValueError, match="whole numbers"):
        tagger.predict([np.full((2, 1), 0.5)])


def test_kernels_that_bound_nothing_are_refused(data):
    X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 1]]]
    y = [["a", "b", "c"], ["c", "b"]]
    with pytest.raises(ValueError, match="positive semidefinite"):
        SequenceTagger(kernel=lambda x, z: -float(x @ z)).fit(X, y)
    with pytest.raises(ValueError, match="the other way round"):
        SequenceTagger(kernel=lambda x, z: float(x @ z + x[0] - z[1])).fit(X, y)


# ------------------------------------------------------------------ hash functions

WHOLE = {"kernel": "normalized(ngram:n=2)", "match": "label+word, type, bigram"}
KEYS = {"match": "label+word, type+pos[-1], bigram", "order": 0}
MATCHES = [{"kernel": KERNEL, "match": "label, type"}, WHOLE, KEYS]


@pytest.mark.parametrize("settings", MATCHES)
def test_hash_functions_by_name(data, settings, tmp_path):
    X, y = data
    tagger = SequenceTagger(C=10.0, tol=1e-4, **settings).fit(X[:40], y[:40])
    assert tagger.certificate_.relative_gap <= 1e-4
    assert tagger.score(X[:40], y[:40]) > 0.9
    explanation = tagger.explain(X[45], top=10**6)
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    assert sum(s.share for s in explanation.support) == pytest.approx(
        explanation.lead, rel=1e-6
    )
    tagger.save(tmp_path / "m", keep_dual=True)
    again = SequenceTagger.load(tmp_path / "m")
    np.testing.assert_array_equal(again.margin(X), tagger.margin(X))
    assert str(again.explain(X[45])) == str(tagger.explain(X[45]))
    assert again.match == settings["match"].split(", ")
    codes = np.concatenate([np.searchsorted(again.classes_, row) for row in y[:40]])
    problem = again.model_.training_problem(X[:40], codes, Formulation())
    actual = certify(problem, tagger.objective_, problem.expand(again.model_.weights))
    assert actual.primal == pytest.approx(tagger.certificate_.primal, rel=1e-12)
    assert len(tagger.feature_names_) == tagger.coef_.shape[-1]


def test_keys_alone_are_named_features(data):
    """With k = 1 a hash function is a template: the same optimum."""
    X, y = data
    settings = {"C": 10.0, "tol": 1e-6}
    keys = SequenceTagger(match="label+word, label+pos[-1]", **settings)
    linear = SequenceTagger(templates=["word", "pos[-1]"], **settings)
    keys.fit(X[:40], y[:40])
    linear.fit(X[:40], y[:40])
    assert keys.certificate_.primal == pytest.approx(
        linear.certificate_.primal, rel=1e-5
    )
    values = dict(zip(keys.feature_names_, keys.coef_, strict=True))
    weights = dict(zip(linear.feature_names_, linear.coef_.T, strict=True))
    number = {label: k for k, label in enumerate(linear.classes_)}
    for name, weight in values.items():
        label, feature = name.removeprefix("label=").split(" ")
        feature = feature if "[" in feature else feature.replace("=", "[0]=", 1)
        assert weight == pytest.approx(weights[feature][number[label]], abs=0.02)


def test_hash_functions_of_the_user(data, tmp_path):
    X, y = data

    def by_case(sequence, token, label):
        is_name = np.array([word[0].isupper() for word, _ in sequence])
        kinds = np.unique(label, return_inverse=True)[1]
        return 2 * kinds + is_name[token]

    tagger = SequenceTagger(match=[by_case, "label+word"], C=10.0)
    tagger.fit(X[:40], y[:40])
    assert tagger.score(X[40:], y[40:]) > 0.8
    assert any(name.startswith("by_case=") for name in tagger.feature_names_)
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        tagger.save(tmp_path / "m")


def test_whole_sequences_are_compared_by_all_their_columns(data):
    """A kernel that names no columns sees those of the table."""
    X, y = data
    settings = {"match": "label+word", "C": 10.0, "tol": 1e-3}
    both, named, words = (
        SequenceTagger(kernel=f"normalized(annotated:n=2{columns})", **settings)
        .fit(X[:20], y[:20])
        .certificate_.primal
        for columns in ("", ",columns=word|pos", ",columns=word")
    )
    assert both == named != words


def test_a_budget_of_sequences(data):
    X, y = data
    whole = SequenceTagger(C=10.0, tol=1e-3, **WHOLE).fit(X[:40], y[:40])
    small = clone(whole).set_params(budget=15).fit(X[:40], y[:40])
    assert small.model_.scoring.index.n_anchors == 15
    assert small.certificate_.dual == whole.certificate_.dual


def test_sequences_without_tokens_never_reach_compiled_code():
    """It would read outside its arrays."""
    X = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}]]
    y = [["A", "B"], ["A"]]
    with pytest.raises(ValueError, match="sequence 2 has no tokens"):
        SequenceTagger(match="label", boundary=True).fit([*X, []], [*y, []])
    tagger = SequenceTagger(match="label").fit(X, y)
    assert tagger.predict([*X, []]).tolist() == [*tagger.predict(X).tolist(), []]
    with pytest.raises(ValueError, match="has no tokens"):
        tagger.explain([])


def test_tokens_of_which_nothing_is_known():
    X, y = [["a", "b"], ["b", "a"], ["a"]], [["A", "B"], ["B", "A"], ["A"]]
    for kernel in (KERNEL, "poly:degree=2", "rbf", "laplacian"):
        tagger = SequenceTagger(kernel=kernel, templates=["word[0]"], C=5.0).fit(X, y)
        assert len(tagger.predict([["zzz"]])[0]) == 1
        assert tagger.explain(["zzz"]).lead >= 0


def test_functions_of_the_user_see_the_sequences_themselves():
    def by_label(sequence, token, label):
        assert all("w" in one for one in sequence)
        return np.unique(label, return_inverse=True)[1]

    X = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}]]
    y = [["A", "B"], ["A"]]
    tagger = SequenceTagger(kernel="linear", match=by_label, C=5.0).fit(X, y)
    explanation = tagger.explain(X[0])
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    keys = SequenceTagger(match=[by_label, "label"], C=5.0).fit(X, y)
    assert {"by_label=0", "by_label=1"} <= {*keys.feature_names_}


def test_batches_count_pairs_of_labels(data, monkeypatch):
    X, y = data
    tagger = SequenceTagger(match="label+word, bigram", C=5.0).fit(X[:10], y[:10])
    whole = tagger.margin(X)
    size = len(tagger.classes_)
    most = 2 * (max(map(len, X)) * size + size * size)
    monkeypatch.setattr(kernel_index, "BATCH", most)
    problems = list(tagger.model_.problems(X))
    assert len(problems) > len(X) // 3
    assert all(p.blocks.rows.slot.size <= most for p in problems)
    np.testing.assert_array_equal(tagger.margin(X), whole)


def test_a_warm_start_keeps_the_kind_of_transitions(data):
    X, y = data
    for kernel in (None, KERNEL):
        tagger = SequenceTagger(kernel=kernel, warm_start=True, C=1.0)
        tagger.fit(X[:5], y[:5])
        with pytest.raises(ValueError, match="order=1"):
            tagger.set_params(order=0, boundary=True).fit(X[:5], y[:5])


def test_only_the_first_of_several_is_explained(data):
    X, y = data
    tagger = SequenceTagger(C=10.0, tol=1e-3, **WHOLE).fit(X[:40], y[:40])
    table = Table.from_sequences(X[45:48])
    assert str(tagger.explain(table)) == str(tagger.explain(table[:1]))
    assert list(tagger.predict([table, table[:1]])) == list(
        tagger.predict(X[45:48] + X[45:46])
    )


# ------------------------------------------------------------------------- files


def test_a_file_brings_the_model_back(tagger, data, tmp_path):
    X, _ = data
    tagger.save(tmp_path / "k.model", keep_dual=True)
    again = SequenceTagger.load(tmp_path / "k.model")
    assert list(again.predict(X)) == list(tagger.predict(X))
    np.testing.assert_array_equal(again.margin(X), tagger.margin(X))
    assert str(again.explain(X[45])) == str(tagger.explain(X[45]))
    assert again.kernel.to_dict() == tagger.model_.scoring.index.kernel.to_dict()
    assert again.n_features_in_ == tagger.n_features_in_


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("row", lambda a: a[::-1]),
        ("row", lambda a: a - 1),
        ("key", lambda a: a[::-1]),
        ("begin", lambda a: a + 1),
        ("anchor", lambda a: a + 10**6),
        ("weight", lambda a: a * np.nan),
        ("token", lambda a: a[:-1]),
        ("text_offset", lambda a: a[:-1]),
        ("anchors/indices", lambda a: a + 10**6),
        ("anchors/indptr", lambda a: a[:-1]),
        ("anchors/data", lambda a: a * np.inf),
        ("anchors/shape", lambda a: a + 1),
    ],
)
def test_hostile_arrays_are_refused(tagger, tmp_path, monkeypatch, name, spoil):
    def write(model):
        settings, arrays = to_state(model)
        key = f"index/{name}"
        arrays[key] = spoil(arrays[key])
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    monkeypatch.setattr("partwise.model_file.check_magnitude", lambda *_: None)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


@pytest.mark.parametrize(
    "spoil",
    [
        {"kernel": {"kernel": "poly.v1", "degree": 10**9, "coef0": 1, "gamma": 1}},
        {"kernel": {"kernel": "no_such.v1"}},
        {"kernel": {"kernel": "tree.v1", "decay": 0.5}},
        {"kernel": "poly"},
        {"kernel": None},
        {"kernel": {"kernel": "precomputed.v1", "params": {}}},
        {"by_token": False},
        {"dtype": "float16"},
    ],
)
def test_hostile_settings_are_refused(tagger, tmp_path, monkeypatch, spoil):
    def write(model):
        settings, arrays = to_state(model)
        settings["index"] = settings["index"] | spoil
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


@pytest.mark.parametrize(
    "spoil",
    [
        {"match": []},
        {"match": ["word"]},
        {"match": ["label", 3]},
        {"match": ["bigram"]},
        {"featurizer": None},
        {"featurizer": {"kind": "arrays.v1", "n_features": 7}},
        {"featurizer": {"kind": "no_such.v1"}},
        {"labels": ["O", "O"]},
        {"order": 2},
    ],
)
def test_hostile_models_are_refused(tagger, tmp_path, monkeypatch, spoil):
    def write(model):
        settings, arrays = to_state(model)
        return settings | spoil, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


def test_postings_that_stand_twice_are_refused(tagger, tmp_path, monkeypatch):
    """Else `verify` could look at one of them, and `predict` at both."""

    def write(model):
        settings, arrays = to_state(model)
        begin = arrays["index/begin"]
        for name in ("anchor", "weight"):
            arrays[f"index/{name}"] = np.insert(
                arrays[f"index/{name}"], begin[:-1], arrays[f"index/{name}"][begin[:-1]]
            )
        arrays["index/begin"] = begin + np.arange(len(begin))
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="out of order"):
        load_model(tmp_path / "bad.model")


def test_keys_without_names_are_refused(tagger, tmp_path, monkeypatch):
    def write(model):
        settings, arrays = to_state(model)
        del arrays["index/name"]
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="without names"):
        load_model(tmp_path / "bad.model")


def test_a_dual_without_planes(tmp_path):
    X, y = [["a", "b"], ["c"]], [["O", "O"], ["O"]]
    tagger = SequenceTagger(kernel="linear").fit(X, y)
    tagger.save(tmp_path / "m", keep_dual=True)
    again = SequenceTagger.load(tmp_path / "m")
    assert list(again.predict(X)) == y
    assert again.explain(X[0]).support == tagger.explain(X[0]).support == []


# ------------------------------------------------------------------ command line


@pytest.fixture
def files(data, tmp_path):
    X, y = data
    for name, part in (("train", slice(40)), ("test", slice(40, 60))):
        write_columns(tmp_path / name, Table.from_sequences(X[part]), y[part])
    return tmp_path


def run(*arguments):
    return main([str(a) for a in arguments])


def test_train_verify_inspect_predict(files, capsys):
    model, train, test = files / "k.model", files / "train", files / "test"
    options = ["--kernel", KERNEL, "--C", "10", "--keep-dual", "--report"]
    report = files / "report.html"
    assert run("train", "tag", train, "--model", model, *options, report) == 0
    assert run("verify", model, train, "--plain") == 0
    printed = capsys.readouterr().out
    assert "verified" in printed and "plain primal" in printed
    assert run("inspect", model) == 0
    printed = capsys.readouterr().out
    assert "poly.v1" in printed and "n_anchors" in printed
    assert run("explain", model, test) == 0
    assert "training sequence" in capsys.readouterr().out
    assert run("predict", model, test) == 0
    assert run("evaluate", model, test) == 0
    text = report.read_text()
    assert "Kernel" in text and "Normalized" in text


def test_verify_wants_the_training_data(files, capsys):
    model, train, test = files / "k.model", files / "train", files / "test"
    assert run("train", "tag", train, "--model", model, "--kernel", KERNEL) == 0
    assert run("verify", model, test) == 1
    assert "anchor" in capsys.readouterr().out


def test_verify_tells_a_budget(files, capsys):
    model, train = files / "k.model", files / "train"
    options = ["--kernel", KERNEL, "--budget", "50"]
    assert run("train", "tag", train, "--model", model, *options) == 0
    assert run("verify", model, train) == 0
    assert "verified" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["label, type"], ["label+word, label+pos"]])
def test_hash_functions_on_the_command_line(files, capsys, options):
    model, train, test = files / "k.model", files / "train", files / "test"
    kernel = ["--kernel", KERNEL] if "type" in options[0] else []
    values = ["--match", *options, *kernel, "--keep-dual", "--report", files / "r.html"]
    assert run("train", "tag", train, "--model", model, *values) == 0
    assert run("verify", model, train, "--plain") == 0
    assert "plain primal" in capsys.readouterr().out
    assert run("inspect", model) == 0
    assert options[0].split(", ")[1] in capsys.readouterr().out
    assert run("explain", model, test) == 0
    assert run("evaluate", model, test) == 0
    assert "Labels match by" in (files / "r.html").read_text()


def test_single_precision_verifies_plainly(files, capsys):
    """The certificate speaks of the rounded kernel, and so does the plain check."""
    options = ["--kernel", KERNEL, "--C", "1e5", "--gram-dtype", "float32"]
    model, train = files / "k.model", files / "train"
    assert run("train", "tag", train, "--model", model, *options, "--tol", "0.01") == 0
    assert run("verify", model, train, "--plain") == 0


def test_foreign_data_without_a_key(files, capsys):
    model, train = files / "k.model", files / "train"
    match = 'label+match(word,"^...")'
    assert run("train", "tag", train, "--model", model, "--match", match) == 0
    (files / "other").write_text("a NN O\n\n")
    assert run("verify", model, files / "other") == 1
    assert "no part has a key" in capsys.readouterr().out


def test_a_dual_on_a_budget_is_not_kept(files, capsys):
    options = ["--kernel", KERNEL, "--budget", "20", "--keep-dual"]
    model, train = files / "k.model", files / "train"
    assert run("train", "tag", train, "--model", model, *options) == 0
    assert "without --budget" in capsys.readouterr().err


def test_a_bad_hash_function_is_refused(files, capsys):
    options = ["--model", files / "m", "--match", "word"]
    assert run("train", "tag", files / "train", *options) == 2
    assert "label+word" in capsys.readouterr().err


def test_an_unknown_kernel_is_refused(files, capsys):
    options = ["--model", files / "m", "--kernel", "polly:degree=2"]
    assert run("train", "tag", files / "train", *options) == 2
    assert "polly" in capsys.readouterr().err


def test_certificate_does_not_trust_kept_scores(tagger, data):
    """The primal comes from coefficients alone, not from scores kept in training."""
    X, y = data
    codes = np.concatenate([np.searchsorted(tagger.classes_, row) for row in y[:40]])
    problem = tagger.model_.training_problem(X[:40], codes, Formulation())
    weights = problem.expand(tagger.model_.weights)
    actual = certify(problem, tagger.objective_, weights)
    assert actual.primal == pytest.approx(tagger.certificate_.primal, rel=1e-12)
