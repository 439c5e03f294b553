"""Kernel taggers: hidden Markov support vector machines behind the tagger's interface.

All fits share one layout of data, so that the chain's kernels compile once.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from partwise import SequenceTagger
from partwise.certificate import certify
from partwise.datasets import toy_entities
from partwise.kernels import (
    GramTooLarge,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    memory,
)
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
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


def test_certificate_does_not_trust_kept_scores(tagger, data):
    """The primal comes from coefficients alone, not from scores kept in training."""
    X, y = data
    codes = np.concatenate([np.searchsorted(tagger.classes_, row) for row in y[:40]])
    problem = tagger.model_.training_problem(X[:40], codes, Formulation())
    weights = problem.expand(tagger.model_.weights)
    actual = certify(problem, tagger.objective_, weights)
    assert actual.primal == pytest.approx(tagger.certificate_.primal, rel=1e-12)
