"""Parameters of estimators in the types of JSON, for model files and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

MAX_DEPTH = 8  # of lists within lists; a model file has room for some more
MAX_JOBS = 256  # so that a hostile model file cannot start thousands of threads


def portable_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """
    Keep what a model file can hold and another machine can use.

    Parameters
    ----------
    params : mapping
        Of an estimator, or of a file that may come from an unknown source.

    Returns
    -------
    dict
        Those whose values are None, strings, booleans, finite numbers, or lists and
        dicts of these.

    Examples
    --------
    >>> portable_parameters({"tol": 0.01, "solver": print, "order": np.int64(2)})
    {'tol': 0.01, 'order': 2}
    """
    values = {name: _portable(value) for name, value in params.items()}
    options = params.get("gram_options")
    if isinstance(options, Mapping):  # folders and limits are those of one machine
        dtype = {name: options[name] for name in ("dtype",) if name in options}
        values["gram_options"] = _portable(dtype or None)
    values.pop("vectors", None)  # stored with the featurizer
    n_jobs = values.get("n_jobs")
    if n_jobs is not None and not (type(n_jobs) is int and n_jobs <= MAX_JOBS):
        del values["n_jobs"]
    return {name: value for name, value in values.items() if value is not _NOTHING}


_NOTHING = object()  # None is a portable value


def _portable(value: Any, depth: int = 0) -> Any:
    """The value in the types of JSON, or `_NOTHING`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOTHING
    if depth == MAX_DEPTH:
        return _NOTHING
    if isinstance(value, list | tuple):
        items = [_portable(item, depth + 1) for item in value]
        return _NOTHING if _NOTHING in items else items
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        fields = {name: _portable(item, depth + 1) for name, item in value.items()}
        return _NOTHING if _NOTHING in fields.values() else fields
    return _NOTHING
