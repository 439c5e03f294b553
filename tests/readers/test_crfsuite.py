"""CRFsuite's data and model files, and those of SVM-hmm."""

import io
import struct

import numpy as np
import pycrfsuite
import pytest

from partwise import SequenceTagger, load_model
from partwise.datasets import toy_entities
from partwise.model_file import save_model
from partwise.outputs.crfsuite import from_crfsuite
from partwise.readers import (
    ReaderError,
    read_crfsuite,
    read_crfsuite_model,
    read_svm_hmm,
)
from partwise.readers.matrices import read_svmlight


def items(X):
    """Tokens as python-crfsuite takes them: strings, numbers, lists, nested dicts."""
    return [
        [
            {"w": w, "t": t, "n": len(w) / 3, "capital": w[0].isupper(),
             "ends": {w[-1:]: 0.5}, "letters": [w[:1], w[1:2] or "-"]}
            for w, t in x
        ]
        for x in X
    ]  # fmt: skip


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """A model file of python-crfsuite, and its sequences."""
    path = str(tmp_path_factory.mktemp("crfsuite") / "names.crfsuite")
    X, y = toy_entities(60, random_state=1)
    trainer = pycrfsuite.Trainer("lbfgs", {"c2": 0.5}, verbose=False)
    for x, labels in zip(items(X), y, strict=True):
        trainer.append(x, labels)
    trainer.train(path)
    return path


def test_converted_model_predicts_as_crfsuite(peer, tmp_path):
    tagger = pycrfsuite.Tagger()
    tagger.open(peer)
    X = items(toy_entities(60, random_state=2)[0])
    save_model(from_crfsuite(peer), tmp_path / "m")
    ours = SequenceTagger.load(tmp_path / "m")
    best = ours.predict(X)
    marginals, whole = ours.predict_marginals(X), ours.confidence(X)
    for i, x in enumerate(X):
        assert tagger.tag(x) == best[i]
        assert tagger.probability(best[i]) == pytest.approx(whole[i], rel=1e-9)
        for t in range(len(x)):
            for k, label in enumerate(ours.classes_):
                expected = tagger.marginal(str(label), t)
                assert marginals[i][t, k] == pytest.approx(expected, abs=1e-9)


def test_converted_weights_are_those_of_crfsuite(peer, tmp_path):
    info = pycrfsuite.Tagger()
    info.open(peer)
    info = info.info()
    save_model(from_crfsuite(peer), tmp_path / "m")
    ours = SequenceTagger.load(tmp_path / "m")
    # CRFsuite prints six digits
    assert ours.transition_features_.keys() == info.transitions.keys()
    assert ours.state_features_.keys() == info.state_features.keys()
    for key, weight in info.transitions.items():
        assert ours.transition_features_[key] == pytest.approx(weight, abs=1e-6)
    for key, weight in info.state_features.items():
        assert ours.state_features_[key] == pytest.approx(weight, abs=1e-6)


def test_every_truncation_is_refused_in_a_sentence(peer, tmp_path):
    data = open(peer, "rb").read()
    place = tmp_path / "cut"
    for size in [*range(0, 60), *range(60, len(data), 97), len(data) - 1]:
        place.write_bytes(data[:size])
        with pytest.raises(ReaderError, match=r"cut: not a model of CRFsuite"):
            read_crfsuite_model(place)
        # one that states its true size is caught by what is missing
        place.write_bytes(data[:4] + struct.pack("<I", size) + data[8:size])
        try:
            read_crfsuite_model(place)
        except ReaderError:
            continue
        # what stands behind the names is not read
        assert size > struct.unpack_from("<I", data, 40)[0]


def test_mutated_files_are_refused_or_valid(peer, tmp_path):
    data = open(peer, "rb").read()
    rng = np.random.default_rng(0)
    place = tmp_path / "mutated"
    refused = 0
    for _ in range(3000):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            near_start = rng.random() < 0.5
            changed[at % 80 if near_start else at] = rng.integers(256)
        place.write_bytes(changed)
        try:
            model = read_crfsuite_model(place)
        except ReaderError as error:
            refused += 1
            assert "\n" not in str(error)
        else:
            assert np.isfinite(model.states).all()
            assert len(set(model.labels)) == model.transitions.shape[1]
    assert refused > 1000


