"""Phrase-structure parsers with kernels: fit, predict, explain, files."""

import numpy as np
import pytest

from partwise.datasets import toy_treebank
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.objective import Formulation
from partwise.outputs.phrase.estimator import ConstituencyParser
from partwise.protocol import CapabilityError
from partwise.scorers import kernel_index
from partwise.scorers.anchors import ForeignData

KERNEL = "normalized(annotated:n=2)"
MATCH = "rule, label+tag, label+first.word"
SETTINGS = {"kernel": KERNEL, "match": MATCH, "C": 30.0, "tol": 0.01}


@pytest.fixture(scope="module")
def data():
    X, y = toy_treebank(90, random_state=1)
    return X[:60], y[:60], X[60:], y[60:]


@pytest.fixture(scope="module")
def parser(data):
    return ConstituencyParser(**SETTINGS).fit(*data[:2])


def two_trees(parser, X):
    """The first sentence that has a runner-up."""
    return next(x for x in X if len(parser.predict_topk([x], 2)[0]) > 1)


def test_the_parser_has_learned(data, parser):
    assert parser.certificate_.relative_gap <= 0.01
    assert parser.model_.kind == "KernelConstituencyModel"
    assert parser.score(*data[:2]) > 0.98
    assert parser.score(*data[2:]) > 0.9


def test_the_index_gives_the_scores_of_training(data, parser):
    """New sentences are scored by postings, training ones by kept scores: the same."""
    X, y, *_ = data
    model = parser.model_
    problem = model.training_problem(X, y, Formulation())
    trained = problem.expand(model.weights)
    (new,) = model.problems(X)
    best, other = (
        [ranked[0][1] for ranked in each.k_best(each.expand(model.weights), 1)]
        for each in (problem, new)
    )
    np.testing.assert_allclose(best, other, rtol=1e-5, atol=1e-6)
    square = problem.dot(trained, trained)
    primal = parser.objective_.primal(square, problem.oracle(trained).bound)
    assert primal == pytest.approx(parser.certificate_.primal, rel=1e-9)


def test_rules_as_keys_are_the_linear_parser(data):
    X, y, X_new, _ = data
    settings = {"C": 30.0, "tol": 1e-4}
    linear = ConstituencyParser(features="rules", **settings).fit(X, y)
    keys = ConstituencyParser(match="rule", **settings).fit(X, y)
    constant = ConstituencyParser(
        kernel=lambda x, z: 1.0, match="rule", **settings
    ).fit(X, y)
    for other in (keys, constant):
        assert other.certificate_.primal == pytest.approx(
            linear.certificate_.primal, rel=2e-4
        )
    assert list(keys.predict(X_new)) == list(linear.predict(X_new))
    assert keys.margin(X_new) == pytest.approx(linear.margin(X_new), abs=1e-2)


