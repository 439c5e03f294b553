"""Probabilities of models against sums over all outputs; temperatures; files."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from partwise import (
    ConstituencyParser,
    DependencyParser,
    MulticlassClassifier,
    SequenceTagger,
)
from partwise.datasets import toy_entities, toy_points, toy_treebank
from partwise.metrics.spans import Span, spans
from partwise.model_file import ModelFileError, load_model
from partwise.readers import DependencyTree
from partwise.structures.chain.span_probabilities import SpanTags, span_probabilities

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SCHEMES = {
    "BIO": ["B-X", "I-X", "B-Y", "I-Y", "O"],
    "BIOES": ["B-X", "I-X", "E-X", "S-X", "O"],
    "one": ["I-X", "O"],
}


def make(seed, labels, *, order=1, lengths=(4, 1, 3), **settings_):
    """A tagger with random weights, and its sequences."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 3)) for n in lengths]
    cycle = [labels[t % len(labels)] for t in range(len(labels) * 2)]
    tagger = SequenceTagger(order=order, boundary=True, max_iter=1, **settings_)
    X_all = [*X, rng.normal(size=(len(cycle), 3))]
    tagger.fit(X_all, [*(["O"] * n for n in lengths), cycle])
    tagger.model_.weights = rng.normal(size=len(tagger.model_.weights))
    return tagger, X


def enumerated(tagger, x):
    """All label sequences of x as tuples, and their probabilities at T."""
    chain, weights = tagger.model_.structure, tagger.model_.tempered_weights
    chain.setup([x], None)
    outputs = list(chain.enumerate(x))
    scores = np.array([chain.joint_feature(x, y) @ weights for y in outputs])
    shares = np.exp(scores - scores.max())
    names = [tuple(tagger.classes_[list(y)].tolist()) for y in outputs]
    return names, shares / shares.sum()


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 1000),
        "labels": st.sampled_from(list(SCHEMES.values())),
        "order": st.sampled_from([0, 1, 2]),
    }
)


@settings(max_examples=25, deadline=None)
@given(cases, st.sampled_from([1.0, 0.5, 3.0]))
def test_probabilities_are_enumerated_sums(case, temperature):
    tagger, X = make(**case)
    tagger.model_.info["temperature"] = temperature
    transitions = tagger.predict_marginals(X, of="transitions")
    tables = tagger.predict_marginals(X, of="spans", least=1e-9)
    best = tagger.predict(X)
    whole, tokens = tagger.confidence(X), tagger.confidence(X, of="tokens")
    of_spans = tagger.confidence(X, of="spans")
    ranked = tagger.predict_topk(X, 3)
    number = {label: k for k, label in enumerate(tagger.classes_)}
    for i, x in enumerate(X):
        outputs, shares = enumerated(tagger, x)
        known = dict(zip(outputs, shares, strict=True))
        assert whole[i] == pytest.approx(known[tuple(best[i])], rel=1e-9)
        for labels, value in ranked[i]:
            assert value == pytest.approx(np.log(known[tuple(labels)]), abs=1e-9)
        pairs = np.zeros((len(x) - 1, len(number), len(number)))
        expected: Counter[Span] = Counter()
        right = np.zeros(len(x))
        for labels, share in known.items():
            for t in range(1, len(x)):
                pairs[t - 1, number[labels[t - 1]], number[labels[t]]] += share
            for span in spans(labels):
                expected[span] += share
            right += share * (np.array(labels) == np.array(best[i]))
        np.testing.assert_allclose(transitions[i], pairs, atol=1e-12)
        np.testing.assert_allclose(tokens[i], right, atol=1e-12)
        likely = {span for span, share in expected.items() if share > 1e-8}
        assert likely <= tables[i].keys() <= expected.keys()
        for span, share in tables[i].items():
            assert share == pytest.approx(expected[span], abs=1e-10)
        assert list(of_spans[i]) == spans(best[i])
        for span, share in of_spans[i].items():
            assert share == pytest.approx(expected[span], abs=1e-10)


