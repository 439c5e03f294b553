"""Dicts and lists of strings, with python-crfsuite as the authority."""

import json

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.features import DictFeaturizer, featurizer_from_state

NAMES = st.text("abc:=", min_size=1, max_size=3)
LEAVES = st.one_of(
    NAMES,
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-9, 9, width=32),
    st.lists(NAMES, max_size=3),
    st.sets(NAMES, max_size=3),
)
DICTS = st.recursive(
    st.dictionaries(NAMES, LEAVES, max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(LEAVES, inner), max_size=3),
    max_leaves=6,
)
TOKENS = st.one_of(DICTS, st.lists(NAMES, max_size=4))
SEQUENCES = st.lists(st.lists(TOKENS, min_size=1, max_size=4), min_size=1, max_size=3)


def as_dicts(features, names):
    """Sparse vectors as dicts; of equal names the last counts, as in `items`."""
    values = features.data
    if len(values) == 1:
        values = np.broadcast_to(values, features.indices.shape)
    return [
        {
            names[features.indices[k]]: values[k]
            for k in range(features.indptr[t], features.indptr[t + 1])
        }
        for t in range(len(features.indptr) - 1)
    ]


@given(SEQUENCES)
def test_agrees_with_crfsuite_up_to_zeros(X):
    featurizer = DictFeaturizer()
    actual = as_dicts(featurizer.fit_transform(X), featurizer.feature_names_)
    theirs = [
        item for sequence in X for item in pycrfsuite.ItemSequence(sequence).items()
    ]
    # of a name that comes twice in a token, once with zero, dicts cannot tell
    for ours, their in zip(actual, theirs, strict=True):
        assert {n: v for n, v in their.items() if v} == {
            n: v for n, v in ours.items() if their[n]
        }


@given(SEQUENCES, SEQUENCES)
def test_state_round_trip_and_unseen_features(train, test):
    featurizer = DictFeaturizer(min_count=2).fit(train)
    meta, arrays = featurizer.state()
    again = featurizer_from_state(json.loads(json.dumps(meta)), arrays)
    for a, b in zip(featurizer.transform(test), again.transform(test), strict=True):
        assert np.array_equal(a, b)
    assert again.feature_names_ == featurizer.feature_names_


def test_numbering_counts_and_values():
    X = [[["b", "a"], ["a", "c", "c"]], [{"a": 0.5, "zero": 0}]]
    featurizer = DictFeaturizer()
    features = featurizer.fit_transform(X)
    assert featurizer.feature_names_ == ["a", "c", "b"]
    assert features.indices.tolist() == [2, 0, 0, 1, 1, 0]
    assert features.data.tolist() == [1, 1, 1, 1, 1, 0.5]
    assert features.offset.tolist() == [0, 2, 3]
    assert DictFeaturizer().fit_transform(X[:1]).data.tolist() == [1.0]
    assert DictFeaturizer(min_count=3).fit(X).feature_names_ == ["a"]
    assert featurizer.transform([[{"new": "x"}]]).indptr.tolist() == [0, 0]


def test_hashing_keeps_no_vocabulary():
    X = [[{"w": "the"}, {"w": "cat", "n": 2.0}]]
    featurizer = DictFeaturizer(hash_bits=10)
    features = featurizer.fit_transform(X)
    assert featurizer.n_features_ == features.n_features == 1024
    assert len(set(features.indices.tolist())) == 3
    meta, arrays = featurizer.state()
    assert arrays == {}
    again = featurizer_from_state(meta, arrays).transform(X)
    assert again.indices.tolist() == features.indices.tolist()


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], ValueError, "no sequences to fit"),
        ([[{"a": 1}], []], ValueError, "sequence 1 has no tokens; leave it out"),
        ([["word"]], TypeError, "sequence 0, token 0: 'word' is neither a dict nor a"),
        ([[{"a": 1}, 3]], TypeError, "sequence 0, token 1: 3 is neither"),
        ([[{"a": None}]], TypeError, "feature 'a' has a value of type NoneType; use a"),
        ([[{"a": [1]}]], TypeError, "feature 'a' has a value of type list"),
        ([[{"a": float("nan")}]], ValueError, "feature 'a' is nan; use a value within"),
        ([[{3: "a"}]], TypeError, "key 3 is no string"),
        ([[[3]]], TypeError, "feature 3 is no string"),
    ],
)
def test_errors_name_the_token(X, error, message):
    with pytest.raises(error) as caught:
        DictFeaturizer().fit(X)
    assert message in str(caught.value)


def test_unfitted_and_damaged():
    with pytest.raises(ValueError, match="call fit first"):
        DictFeaturizer().transform([[{"a": 1}]])
    meta, arrays = DictFeaturizer().fit([[["a", "b"]]]).state()
    with pytest.raises(ValueError, match="not a featurizer of dicts"):
        DictFeaturizer.from_state({"kind": "x"}, arrays)
    with pytest.raises(ValueError, match="no array 'text'"):
        DictFeaturizer.from_state(meta, {})
    arrays["text"][:] = ord("a")
    with pytest.raises(ValueError, match="a feature stands twice"):
        DictFeaturizer.from_state(meta, arrays)
