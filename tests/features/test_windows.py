"""Runs of sequences that are handled at a time."""

import numpy as np

from partwise.features import Featurizer, columnar
from partwise.features.windows import pieces
from partwise.readers import Table


def test_pieces_cover_all_sequences_once():
    offset = np.append(0, np.cumsum([3, 1, 40, 2, 2, 9]))
    for size in (1, 2, 5, 30, 1000):
        runs = list(pieces(offset, size))
        assert [s for a, b in runs for s in range(a, b)] == list(range(6))
        assert all(a < b for a, b in runs)


def test_features_do_not_depend_on_pieces(monkeypatch):
    sentences = [[f"w{(i * j) % 7}" for j in range(1 + i % 5)] for i in range(30)]
    table = Table.from_sequences(sentences)
    featurizer = Featurizer(["word[-1..1]", "word[0]|word[1]"])
    whole = featurizer.fit_transform(table)
    monkeypatch.setattr(columnar, "pieces", lambda offset: pieces(offset, 4))
    cut = featurizer.transform(table)
    np.testing.assert_array_equal(whole.indptr, cut.indptr)
    np.testing.assert_array_equal(whole.indices, cut.indices)
