"""Files of kernel taggers, and kernels at the command line."""

import numpy as np
import pytest

from partwise import SequenceTagger
from partwise.cli import main
from partwise.datasets import toy_entities
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.outputs.sequence import file as sequence_file
from partwise.readers import Table, write_columns

KERNEL = "normalized(poly:degree=2)"
SETTINGS = {"C": 10.0, "tol": 1e-4, "templates": ["word[-1..1]", "pos[0]"]}


@pytest.fixture(scope="module")
def data():
    return toy_entities(60, random_state=0)


@pytest.fixture(scope="module")
def tagger(data):
    X, y = data
    return SequenceTagger(kernel=KERNEL, **SETTINGS).fit(X[:40], y[:40])


def test_a_file_brings_the_model_back(tagger, data, tmp_path):
    X, _ = data
    tagger.save(tmp_path / "k.model", keep_dual=True)
    again = SequenceTagger.load(tmp_path / "k.model")
    assert list(again.predict(X)) == list(tagger.predict(X))
    np.testing.assert_array_equal(again.margin(X), tagger.margin(X))
    assert str(again.explain(X[45])) == str(tagger.explain(X[45]))
    assert again.kernel.to_dict() == tagger.model_.scoring.index.kernel.to_dict()
    assert again.n_features_in_ == tagger.n_features_in_


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("row", lambda a: a[::-1]),
        ("row", lambda a: a - 1),
        ("key", lambda a: a[::-1]),
        ("begin", lambda a: a + 1),
        ("anchor", lambda a: a + 10**6),
        ("weight", lambda a: a * np.nan),
        ("token", lambda a: a[:-1]),
        ("text_offset", lambda a: a[:-1]),
        ("anchors/indices", lambda a: a + 10**6),
        ("anchors/indptr", lambda a: a[:-1]),
        ("anchors/data", lambda a: a * np.inf),
        ("anchors/shape", lambda a: a + 1),
    ],
)
def test_hostile_arrays_are_refused(tagger, tmp_path, monkeypatch, name, spoil):
    def write(model):
        settings, arrays = to_state(model)
        key = f"index/{name}"
        arrays[key] = spoil(arrays[key])
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    monkeypatch.setattr("partwise.model_file.check_magnitude", lambda *_: None)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


@pytest.mark.parametrize(
    "spoil",
    [
        {"kernel": {"kernel": "poly.v1", "degree": 10**9, "coef0": 1, "gamma": 1}},
        {"kernel": {"kernel": "no_such.v1"}},
        {"kernel": {"kernel": "tree.v1", "decay": 0.5}},
        {"kernel": "poly"},
        {"kernel": None},
        {"kernel": {"kernel": "precomputed.v1", "params": {}}},
        {"by_token": False},
        {"dtype": "float16"},
    ],
)
def test_hostile_settings_are_refused(tagger, tmp_path, monkeypatch, spoil):
    def write(model):
        settings, arrays = to_state(model)
        settings["index"] = settings["index"] | spoil
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


@pytest.mark.parametrize(
    "spoil",
    [
        {"match": []},
        {"match": ["word"]},
        {"match": ["label", 3]},
        {"match": ["bigram"]},
        {"featurizer": None},
        {"featurizer": {"kind": "arrays.v1", "n_features": 7}},
        {"featurizer": {"kind": "no_such.v1"}},
        {"labels": ["O", "O"]},
        {"order": 2},
    ],
)
def test_hostile_models_are_refused(tagger, tmp_path, monkeypatch, spoil):
    def write(model):
        settings, arrays = to_state(model)
        return settings | spoil, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


def test_postings_that_stand_twice_are_refused(tagger, tmp_path, monkeypatch):
    """Else `verify` could look at one of them, and `predict` at both."""

    def write(model):
        settings, arrays = to_state(model)
        begin = arrays["index/begin"]
        for name in ("anchor", "weight"):
            arrays[f"index/{name}"] = np.insert(
                arrays[f"index/{name}"], begin[:-1], arrays[f"index/{name}"][begin[:-1]]
            )
        arrays["index/begin"] = begin + np.arange(len(begin))
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="out of order"):
        load_model(tmp_path / "bad.model")


def test_keys_without_names_are_refused(tagger, tmp_path, monkeypatch):
    def write(model):
        settings, arrays = to_state(model)
        del arrays["index/name"]
        return settings, arrays

    to_state = sequence_file.to_state
    monkeypatch.setattr(sequence_file, "to_state", write)
    save_model(tagger.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="without names"):
        load_model(tmp_path / "bad.model")


