"""Clusters of words from text."""

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
    found = WordClusters(n_clusters=5, n_dimensions=3).fit(X)
    meta, arrays = found.state()
    again = WordClusters.from_state(meta, arrays)
    assert again.get_params() == found.get_params()
    assert again.clusters_ == found.clusters_
    spoil(meta, arrays)
    with pytest.raises(ValueError, match="damaged"):
        WordClusters.from_state(meta, arrays)
