"""Tables of candidate pairs of items of two sides."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from partwise.readers.source import ReaderError, Source, read_text_bytes

FIRST = ("example", "left", "right", "match")


class PairTable(NamedTuple):
    """Examples in the order in which they appear."""

    X: list[Any]  # (features (k, n_features), pairs (k, 2), (n_left, n_right)) each
    y: list[np.ndarray]  # the right item of each left one, −1 for none
    names: list[str]  # of the features
    examples: list[str]
    items: list[tuple[list[str], list[str]]]  # names of the left and the right ones


def read_pairs(path: Source, *, truth: bool = True) -> PairTable:
    r"""
    Read lines ``example<tab>left<tab>right<tab>match<tab>feature…``.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip. The first line names the columns; lines that begin
        with # are comments. Pairs that are not listed cannot be matched.
    truth : bool
        Whether the column ``match`` is needed: 1 for true pairs, 0 for others.

    Examples
    --------
    >>> import io
    >>> lines = b"example\tleft\tright\tmatch\tnear\n1\ta\tx\t0\t0.5\n1\ta\ty\t1\t2\n"
    >>> table = read_pairs(io.BytesIO(lines))
    >>> table.names, table.y
    (['near'], [array([1])])
    """
    name, data = read_text_bytes(path)
    names: list[str] | None = None
    has_match = truth
    examples: dict[str, _Example] = {}
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if names is None:
            has_match = cells[3:4] == [FIRST[3]]
            n_first = 4 if has_match else 3
            if tuple(cells[:n_first]) != FIRST[:n_first] or (truth and not has_match):
                raise ReaderError(
                    f"{name}:{number}: the first line must name the columns example, "
                    "left, right, match and features, separated by tabs"
                )
            names = cells[n_first:]
            continue
        if len(cells) != n_first + len(names):
            raise ReaderError(
                f"{name}:{number}: {len(cells)} columns where the first line has "
                f"{n_first + len(names)}"
            )
        if has_match and cells[3] not in ("0", "1"):
            raise ReaderError(f"{name}:{number}: match {cells[3][:20]!r}: give 0 or 1")
        row = [_number(cell, name, number) for cell in cells[n_first:]]
        example = examples.setdefault(cells[0], _Example([], {}, {}, {}, {}, {}))
        pair = (
            example.left.setdefault(cells[1], len(example.left)),
            example.right.setdefault(cells[2], len(example.right)),
        )
        if pair in example.pairs:
            raise ReaderError(f"{name}:{number}: the pair stands twice; write it once")
        example.rows.append(row)
        example.pairs[pair] = None
        if has_match and cells[3] == "1":
            _add_true(example, pair, name, number)
    if not examples or names is None:
        raise ReaderError(f"{name}: no line with a pair; give a file with some")
    return PairTable(
        [_input(example, len(names)) for example in examples.values()],
        [_partners(example) for example in examples.values()],
        names,
        list(examples),
        [(list(example.left), list(example.right)) for example in examples.values()],
    )


class _Example(NamedTuple):
    rows: list[list[float]]
    pairs: dict[tuple[int, int], None]  # in order
    left: dict[str, int]
    right: dict[str, int]
    true: dict[int, int]  # right items by left ones
    taken: dict[int, int]  # left items by right ones


def _number(cell: str, name: str, number: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ReaderError(f"{name}:{number}: {cell[:20]!r} is no finite number")
    return value


def _add_true(example: _Example, pair: tuple[int, int], name: str, number: int) -> None:
    left, right = pair
    if left in example.true or right in example.taken:
        raise ReaderError(f"{name}:{number}: an item is in two true pairs")
    example.true[left], example.taken[right] = right, left


def _input(example: _Example, n_features: int) -> Any:
    features = np.array(example.rows).reshape(len(example.rows), n_features)
    shape = (len(example.left), len(example.right))
    return features, np.array(list(example.pairs), np.int64), shape


def _partners(example: _Example) -> np.ndarray:
    partners = np.full(len(example.left), -1, np.int64)
    for left, right in example.true.items():
        partners[left] = right
    return partners
