"""Data frames, single sentences, sequences without tokens, trees without labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import partwise
from partwise import (
    ConstituencyParser,
    DependencyParser,
    MeasureClassifier,
    MulticlassClassifier,
    Ranker,
    SequenceTagger,
)
from partwise.datasets import (
    toy_binary,
    toy_dependencies,
    toy_entities,
    toy_matchings,
    toy_motifs,
    toy_queries,
    toy_treebank,
)
from partwise.outputs.registry import OUTPUTS
from partwise.readers import Table


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(templates="window", tol=0.3).fit(*toy_entities(30))


@pytest.fixture(scope="module")
def parser():
    X, y = toy_dependencies(30)
    return DependencyParser(tol=0.5).fit(X, [list(tree.heads) for tree in y])


def test_sequences_without_tokens_have_no_labels(tagger):
    X, y = toy_entities(2)
    filled = tagger.predict(X)
    mixed = tagger.predict([[], X[0], [], X[1]])
    assert mixed.tolist() == [[], filled[0], [], filled[1]]
    given = [[], y[0], [], [None] * len(y[1])]
    assert tagger.predict([[], X[0], [], X[1]], given=given)[1] == y[0]
    assert tagger.predict([[], []]).tolist() == [[], []]
    assert tagger.predict([]).shape == (0,)
    assert tagger.predict([np.zeros((0, 3))]).tolist() == [[]]


def test_data_frames_and_single_sentences_are_refused_with_the_remedy(tagger):
    X, y = toy_entities(2)
    words = [(s, word) for s, row in enumerate(X) for word, _ in row]
    frame = pd.DataFrame(words, columns=["sentence", "word"])
    for call in (tagger.predict, lambda X: SequenceTagger().fit(X, y)):
        with pytest.raises(ValueError, match=r"Table\.from_frame"):
            call(frame)
        with pytest.raises(ValueError, match=r"give a list of sentences: \[X\]"):
            call(X[0])
    with pytest.raises(ValueError, match="y is None"):
        SequenceTagger().fit(X, None)


def test_parsers_learn_from_heads_alone(parser):
    X, y = toy_dependencies(6)
    trees = parser.predict(X[:1])
    assert set(trees[0].labels) == {"_"}
    heads = [np.array(tree.heads) for tree in y]
    assert parser.score(X, heads) == parser.score(X, [list(h) for h in heads])
    with pytest.raises(ValueError, match="y is None"):
        DependencyParser().fit(X, None)


def test_sentences_without_words_have_empty_trees(parser):
    X, _ = toy_dependencies(1)
    trees = parser.predict([[], X[0]])
    assert trees[0] == ([], [])
    assert trees[1] == parser.predict(X)[0]


def test_phrase_parsers_give_sentences_without_words_a_bare_root():
    X, y = toy_treebank(8)
    parser = ConstituencyParser(max_iter=2).fit(X, y)
    trees = parser.predict([[], X[0], []])
    assert trees[0] == trees[2] == ("S", ())
    assert trees[1] == parser.predict(X[:1])[0]
    assert parser.predict([[]]).tolist() == [("S", ())]
    assert parser.n_failures_ == parser.n_too_long_ == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": 2}, "tol=2: a relative gap is a share"),
        ({"tol": "0.1"}, "tol='0.1': give a positive number"),
        ({"n_jobs": "2"}, "n_jobs='2': give a number of threads"),
        ({"n_jobs": 1.5}, "n_jobs=1.5: give a number of threads"),
        ({"max_iter": "9"}, "max_iter='9': give a whole number"),
        ({"random_state": np.random.RandomState(0)}, "give a whole number from 0 on"),
        ({"scheme": "bio"}, "scheme='bio': did you mean 'BIO'?"),
        ({"loss": "LOG"}, "loss='LOG': did you mean 'log'?"),
        ({"order": "1"}, "order='1': did you mean 1? choose from 0, 1, 2"),
        ({"templates": 3}, "templates=3: give text, a list of lines, or window,"),
    ],
)
def test_parameters_of_the_wrong_kind_are_named(settings, message):
    with pytest.raises(ValueError) as refused:
        SequenceTagger(**settings).fit(*toy_entities(2))
    assert message in str(refused.value)


def test_strings_and_numbers_are_no_sentences(tagger):
    with pytest.raises(ValueError, match=r"one string.*X\.split"):
        tagger.predict("Anna ran")
    with pytest.raises(ValueError, match=r"list of strings.*x\.split\(\) for x in X"):
        tagger.predict(["Anna ran", "Acme grew"])
    with pytest.raises(
        ValueError, match=r"sequence 0 is \[1, 2\], which is no list of"
    ):
        tagger.predict([[1, 2]])
    with pytest.raises(ValueError, match="X has no sequences"):
        SequenceTagger().fit([], [])
    with pytest.raises(TypeError, match="X is None; give a list of sentences"):
        tagger.predict(None)
    with pytest.raises(TypeError, match="X is of type generator; give a list of sent"):
        tagger.predict(x for x in ["Anna"])
    with pytest.raises(TypeError, match="the first token is 1, of type int"):
        SequenceTagger().fit([[1, 2]], [["A", "B"]])


def test_a_data_frame_for_each_sentence_is_refused_with_the_remedy(tagger):
    X, y = toy_entities(2)
    frames = [pd.DataFrame(x, columns=["word", "pos"]) for x in X]
    for call in (tagger.predict, lambda X: SequenceTagger().fit(X, y)):
        with pytest.raises(ValueError, match=r"list of data frames.*Table\.from_frame"):
            call(frames)


def test_explain_takes_one_sentence(tagger, parser):
    X, _ = toy_entities(2)
    for explain in (tagger.explain, parser.explain):
        with pytest.raises(ValueError, match="x is 0; give one sentence"):
            explain(0)
        with pytest.raises(ValueError, match=r"list of sentences.*X\[0\]"):
            explain([list(x) for x in X])
    with pytest.raises(ValueError, match="top=0: give a whole number from 1 on"):
        tagger.explain(X[0], top=0)


def test_one_tree_is_no_list_of_trees():
    X, y = toy_dependencies(2)
    with pytest.raises(ValueError, match=r"y is one tree.*\[y\]"):
        DependencyParser().fit(X, y[0])


def test_warnings_of_a_fit_name_the_line_that_called_it():
    with pytest.warns(ConvergenceWarning) as values:
        SequenceTagger(max_iter=1).fit(*toy_entities(20))
    assert values[0].filename == __file__


def test_public_names_are_suggested():
    with pytest.raises(AttributeError, match="did you mean 'SequenceTagger'"):
        partwise.SequenceTager  # noqa: B018
    with pytest.raises(TypeError, match=r"frame is a dict.*Table\.from_sequences"):
        Table.from_frame({"a": [1]})


def test_a_sentence_may_be_a_dict_of_columns():
    words = [
        [{"form": "a", "upos": "X"}, {"form": "b", "upos": "Y"}],
        [{"form": "c", "upos": "Y"}],
    ]
    columns = [
        {"form": ["a", "b"], "upos": ["X", "Y"]},
        {"form": ["c"], "upos": ["Y"]},
    ]
    y = [([2, 0], ["mod", "root"]), ([0], ["root"])]
    parser = DependencyParser(tol=0.5).fit(columns, y)
    assert list(parser.predict(columns)) == list(parser.predict(words))
    assert parser.explain(columns[0]).tokens == ["a", "b"]
    with pytest.raises(ValueError, match=r"sentence 1: .*all of the same length"):
        parser.predict([columns[0], {"form": ["c"], "upos": []}])


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("SequenceAligner", "pairs of sequences"),
        ("DiverseSelector", "candidate sets"),
        ("SupervisedClusterer", "documents"),
        ("MotifClassifier", "strings"),
        ("GraphLabeler", "graphs"),
        ("AssignmentMatcher", "examples"),
    ],
)
def test_nothing_is_no_list_of_inputs(name, items):
    (output,) = [o for o in OUTPUTS if o.estimator == name]
    X, y = output.make_toy(8)
    settings = dict(output.toy_settings) | {"tol": 0.5}
    estimator = getattr(partwise, name)(**settings).fit(X, y)
    with pytest.raises(TypeError, match=f"X is None; give a list of {items}"):
        estimator.predict(None)
    names = getattr(estimator, "feature_names_", None)
    assert names is None or len(names) == np.shape(estimator.coef_)[-1]


def test_motifs_are_ahead_by_the_score_of_the_best_window():
    X, y = toy_motifs(20)
    classifier = partwise.MotifClassifier(tol=0.5, length=4).fit(X, y)
    lead = np.abs(classifier.decision_function(X))
    assert np.array_equal(classifier.margin(X), np.column_stack([lead, lead]))
    with pytest.raises(TypeError, match="X is of type str; give a list of strings"):
        classifier.predict("ACGTACGT")


def test_messages_show_parameters_as_python_writes_them():
    X, y = toy_matchings(3)
    y[0] = np.append(-1, y[0][1:])
    with pytest.raises(
        ValueError, match=r"1 items have no partner; give unmatched=True$"
    ):
        partwise.AssignmentMatcher().fit(X, y)


def test_classes_of_a_measure_are_ahead_by_the_distance_from_the_threshold():
    X, y = toy_binary(30)
    classifier = partwise.MeasureClassifier(tol=0.1).fit(X, y)
    lead = np.abs(classifier.decision_function(X))
    assert np.array_equal(classifier.margin(X), np.column_stack([lead, lead]))
    assert classifier.feature_names_ == [f"x{k}" for k in range(X.shape[1])]


def test_queries_without_different_grades_are_refused():
    X, y = toy_queries(4)
    with pytest.raises(ValueError, match="no query has rows of different grades"):
        partwise.Ranker().fit(X, [0 * grades + q for q, grades in enumerate(y)])


def test_sentences_without_a_tree_have_no_confidence():
    X, y = toy_treebank(8)
    parser = ConstituencyParser(max_iter=2).fit(X, y)
    strange = [[(".", "PUNCT"), (".", "PUNCT")], X[0]]
    parser.predict(strange)
    assert parser.n_failures_ == 1
    none, some = parser.confidence(strange)
    assert none == 0.0 and some == parser.confidence(X[:1])[0] > 0
    crf = ConstituencyParser(loss="log", max_iter=2).fit(X, y)
    assert [len(ranked) for ranked in crf.predict_topk(strange, 1)] == [0, 1]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SequenceTagger", {}),
        ("DependencyParser", {}),
        ("ConstituencyParser", {}),
        ("SequenceAligner", {}),
        ("DiverseSelector", {"k": 2}),
        ("MotifClassifier", {"length": 4}),
    ],
)
def test_columns_of_data_frames_are_lists(name, settings):
    """A column keeps the names of its rows when a split leaves out the first."""
    (output,) = [o for o in OUTPUTS if o.estimator == name]
    X, y = output.make_toy(12)
    if name == "DependencyParser":
        words = zip(X.strings("form"), X.strings("upos"), strict=True)
        X = [list(zip(*columns, strict=True)) for columns in words]
    part = pd.DataFrame({"X": list(X), "y": list(y)}).iloc[3:]
    settings = settings | {"tol": 0.5}
    estimator = getattr(partwise, name)(**settings).fit(part.X, part.y)
    same = getattr(partwise, name)(**settings).fit(list(X)[3:], list(y)[3:])
    assert np.array_equal(estimator.model_.weights, same.model_.weights)
    for method in ("predict", "margin", "confidence"):
        if hasattr(estimator, method):
            found, known = getattr(estimator, method), getattr(same, method)
            assert str(found(part.X)) == str(known(list(X)[3:]))
    assert estimator.score(part.X, part.y) == same.score(list(X)[3:], list(y)[3:])


ROWS = np.arange(12.0).reshape(6, 2)
CLASSES = [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.where(ROWS == 0, np.nan, ROWS), CLASSES, "X contains NaN; fill them"),
        (ROWS[:4], CLASSES, r"samples: \[4, 6\]; give one target for each row"),
        ([["a", "b"]] * 6, CLASSES, "string to float: 'a'; X must hold numbers"),
        (np.zeros((6, 2, 2)), CLASSES, "dim 3, .*; give a matrix with one row"),
        (ROWS[:0], [], r"0 sample\(s\).*; give at least one row"),
        (ROWS[:, :0], CLASSES, r"0 feature\(s\).*; give at least one column"),
        (ROWS, [np.nan] * 6, "y contains NaN; leave out the rows"),
        (ROWS, None, "target y is None; give one for each row"),
        (ROWS, ROWS, "y should be a 1d array.* instead; give one target"),
        (ROWS * 1j, CLASSES, "Complex data not supported; give real numbers"),
    ],
)
@pytest.mark.parametrize("kind", [MulticlassClassifier, MeasureClassifier, Ranker])
def test_refusals_of_scikit_learn_tell_what_to_do(kind, X, y, message):
    with pytest.raises(ValueError, match=message) as refusal:
        kind().fit(X, y)
    assert "\n" not in str(refusal.value) and "sklearn" not in str(refusal.value)


def test_refusals_of_weights_classes_and_columns_tell_what_to_do():
    classifier = MulticlassClassifier(tol=0.5)
    with pytest.raises(
        ValueError, match=r"expected .6,.; give one weight for each row"
    ):
        classifier.fit(ROWS, CLASSES, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="weight contains NaN; give numbers of at"):
        classifier.fit(ROWS, CLASSES, sample_weight=[np.nan] * 6)
    with pytest.raises(ValueError, match="continuous; give classes as texts or whole"):
        classifier.fit(ROWS, np.arange(6) / 7)
    classifier.fit(ROWS, CLASSES)
    with pytest.raises(ValueError, match="expecting 2 features as input; give the col"):
        classifier.predict(np.zeros((3, 5)))
