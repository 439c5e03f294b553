"""Every array of every frozen model file, with every class of hostile value.

Where mutants are drawn at random, these are all there are: a check that is missing for
one array is found each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from model_mutations import make_file, make_header, read_parts
from model_subjects import ESTIMATORS, Subject, check_answer, command

import frozen
from partwise.model_file import load_model, model_kind

Change = Callable[[np.ndarray], np.ndarray]


def put(place: int, value: Any, array: np.ndarray) -> np.ndarray:
    """One other number."""
    array.reshape(-1)[place] = value
    return array


def wrap(array: np.ndarray) -> np.ndarray:
    """Neighbours whose difference wraps to what looks right."""
    middle = array.reshape(-1)[array.size // 2 :][:2]
    middle[:] = (np.iinfo(array.dtype).max, -2)[: middle.size]
    return array


def exceed(array: np.ndarray) -> np.ndarray:
    """An index that is one too large, wherever the largest stood."""
    flat = array.reshape(-1)
    flat[np.argmax(flat)] += 1
    return array


SHAPES: dict[str, Change] = {
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate([array, array[-1:]]),
    "empty": lambda array: array[:0],
    "a column": lambda array: array.reshape(-1, 1),
    "turned": lambda array: array.T if array.ndim > 1 else array[None],
}
INTEGERS: dict[str, Change] = {
    "falling": lambda array: array[::-1],
    "wrapping": wrap,
    "first negative": partial(put, 0, -1),
    "last negative": partial(put, -1, -1),
    "too large": exceed,
    "all zero": np.zeros_like,
    "floats": lambda array: array.astype(np.float64),
    "narrower": lambda array: array.astype(np.int16),
    "wider": lambda array: array.astype(
        np.int64 if array.dtype == np.int32 else np.int32
    ),
}
FLOATS: dict[str, Change] = {
    **{f"one {x}": partial(put, -1, x) for x in (np.nan, np.inf, -np.inf, 1e308)},
    "all 1e308": lambda array: np.full_like(array, 1e308),
    "all at the limit": lambda array: np.full_like(array, -1e100),
    "single": lambda array: array.astype(np.float32),
    "integers": lambda array: array.view(np.int64),
}
BYTES: dict[str, Change] = {  # booleans and text
    "all 255": lambda array: np.full(array.shape, 255, np.uint8).view(array.dtype),
    "first 200": lambda array: put(0, 200, array.view(np.uint8)).view(array.dtype),
    "all zero": np.zeros_like,
    "wider": lambda array: array.astype(np.int64),
}


def changes_of(array: np.ndarray) -> Iterator[tuple[str, Change]]:
    """The hostile changes that an array can have."""
    kind = array.dtype.kind
    values = FLOATS if kind == "f" else INTEGERS if array.itemsize > 1 else BYTES
    yield from (SHAPES | (values if array.size else {})).items()


def hostile(
    name: str, change: Change, content: bytes, rng: random.Random
) -> tuple[str, bytes]:
    """The file with one array changed."""
    document, arrays = read_parts(content)
    with np.errstate(all="ignore"):
        arrays[name] = np.ascontiguousarray(change(arrays[name].copy()))
    return name, make_file(*make_header(document, arrays))


def frozen_files(folder: Path) -> Iterator[Subject]:
    """All frozen files; `folder` has the data of `frozen.write_data`."""
    for file in frozen.NAMES:
        content = (frozen.FOLDER / f"{file}.model").read_bytes()
        yield Subject(file, content, partial(use_frozen, file, folder))


def walk(folder: Path) -> Iterator[Subject]:
    """All changes of all arrays of `frozen_files`."""
    for subject in frozen_files(folder):
        for name, array in read_parts(subject.content)[1].items():
            for what, change in changes_of(array):
                mutate = partial(hostile, name, change)
                yield subject._replace(
                    name=f"{subject.name} {name} {what}", mutate=mutate
                )


def use_frozen(
    file: str, folder: Path, path: Path, model: Any, rng: random.Random
) -> None:
    """Inspect, predict and explain; refusals are sentences of ValueError."""
    check_answer("inspect", *command("inspect", path))
    if file in frozen.TRAINED:
        data = folder / f"new.{frozen.DATA[frozen.TRAINED[file][0]]}"
        for call in (("predict", path, data, "--topk", 2), ("explain", path, data)):
            check_answer(call[0], *command(*call))
        return
    try:
        predict_and_explain(file, path)
    except ValueError as error:
        check_answer("predict", 2, str(error))


def predict_and_explain(file: str, path: Path) -> None:
    """What Python does with a model that was made in Python."""
    frozen.MADE[file].predict(path)
    output = ESTIMATORS[model_kind(load_model(path))]
    if output.task is not None:  # others need their structure or metric again
        kind = getattr(output.module("estimator"), output.estimator)
        X = output.make_toy(3, random_state=1)[0]
        x = X[0] if isinstance(X, list) else X[:1]
        own = frozen.MADE[file].explained
        kind.load(path).explain(x if own is None else own)
