"""Keys of labels agree exactly when what they name agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.features.keys import MatchError
from partwise.features.label_keys import LabelHasher, label_type
from partwise.readers.table import Table

LABELS = ["B-X", "I-X", "O"]
WORDS = st.tuples(st.sampled_from("ab"), st.sampled_from("pq"))
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=3)


def at(words, t, column):
    return words[t][column] if 0 <= t < len(words) else "<s>"


# what must agree, in plain Python, of a sentence, a token and a label
REFERENCE = {
    "label": lambda words, t, label: label,
    "type": lambda words, t, label: label.split("-")[-1],
    "label+word": lambda words, t, label: (label, words[t][0]),
    "type+word[-1]+pos": lambda words, t, label: (
        label.split("-")[-1], at(words, t - 1, 0), words[t][1]
    ),
    "word[1] + label": lambda words, t, label: (label, at(words, t + 1, 0)),
}  # fmt: skip


@given(sentences=SENTENCES, match=st.sampled_from(sorted(REFERENCE)))
def test_keys_are_equal_when_the_named_things_are(sentences, match):
    keys = LabelHasher(match, LABELS).transform(Table.from_sequences(sentences))
    numbers = {}
    token = 0
    for words in sentences:
        for t in range(len(words)):
            for k, label in enumerate(LABELS):
                actual = keys.key[keys.token[token] + k, 0]
                what = REFERENCE[match](words, t, label)
                assert numbers.setdefault(what, actual) == actual
            token += 1
    assert len(set(numbers.values())) == len(numbers)
    assert min(numbers.values()) >= 0


@given(sentences=SENTENCES)
def test_pairs_of_labels_are_parts_of_their_sentence(sentences):
    table = Table.from_sequences(sentences)
    keys = LabelHasher("bigram, label", LABELS).transform(table)
    size = len(LABELS)
    for i in range(len(sentences)):
        pairs = keys.key[keys.first[i + 1] - size**2 : keys.first[i + 1]]
        assert len({*pairs[:, 0]}) == size**2
        np.testing.assert_array_equal(pairs, keys.key[keys.first[1] - size**2 :][:9])
        assert (pairs[:, 1] == -1).all()
        own = keys.key[keys.first[i] : keys.first[i + 1] - size**2]
        assert (own[:, 0] == -1).all()
    assert keys.first[-1] == table.n_tokens * size + len(sentences) * size**2


def test_labels_alone_need_no_columns():
    for X in ([np.eye(2), np.eye(3)[:1]], [[{"w": "a"}, {"w": "b"}], [{}]]):
        keys = LabelHasher("label, type", LABELS).transform(X)
        assert keys.offset.tolist() == [0, 2, 3]
    with pytest.raises(MatchError, match="these tokens are dicts"):
        LabelHasher("label+word", LABELS).transform([[{"w": "a"}]])


def test_functions_of_the_user():
    def long_words(sequence, token, label):
        (words,) = sequence.strings("word")
        sizes = np.array([len(word) for word in words])
        return np.where(label == "O", -1, sizes[token])

    table = Table.from_sequences([["a", "bb"], ["cc"]])
    hasher = LabelHasher([long_words, "label"], LABELS)
    assert hasher.names == ["long_words", "label"]
    key = hasher.transform(table).key[:, 0].reshape(3, 3)
    assert (key[:, 2] == -1).all()
    assert key[1, 0] == key[1, 1] == key[2, 0] != key[0, 0]


def test_two_functions_of_one_name_have_keys_of_their_own():
    functions = [lambda x, token, label, n=n: token * 0 + n for n in (1, 1)]
    key = LabelHasher(functions, LABELS).transform([["a"]]).key
    assert key[0, 0] != key[0, 1]


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("label+", "a name is missing"),
        ([], "empty"),
        ("word", "write label.word"),
        ("label, label", "stands twice"),
        ("lable", "did you mean label"),
        ("label+type", "one of label and type"),
        ("bigram+word", "bigram stands alone"),
        ("label+word[-1..1]", "not one column"),
        ("label+nothing", "needs a column 'nothing'"),
        ([3], "neither a name nor a function"),
        (lambda x, t, label: t * 0.5, "one whole number"),
        (lambda x, t, label: t + (1 << 61), "60 bits"),
    ],
)
def test_bad_names_and_functions_are_told(match, text):
    with pytest.raises(MatchError, match=text):
        LabelHasher(match, LABELS).transform([["a"]])


def test_what_a_key_stands_for():
    X = [["Mrs", "Ada"], ["Rome"]]
    hasher = LabelHasher("type+word[-1]+suffix(word,2), label, bigram", LABELS)
    keys = hasher.transform(X)
    values = hasher.describe(X, keys, int(keys.token[1]), 0)
    assert values == "type=X word[-1]=Mrs suffix(word,2)=da"
    assert hasher.describe(X, keys, int(keys.token[2]) + 2, 1) == "label=O"
    assert hasher.describe(X, keys, int(keys.first[1]) - 9 + 5, 2) == "bigram=I-X→O"


def test_types_of_labels():
    values = [label_type(name) for name in ("B-A", "E-B", "NN-S", "O", "B", 3)]
    assert values == ["A", "B", "NN-S", "O", "B", 3]


@given(SENTENCES, st.sampled_from(["label", "label+word, bigram"]))
def test_the_number_of_keys_is_known_beforehand(sentences, match):
    hasher = LabelHasher(match, LABELS)
    keys = hasher.transform(sentences)
    assert np.array_equal(keys.token_offset, np.cumsum([0, *map(len, sentences)]))
    n_hashes = len(hasher.match)
    n_keys = hasher.n_keys(keys.token_offset)
    assert np.array_equal(n_keys, n_hashes * np.diff(keys.first))
