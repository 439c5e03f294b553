"""Digests of packed data: of a whole problem, and of each of its blocks.

The first says whether a checkpoint belongs to a run, the others which examples two
problems have in common.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from partwise.protocol import Ints
from partwise.scorers.linear import DenseRows


def digest_arrays(value: Any, into: Any) -> None:
    """Arrays and numbers of nested tags; whole numbers may be addresses."""
    if isinstance(value, np.ndarray):
        into.update(repr((value.dtype.str, value.shape)).encode())
        into.update(np.ascontiguousarray(value).data)
    elif isinstance(value, float):
        into.update(repr(value).encode())
    elif hasattr(value, "_fields"):
        for name in value._fields:
            digest_arrays(getattr(value, name), into)


def row_digests(rows: Any, number: Any, truths: Any, offset: Ints) -> list[bytes]:
    """
    A digest of each block of rows: its features, as the user numbers them, and truths.

    Parameters
    ----------
    rows : tag of dense or sparse rows
    number : int array (n_features,), or slice
        The place of each feature of the user in `rows`.
    truths : array (n_rows, …)
    offset : int array (n_blocks + 1,)
        Where the rows of blocks begin.
    """
    pieces = [(truths, offset)]
    if isinstance(rows, DenseRows):
        pieces.append((rows.x, offset))
    else:
        plain = np.empty(rows.n_features, np.int32)
        plain[np.arange(rows.n_features)[number]] = np.arange(rows.n_features)
        first = rows.indptr[offset]
        pieces.append((plain[rows.indices], first))
        pieces.append((np.diff(rows.indptr), offset))
        if rows.step:
            pieces.append((rows.data, first))
    return digests(pieces, len(offset) - 1)


def digests(pieces: list[tuple[Any, Ints]], n_blocks: int) -> list[bytes]:
    """A digest of each block: of ``array[first[i]:first[i + 1]]`` of all pieces."""
    views = []
    for array, first in pieces:
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        row_bytes = int(array.itemsize * np.prod(array.shape[1:], dtype=np.int64))
        views.append((view, first, row_bytes))
    listed = []
    for i in range(n_blocks):
        digest = hashlib.blake2b(digest_size=12)
        for view, first, size in views:
            digest.update(view[first[i] * size : first[i + 1] * size])
            digest.update(b"|")
        listed.append(digest.digest())
    return listed
