"""SequenceTagger in scikit-learn's world, and its own promises."""

import contextlib
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from partwise import SequenceTagger
from partwise.datasets import digit_strings, toy_entities
from partwise.metrics import scorer
from partwise.readers import Table
from partwise.solvers.bcfw import BCFW
from partwise.structures.chain.file import chain_from_state


@pytest.fixture(scope="module")
def entities():
    return toy_entities(120, random_state=0)


@pytest.fixture(scope="module")
def tagger(entities):
    X, y = entities
    return SequenceTagger(tol=0.01, metric="span_f1").fit(X[:80], y[:80])


def test_learns_entities_and_certifies(tagger, entities):
    X, y = entities
    assert tagger.score(X[80:], y[80:]) > 0.8
    certificate = tagger.certificate_
    assert certificate.relative_gap <= 0.01
    assert certificate.dual <= certificate.primal
    assert certificate.exact_oracle
    assert tagger.n_iter_ == len(tagger.history_)


def test_predictions_are_ragged_lists_in_an_object_array(tagger, entities):
    predicted = tagger.predict(entities[0][80:90])
    assert predicted.shape == (10,) and predicted.dtype == object
    assert all(isinstance(row, list) for row in predicted)
    assert set().union(*predicted) <= set(tagger.classes_)


def test_weights_are_named(tagger):
    n_labels, n_features = tagger.coef_.shape
    assert n_labels == len(tagger.classes_)
    assert n_features == len(tagger.feature_names_)
    assert tagger.transitions_.shape == (n_labels, n_labels)


def test_grid_search_and_cross_validation(entities):
    X, y = entities
    search = GridSearchCV(
        SequenceTagger(tol=0.05),
        {"C": [1.0, 20.0], "solver": ["bcfw", BCFW(tol=0.1)]},
        scoring=scorer("span_f1"),
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert 0.5 < search.best_score_ <= 1
    report = cross_validate(
        SequenceTagger(tol=0.05), X, y, cv=2, scoring={"f1": scorer("span_f1")}
    )
    assert (report["test_f1"] > 0.5).all()
    assert len(cross_val_predict(SequenceTagger(tol=0.05), X, y, cv=2)) == len(X)


def test_grid_search_on_a_table(entities):
    X, y = entities
    table = Table.from_sequences(X, ["word", "pos"])
    search = GridSearchCV(
        SequenceTagger(tol=0.05, templates="chunk"),
        {"C": [5.0]},
        cv=2,
        error_score="raise",
    )
    assert search.fit(table, y).best_score_ > 0.8


def test_clone_and_nested_parameters():
    tagger = SequenceTagger(2.0, solver=BCFW(tol=0.1))
    copy = clone(tagger)
    assert copy.get_params()["solver__tol"] == 0.1
    assert copy.solver is not tagger.solver
    assert copy.set_params(solver__tol=0.2, C=3.0).solver.tol == 0.2
    assert tagger.solver.tol == 0.1


def test_pipeline(entities):
    X, y = entities
    lower = FunctionTransformer(
        lambda X: [[{"w": word.lower(), "t": tag} for word, tag in s] for s in X]
    )
    model = Pipeline([("dicts", lower), ("tag", SequenceTagger(tol=0.05))])
    assert model.fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.8


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_arrays_of_numbers(kind):
    X, y = digit_strings(60, random_state=0)
    if kind == "sparse":
        X = [sparse.csr_array(x) for x in X]
    tagger = SequenceTagger(tol=0.05).fit(X[:50], y[:50])
    assert tagger.score(X[50:], y[50:]) > 0.5
    assert "#" in str(tagger.explain(X[50]))


def test_transitions_matter_in_digit_strings():
    X, y = digit_strings(150, random_state=0)
    X_test, y_test = digit_strings(80, subset="test", random_state=1)
    scores = [
        SequenceTagger(order=order, tol=0.02).fit(X, y).score(X_test, y_test)
        for order in (0, 1)
    ]
    assert scores[1] > scores[0] + 0.05


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "n_slack"},
        {"solver": "one_slack"},
        {"solver": "bundle"},
        {"loss": "log"},
        {"penalty": "l2"},
        {"formulation": "slack"},
        {"order": 2, "boundary": True},
        {"cost": "normalized"},
        {"cost": "zero_one"},
        {"cost": {("O", "B-PER"): 3.0}},
        {"scheme": "BIO"},
        {"hash_bits": 12},
        {"min_count": 2},
    ],
    ids=str,
)
def test_each_way_to_learn_ends_within_its_tolerance(params, entities):
    X, y = entities
    tagger = SequenceTagger(tol=0.02, **params).fit(X[:60], y[:60])
    assert tagger.certificate_.relative_gap <= 0.02
    assert tagger.score(X[80:], y[80:]) > 0.8


@pytest.mark.parametrize("solver", ["perceptron", "mira", "pegasos", "hmm"])
def test_solvers_without_a_dual_state_the_data_bound(solver, entities):
    X, y = entities
    best = SequenceTagger(5.0, tol=1e-4).fit(X[:60], y[:60]).certificate_
    other = SequenceTagger(5.0, solver=solver).fit(X[:60], y[:60]).certificate_
    assert other.dual is None
    assert other.primal >= best.dual
    assert other.primal - other.data_bound <= best.primal


