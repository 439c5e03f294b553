"""Errors for inputs that are no list of sequences, or a list where one is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import check_list
from partwise.readers.table import Table


def is_frame(value: Any) -> bool:
    """Whether it is a data frame of a library that narwhals knows."""
    if isinstance(value, Table | list | tuple | str | np.ndarray):
        return False
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(value)


def refuse_single(X: Any, unit: str = "sentence") -> None:
    """Refuse a data frame, or one sequence where a list of them is needed.

    A sentence of (word, tag) pairs looks like many sentences of two words each;
    sequences that are tuples are therefore taken for tokens when all have one length.
    """
    if not isinstance(X, str):  # refused elsewhere, with the remedy
        check_list(X, f"{unit}s")
    if is_frame(X):
        raise ValueError(
            f"X is a data frame; say which rows make a {unit}: "
            f"X, y = Table.from_frame(frame, by={unit!r}, label=...)"
        )
    if isinstance(X, list) and X and is_frame(X[0]):
        raise ValueError(
            f"X is a list of data frames; join them into one with a column that tells "
            f"the {unit}, and give X, y = Table.from_frame(frame, by=..., label=...)"
        )
    if isinstance(X, list) and any(isinstance(x, str) and " " in x for x in X):
        raise ValueError(
            f"X is a list of strings; make a list of words of each {unit}: "
            "[x.split() for x in X]"
        )
    if isinstance(X, list) and X and all(isinstance(item, tuple) for item in X):
        lengths = {len(item) for item in X}
        is_text = all(isinstance(value, str) for item in X for value in item)
        if is_text and len(lengths) == 1 and lengths != {0}:
            raise ValueError(
                f"X is one {unit}, a list of {X[0]!r} and the like; give a list of "
                f"{unit}s: [X]. Sequences of words are lists, tuples are tokens"
            )


def refuse_several(x: Any, unit: str = "sentence") -> None:
    """Refuse a list of sequences, or what is no sequence, where one is needed."""
    if isinstance(x, str) or not hasattr(x, "__len__"):
        raise ValueError(f"x is {x!r:.40}; give one {unit}, a list of tokens")
    if isinstance(x, list) and x and isinstance(x[0], list) and x[0]:
        if isinstance(x[0][0], tuple | list | dict | set):
            raise ValueError(f"x is a list of {unit}s; give one of them, as in X[0]")