def test_spans_obey_constraints_and_the_threshold():
    tagger, X = make(3, SCHEMES["BIO"], scheme="BIO")
    every = tagger.predict_marginals(X, of="spans", least=1e-9)
    some = tagger.predict_marginals(X, of="spans", least=0.2)
    for table, likely in zip(every, some, strict=True):
        assert likely == {span: p for span, p in table.items() if p >= 0.2}


def test_span_certain_and_impossible():
    """Probabilities of 0 and 1: no division by zero, nothing beyond 1."""
    tags = SpanTags.create(["B-X", "I-X", "O"])
    steps = np.zeros((2, 1, 3, 3))
    steps[0, 0, 0, 1] = steps[1, 0, 1, 2] = 1.0
    actual = span_probabilities(tags, np.array([1.0, 0.0, 0.0]), steps, 1e-12)
    assert actual == {Span("X", 0, 2): 1.0}


def test_labels_without_a_scheme_have_no_spans():
    tagger = SequenceTagger(max_iter=1).fit([["a", "b"]], [["N", "V"]])
    with pytest.raises(ValueError, match="'N' is not a span tag"):
        tagger.predict_marginals([["a"]], of="spans")
    with pytest.raises(ValueError, match="choose from tokens, transitions, spans"):
        tagger.predict_marginals([["a"]], of="span")


def likelihood(tagger, X, y):
    """Σ log P(y) of the model, by marginals of log-probabilities of all outputs."""
    total = 0.0
    for x, labels in zip(X, y, strict=True):
        outputs, shares = enumerated(tagger, x)
        total += np.log(shares[outputs.index(tuple(labels))])
    return total


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_calibration_finds_the_most_likely_temperature(seed):
    rng = np.random.default_rng(seed)
    tagger, X = make(seed, SCHEMES["BIO"], lengths=(3, 2, 4, 1, 3, 2) * 4)
    tagger.model_.info["temperature"] = 2.0  # of which the truths are drawn
    drawn = [enumerated(tagger, x) for x in X]
    y = [list(names[rng.choice(len(names), p=shares)]) for names, shares in drawn]
    before = tagger.predict(X)
    assert tagger.calibrate(X, y) is tagger
    actual = tagger.model_.temperature
    assert 1.0 < actual < 4.0
    best = likelihood(tagger, X, y)
    for factor in (0.9, 0.99, 1.01, 1.1):
        tagger.model_.info["temperature"] = actual * factor
        assert likelihood(tagger, X, y) <= best + 1e-9
    assert [list(row) for row in tagger.predict(X)] == [list(row) for row in before]


def test_calibration_is_kept_in_the_file_and_dropped_by_a_fit(tmp_path):
    X, y = toy_entities(40, random_state=0)
    tagger = SequenceTagger(tol=0.1).fit(X[:20], y[:20])
    scores = tagger.predict_topk(X[:2], 1)
    assert scores[0][0][1] > 0  # a score: the model has no probabilities yet
    tagger.calibrate(X[20:], y[20:])
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.model_.temperature == tagger.model_.temperature != 1
    np.testing.assert_array_equal(loaded.confidence(X), tagger.confidence(X))
    assert loaded.predict_topk(X[:2], 1)[0][0][1] <= 0
    assert load_model(tmp_path / "m").has_probabilities
    assert tagger.fit(X[:20], y[:20]).model_.temperature == 1
    for temperature in (0.0, -1.0, "hot", float("inf")):
        tagger.model_.info["temperature"] = temperature
        tagger.save(tmp_path / "bad")
        with pytest.raises(ModelFileError, match="temperature"):
            load_model(tmp_path / "bad")