def test_sample_and_token_weights(entities):
    X, y = entities
    weight = np.ones(40)
    weight[0] = 5.0
    tokens = [np.full(len(row), 2.0) for row in y[:40]]
    plain = SequenceTagger(4.0, tol=1e-3).fit(X[:40], y[:40])
    weighted = SequenceTagger(4.0, tol=1e-3).fit(X[:40], y[:40], sample_weight=weight)
    doubled = SequenceTagger(4.0, tol=1e-3).fit(X[:40], y[:40], token_weight=tokens)
    assert plain.certificate_.primal != weighted.certificate_.primal
    assert doubled.certificate_.primal > plain.certificate_.primal


def test_labels_absent_from_a_fold_are_errors_not_crashes(entities):
    X, y = entities
    few = [i for i in range(80) if "B-ORG" not in y[i]][:40]
    tagger = SequenceTagger(tol=0.05).fit([X[i] for i in few], [y[i] for i in few])
    assert 0 <= tagger.score(X[80:], y[80:]) < 1


def test_integer_labels_stay_integers():
    X, y = digit_strings(20, random_state=0)
    y = [[int(label) for label in row] for row in y]
    predicted = SequenceTagger(tol=0.1).fit(X, y).predict(X[:2])
    assert all(type(label) is int for row in predicted for label in row)


def test_given_labels_and_k_best(tagger, entities):
    x = entities[0][80]
    given = [[None] * len(x)]
    given[0][0] = "B-LOC"
    assert tagger.predict([x], given=given)[0][0] == "B-LOC"
    best = tagger.predict_topk([x], 3)[0]
    assert [s for _, s in best] == sorted((s for _, s in best), reverse=True)
    assert best[0][0] == tagger.predict([x])[0]
    score, lead = tagger.margin([x])[0]
    assert score == pytest.approx(best[0][1])
    assert lead == pytest.approx(best[0][1] - best[1][1])


def test_scheme_constraints_hold_in_predictions(entities):
    X, y = entities
    tagger = SequenceTagger(0.01, scheme="BIO", tol=0.1).fit(X[:40], y[:40])
    for row in tagger.predict(X[80:]):
        before = "O"
        for label in row:
            if label.startswith("I-"):
                assert before[2:] == label[2:]
            before = label


def test_sequences_without_an_allowed_output_are_refused():
    """A single token can be neither B-X nor E-X."""
    X, y = [[{"word": "a"}, {"word": "b"}]] * 2, [["B-X", "E-X"]] * 2
    tagger = SequenceTagger(scheme="BIOES", max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="no output is possible"):
        tagger.predict([X[0][:1]])
    with pytest.raises(ValueError, match="no output is possible"):
        tagger.explain(X[0][:1])
    crf = SequenceTagger(scheme="BIOES", loss="log", max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="no probabilities"):
        crf.predict_marginals([X[0][:1]])


@pytest.mark.parametrize(
    ("masks", "is_refused"),
    [
        ({"transitions": [[0, 1], [0, 0]], "starts": [1, 0], "ends": [0, 1]}, False),
        ({"transitions": [[0, 0], [0, 0]], "starts": [1, 0], "ends": [0, 1]}, True),
        ({"transitions": [[1, 1], [1, 1]], "starts": [0, 0], "ends": [1, 1]}, True),
    ],
)
def test_files_whose_constraints_allow_nothing_are_refused(masks, is_refused):
    settings = {"order": 1, "boundary": False, "cost": "hamming"}
    arrays = {f"chain/{name}": np.array(m, bool) for name, m in masks.items()}
    refusal = pytest.raises(ValueError, match="allow no sequence of labels")
    with refusal if is_refused else contextlib.nullcontext():
        chain_from_state(settings, arrays, 2)


def test_forbidden_pairs_hold_in_predictions(entities):
    X, y = entities
    pairs = [("O", "B-PER"), (None, "B-LOC")]
    keep = [
        i for i in range(80)
        if y[i][0] != "B-LOC" and ("O", "B-PER") not in pairwise(y[i])
    ]  # fmt: skip
    tagger = SequenceTagger(0.1, forbidden=pairs, tol=0.1)
    tagger.fit([X[i] for i in keep], [y[i] for i in keep])
    for row in tagger.predict(X):
        assert row[0] != "B-LOC"
        assert ("O", "B-PER") not in pairwise(row)
    with pytest.raises(ValueError, match="'B-PER' after 'O'"):
        SequenceTagger(forbidden=pairs).fit(X, y)


def test_explanation_adds_up(tagger, entities):
    x = entities[0][85]
    explanation = tagger.explain(x, top=10_000)
    assert explanation.winner == tagger.predict([x])[0]
    shares = sum(c.share for c in explanation.contributions)
    assert shares == pytest.approx(explanation.lead)
    assert sum(s.share for s in explanation.support) == pytest.approx(
        explanation.lead, rel=1e-6
    )
    assert "runner-up" in str(explanation)


