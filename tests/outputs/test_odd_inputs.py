"""Data frames, single sentences, sequences without tokens, trees without labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import partwise
from partwise import ConstituencyParser, DependencyParser, SequenceTagger
from partwise.datasets import toy_dependencies, toy_entities, toy_treebank
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
    with pytest.raises(TypeError, match="X is None; give a Table or a list of"):
        tagger.predict(None)
    with pytest.raises(TypeError, match="X is of type generator; give a Table or a"):
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
    with pytest.warns(ConvergenceWarning) as told:
        SequenceTagger(max_iter=1).fit(*toy_entities(20))
    assert told[0].filename == __file__


def test_public_names_are_suggested():
    with pytest.raises(AttributeError, match="did you mean 'SequenceTagger'"):
        partwise.SequenceTager  # noqa: B018
    with pytest.raises(TypeError, match=r"frame is a dict.*Table\.from_sequences"):
        Table.from_frame({"a": [1]})
