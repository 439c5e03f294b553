"""No array that a file or a user brings leads a kernel outside of its arrays."""

import random
import warnings
from functools import partial

import array_walk
import numpy as np
import pytest
from forked_runs import Fuzzer, Limits
from model_subjects import Misbehaviour, Subject
from scipy import sparse

import frozen
from partwise.outputs.registry import OUTPUTS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("walk")
    frozen.write_data(place, "new", 3, 1)
    return place


def test_every_array_of_every_file_is_checked(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in frozen.NAMES:  # compiles, and shows that honest files are used
            path = frozen.FOLDER / f"{file}.model"
            array_walk.use_frozen(file, folder, path, None, random.Random(0))
            if file in frozen.MADE:
                array_walk.predict_and_explain(file, path)
        cases = list(array_walk.walk(folder))
        assert {case.name.split()[0] for case in cases} == set(frozen.NAMES)
        fuzzer = Fuzzer(cases, folder, Limits(seconds=10, megabytes=1000), jobs=1)
        fuzzer.run(0, len(cases))
    assert not fuzzer.failures
    assert fuzzer.counts["refused"] > len(cases) / 2 and fuzzer.counts["used"]


# ------------------------------------------------------------ matrices given to `fit`

HUGE = 2**63 - 1


def sparse_with(X, **changes):
    """The matrix with some places of its arrays changed; scipy does not look."""
    matrix = sparse.csr_array(X)
    for name, change in changes.items():
        array = getattr(matrix, name).astype(np.int64)
        setattr(matrix, name, change(array))
    return matrix


def put(place, value):
    return lambda array: array_walk.put(place, value, array)


SPARSE = {
    "falls": {"indptr": lambda array: array[::-1].copy()},
    "wraps": {"indptr": put(1, HUGE)},
    "begins below zero": {"indptr": put(0, -1)},
    "goes on": {"indptr": put(-1, 10**6)},
    "is short": {"indptr": lambda array: array[:-1]},
    "column below zero": {"indices": put(0, -1)},
    "column too large": {"indices": put(-1, 10**6)},
    "column at the end": {"indices": put(0, HUGE)},
    "values missing": {"data": lambda array: array[:1] * 1.0},
}
DENSE = {
    "NaN": lambda X: array_walk.put(0, np.nan, X.copy()),
    "infinity": lambda X: array_walk.put(-1, -np.inf, X.copy()),
    "1e308": lambda X: array_walk.put(0, 1e308, X.copy()),
    "text": lambda X: X.astype(str).astype(object).reshape(X.shape)[:, :1] + "x",
    "complex": lambda X: X * 1j,
    "three axes": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
}


def row_fits():
    """Fits of all estimators over rows to hostile matrices."""
    for output in OUTPUTS:
        if not output.toy:
            continue
        X, y = output.make_toy(12)[:2]
        matrix = X[0] if isinstance(X, list) else X  # of the first query
        if not isinstance(matrix, np.ndarray):
            continue
        kind = getattr(output.module("estimator"), output.estimator)
        changes = DENSE | {
            name: partial(sparse_with, **change) for name, change in SPARSE.items()
        }
        for name, change in changes.items():
            estimator = kind(max_iter=2, **output.toy_settings)
            yield f"{output.estimator} {name}", estimator, change, X, y


def test_hostile_matrices_are_refused_by_fit(tmp_path):
    """In forked processes: a segmentation fault is a failure, not the end."""

    def fit(estimator, change, X, y, path, model, rng):
        try:
            is_list = isinstance(X, list)
            estimator.fit([change(X[0]), *X[1:]] if is_list else change(X), y)
        except ValueError:
            return
        raise Misbehaviour("the matrix was taken")

    subjects = [
        Subject(name, b"", partial(fit, *data), lambda *_: ("", b""), lambda _: 0)
        for name, *data in row_fits()
    ]
    assert len(subjects) >= 5 * (len(SPARSE) + len(DENSE))
    fuzzer = Fuzzer(subjects, tmp_path, Limits(seconds=60, megabytes=1000), jobs=1)
    fuzzer.run(0, len(subjects))
    assert not fuzzer.failures