def test_a_dual_without_planes(tmp_path):
    X, y = [["a", "b"], ["c"]], [["O", "O"], ["O"]]
    tagger = SequenceTagger(kernel="linear").fit(X, y)
    tagger.save(tmp_path / "m", keep_dual=True)
    again = SequenceTagger.load(tmp_path / "m")
    assert list(again.predict(X)) == y
    assert again.explain(X[0]).support == tagger.explain(X[0]).support == []


# ------------------------------------------------------------------ command line


@pytest.fixture
def files(data, tmp_path):
    X, y = data
    for name, part in (("train", slice(40)), ("test", slice(40, 60))):
        write_columns(tmp_path / name, Table.from_sequences(X[part]), y[part])
    return tmp_path


def run(*arguments):
    return main([str(a) for a in arguments])


def test_train_verify_inspect_predict(files, capsys):
    model, train, test = files / "k.model", files / "train", files / "test"
    options = ["--kernel", KERNEL, "--C", "10", "--keep-dual", "--report"]
    report = files / "report.html"
    assert run("train", "tag", train, "--model", model, *options, report) == 0
    assert run("verify", model, train, "--plain") == 0
    printed = capsys.readouterr().out
    assert "verified" in printed and "plain primal" in printed
    assert run("inspect", model) == 0
    printed = capsys.readouterr().out
    assert "poly.v1" in printed and "n_anchors" in printed
    assert run("explain", model, test) == 0
    assert "training sequence" in capsys.readouterr().out
    assert run("predict", model, test) == 0
    assert run("evaluate", model, test) == 0
    text = report.read_text()
    assert "Kernel" in text and "Normalized" in text


def test_verify_wants_the_training_data(files, capsys):
    model, train, test = files / "k.model", files / "train", files / "test"
    assert run("train", "tag", train, "--model", model, "--kernel", KERNEL) == 0
    assert run("verify", model, test) == 1
    assert "anchor" in capsys.readouterr().out


def test_verify_tells_a_budget(files, capsys):
    model, train = files / "k.model", files / "train"
    options = ["--kernel", KERNEL, "--budget", "50"]
    assert run("train", "tag", train, "--model", model, *options) == 0
    assert run("verify", model, train) == 0
    assert "verified" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["label, type"], ["label+word, label+pos"]])
def test_hash_functions_on_the_command_line(files, capsys, options):
    model, train, test = files / "k.model", files / "train", files / "test"
    kernel = ["--kernel", KERNEL] if "type" in options[0] else []
    values = ["--match", *options, *kernel, "--keep-dual", "--report", files / "r.html"]
    assert run("train", "tag", train, "--model", model, *values) == 0
    assert run("verify", model, train, "--plain") == 0
    assert "plain primal" in capsys.readouterr().out
    assert run("inspect", model) == 0
    assert options[0].split(", ")[1] in capsys.readouterr().out
    assert run("explain", model, test) == 0
    assert run("evaluate", model, test) == 0
    assert "Labels match by" in (files / "r.html").read_text()


def test_single_precision_verifies_plainly(files, capsys):
    """The certificate speaks of the rounded kernel, and so does the plain check."""
    options = ["--kernel", KERNEL, "--C", "1e5", "--gram-dtype", "float32"]
    model, train = files / "k.model", files / "train"
    assert run("train", "tag", train, "--model", model, *options, "--tol", "0.01") == 0
    assert run("verify", model, train, "--plain") == 0


def test_foreign_data_without_a_key(files, capsys):
    model, train = files / "k.model", files / "train"
    match = 'label+match(word,"^...")'
    assert run("train", "tag", train, "--model", model, "--match", match) == 0
    (files / "other").write_text("a NN O\n\n")
    assert run("verify", model, files / "other") == 1
    assert "no part has a key" in capsys.readouterr().out


def test_a_dual_on_a_budget_is_not_kept(files, capsys):
    options = ["--kernel", KERNEL, "--budget", "20", "--keep-dual"]
    model, train = files / "k.model", files / "train"
    assert run("train", "tag", train, "--model", model, *options) == 0
    assert "without --budget" in capsys.readouterr().err


def test_a_bad_hash_function_is_refused(files, capsys):
    options = ["--model", files / "m", "--match", "word"]
    assert run("train", "tag", files / "train", *options) == 2
    assert "label+word" in capsys.readouterr().err


def test_an_unknown_kernel_is_refused(files, capsys):
    options = ["--model", files / "m", "--kernel", "polly:degree=2"]
    assert run("train", "tag", files / "train", *options) == 2
    assert "polly" in capsys.readouterr().err
