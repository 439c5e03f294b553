import numpy as np
import pytest
from scipy.sparse import csr_array

from partwise import SequenceTagger, load
from partwise.datasets import toy_entities
from partwise.features import (
    Featurizer,
    VectorFeaturizer,
    featurizer_from_state,
    make_featurizer,
)
from partwise.readers import Table

WORDS = {"austin": [3.0, 4.0], "Smith": [0.0, 2.0], "of": [0.0, 0.0]}


def dense(features):
    data = features.data
    if len(data) != len(features.indices):
        data = np.ones(len(features.indices))
    shape = (int(features.offset[-1]), features.n_features)
    return csr_array((data, features.indices, features.indptr), shape=shape).toarray()


@pytest.mark.parametrize("hash_bits", [None, 4])
def test_vectors_stand_behind_the_features_of_templates(hash_bits):
    X = [["Austin", "Smith", "left"], ["of"], ["Smith", "smith", "Austin"]]
    plain = Featurizer("word[-1..0]\nsuffix(word,2)", hash_bits=hash_bits)
    other = Featurizer("word[-1..0]\nsuffix(word,2)", hash_bits=hash_bits)
    featurizer = VectorFeaturizer(other, WORDS)
    rows, base = dense(featurizer.fit_transform(X)), dense(plain.fit_transform(X))
    assert (rows[:, : base.shape[1]] == base).all()
    a, s, none = [0.6, 0.8], [0.0, 1.0], [0.0, 0.0]
    wanted = [  # the word before, the word, the word behind
        none + a + s, a + s + none, s + none + none, none * 3,
        none + s + none, s + none + a, none + a + none,
    ]  # fmt: skip
    np.testing.assert_allclose(rows[:, base.shape[1] :], wanted, atol=1e-7)
    assert len(featurizer.feature_names_) == rows.shape[1] == featurizer.n_features_
    assert featurizer.feature_names_[-1] == "vector(word)[1].1"


def test_a_model_keeps_its_vectors(tmp_path):
    X, y = toy_entities(30)
    tagger = SequenceTagger(templates="word", vectors=WORDS, max_iter=5).fit(X, y)
    tagger.save(tmp_path / "m", keep_dual=True)
    assert list(load(tmp_path / "m").predict(X)) == list(tagger.predict(X))
    loaded = SequenceTagger.load(tmp_path / "m")
    np.testing.assert_allclose(loaded.fit(X, y).coef_, tagger.coef_, atol=1e-6)


def test_one_word_is_enough_to_be_known(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("unseen 1 0\nAnna 1 0.1\nacme 0 1\n")
    X = [["Anna", "met", "Acme"], ["Acme", "met", "Anna"]]
    y = [["PER", "O", "ORG"], ["ORG", "O", "PER"]]
    tagger = SequenceTagger(templates="word", vectors=path, C=100.0).fit(X, y)
    assert tagger.predict([["Unseen", "met", "Acme"]])[0] == ["PER", "O", "ORG"]


def test_vectors_need_words():
    with pytest.raises(ValueError, match=r"vectors= need columns of words.*dicts"):
        make_featurizer([[{"w": "a"}]], vectors=WORDS)
    with pytest.raises(ValueError, match="vectors= is for features of tokens"):
        SequenceTagger(match="label", vectors=WORDS).fit([["a"]], [["x"]])
    featurizer = VectorFeaturizer(Featurizer("pos"), WORDS)
    featurizer.fit(Table.from_sequences([[("a", "b")]]))
    with pytest.raises(ValueError, match="word vectors need a column 'word'"):
        featurizer.transform(Table.from_sequences([["b"]], ["pos"]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vectors", np.full((3, 2), np.nan, np.float32)),
        ("vectors", np.full((3, 2), 2, np.float32)),
        ("vectors", np.zeros((2, 2), np.float32)),
        ("vectors", np.zeros((3, 0), np.float32)),
        ("vectors", np.zeros((3, 2))),
        ("words_offset", np.array([0, 5, 4, 13])),
    ],
)
def test_damaged_states_are_refused(name, value):
    featurizer = VectorFeaturizer(Featurizer("word"), WORDS).fit([["a"]])
    meta, arrays = featurizer.state()
    featurizer_from_state(meta, arrays)
    with pytest.raises(ValueError):
        featurizer_from_state(meta, arrays | {name: value})
    with pytest.raises(ValueError, match="no column"):
        featurizer_from_state(meta | {"column": 3}, arrays)
