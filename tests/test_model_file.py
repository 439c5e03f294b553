import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from partwise import model_file
from partwise.certificate import Certificate
from partwise.features import ArrayFeaturizer, DictFeaturizer, Featurizer
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.support import SupportSet
from partwise.protocol import Cuts, Support
from partwise.readers import Table
from partwise.structures.chain import Chain

FROZEN = Path(__file__).parent / "data" / "sequence_model_v1.partwise"
SENTENCES = [["the", "cat", "sees", "Ann"], ["Ann", "sleeps"], ["the", "dog", "barks"]]
Y = np.array([0, 1, 2, 1, 1, 2, 0, 1, 2], np.int32)
LABELS = ["DET", "N", "V"]
CERTIFICATE = Certificate(2.0, 2.0, 1.5, 3.0, 9, True, "converged", "l1").to_dict()


def small_model() -> SequenceModel:
    """All that a file can hold: names, masks, a cost matrix, both ends, a dual."""
    table = Table.from_sequences(SENTENCES)
    featurizer = Featurizer("word[0]\nsuffix(word,1)[-1]\nbias")
    features = featurizer.fit_transform(table)
    allowed = np.ones((3, 3), bool)
    allowed[0, 2] = False
    chain = Chain(
        3,
        boundary=True,
        cost=1.0 - np.eye(3),
        transitions=allowed,
        starts=np.array([True, True, False]),
        ends=np.array([False, True, True]),
    )
    rng = np.random.default_rng(0)
    n_weights = chain.n_weights(featurizer.n_features_)
    weights = rng.normal(size=n_weights).round(3)
    info = {
        "certificate": CERTIFICATE,
        "settings": {"C": 1.0},
        "history": [[0.1, 3, float("inf"), 0.5], [0.2, 6, 2.0, 1.5]],
        "n_iter": 2,
    }
    ones = (np.ones(2) for _ in range(4))
    code = np.array([0, 1, 2, 2, 1, 1, 2], np.int32)
    cuts = Cuts(np.array([0, 2]), *ones, np.array([0, 4, 7]), code)
    dual = Support(cuts, np.array([0.25, 0.125]))
    words = SENTENCES.__getitem__
    support = SupportSet.create(features, features.offset, Y, dual, words)
    return SequenceModel(
        TokenFeatureScoring(featurizer), chain, LABELS, weights, info, support
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.partwise"
    save_model(small_model(), path)
    return path


def test_a_model_comes_back_as_it_was(saved):
    model, back = small_model(), load_model(saved)
    table = Table.from_sequences(SENTENCES)
    assert back.labels == LABELS
    assert np.array_equal(back.weights, model.weights)
    assert back.featurizer.feature_names_ == model.featurizer.feature_names_
    assert back.predict(table) == model.predict(table)
    assert back.structure.order == 1 and back.structure.boundary is True
    for name in ("cost", "transitions", "starts", "ends"):
        assert np.array_equal(
            getattr(back.structure, name), getattr(model.structure, name)
        )
    assert back.info["history"] == model.info["history"]
    assert Certificate.from_dict(back.info["certificate"]).primal == 2.0
    assert set(back.info["versions"]) == {"partwise", "numpy"}


def test_the_support_set_comes_back(saved):
    subset, back = small_model().support, load_model(saved).support
    assert back.tokens == subset.tokens == [SENTENCES[0], SENTENCES[2]]
    assert np.array_equal(back.alpha, subset.alpha)
    assert np.array_equal(back.rows, [0, 2])
    assert np.array_equal(back.y, subset.y)
    for name in ("block", "b", "scale", "indptr", "code"):
        assert np.array_equal(getattr(back.cuts, name), getattr(subset.cuts, name))
    for mine, theirs in zip(back.inputs, subset.inputs, strict=True):
        assert np.array_equal(mine, theirs)


def test_dense_features_and_integer_labels(tmp_path):
    X = [np.array([[0.0, 1.0], [2.0, 0.5]]), np.array([[1.0, 1.0]])]
    featurizer = ArrayFeaturizer()
    features = featurizer.fit_transform(X)
    chain = Chain(2, order=0, cost="normalized")
    cuts = Cuts(
        np.array([1]), *(np.ones(1) for _ in range(4)), np.array([0, 1]),
        np.array([1], np.int32),
    )  # fmt: skip
    support = SupportSet.create(
        features,
        features.offset,
        np.array([0, 1, 0], np.int32),
        Support(cuts, np.ones(1)),
        lambda i: [f"#{t}" for t in range(len(X[i]))],
    )
    model = SequenceModel(
        TokenFeatureScoring(featurizer), chain, [3, 7], np.ones(4), {}, support
    )
    save_model(model, tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert back.labels == [3, 7]
    assert np.array_equal(back.support.inputs.X, [[1.0, 1.0]])
    assert back.structure.cost == "normalized" and back.structure.transitions is None


def sparse_model() -> SequenceModel:
    """The small model with four weights that are not zero."""
    model = small_model()
    model.weights[3:-1] = 0.0
    return model


@pytest.fixture(scope="module")
def sparse(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "sparse.partwise"
    save_model(sparse_model(), path)
    return path


def test_zeros_among_weights_take_no_room(saved, sparse):
    arrays = load_tensors(sparse.read_bytes())
    assert "weights" not in arrays and arrays["place"].tolist() == [0, 1, 2, 56]
    assert sparse.stat().st_size < saved.stat().st_size - 8 * 40
    back = load_model(sparse)
    assert np.array_equal(back.weights, sparse_model().weights)
    table = Table.from_sequences(SENTENCES)
    assert back.predict(table) == sparse_model().predict(table)


def test_few_zeros_do_not_change_the_form(saved):
    """A weight with its place takes more room than a weight."""
    assert {"place", "weight"}.isdisjoint(load_tensors(saved.read_bytes()))


@pytest.mark.parametrize("hash_bits", [None, 4])
def test_dict_features(tmp_path, hash_bits):
    X = [[{"w": "a", "n": 2}, {"w": "b"}]]
    featurizer = DictFeaturizer(hash_bits=hash_bits).fit(X)
    n = 2 * featurizer.n_features_ + 4
    model = SequenceModel(
        TokenFeatureScoring(featurizer), Chain(2), ["x", "y"], np.arange(float(n))
    )
    save_model(model, tmp_path / "m")
    back = load_model(tmp_path / "m")
    assert back.predict(X) == model.predict(X)


def test_the_frozen_file_of_version_1_still_means_the_same():
    model = load_model(FROZEN)
    assert model.labels == LABELS
    assert model.predict(Table.from_sequences(SENTENCES)) == [
        ["N", "N", "V", "N"],
        ["N", "V"],
        ["N", "N", "V"],
    ]
    assert np.array_equal(model.weights, small_model().weights)
    assert model.support.tokens == [SENTENCES[0], SENTENCES[2]]
    assert model.info["certificate"]["dual"] == 1.5


def test_the_same_model_gives_the_same_bytes(saved, tmp_path):
    save_model(small_model(), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


# ------------------------------------------------------------------------ writing


def test_unwritable_places_are_refused_and_nothing_is_left(tmp_path):
    for place in (tmp_path / "none" / "m", tmp_path):
        with pytest.raises(ModelFileError, match="choose another place"):
            save_model(small_model(), place)
    assert not list(tmp_path.iterdir())
    assert not list(tmp_path.parent.glob(".*.part"))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, saved):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ModelFileError, match="No space left"):
        save_model(small_model(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_json_cannot_keep_is_refused(tmp_path):
    model = small_model()
    model.info["settings"]["scorer"] = object()
    with pytest.raises(ModelFileError, match="cannot be kept"):
        save_model(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match="SequenceModel"):
        save_model(object(), tmp_path / "m")
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------- hostile files


def refused(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    assert len(message) < 600
    return message


def tamper(saved: Path, path: Path, edit) -> Path:
    """Write the file again after `edit(document, arrays)`."""
    data = saved.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = json.loads(header["__metadata__"]["partwise"])
    arrays = dict(load_tensors(data))
    edit(document, arrays)
    path.write_bytes(save_tensors(arrays, {"partwise": json.dumps(document)}))
    return path


def put(name, value):
    def edit(document, arrays):
        arrays[name] = value

    return edit


def change(name, function):
    def edit(document, arrays):
        array = arrays[name].copy()
        function(array)
        arrays[name] = array

    return edit


def setting(name, value):
    return lambda document, arrays: document["model"].__setitem__(name, value)


def told(name, value):
    return lambda document, arrays: document["info"].__setitem__(name, value)


ATTACKS = {
    "NaN weights": change("weights", lambda a: a.__setitem__(0, np.nan)),
    "too few weights": put("weights", np.zeros(3)),
    "float32 weights": put("weights", np.zeros(57, np.float32)),
    "no weights": lambda document, arrays: arrays.pop("weights"),
    "matrix of weights": put("weights", np.zeros((3, 19))),
    "half floats": put("weights", np.zeros(57, np.float16)),
    "too few labels": setting("labels", ["DET", "N"]),
    "no labels": setting("labels", []),
    "twice a label": setting("labels", ["N", "N", "V"]),
    "labels of two kinds": setting("labels", ["N", 1, "V"]),
    "labels no list": setting("labels", "NVD"),
    "nested labels": setting("labels", [["N"], ["V"], ["D"]]),
    "many labels": setting("labels", [str(i) for i in range(6000)]),
    "no order": lambda document, arrays: document["model"].pop("order"),
    "order 3": setting("order", 3),
    "order true": setting("order", True),
    "unknown cost": setting("cost", "free"),
    "negative cost": put("chain/cost", -np.ones((3, 3))),
    "small cost": put("chain/cost", np.zeros((2, 2))),
    "wide mask": put("chain/transitions", np.ones((3, 4), bool)),
    "number mask": put("chain/starts", np.ones(3)),
    "featurizer unknown": setting("featurizer", {"kind": "columns.v9"}),
    "featurizer none": setting("featurizer", None),
    "no vocabulary": lambda document, arrays: arrays.pop("featurizer/key"),
    "key too large": change("featurizer/key", lambda a: a.__setitem__(0, 2**62)),
    "templates explode": setting(
        "featurizer",
        {"kind": "columns.v1", "templates": ["prefix(word,1..1000)[-900..900]"]},
    ),
    "array features": setting("featurizer", {"kind": "arrays.v1", "n_features": -1}),
    "many features": setting("featurizer", {"kind": "arrays.v1", "n_features": 2**62}),
    "support missing": lambda document, arrays: arrays.pop("support/alpha"),
    "NaN alpha": change("support/alpha", lambda a: a.__setitem__(0, np.inf)),
    "block out of range": change("support/block", lambda a: a.__setitem__(0, 2)),
    "block negative": change("support/block", lambda a: a.__setitem__(0, -1)),
    "cut out of range": change("support/code", lambda a: a.__setitem__(0, 3)),
    "short cut": put("support/code", np.zeros(6, np.int32)),
    "truth out of range": change("support/y", lambda a: a.__setitem__(0, -1)),
    "feature out of range": change("support/indices", lambda a: a.__setitem__(0, 999)),
    "offset falls": change("support/offset", lambda a: a.__setitem__(1, 9)),
    "rows unsorted": put("support/rows", np.array([2, 0])),
    "text short": put("support/text", np.zeros(1, np.uint8)),
    "text not UTF-8": change("support/text", lambda a: a.__setitem__(slice(0, 3), 255)),
    "certificate empty": told("certificate", {}),
    "certificate of words": told("certificate", "fine"),
    "history of words": told("history", [["a", "b", "c", "d"]]),
    "history ragged": told("history", [[1.0]]),
    "settings a list": told("settings", []),
    "parameters a list": told("parameters", [["tol", 0.1]]),
    "parameters a word": told("parameters", "tol"),
    "parameters none": told("parameters", None),
    "weight of 1e308": change("weights", lambda a: a.__setitem__(0, 1e308)),
    "cost of 1e308": put("chain/cost", 1e308 * (1 - np.eye(3))),
    "offsets that wrap": change(
        "support/indptr", lambda a: a.__setitem__(slice(1, 3), (2**63 - 1, -2))
    ),
    "truth values of 2": change("chain/starts", lambda a: a.view("u1").fill(2)),
    "primal of 400 digits": told("certificate", {**CERTIFICATE, "primal": 10**400}),
    "info none": lambda document, arrays: document.__setitem__("info", None),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_content_gets_one_sentence(saved, tmp_path, attack):
    message = refused(tamper(saved, tmp_path / "m", ATTACKS[attack]))
    assert "copy or train it again" in message


SPARSE_ATTACKS = {
    "place of no weight": change("place", lambda a: a.__setitem__(-1, 57)),
    "place below zero": change("place", lambda a: a.__setitem__(0, -1)),
    "places that fall": change("place", lambda a: a.__setitem__(1, 0)),
    "places without weights": lambda document, arrays: arrays.pop("weight"),
    "weights without places": lambda document, arrays: arrays.pop("place"),
    "more places than weights": put("weight", np.zeros(3)),
    "NaN": change("weight", lambda a: a.__setitem__(0, np.nan)),
    "weight of 1e308": change("weight", lambda a: a.__setitem__(0, 1e308)),
    "long places": put("place", np.arange(4)),
    "weights for all memory": setting(
        "featurizer",
        {"kind": "columns.v1", "templates": ["word[0]"], "hash_bits": 30},
    ),
}


@pytest.mark.parametrize("attack", SPARSE_ATTACKS)
def test_hostile_sparse_weights_get_one_sentence(sparse, tmp_path, attack):
    message = refused(tamper(sparse, tmp_path / "m", SPARSE_ATTACKS[attack]))
    assert "copy or train it again" in message


@pytest.mark.parametrize(
    ("kind", "version", "remedy"),
    [
        ("SequenceModel.v2", 1, "update partwise"),
        ("SequenceModel.v1", 2, "update partwise"),
        ("Oracle.v1", 1, "this version reads"),
        ("x" * 10_000, 1, "this version reads"),
    ],
)
def test_other_kinds_and_later_versions(saved, tmp_path, kind, version, remedy):
    def edit(document, arrays):
        document.update(kind=kind, format=version)

    assert remedy in refused(tamper(saved, tmp_path / "m", edit))


WEIGHTS = """{"format": 1, "kind": "WeightsModel.v1", "model": {"structure": "own"},
 "info": {"n_iter": %s}}"""


@pytest.mark.parametrize(
    "document",
    ["", "[]", "nul", "[" * 100_000, '{"a":' * 50_000, "9" * 5000, '{"format": 1}',
     '{"format": NaN}', WEIGHTS % "1e999", WEIGHTS % ("9" * 30),
     '{"format": true, "kind": "SequenceModel.v1"}', '"\\ud800"'],
)  # fmt: skip
def test_json_that_is_none_or_a_bomb(tmp_path, document):
    path = tmp_path / "m"
    path.write_bytes(save_tensors({"weights": np.zeros(1)}, {"partwise": document}))
    assert "JSON" in refused(path)


def test_the_depth_of_a_document_is_found_in_linear_time(tmp_path):
    """Quotes that never close made the search start again at each of them."""
    path = tmp_path / "m"
    document = '"' + '\\"' * 100_000
    path.write_bytes(save_tensors({"weights": np.zeros(1)}, {"partwise": document}))
    began = time.process_time()
    assert "JSON" in refused(path)
    assert time.process_time() - began < 1.0


def header_of(tensors: dict, data: bytes = b"") -> bytes:
    text = json.dumps(tensors).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 7,
        b"not a model file at all",
        (2**63).to_bytes(8, "little") + b"{",
        (50).to_bytes(8, "little") + b"{}",
        header_of({}),
        header_of({"w": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}),
        header_of({"w": {"dtype": "F64", "shape": [2**62], "data_offsets": [0, 8]}}),
        header_of(
            {
                "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
                "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
            },
            b"\x00" * 6,
        ),
    ],
)
def test_files_that_are_no_safetensors(tmp_path, data):
    path = tmp_path / "m"
    path.write_bytes(data)
    refused(path)


def test_a_header_beyond_the_limit(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_HEADER_BYTES", 100)
    assert "header claims" in refused(saved)


def test_missing_files_and_folders(tmp_path):
    assert "no such file" in refused(tmp_path / "none")
    refused(tmp_path)


def test_every_truncation_is_noticed(saved, tmp_path):
    data = saved.read_bytes()
    for length in range(0, len(data), 97):
        path = tmp_path / "m"
        path.write_bytes(data[:length])
        refused(path)


if __name__ == "__main__":  # how the frozen file was made
    save_model(small_model(), FROZEN)
