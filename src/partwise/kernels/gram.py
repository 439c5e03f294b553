"""Gram matrices: all values of a kernel between two sets of inputs.

The matrix is cut into tiles of rows and columns of about the same cost. Threads take
tiles in a fixed order and each entry is written by one of them, so the bits are the
same for every `n_jobs`. When rows and columns are the same inputs, only tiles on and
above the diagonal are computed.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import MAX_KERNEL, check_magnitude
from partwise.kernels import _gram_cache as cache
from partwise.kernels.base import Bound, Kernel
from partwise.kernels.checks import check_whole
from partwise.kernels.memory import check_memory
from partwise.kernels.naming import as_kernel
from partwise.parameters import SettingsError
from partwise.threads import resolve_jobs

TILE = 256  # rows and columns of a tile; never a function of n_jobs
FORETASTE = 0.2  # seconds to measure for an estimate before the work


class Progress(NamedTuple):
    """How far a Gram matrix is; given to the callback after each tile."""

    done: float  # share of the work, from 0 to 1
    seconds: float  # so far
    remaining: float  # seconds, by the pace so far


class Estimate(NamedTuple):
    """What a Gram matrix would cost."""

    seconds: float
    bytes: int  # of the matrix

    def __str__(self) -> str:
        return f"about {self.seconds:.3g} s and {self.bytes / 2**20:.4g} MB"


class Tile(NamedTuple):
    """Rows and columns that are computed in one go."""

    rows: np.ndarray
    cols: np.ndarray
    mirrored: bool  # fill the tile across the diagonal too
    work: float


def gram(
    kernel: Kernel | str | Callable[[Any, Any], Any],
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = np.float64,
    n_jobs: int = 1,
    cache_dir: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> np.ndarray:
    """Compute a Gram matrix.

    Parameters
    ----------
    kernel : Kernel, str or callable
        See `as_kernel`.
    X : inputs of the kernel
        The rows.
    Y : inputs of the kernel, optional
        The columns; by default the rows, and the matrix is exactly symmetric. A user's
        matrix that is not so raises ValueError, and so does a user's function of which
        a sample shows it.
    dtype : float64 or float32
        float32 halves the memory, and the time of string kernels.
    n_jobs : int
        Threads; -1 for one per core. The result does not depend on it.
    cache_dir : path, optional
        Keep the matrix in a file there, named by a digest of the inputs and the
        kernel, and find it again next time. The matrix is mapped from the file: it
        needs disk space instead of memory.
    memory_limit : int, optional
        Bytes that the matrix may take; by default four fifths of what is free.
    progress : callable, optional
        Called with a `Progress` after each tile; returning True stops with
        KeyboardInterrupt. If it has a method ``begin``, that is given an `Estimate`
        before the work; not for a matrix that is found in `cache_dir`.

    Returns
    -------
    array of shape (n_rows, n_cols)

    Raises
    ------
    GramTooLarge
        Before any work; the text names remedies.

    Examples
    --------
    >>> gram("ngram:n=2", ["cat", "car", "cat"], dtype="float32")[0]
    array([0.890625, 0.5625  , 0.890625], dtype=float32)
    """
    precision = _precision(dtype)
    threads = resolve_jobs(n_jobs)
    chosen = as_kernel(kernel)
    bound = chosen.bind(X, Y)
    shape = bound.n_rows, bound.n_cols
    if cache_dir is None:
        check_memory(shape, precision, memory_limit)
        out = np.empty(shape, precision)
        _fill(bound, out, threads, progress)
        return out
    key = cache.key_of(chosen, bound, precision)
    cached = cache.find(cache_dir, key, shape, precision)
    if cached is None:
        with cache.draft(cache_dir, key, shape, precision) as out:
            _fill(bound, out, threads, progress)
        cached = cache.find(cache_dir, key, shape, precision)
    if cached is None:
        raise OSError(f"{cache_dir}: a matrix that was just written cannot be read")
    return cached


def strips(
    kernel: Kernel | str | Callable[[Any, Any], Any],
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = np.float64,
    n_jobs: int = 1,
    size: int = TILE,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Gram matrix strip by strip, without ever holding all of it.

    Parameters
    ----------
    kernel, X, Y, dtype, n_jobs
        As for `gram`.
    size : int
        Rows of a strip.

    Yields
    ------
    rows : slice
    values : array of shape (n_rows of the strip, n_cols)

    Examples
    --------
    >>> for rows, values in strips("linear", [[1.0], [2.0], [3.0]], size=2):
    ...     print(rows, values.sum(axis=1))
    slice(0, 2, None) [ 6. 12.]
    slice(2, 3, None) [18.]
    """
    precision = _precision(dtype)
    threads = resolve_jobs(n_jobs)
    bound = as_kernel(kernel).bind(X, Y)
    columns = _by_work(bound.column_work())
    check_whole("size", size, 1, max(bound.n_rows, size))
    for first in range(0, bound.n_rows, size):
        rows = np.arange(first, min(first + size, bound.n_rows))
        out = np.empty((len(rows), bound.n_cols), precision)

        def work(cols: np.ndarray, rows: np.ndarray = rows, out: Any = out) -> None:
            out[:, cols] = _finite(bound.block(rows, cols, precision), precision)

        for _ in _run(threads, work, columns):
            pass
        yield slice(first, first + len(rows)), out


