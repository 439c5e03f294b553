"""Sequences of which some labels are not known."""

import numpy as np
import pytest

from partwise import SequenceTagger
from partwise.datasets import toy_entities


def hidden_half(y, seed=0):
    rng = np.random.default_rng(seed)
    return [[label if rng.random() < 0.5 else None for label in row] for row in y]


def test_partly_labelled_sequences(tmp_path):
    X, y = toy_entities(120, random_state=3)
    partly = hidden_half(y[:80])
    tagger = SequenceTagger(C=80.0, tol=0.01).fit(X[:80], partly)
    assert tagger.certificate_.is_local and tagger.rounds_
    assert set(tagger.classes_) == {label for row in y for label in row}
    few = SequenceTagger(C=80.0, tol=0.01).fit(X[:10], y[:10])
    assert tagger.score(X[80:], y[80:]) > max(0.9, few.score(X[80:], y[80:]) - 0.02)
    tagger.save(tmp_path / "m.model")
    again = SequenceTagger.load(tmp_path / "m.model")
    assert again.predict(X[80:]).tolist() == tagger.predict(X[80:]).tolist()
    # nothing hidden, nothing in rounds
    whole = SequenceTagger(C=80.0, tol=0.01).fit(X[:80], y[:80])
    assert whole.rounds_ == [] and not whole.certificate_.is_local


def test_partly_labelled_sequences_that_cannot_be_learned():
    X, y = toy_entities(6, random_state=3)
    partly = hidden_half(y)
    for settings, said in (
        ({"loss": "log", "segments": True}, "without None in y"),
        ({"solver": "hmm"}, "counts parts"),
        ({"kernel": "linear"}, "leave the kernel out"),
    ):
        with pytest.raises(ValueError, match=said):
            SequenceTagger(**settings).fit(X, partly)
    with pytest.raises(ValueError, match="no token has a label"):
        SequenceTagger().fit(X, [[None] * len(row) for row in y])
