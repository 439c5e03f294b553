"""Files of earlier versions are read, and predict the same."""

import json

import pytest
from safetensors.numpy import load_file

import frozen
from partwise.outputs.registry import file_modules


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("frozen")
    frozen.write_data(place, "new", 3, 1)
    return place


@pytest.mark.parametrize("name", frozen.NAMES)
def test_a_frozen_model_predicts_what_it_did(name, folder):
    known = json.loads(frozen.PREDICTIONS.read_text(encoding="utf-8"))[name]
    predicted = frozen.predictions(name, frozen.FOLDER / f"{name}.model", folder)
    assert_same(predicted, known)


def assert_same(found, known):
    """Equal, but numbers may differ in what another processor rounds otherwise."""
    assert type(found) is type(known)
    if isinstance(known, dict):
        assert found.keys() == known.keys()
        for key in known:
            assert_same(found[key], known[key])
    elif isinstance(known, list):
        assert len(found) == len(known)
        for one, other in zip(found, known, strict=True):
            assert_same(one, other)
    elif isinstance(known, float):
        assert found == pytest.approx(known, rel=1e-12, abs=1e-12)
    else:
        assert found == known


def test_both_forms_of_weights_are_frozen():
    forms = {
        "place" in load_file(frozen.FOLDER / f"{name}.model")
        for name in ("sequence", "sequence-sparse")
    }
    assert forms == {False, True}


def test_every_kind_of_file_is_frozen():
    kinds = set()
    for path in frozen.FOLDER.glob("*.model"):
        text = path.read_bytes().decode("utf-8", "ignore")
        kinds |= {kind for kind in file_modules() if kind in text}
    assert kinds == set(file_modules())
