"""Clusters of words from text, and from given vectors."""

import gzip
import json

import numpy as np
import pytest

from partwise.kernels import WordClusters
from partwise.kernels.clusters import UNKNOWN, k_means
from partwise.readers.table import Table

ANIMALS, FOODS = ["cat", "dog", "owl", "fox"], ["fish", "bread", "corn"]


def text(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return [
        ["the", rng.choice(ANIMALS), rng.choice(["eats", "likes"]), "some",
         rng.choice(FOODS)] for _ in range(n)
    ]  # fmt: skip


def test_words_of_the_same_places_share_a_cluster():
    X = [[str(word) for word in sentence] for sentence in text()]
    clusters = WordClusters(n_clusters=5, n_dimensions=3).fit(X).clusters_
    for words in (ANIMALS, FOODS, ["eats", "likes"]):
        assert len({clusters[word] for word in words}) == 1
    assert len(set(clusters.values())) == 5
    again = WordClusters(n_clusters=5, n_dimensions=3).fit(X[::-1]).clusters_
    groups = [
        {frozenset(w for w in c if c[w] == g) for g in c.values()}
        for c in (clusters, again)
    ]
    assert groups[0] == groups[1]  # the order of the sentences does not matter


def test_the_column_is_added_and_others_stay():
    X = [[(str(w), "T") for w in sentence] for sentence in text(50)]
    table = WordClusters(n_clusters=4, n_dimensions=4).fit_transform(X)
    assert list(table.columns) == ["word", "pos", "cluster"]
    assert table.strings("pos") == Table.from_sequences(X).strings("pos")
    new = WordClusters(4, 4).fit(X).transform([[("zebra", "T"), ("the", "T")]])
    assert new.strings("cluster")[0][0] == UNKNOWN
    assert new.strings("cluster")[0][1] != UNKNOWN


def test_the_result_is_the_same_each_time():
    X = [[str(word) for word in sentence] for sentence in text(100)]
    one, other = (WordClusters(6, 4, random_state=3).fit(X).clusters_ for _ in "ab")
    assert one == other


def test_clusters_are_numbered_by_their_tokens():
    X = [[str(word) for word in sentence] for sentence in text()]
    table = WordClusters(5, 5).fit_transform(X)
    flat = [c for sentence in table.strings("cluster") for c in sentence]
    sizes = [flat.count(f"c{k}") for k in range(5)]
    assert sizes == sorted(sizes, reverse=True)


def test_groups_that_lie_apart_are_found():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 3)) * 20
    truth = rng.integers(0, 6, 300)
    group = k_means(centres[truth] + rng.normal(size=(300, 3)), 6, rng)
    pairs = set(zip(truth.tolist(), group.tolist(), strict=True))
    assert len(pairs) == 6


def test_fewer_distinct_vectors_than_clusters():
    rng = np.random.default_rng(0)
    vectors = np.repeat(np.eye(2), 5, axis=0)
    group = k_means(vectors, 4, rng)
    assert len(set(group[:5].tolist())) == 1
    assert group[0] != group[5]


def test_small_and_empty_vocabularies():
    assert WordClusters(3, 3, min_count=1).fit([["a"]]).clusters_ == {"a": "c0"}
    assert set(WordClusters(3, 3, min_count=1).fit([["a"], ["b"]]).clusters_) == {
        "a",
        "b",
    }
    with pytest.raises(ValueError, match="lower min_count="):
        WordClusters(min_count=5).fit([["a", "b"]])
    with pytest.raises(ValueError, match="call fit first"):
        WordClusters().transform([["a"]])
    with pytest.raises(ValueError, match="no column 'form'"):
        WordClusters(column="form").fit([["a"]])
    with pytest.raises(ValueError, match="window=0"):
        WordClusters(window=0).fit([["a"]])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda meta, arrays: meta.update(kind="other"),
        lambda meta, arrays: meta["params"].pop("window"),
        lambda meta, arrays: meta["params"].update(name=3),
        lambda meta, arrays: meta["params"].update(column=3),
        lambda meta, arrays: arrays.update(group=arrays["group"][:-1]),
        lambda meta, arrays: arrays.update(group=arrays["group"] - 9),
        lambda meta, arrays: arrays.update(text_offset=arrays["text_offset"][:-1]),
    ],
)
def test_files_bring_clusters_back_or_refuse(spoil):
    X = [[str(word) for word in sentence] for sentence in text(50)]
    actual = WordClusters(n_clusters=5, n_dimensions=3).fit(X)
    meta, arrays = actual.state()
    again = WordClusters.from_state(meta, arrays)
    assert again.get_params() == actual.get_params()
    assert again.clusters_ == actual.clusters_
    spoil(meta, arrays)
    with pytest.raises(ValueError, match=r"damaged|array|out of range|offsets"):
        WordClusters.from_state(meta, arrays)


