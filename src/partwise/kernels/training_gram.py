"""The Gram matrix of training data, with the settings of its user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram
from partwise.kernels.memory import GramTooLarge
from partwise.parameters import SettingsError

OPTIONS = ("dtype", "cache_dir", "memory_limit", "progress")


def check_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings of `gram` that an estimator takes as ``gram_options``.

    Examples
    --------
    >>> check_options({"cache": "folder"})
    Traceback (most recent call last):
        ...
    partwise.parameters.SettingsError: gram_options has 'cache'; choose from dtype, \
cache_dir, memory_limit, progress
    """
    if options is not None and not isinstance(options, Mapping):
        raise SettingsError(
            f"<gram_options={options!r:.80}>: give a dict, as {{'dtype': 'float32'}}"
        )
    chosen = dict(options or {})
    for name in chosen:
        if name not in OPTIONS:
            raise SettingsError(
                f"<gram_options> has {name!r}; choose from {', '.join(OPTIONS)}"
            )
    return chosen


def training_gram(
    kernel: Kernel, inputs: Any, options: dict[str, Any], n_jobs: int, *,
    compared: str, remedy: str,
) -> np.ndarray:  # fmt: skip
    """Compare all training inputs with each other.

    Parameters
    ----------
    kernel : Kernel
    inputs : inputs of the kernel
    options : dict
        As `check_options` gives it.
    n_jobs : int
    compared : str
        What is compared, for the error of a matrix that does not fit.
    remedy : str
        What helps then, besides the options.
    """
    try:
        return gram(kernel, inputs, n_jobs=n_jobs, **options)
    except GramTooLarge as error:
        ways = []
        if np.dtype(options.get("dtype", np.float64)) == np.float64:
            ways.append("<gram_options={'dtype': 'float32'}> takes half of it")
        if "cache_dir" not in options:
            ways.append("<gram_options={'cache_dir': 'folder'}> maps it from a file")
        remedies = f"; {', '.join(ways)}" if ways else ""
        raise GramTooLarge(
            f"<kernel=> compares all {compared} with each other: "
            f"{str(error).partition(';')[0]}{remedies}; or {remedy}"
        ) from None
