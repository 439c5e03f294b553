"""Estimators in files: parameters come back, and a stranger's do no harm."""

import json

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from partwise import ConstituencyParser, DependencyParser, SequenceTagger
from partwise.datasets import toy_dependencies, toy_entities, toy_treebank
from partwise.model_file import ModelFileError
from partwise.outputs.json_parameters import MAX_DEPTH, MAX_JOBS, portable_parameters
from partwise.solvers.bcfw import BCFW

DATA = {
    SequenceTagger: toy_entities(20, random_state=0),
    DependencyParser: toy_dependencies(20, random_state=0),
    ConstituencyParser: toy_treebank(20, random_state=0),
}
TAGGER = {
    "templates": ["word[-1..1]", "suffix(word,2)[0]"],
    "order": 2,
    "boundary": True,
    "cost": "normalized",
    "scheme": "BIO",
    "forbidden": [["O", "I-PER"], [None, "I-LOC"]],
    "over_budget": "drop",
    "metric": "span_f1",
}
PARSER = {
    "label_templates": "dep.upos",
    "hash_bits": 12,
    "projective": False,
    "labels": "second_stage",
    "cost": 0.5,
    "normalized": True,
    "n_candidates": 7,
    "metric": "uas",
}
GRAMMAR = {
    "horizontal": 1,
    "vertical": 2,
    "unary_steps": 4,
    "features": "spans",
    "solver": "pcfg",
    "cost": "f1",
    "max_length": 30,
    "metric": "exact_match",
}
COMMON = {
    "C": 2.5,
    "tol": 0.3,
    "max_iter": 50,
    "time_limit": 60.0,
    "random_state": 3,
    "n_jobs": 2,
    "warm_start": True,
}


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        (SequenceTagger, {}),
        (SequenceTagger, TAGGER | COMMON),
        (SequenceTagger, {"solver": "mira", "formulation": "slack", "eps": 0.1}),
        (DependencyParser, {"hash_bits": 12}),
        (DependencyParser, PARSER | COMMON),
        (DependencyParser, {"construction": "best_heads", "hash_bits": 12}),
        (DependencyParser, {"labels": None, "order": 2, "hash_bits": 12}),
        (ConstituencyParser, {}),
        (ConstituencyParser, GRAMMAR | COMMON),
    ],
)
def test_parameters_come_back(kind, params, tmp_path):
    X, y = DATA[kind]
    estimator = kind(**params).fit(X, y)
    estimator.save(tmp_path / "a.model")
    again = kind.load(tmp_path / "a.model")
    assert again.get_params() == estimator.get_params()
    again.set_params(metric="exact_match").save(tmp_path / "b.model")
    assert kind.load(tmp_path / "b.model").get_params() == again.get_params()


def test_a_loaded_tagger_learns_the_same_again(tmp_path):
    X, y = DATA[SequenceTagger]
    tagger = SequenceTagger(**TAGGER, tol=0.2, max_iter=3, random_state=5)
    with pytest.warns(UserWarning, match="max_iter"):
        tagger.fit(X, y).save(tmp_path / "a.model")
        again = SequenceTagger.load(tmp_path / "a.model").fit(X, y)
    np.testing.assert_array_equal(again.coef_, tagger.coef_)


def test_what_no_file_can_hold_is_left_out(tmp_path):
    X, y = DATA[SequenceTagger]
    costs = {("O", "B-PER"): 2.0}
    tagger = SequenceTagger(solver=BCFW(tol=0.2), cost=costs, order=np.int64(0))
    tagger.fit(X, y).save(tmp_path / "a.model")
    again = SequenceTagger.load(tmp_path / "a.model")
    assert again.solver == "auto" and again.order == 0
    assert again.cost.shape == (len(tagger.classes_),) * 2  # the model knows it

    nested: list = []
    for _ in range(MAX_DEPTH + 1):
        nested = [nested]
    loop: dict = {}
    loop["loop"] = loop
    subset = portable_parameters(
        {
            "a": (1, "b", [None, True]),
            "b": {"x": np.float32(0.5)},
            "c": {1: 2},
            "d": np.zeros(2),
            "e": float("inf"),
            "f": [print],
            "g": nested,
            "h": loop,
            "n_jobs": MAX_JOBS + 1,
            "gram_options": {"dtype": "float32", "cache_dir": "/", "progress": print},
        }
    )
    assert subset == {
        "a": [1, "b", [None, True]],
        "b": {"x": 0.5},
        "gram_options": {"dtype": "float32"},
    }


# ------------------------------------------------------------------ strangers' files


def with_info(path, change):
    """Write a model file again after `change` of its info."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = json.loads(header["__metadata__"]["partwise"])
    change(document["info"])
    arrays = dict(load_tensors(data))
    path.write_bytes(save_tensors(arrays, {"partwise": json.dumps(document)}))


@pytest.fixture(scope="module", params=DATA)
def saved(request, tmp_path_factory):
    kind = request.param
    settings = {"hash_bits": 12} if kind is not ConstituencyParser else {}
    path = tmp_path_factory.mktemp("saved") / "a.model"
    kind(tol=0.3, C=1.0, **settings).fit(*DATA[kind]).save(path)
    return kind, path.read_bytes()


HOSTILE = {
    "__class__": "os.system",
    "model_": None,
    "self": 1,
    "path": "/etc/passwd",
    "kernel__degree": 3,
    "n_jobs": 10**9,
    "gram_options": {"cache_dir": "/"},
    "time_limit": {"float": "nan"},
    "metric": ["las"],
    "tol": {"a": [{"b": None}]},
    "random_state": "x" * 100_000,
    "labels": "sideways",
    "order": -7,
}


def test_a_strangers_parameters_run_nothing(saved, tmp_path):
    kind, content = saved
    path = tmp_path / "a.model"
    path.write_bytes(content)
    before = kind.load(path)
    with_info(path, lambda info: info.update(parameters=HOSTILE))
    again = kind.load(path)
    assert again.get_params().keys() == before.get_params().keys()
    assert again.n_jobs == 1 and again.time_limit is None
    for name in ("labels", "order"):  # the model knows better
        assert getattr(again, name, None) == getattr(before, name, None)
    X, y = DATA[kind]
    assert list(again.predict(X[:5])) == list(before.predict(X[:5]))
    with pytest.raises(ValueError, match="unknown metric"):
        again.score(X[:5], y[:5])
    assert not hasattr(again, "path")


@pytest.mark.parametrize("value", [None, [], "tol", 3, [["tol", 0.1]]])
def test_parameters_that_are_no_object_are_refused(saved, tmp_path, value):
    kind, content = saved
    path = tmp_path / "a.model"
    path.write_bytes(content)
    with_info(path, lambda info: info.update(parameters=value))
    with pytest.raises(ModelFileError, match=r"'parameters' is no object.*again"):
        kind.load(path)


def test_older_files_have_the_settings_only(saved, tmp_path):
    kind, content = saved
    path = tmp_path / "a.model"
    path.write_bytes(content)
    with_info(path, lambda info: info.pop("parameters"))
    again = kind.load(path)
    assert again.C == pytest.approx(1.0) and again.tol == kind().tol
