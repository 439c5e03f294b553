"""Kernel taggers whose hash functions compare more than labels."""

import numpy as np
import pytest
from sklearn.base import clone

from partwise import SequenceTagger
from partwise.certificate import certify
from partwise.datasets import toy_entities
from partwise.objective import Formulation
from partwise.readers import Table
from partwise.scorers import kernel_index

KERNEL = "normalized(poly:degree=2)"


@pytest.fixture(scope="module")
def data():
    return toy_entities(60, random_state=0)


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