@pytest.mark.parametrize(
    ("at", "value", "what"),
    [
        (12, 101, "version 101"),
        (20, 0, "sizes"),
        (20, 2**32 - 1, "sizes"),
        (24, 2**32 - 1, "sizes"),
        (28, 2**32 - 1, "offset|buffer"),
        (32, 3, "no database"),
    ],
)
def test_forged_headers_are_refused(peer, tmp_path, at, value, what):
    data = bytearray(open(peer, "rb").read())
    data[at : at + 4] = struct.pack("<I", value)
    (tmp_path / "forged").write_bytes(data)
    with pytest.raises(ReaderError, match=what):
        read_crfsuite_model(tmp_path / "forged")


def test_a_model_with_too_many_weights_is_refused(peer):
    with pytest.raises(ReaderError, match="too many weights"):
        read_crfsuite_model(peer, max_weights=10)


def test_loading_a_converted_model_needs_no_certificate(peer, tmp_path):
    save_model(from_crfsuite(peer), tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert model.info["converted_from"] == "CRFsuite"
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.certificate_ is None
    loaded.save(tmp_path / "again")
    X, y = toy_entities(5, random_state=0)
    assert loaded.fit(items(X), y).certificate_.primal > 0


# ------------------------------------------------------------------------------ data


def test_data_file_has_values_and_escapes():
    text = b"B-X\tw=a\\:b\tlen:2.5\tback\\\\slash\tw=c:\nO\n\n\nO\ttwice\ttwice:2\n"
    with pytest.raises(ReaderError, match=r"1: '' is no value of attribute 'w=c'"):
        read_crfsuite(io.BytesIO(text))
    X, y = read_crfsuite(io.BytesIO(text.replace(b"\tw=c:", b"")))
    assert X == [
        [{"w=a:b": 1.0, "len": 2.5, "back\\slash": 1.0}, {}],
        [{"twice": 3.0}],
    ]
    assert y == [["B-X", "O"], ["O"]]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "no item"),
        (b"\n\n", "no item"),
        (b"\ta\n", "1: no label"),
        (b"O\ta:nan\n", "'nan' is no value"),
        (b"O\ta:1e99\n", "'1e99' is no value"),
        (b"O\ta:b:c\n", r"write a colon that belongs to the name as \\:"),
    ],
)
def test_bad_data_files_are_refused(text, what):
    with pytest.raises(ReaderError, match=what):
        read_crfsuite(io.BytesIO(text))


def test_svm_hmm_files():
    text = b"1 qid:7 1:1 2:0.5 # the\n2 qid:7 3:1 # cat\n1 qid:2 1:1\n"
    X, y = read_svm_hmm(io.BytesIO(text))
    assert y == [[1, 2], [1]]
    assert [x.toarray().tolist() for x in X] == [
        [[0, 1, 0.5, 0], [0, 0, 0, 1]],
        [[0, 1, 0, 0]],
    ]
    assert SequenceTagger(tol=0.1).fit(X, y).predict(X).tolist() == y
    with pytest.raises(ReaderError, match="no qid"):
        read_svm_hmm(io.BytesIO(b"1 1:1\n"))
    for text, line in (
        (b"1# qid:8 1:1\n", ""),
        (b"1 qid:1 1:1\n\n2 1:1 # qid:1\n", ":3"),
    ):
        with pytest.raises(ReaderError, match=f"{line}: no qid"):
            read_svm_hmm(io.BytesIO(text))
    assert read_svmlight(io.BytesIO(b"1 1:1 # qid:8\n")).groups is None
    with pytest.raises(ReaderError, match="qid 1 stand apart"):
        read_svm_hmm(io.BytesIO(b"1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n"))
    with pytest.raises(ReaderError, match="no whole number"):
        read_svm_hmm(io.BytesIO(b"1.5 qid:1 1:1\n"))