def planted(n=120, seed=0):
    """Words in three groups that lie apart, and their vectors."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    matrix = 10 * np.eye(3, 5)[truth] + 0.1 * rng.normal(size=(n, 5))
    return [f"w{i}" for i in range(n)], truth, matrix


def test_given_vectors_decide_in_every_form(tmp_path):
    words, truth, matrix = planted()
    X = [words[:30], words[:60], words[30:60]]
    path = tmp_path / "vectors.txt.gz"
    lines = [
        " ".join([w, *map(str, row)]) for w, row in zip(words, matrix, strict=True)
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    forms = [
        dict(zip(words, matrix, strict=True)),
        (words, matrix),
        [words, matrix.tolist()],
        path,
        str(path),
    ]
    actual = [WordClusters(3, vectors=form).fit(X) for form in forms]
    for own in actual:
        assert own.from_vectors_ and own.clusters_ == actual[0].clusters_
    clusters = actual[0].clusters_
    assert list(clusters) == words  # also those that the text does not have
    pairs = {(truth[i], clusters[word]) for i, word in enumerate(words)}
    assert len(pairs) == 3
    new = actual[0].transform([["w100", "W7", "other"]]).strings("cluster")[0]
    assert new == [clusters["w100"], clusters["w7"], UNKNOWN]


def test_centres_are_those_of_the_text_alone():
    """Words that the text does not have do not pull centres towards them."""
    vectors = {"a": [0.0], "b": [1.0], "x": [100.0], "y": [200.0]}
    clusters = WordClusters(2, vectors=vectors).fit([["a", "a", "b"]]).clusters_
    assert clusters == {"a": "c0", "b": "c1", "x": "c1", "y": "c1"}


def test_exact_case_goes_before_lower_case():
    vectors = {"May": [0.0], "may": [9.0], "go": [5.0]}
    actual = WordClusters(3, vectors=vectors).fit([["May", "may", "Go", "Go", "go"]])
    row = actual.transform([["May", "may", "MAY", "GO"]]).strings("cluster")[0]
    assert row[0] != row[1] == row[2] and row[3] == "c0"


def test_fewer_different_vectors_than_clusters():
    vectors = {"a": [1, 0], "b": [1, 0], "c": [0, 1]}
    clusters = WordClusters(9, vectors=vectors).fit([["a", "b", "c"]]).clusters_
    assert clusters["a"] == clusters["b"] != clusters["c"]


def test_text_alone_does_not_look_at_lower_case():
    clusters = WordClusters(1, min_count=1).fit([["a"]])
    assert clusters.transform([["A"]]).strings("cluster") == [[UNKNOWN]]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (7, "vectors= is of type int; give a dict"),
        ({}, "0 words"),
        ({"a": []}, "one vector per word"),
        ({"a": [1, 2], "b": [1]}, "'b' has 1 numbers, 'a' has 2"),
        ({"a": "xyz"}, "must hold numbers"),
        ({"a": [1, np.nan]}, "vector of 'a' holds a number that is not finite"),
        ({"a": [1], "b": [1e30]}, "vector of 'b'"),
        ({3: [1]}, "3 is no word"),
        ((["a", "b"], [[1]]), "2 words and numbers of shape"),
        ((["a"], [1]), "one vector per word"),
        ((["a"], np.ones((1, 20_000))), "20000 dimensions"),
        ({"zebra": [1]}, "no word of the text has a vector"),
        ("nowhere.txt", "nowhere.txt: no such file"),
    ],
)
def test_vectors_that_are_none_are_refused(vectors, message):
    with pytest.raises(ValueError, match=message):
        WordClusters(2, vectors=vectors).fit([["a", "b"]])


def test_files_keep_clusters_and_not_vectors():
    words, _, matrix = planted()
    actual = WordClusters(3, vectors=(words, matrix)).fit([words])
    meta, arrays = json.loads(json.dumps(actual.state()[0])), actual.state()[1]
    again = WordClusters.from_state(meta, arrays)
    assert again.clusters_ == actual.clusters_ and again.vectors is None
    row = ["W1", "w5", "else"]
    assert again.transform([row]).strings("cluster") == actual.transform([row]).strings(
        "cluster"
    )
    with pytest.raises(ValueError, match="a model file does not keep"):
        again.unfitted()
    assert actual.unfitted().fit([words]).clusters_ == actual.clusters_
    with pytest.raises(ValueError, match="damaged"):
        WordClusters.from_state(meta | {"vectors": 1}, arrays)
    del meta["vectors"]  # files of text alone need not have it
    assert not WordClusters.from_state(meta, arrays).from_vectors_
