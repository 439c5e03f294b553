"""Annotated sequences: a string, or columns of strings and numbers, one per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.features.templates import View

RESIDUE = "residue"  # the column of a sequence that is a mere string
POSITION = "position"  # a column that all sequences have, see `positions`
PLACES = ("begin", "middle", "end")


def columns_of(x: Any, what: str = "sequence") -> dict[str, Any]:
    """Columns by name: strings, lists of strings, or real arrays (n, width)."""
    if isinstance(x, str):
        x = {RESIDUE: x}
    if not isinstance(x, Mapping) or not x:
        raise ValueError(
            f"{what} is of type {type(x).__name__}; give a string or a dict of columns"
        )
    if len({len(column) for column in x.values()}) != 1:
        sizes = ", ".join(f"{name} {len(column)}" for name, column in x.items())
        raise ValueError(f"{what} has columns of different lengths: {sizes}")
    return dict(x)


def positions(n: int) -> list[str]:
    """Where each of n tokens stands: the first, the last, or between them.

    A gap that opens at the first token lies before the first match, one that has the
    last token behind the last match.

    Examples
    --------
    >>> positions(4), positions(1)
    (['begin', 'middle', 'middle', 'end'], ['begin'])
    """
    begin, middle, end = PLACES
    return [begin, *[middle] * (n - 2), end][:n]


def letters_of(x: Any) -> list[str]:
    """The tokens of a sequence as they are shown: its first column."""
    return [str(value) for value in next(iter(columns_of(x).values()))]


def partners_of(x: Any, output: Any) -> list[str]:
    """The partner of each token of a, as text.

    Parameters
    ----------
    x : (a, b), or (a, candidates)
    output : int array (k, 2), or (number of a candidate, such an array)

    Examples
    --------
    >>> partners_of(("MKV", "MV"), [(0, 0), (2, 1)])
    ['M0', '-', 'V1']
    """
    a, b = x
    prefix, pairs = "", output
    if isinstance(b, list | tuple):
        number, pairs = output
        b, prefix = b[number], f"{number}:"
    letters, shown = letters_of(b), ["-"] * len(letters_of(a))
    for i, j in pairs:
        shown[i] = f"{prefix}{letters[j]}{j}"
    return shown


def has_candidates(X: Sequence[Any]) -> bool:
    """Whether examples are (a, candidates), not (a, b); refuses what is neither."""
    for i, x in enumerate(X):
        if not isinstance(x, tuple | list) or len(x) != 2:
            raise ValueError(f"X[{i}]: give a pair (a, b), or (a, list of candidates)")
    kinds = {isinstance(b, list | tuple) for _, b in X}
    if len(kinds) > 1:
        raise ValueError("X mixes pairs (a, b) with (a, candidates); fit them apart")
    return True in kinds


def refuse_empty(X: Sequence[Any]) -> None:
    """Refuse examples with sequences without tokens: there is nothing to learn."""
    for i, (a, b) in enumerate(X):
        named = [("b", b)]
        if isinstance(b, list | tuple):
            named = [(f"candidate {k}", x) for k, x in enumerate(b)]
        for name, x in [("a", a), *named]:
            if not len(next(iter(columns_of(x, f"X[{i}]: {name}").values()))):
                raise ValueError(f"X[{i}]: {name} has no tokens; leave the example out")


def is_real(column: Any) -> bool:
    """Whether a column holds numbers."""
    return isinstance(column, np.ndarray) and column.dtype.kind in "fiu"


def real_column(
    columns: Mapping[str, Any], name: str, what: str, width: int | None = None
) -> np.ndarray:
    """A column of numbers, (n, width)."""
    if name not in columns or not is_real(columns[name]) or columns[name].ndim != 2:
        raise ValueError(f"{what} has no real column {name!r}, an array (n, width)")
    column = np.asarray(columns[name], np.float64)
    if width is not None and column.shape[1] != width:
        raise ValueError(
            f"{what}: column {name!r} has {column.shape[1]} numbers per token where "
            f"{width} are needed"
        )
    return column


def values_of(view: View, column: Any) -> tuple[list[str], np.ndarray]:
    """Different strings of a view of a column, and which of them each token has."""
    if is_real(column):
        raise ValueError(f"column {view.column!r} holds numbers; use it in a product")
    if isinstance(column, str):
        letters = np.frombuffer(column.encode("utf-32-le", "replace"), np.uint32)
        used, inverse = np.unique(letters, return_inverse=True)
        strings = [chr(code) for code in used.tolist()]
    else:
        texts, inverse = np.unique(
            np.array(list(map(str, column))), return_inverse=True
        )
        strings = texts.tolist()
    return [value or "" for value in view.apply(strings)], inverse