def test_marginals_are_probabilities(entities):
    X, y = entities
    tagger = SequenceTagger(loss="log", tol=0.05).fit(X[:40], y[:40])
    for row, x in zip(tagger.predict_marginals(X[80:85]), X[80:85], strict=True):
        assert row.shape == (len(x), len(tagger.classes_))
        np.testing.assert_allclose(row.sum(1), 1)


def test_warm_start_continues(entities):
    X, y = entities
    tagger = SequenceTagger(
        solver="perceptron", max_iter=1, warm_start=True, random_state=0
    ).fit(X[:40], y[:40])
    first = tagger.coef_.copy()
    assert not np.array_equal(tagger.fit(X[:40], y[:40]).coef_, first)


def test_save_and_load(tagger, entities, tmp_path):
    X, _ = entities
    tagger.save(tmp_path / "a.model", keep_dual=True)
    loaded = SequenceTagger.load(tmp_path / "a.model")
    assert list(loaded.predict(X[80:])) == list(tagger.predict(X[80:]))
    assert loaded.certificate_ == tagger.certificate_
    assert str(loaded.explain(X[85])) == str(tagger.explain(X[85]))


def test_callbacks_see_the_gap_and_stop(entities):
    X, y = entities

    class Stop:
        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...
        def on_fit_task_end(self, estimator, context, *, metadata=None):
            if metadata:
                self.seen = metadata
                return metadata["iteration"] >= 2
            return False

    stop = Stop()
    tagger = SequenceTagger(tol=1e-9).set_callbacks(stop).fit(X[:40], y[:40])
    assert tagger.certificate_.stopped == "callback"
    assert tagger.n_iter_ == 2
    assert {"objective", "bound", "gap", "seconds"} <= set(stop.seen)


def test_a_limit_warns_with_the_gap(entities):
    X, y = entities
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        SequenceTagger(tol=1e-9, max_iter=1).fit(X[:40], y[:40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SequenceTagger(tol=0.1).fit(X[:40], y[:40])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"C": float("nan")}, "C=nan"),
        ({"C": "1"}, "C='1'"),
        ({"solver": "bcwf"}, "did you mean 'bcfw'"),
        ({"loss": "huber"}, "loss='huber'"),
        ({"formulation": "slackk"}, "formulation='slackk'"),
        ({"penalty": "l3"}, "penalty='l3'"),
        ({"scheme": "BIOX"}, "scheme='BIOX'"),
        ({"tol": 0}, "tol=0"),
        ({"metric": "f1"}, "metric"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"loss": "log", "solver": "bcfw"}, "does not go with loss='log'"),
        ({"order": 5}, "order=5"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_in_fit(params, message, entities):
    X, y = entities
    with pytest.raises(ValueError, match=message):
        SequenceTagger(**params).fit(X[:10], y[:10])


def test_bad_data_are_named(entities):
    X, y = entities
    with pytest.raises(ValueError, match=r"sequence 0 has \d+ tokens in X and 1"):
        SequenceTagger().fit(X[:1], [["O"]])
    with pytest.raises(ValueError, match="y has 1 sequences where X has 2"):
        SequenceTagger().fit(X[:2], y[:1])
    with pytest.raises(ValueError, match="sequence 0 is 'OOO'"):
        SequenceTagger().fit(X[:1], ["OOO"])
    with pytest.raises(ValueError, match="sequence 0"):
        SequenceTagger().fit([np.full((2, 2), np.nan)], [["a", "b"]])
    fitted = SequenceTagger(tol=0.5).fit(X[:10], y[:10])
    with pytest.raises(ValueError, match=r"one string; give lists of words: \[X.split"):
        fitted.predict("one two")
    with pytest.raises(ValueError, match=r"give a list of sequences: \[X\]"):
        fitted.predict(["one", "two"])
    assert len(fitted.predict([])) == len(fitted.predict_topk([], 2)) == 0
    assert fitted.margin([]).shape == (0, 2)
    with pytest.raises(ValueError, match="no sequence"):
        SequenceTagger().fit([], [])
    with pytest.raises(NotFittedError, match="call fit first"):
        SequenceTagger().predict(X)
    with pytest.raises(ValueError, match="'I-PER' as its first label"):
        SequenceTagger(scheme="BIO").fit([["a", "b"]], [["I-PER", "O"]])


@pytest.mark.parametrize("formulation", ["slack", "hard"])
def test_likelihood_has_no_formulation(formulation):
    tagger = SequenceTagger(loss="log", formulation=formulation)
    with pytest.raises(ValueError, match="does not go with loss='log'"):
        tagger.check_parameters()


def test_one_sentence_a_frame_and_a_misspelt_preset_are_answered(entities):
    X, y = [[("Anna", "NNP"), ("ran", "VBD")]], [["B-PER", "O"]]
    tagger = SequenceTagger(scheme="IOB2", max_iter=5).fit(X, y)
    with pytest.raises(ValueError, match=r"X is one sentence.*\[X\]"):
        tagger.predict(X[0])
    with pytest.raises(ValueError, match="did you mean 'ner'"):
        SequenceTagger(templates="nre").fit(X, y)
