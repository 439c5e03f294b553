"""Tables as sequences of sequences."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.utils import _safe_indexing

from partwise.readers import Column, Table, read_columns
from partwise.readers.refusals import refuse_single

SENTENCES = [
    [("the", "DT"), ("cat", "NN")],
    [("go", "VB")],
    [("the", "DT"), ("old", "JJ"), ("cat", "NN")],
    [("cat", "NN")],
]


@pytest.fixture
def table():
    return Table.from_sequences(SENTENCES)


def words(table):
    return table.strings("word")


def test_shape_length_and_repr(table):
    assert len(table) == 4
    assert table.shape == (4,)
    assert table.n_tokens == 7
    assert repr(table) == "Table(4 sequences, 7 tokens: word, pos)"
    assert table.columns["word"].values == ["the", "cat", "go", "old"]


@given(st.data())
def test_indexing_selects_sequences_as_numpy_selects_items(data):
    table = Table.from_sequences(SENTENCES)
    everything = np.array(range(4))
    index = st.integers(-4, 3)
    key = data.draw(
        st.one_of(
            index,
            st.lists(index),
            st.lists(index, min_size=1).map(np.array),
            st.lists(st.booleans(), min_size=4, max_size=4).map(np.array),
            st.slices(4),
        )
    )
    chosen = np.atleast_1d(
        everything[key if isinstance(key, int) or len_of(key) else []]
    )
    expected = [[w for w, _ in SENTENCES[s]] for s in chosen]
    assert words(table[key]) == expected
    assert words(table[key, ...]) == expected


def len_of(key):
    return 1 if isinstance(key, slice) else len(key)


def test_bad_indices(table):
    with pytest.raises(IndexError):
        table[4]
    with pytest.raises(IndexError):
        table[np.array([True, False])]
    with pytest.raises(IndexError, match="one axis"):
        table[np.zeros((2, 2), int)]


def test_iteration_concatenation_equality_and_pickle(table):
    parts = list(table)
    assert [len(part) for part in parts] == [1] * 4
    assert Table.concatenate(parts) == table
    other = Table.from_sequences(reversed(SENTENCES))
    both = Table.concatenate([table, other])
    assert words(both) == words(table) + words(other)
    assert other[::-1] == table, "equality is that of strings, not of codes"
    assert table != other
    assert table != "table"
    assert pickle.loads(pickle.dumps(table)) == table


def test_scikit_learn_splits_a_table(table):
    assert words(_safe_indexing(table, [2, 0])) == [
        ["the", "old", "cat"],
        ["the", "cat"],
    ]
    assert words(_safe_indexing(table, np.array([False, True, False, False]))) == [
        ["go"]
    ]
    assert words(_safe_indexing(table, slice(1, 2))) == [["go"]]
    train, test = train_test_split(table, test_size=1, random_state=0)
    assert isinstance(train, Table)
    assert (len(train), len(test)) == (3, 1)


class CountTokens(BaseEstimator):
    def __init__(self, factor=1):
        self.factor = factor

    def fit(self, X, y):
        assert isinstance(X, Table)
        self.n_ = X.n_tokens
        return self

    def score(self, X, y):
        assert X.strings("pos") == list(y)
        return self.factor * X.n_tokens


def test_scikit_learn_grid_search_over_a_table(table):
    y = table.strings("pos")
    search = GridSearchCV(CountTokens(), {"factor": [1, 2]}, cv=2).fit(table, y)
    assert search.best_params_ == {"factor": 2}
    assert search.best_estimator_.n_ == 7


def test_from_sequences_of_strings_and_its_errors():
    assert list(Table.from_sequences([["a", "b"]]).columns) == ["word"]
    assert len(Table.from_sequences([])) == 0
    with pytest.raises(ValueError, match="sequence 1 has no tokens"):
        Table.from_sequences([["a"], [], ["b"]])
    with pytest.raises(
        ValueError, match=r"sequence 1, token 0: .* 2 strings are needed"
    ):
        Table.from_sequences([[("a", "b")], [("a",)]])
    with pytest.raises(ValueError, match="names must differ, not a, a"):
        Table.from_sequences([[("x", "y")]], ["a", "a"])
    with pytest.raises(ValueError, match="is no string, or tuple of strings"):
        Table.from_sequences([[("a", 1)]])


def test_from_frame_groups_rows_in_order_of_appearance():
    frame = pd.DataFrame(
        {
            "sentence": [7, 7, 3, 7, 3],
            "word": ["a", "b", "c", "d", "e"],
            "size": [1, 2, 3, 4, 5],
        }
    )
    table = Table.from_frame(frame)
    assert list(table.columns) == ["word", "size"]
    assert words(table) == [["a", "b", "d"], ["c", "e"]]
    assert table.strings("size") == [["1", "2", "4"], ["3", "5"]]
    assert list(Table.from_frame(frame, columns=["word"]).columns) == ["word"]
    assert Table.from_frame(frame.astype(str)) == table


def test_from_frame_errors():
    frame = pd.DataFrame({"s": [0, 0], "word": ["a", None]})
    with pytest.raises(ValueError, match=r"no column 'sentence' .* there are s, word"):
        Table.from_frame(frame)
    with pytest.raises(ValueError, match="column 'word' misses a value in row 1"):
        Table.from_frame(frame, by="s")


def test_wrong_parts_are_refused(table):
    with pytest.raises(ValueError, match="no column 'ner'; there are word, pos"):
        table.strings("ner")
    with pytest.raises(ValueError, match="nothing to concatenate"):
        Table.concatenate([])
    with pytest.raises(ValueError, match="table 1 has columns word where table 0"):
        Table.concatenate([table, table.select(["word"])])
    column = Column(np.zeros(2, np.int32), ["a"])
    with pytest.raises(ValueError, match="must start at 0"):
        Table({"word": column}, np.array([1, 2]))
    with pytest.raises(ValueError, match="offset ends at 3 tokens"):
        Table({"word": column}, np.array([0, 3]))


def test_importing_readers_and_features_stays_light():
    heavy = "{'pandas', 'sklearn', 'numba', 'scipy'}"
    code = (
        "import sys, partwise.readers, partwise.features;"
        f"print({heavy} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_from_frame_with_labels_gives_x_and_y():
    frame = pd.DataFrame(
        {"s": [1, 2, 1], "word": ["a", "b", "c"], "tag": ["X", "Y", "Z"]}
    )
    table, y = Table.from_frame(frame, by="s", label="tag")
    assert list(table.columns) == ["word"]
    assert y == [["X", "Z"], ["Y"]]
    with pytest.raises(ValueError, match="no column 'label'"):
        Table.from_frame(frame, by="s", label="label")


@pytest.mark.parametrize("given", [None, "the cat"])
def test_what_is_no_list_of_sequences_is_refused(given):
    with pytest.raises(TypeError, match=f"sequences is {given!r}; give lists of tok"):
        Table.from_sequences(given)
    if given is None:
        with pytest.raises(TypeError, match="None is no file; give a path, '-' or an"):
            read_columns(given)


def test_one_sentence_and_data_frames_are_refused():
    with pytest.raises(ValueError, match=r"X is one sentence.*give a list"):
        refuse_single([("the", "DT"), ("cat", "NN")])
    with pytest.raises(ValueError, match=r"Table\.from_frame"):
        refuse_single(pd.DataFrame({"word": ["a"]}))
    refuse_single([["the", "cat"], ["go"]])
    refuse_single([[("the", "DT")], [("go", "VB")]])
    refuse_single([])
