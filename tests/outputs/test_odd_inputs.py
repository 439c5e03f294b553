"""Data frames, single sentences, sequences without tokens, trees without labels."""

import numpy as np
import pandas as pd
import pytest

from partwise import DependencyParser, SequenceTagger
from partwise.datasets import toy_dependencies, toy_entities


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