def test_calibration_refuses_what_it_cannot_use():
    X, y = toy_entities(10, random_state=0)
    tagger = SequenceTagger(tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match="no examples"):
        tagger.calibrate([], [])
    with pytest.raises(ValueError, match="does not know"):
        tagger.calibrate([[("a", "NNP")]], [["B-NEW"]])
    with pytest.raises(ValueError, match="y has 2 sequences where X has 1"):
        tagger.calibrate(X[:1], y[:2])


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_calibration_on_right_predictions_warns(loss):
    """Their likelihood has no maximum; scores may leave the range of numbers."""
    X, y = toy_entities(12, random_state=5)
    tagger = SequenceTagger(loss=loss, tol=0.01).fit(X, y)
    assert [list(row) for row in tagger.predict(X)] == y
    with pytest.warns(UserWarning, match="all predictions are right"):
        tagger.calibrate(X, y)
    assert 1e-4 <= tagger.model_.temperature < 0.1
    np.testing.assert_allclose(tagger.confidence(X), 1.0)


@pytest.mark.parametrize("factor", [1e2, 1e3])
def test_calibration_finds_the_temperature_of_large_scores(factor):
    """At most temperatures that are tried sums of exp(score/T) underflow."""
    X, y = toy_entities(40, random_state=0)
    wrong = [row[::-1] if i % 7 == 0 else row for i, row in enumerate(y)]
    tagger = SequenceTagger(tol=0.1).fit(X, y)
    expected = tagger.calibrate(X, wrong).model_.temperature
    tagger.model_.weights = tagger.model_.weights * factor
    actual = tagger.calibrate(X, wrong).model_.temperature
    assert actual == pytest.approx(factor * expected, rel=1e-4)


def test_k_is_refused_beyond_what_a_decoder_can_hold():
    X, y = toy_entities(6, random_state=0)
    tagger = SequenceTagger(tol=0.5).fit(X, y)
    for k in (0, -1, 10**9, 10**20, 2.5, None):
        with pytest.raises(ValueError, match=r"k=.*: give a whole number from 1 to"):
            tagger.predict_topk(X[:1], k)

    def fail(*_):
        raise MemoryError

    problem = next(tagger.model_.problems(X[:1]))
    problem.k_best = fail
    tagger.model_.problems = lambda X, n_jobs: iter([problem])
    with pytest.raises(ValueError, match="k=5: takes more memory than there is"):
        tagger.predict_topk(X[:1], 5)


def few_words(n, random_state):
    """Sentences of which all trees can be counted: n_labels^words times trees."""
    words = [[{"form": c, "upos": c.upper()} for c in text] for text in ("xy", "yxx")]
    trees = [
        DependencyTree([2, 0], ["a", "r"]),
        DependencyTree([0, 1, 1], ["r", "a", "b"]),
    ]
    return words * (n // 2), trees * (n // 2)


@pytest.mark.parametrize(
    ("estimator", "toy"),
    [
        (DependencyParser(max_iter=5), few_words),
        (ConstituencyParser(max_iter=5), toy_treebank),
        (MulticlassClassifier(max_iter=5), toy_points),
    ],
    ids=["dependency", "phrase", "multiclass"],
)
def test_other_outputs_have_confidence_and_calibrate(estimator, toy):
    """P of all outputs add up to 1, and that of the best is the confidence."""
    X, y = toy(24, random_state=0)
    short = [i for i in range(24) if toy is not toy_treebank or len(X[i]) <= 4]
    estimator.fit(X, y).calibrate(X, y)
    some = X[short] if toy is toy_points else [X[i] for i in short]
    whole = estimator.confidence(some)
    k = 20_000
    for ranked, share in zip(estimator.predict_topk(some, k), whole, strict=True):
        assert len(ranked) < k  # all of them
        shares = np.exp([value for _, value in ranked])
        assert shares[0] == pytest.approx(share, rel=1e-9)
        assert shares.sum() == pytest.approx(1.0, rel=1e-9)


def test_sparse_rows_are_calibrated_as_dense_ones():
    X, y = toy_points(40, random_state=0)
    wrong = np.roll(y, 1)
    wrong[5:] = y[5:]  # else the model were certain, at any low temperature
    classifier = MulticlassClassifier(tol=0.1).fit(X, y).calibrate(X, wrong)
    expected = classifier.model_.temperature
    actual = classifier.calibrate(csr_array(X), wrong).model_.temperature
    assert actual == pytest.approx(expected, rel=1e-6)
    assert 0.01 < actual < 100