@pytest.mark.parametrize("match", [MATCH, "rule", "label+bucket, label+last.tag[1]"])
@pytest.mark.parametrize("kernel", [KERNEL, None])
def test_explanations_add_up_to_the_lead(data, kernel, match):
    X, y, X_new, _ = data
    parser = ConstituencyParser(kernel=kernel, match=match, C=30.0).fit(X, y)
    x = two_trees(parser, X_new)
    explanation = parser.explain(x, top=10**6)
    assert sum(own.share for own in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    assert sum(own.share for own in explanation.support) == pytest.approx(
        explanation.lead, 1e-4
    )
    assert ("sequence" in str(explanation)) == (kernel is not None)


def test_files_bring_the_same_parser_back(data, parser, tmp_path):
    X_new = data[2]
    path = tmp_path / "kernel.model"
    parser.save(path)
    again = ConstituencyParser.load(path)
    assert list(again.predict(X_new)) == list(parser.predict(X_new))
    assert again.match == ["rule", "label+tag", "label+first.word"]
    assert again.certificate_ == parser.certificate_
    np.testing.assert_array_equal(again.margin(X_new), parser.margin(X_new))


def test_batches_and_threads_change_no_bit(data, parser, monkeypatch):
    X, y, X_new, _ = data
    whole, trees = parser.margin(X_new), list(parser.predict(X_new))
    two = ConstituencyParser(n_jobs=2, **SETTINGS).fit(X, y)
    assert np.array_equal(two.model_.weights, parser.model_.weights)
    np.testing.assert_array_equal(two.margin(X_new), whole)
    monkeypatch.setattr(kernel_index, "BATCH", 3000)
    assert len(list(parser.model_.problems(X_new))) > 4
    np.testing.assert_array_equal(parser.margin(X_new), whole)
    assert list(parser.predict(X_new)) == trees


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


def test_other_sentences_are_not_the_training_data(data, parser):
    others = data[2:]
    with pytest.raises(ForeignData, match=r"is not there|differs"):
        parser.model_.training_problem(*others, Formulation())


@pytest.mark.parametrize("how", ["project", "merge", "drop"])
def test_a_budget_of_sentences(data, parser, how):
    n_anchors = parser.model_.scoring.index.n_anchors // 2
    small = ConstituencyParser(budget=n_anchors, over_budget=how, **SETTINGS)
    small.fit(*data[:2])
    assert small.model_.scoring.index.n_anchors == n_anchors
    assert small.certificate_.primal >= parser.certificate_.dual
    assert small.score(*data[:2]) > 0.8


@pytest.mark.parametrize(
    ("cost", "formulation", "penalty"),
    [("f1", "margin", "l1"), ("zero_one", "slack", "l2"), ("brackets", "margin", "l2")],
)
def test_every_oracle_serves_kernels(data, cost, formulation, penalty):
    X, y, *_ = data
    short = [i for i, x in enumerate(X) if len(x) <= 8][:15]
    settings = {"cost": cost, "formulation": formulation, "penalty": penalty}
    parser = ConstituencyParser(kernel=KERNEL, C=10.0, **settings)
    parser.fit([X[i] for i in short], [y[i] for i in short])
    assert parser.certificate_.relative_gap <= 0.05


def test_words_without_tags(data):
    X, y, X_new, y_new = data
    parser = ConstituencyParser(
        kernel="bow", match="rule, label+first.word", lexical=True, C=30.0
    ).fit(X, y)
    assert parser.score(X_new, y_new) > 0.8


def test_a_function_of_the_user(data, tmp_path):
    def length(sentence, label, begin, end):
        names = sorted(set(label.tolist()))
        return np.array([names.index(a) for a in label]) * 1000 + (end - begin)

    X, y, *_ = data
    own, named = (
        ConstituencyParser(match=match, C=30.0, tol=1e-3).fit(X, y)
        for match in (["rule", length], "rule, label+length")
    )
    assert own.certificate_.primal == pytest.approx(named.certificate_.primal, rel=2e-3)
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        own.save(tmp_path / "model")


def test_a_warm_start_goes_on(data):
    X, y, *_ = data
    parser = ConstituencyParser(
        solver="one_slack", warm_start=True, max_iter=1, **SETTINGS | {"tol": 1e-9}
    )
    with pytest.warns(UserWarning, match="max_iter"):
        before = parser.fit(X, y).certificate_.primal
        after = parser.fit(X, y).certificate_.primal
    assert after < before
    with pytest.raises(ValueError, match="match= has changed"):
        parser.set_params(match="rule").fit(X, y)
    with pytest.raises(ValueError, match="which had a kernel"):
        parser.set_params(kernel=None, match=None).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"kernel": KERNEL, "loss": "log"}, CapabilityError, "no kernel form"),
        ({"kernel": KERNEL, "solver": "pcfg"}, CapabilityError, "no kernel form"),
        ({"kernel": "rbf"}, ValueError, "does not compare sentences"),
        ({"match": "label+lemma"}, ValueError, "needs a column 'lemma'"),
        ({"match": "tag"}, ValueError, r"write label\+tag"),
        ({"match": "rules"}, ValueError, "did you mean rule"),
        ({"match": "rule+tag"}, ValueError, "rule stands alone"),
        ({"match": "label+head.tag"}, ValueError, "neither first. nor last."),
        ({"match": "rule", "budget": 3}, ValueError, "give kernel="),
    ],
)
def test_what_is_refused(data, settings, error, text):
    with pytest.raises(error, match=text):
        ConstituencyParser(max_iter=1, **settings).fit(*data[:2])


DAMAGES = {
    "index/anchor": lambda a: a + 10**6,
    "index/key": lambda a: a[::-1],
    "index/row": lambda a: a * 0,
    "index/begin": lambda a: a + 1,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_hostile_files_are_refused(parser, tmp_path, monkeypatch, name):
    from partwise.outputs.phrase import file

    settings, arrays = file.to_state(parser.model_)
    arrays[name] = DAMAGES[name](arrays[name])
    monkeypatch.setattr(file, "to_state", lambda model: (settings, arrays))
    save_model(parser.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "bad.model")
