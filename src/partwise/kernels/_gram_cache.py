"""Gram matrices in files: named by content, written whole or not at all.

A file is an array in numpy's format, followed by the CRC-32 of its values. It is named
by a digest of the kernel, its parameters and what it needs of the inputs, so a change
of any of them is a miss, and nothing ever has to be declared stale.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from partwise.files import replacing
from partwise.kernels.base import Bound, Kernel
from partwise.kernels.memory import check_disk
from partwise.kernels.naming import to_dict

VERSION = "gram.v1"  # of the values: change it when a kernel computes something else
CHUNK = 64 << 20
CHECK_BYTES = 4


def key_of(kernel: Kernel, bound: Bound, dtype: Any) -> str:
    """Digest of all that decides the matrix."""
    digest = hashlib.blake2b(digest_size=20)
    shape = [bound.n_rows, bound.n_cols, bound.is_symmetric]
    about = [VERSION, to_dict(kernel), np.dtype(dtype).name, shape]
    digest.update(json.dumps(about, sort_keys=True).encode())
    for part in bound.content():
        if isinstance(part, str):
            data = memoryview(part.encode())
        else:
            data = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        digest.update(f"{data.nbytes}:".encode())  # lengths keep neighbours apart
        digest.update(data)
    return digest.hexdigest()


def find(
    folder: str | os.PathLike[str], key: str, shape: tuple[int, int], dtype: Any
) -> np.ndarray | None:
    """The matrix of this key, mapped; None when there is none that can be trusted."""
    path = _path(folder, key)
    if not path.exists():
        return None
    try:
        # "c": changes stay in memory, and kernels see an ordinary writable array
        matrix = np.load(path, mmap_mode="c", allow_pickle=False)
        with open(path, "rb") as file:
            file.seek(-CHECK_BYTES, os.SEEK_END)
            stored = file.read()
            is_whole = file.tell() == matrix.offset + matrix.nbytes + CHECK_BYTES
        if matrix.shape == shape and matrix.dtype == dtype and is_whole:
            if _check_sum(matrix) == stored:
                return matrix
    except (ValueError, OSError, EOFError):
        pass
    warnings.warn(
        f"{path}: damaged, the Gram matrix is computed again", RuntimeWarning, 3
    )
    return None


@contextmanager
def draft(
    folder: str | os.PathLike[str], key: str, shape: tuple[int, int], dtype: Any
) -> Iterator[np.ndarray]:
    """A mapped matrix to be filled; it gets its name when the block succeeds."""
    path = _path(folder, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    check_disk(path.parent, shape[0] * shape[1] * np.dtype(dtype).itemsize)
    with replacing(path) as place:
        matrix = np.lib.format.open_memmap(place, "w+", dtype, shape)
        yield np.asarray(matrix)
        matrix.flush()
        with open(place, "ab") as file:
            file.write(_check_sum(matrix))
            file.flush()
            os.fsync(file.fileno())
        del matrix


def _path(folder: str | os.PathLike[str], key: str) -> Path:
    return Path(folder) / f"{key}.gram.npy"


def _check_sum(matrix: np.ndarray) -> bytes:
    values = matrix.reshape(-1).view(np.uint8)
    total = 0
    for first in range(0, len(values), CHUNK):
        total = zlib.crc32(values[first : first + CHUNK].data, total)
    return total.to_bytes(CHECK_BYTES, "little")