def estimate(
    kernel: Kernel | str | Callable[[Any, Any], Any],
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = np.float64,
    n_jobs: int = 1,
    seconds: float = 1.0,
) -> Estimate:
    """Estimate time and memory of a Gram matrix by computing a sample of its tiles.

    Parameters
    ----------
    kernel, X, Y, dtype, n_jobs
        As for `gram`.
    seconds : float
        How long to measure, about; compilation comes on top.

    Examples
    --------
    >>> estimate("linear", [[1.0], [2.0]]).bytes
    32
    """
    precision = _precision(dtype)
    threads = resolve_jobs(n_jobs)
    return _estimate(as_kernel(kernel).bind(X, Y), precision, threads, seconds)


def _estimate(bound: Bound, precision: Any, threads: int, seconds: float) -> Estimate:
    tiles = _tiles(bound)
    size = bound.n_rows * bound.n_cols * np.dtype(precision).itemsize
    if not tiles:
        return Estimate(0.0, size)
    bound.block(tiles[0].rows[:1], tiles[0].cols[:1], precision)  # compile
    # every so many tiles, by cost: cheap and expensive ones in their true proportion
    by_cost = sorted(range(len(tiles)), key=lambda k: tiles[k].work)
    spent = work = 0.0
    for part in _bisections(len(tiles)):
        tile = tiles[by_cost[part]]
        begin = time.perf_counter()
        bound.block(tile.rows, tile.cols, precision)
        spent += time.perf_counter() - begin
        work += tile.work
        if spent > seconds:
            break
    total = sum(tile.work for tile in tiles)
    return Estimate(spent * total / work / threads + _touch_seconds(size), size)


def _touch_seconds(size: int) -> float:
    """Seconds in which the system provides so many bytes, by a sample."""
    sample = min(size, 16 << 20)
    begin = time.perf_counter()
    np.empty(sample, np.uint8).fill(0)
    return (time.perf_counter() - begin) * size / max(sample, 1)


def _precision(dtype: Any) -> Any:
    try:
        chosen = np.dtype(dtype)
    except TypeError:
        chosen = None
    if chosen not in (np.float32, np.float64):
        raise SettingsError(f"<dtype={dtype!r}>: choose float64 or float32")
    return chosen.type


def _fill(
    bound: Bound,
    out: np.ndarray,
    threads: int,
    progress: Callable[[Progress], Any] | None,
) -> None:
    from partwise.kernels._gram_compiled import mirror, scatter

    precision = out.dtype.type
    if bound.is_symmetric:
        bound.check_symmetric()  # half of the entries are mirrored below
    begin = getattr(progress, "begin", None)
    if begin is not None:
        begin(_estimate(bound, precision, threads, FORETASTE))

    def compute(tile: Tile) -> float:
        values = bound.block(tile.rows, tile.cols, precision)
        values = np.ascontiguousarray(_finite(values, precision))
        scatter(values, tile.rows, tile.cols, out)
        if tile.mirrored:
            mirror(values, tile.rows, tile.cols, out)
        return tile.work

    tiles = _tiles(bound)
    total = sum(tile.work for tile in tiles)
    began = time.perf_counter()
    done = 0.0
    for work in _run(threads, compute, tiles):
        done += work
        spent = time.perf_counter() - began
        share = min(1.0, done / total)
        if progress is not None and progress(
            Progress(share, spent, spent * (1 - share) / share)
        ):
            raise KeyboardInterrupt("stopped by the progress callback")
    if bound.is_symmetric:
        np.fill_diagonal(out, bound.row_diagonal())


def _finite(values: np.ndarray, precision: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        cast = values.astype(precision, copy=False)
    remedy = (
        f" in {np.dtype(precision)}; normalise it, lower its decay or degree, or use "
        "float64"
    )
    check_magnitude(cast, MAX_KERNEL, "the kernel has values", remedy)
    return cast


def _by_work(work: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(work, kind="stable")
    return [order[k : k + TILE] for k in range(0, len(order), TILE)]


def _tiles(bound: Bound) -> list[Tile]:
    row_work, column_work = bound.row_work(), bound.column_work()
    rows, cols = _by_work(row_work), _by_work(column_work)
    tiles = []
    for r, some in enumerate(rows):
        for c in range(r if bound.is_symmetric else 0, len(cols)):
            work = float(row_work[some].sum() * column_work[cols[c]].sum())
            # a tile on the diagonal is its own mirror image
            tiles.append(Tile(some, cols[c], bound.is_symmetric, max(work, 1e-9)))
    return tiles


def _run(threads: int, work: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
    """Results in order, with as many tasks queued as keep the threads busy."""
    if threads == 1 or len(items) < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[Any]] = deque()
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) >= 4 * threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for task in running:
                task.cancel()


def _bisections(n: int) -> Iterator[int]:
    """All numbers below n, those in the middle of the largest gaps first."""
    seen: set[int] = set()
    parts = 2
    while len(seen) < n:
        for k in range(1, parts, 2):
            at = k * n // parts
            if at not in seen:
                seen.add(at)
                yield at
        if parts > 2 * n:
            break
        parts *= 2
