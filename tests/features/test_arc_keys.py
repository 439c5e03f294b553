"""Keys of arcs agree exactly when what they name agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.features.arc_keys import ArcHasher, MatchError
from partwise.readers.table import Table

WORDS = st.tuples(st.sampled_from("ab"), st.sampled_from("XY"))
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=8), min_size=1, max_size=3)


def bucket(distance):
    size = abs(distance)
    return (distance > 0, size if size <= 5 else 6 if size <= 10 else 7)


# what must agree, in plain Python, of (head, dep, distance); the root is (<r>, <r>)
REFERENCE = {
    "form": lambda h, d, far: (h[0], d[0]),
    "upos+direction": lambda h, d, far: (h[1], d[1], far > 0),
    "upos+distance": lambda h, d, far: (h[1], d[1], far),
    "form+upos+bucket": lambda h, d, far: (h, d, bucket(far)),
    "head.form+dep.upos": lambda h, d, far: (h[0], d[1]),
    "direction+dep.form": lambda h, d, far: (d[0], far > 0),
}


def table_of(sentences):
    return Table.from_sequences(sentences, ["form", "upos"])


@given(sentences=SENTENCES, match=st.sampled_from(sorted(REFERENCE)))
def test_keys_are_equal_when_the_named_things_are(sentences, match):
    keys = ArcHasher(match).transform(table_of(sentences))
    numbers = {}
    for i, words in enumerate(sentences):
        nodes = [("<r>", "<r>"), *words]
        n = len(words)
        for h in range(n + 1):
            for d in range(1, n + 1):
                actual = keys.key[keys.first[i] + h * n + d - 1, 0]
                if h == d:
                    assert actual == -1
                    continue
                what = REFERENCE[match](nodes[h], nodes[d], d - h)
                assert numbers.setdefault(what, actual) == actual
    assert len(set(numbers.values())) == len(numbers)


def test_neighbours_and_functions_of_columns():
    table = table_of([[("A", "X"), ("a", "Y"), ("a", "X")]])
    lower = ArcHasher("lower(form)").transform(table).key[:, 0].reshape(4, 3)
    assert lower[1, 1] == lower[1, 2] == lower[2, 0]
    after = ArcHasher("upos[1]").transform(table).key[:, 0].reshape(4, 3)
    assert after[0, 0] != after[0, 1]


def test_hashes_of_different_names_do_not_meet():
    table = table_of([[("a", "a"), ("a", "a")]])
    keys = ArcHasher("form, upos, form+direction").transform(table).key
    assert len({*keys[0]}) == 3


def test_a_function_of_the_user():
    def distance(sentence, head, dep):
        assert sentence.columns.keys() == {"form", "upos"}
        return np.where(head == 0, -1, abs(dep - head))

    table = table_of([[("a", "X"), ("b", "Y"), ("a", "X")]])
    keys = ArcHasher([distance, "form"])
    assert keys.names == ["distance", "form"]
    actual = keys.transform(table).key[:, 0].reshape(4, 3)
    assert (actual[0] == -1).all()
    assert actual[1, 1] == actual[2, 0] == actual[3, 1]
    assert actual[1, 2] != actual[1, 1]


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("form+", "a name is missing"),
        ([], "empty"),
        ("direction", "name a column"),
        ("form, form", "stands twice"),
        ("form+upos, form|upos", "stands twice"),
        ("form+direction+distance, form+distance", "stands twice"),
        ("sib.form", "neither head. nor dep."),
        ("form[-1..1]", "not one column"),
        ("nothing", "needs a column 'nothing'"),
        ("form+distence", "did you mean distance"),
        ("cluster", "clusters= makes it"),
        ([3], "neither a name nor a function"),
    ],
)
def test_bad_names_are_told(match, text):
    with pytest.raises(MatchError, match=text):
        ArcHasher(match).transform(table_of([[("a", "X")]]))


def test_bad_functions_are_told():
    def floats(sentence, head, dep):
        return np.zeros(len(head))

    with pytest.raises(MatchError, match="floats gave float64"):
        ArcHasher(floats).transform(table_of([[("a", "X")]]))


@given(SENTENCES)
def test_the_number_of_keys_is_known_beforehand(sentences):
    table = Table.from_sequences(sentences, ["form", "upos"])
    hasher = ArcHasher("form, upos+distance")
    keys = hasher.transform(table)
    assert np.array_equal(keys.token_offset, table.offset)
    assert np.array_equal(hasher.n_keys(table.offset), 2 * np.diff(keys.first))
