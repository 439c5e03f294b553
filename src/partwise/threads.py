"""Loops over fixed shards on threads, with the same bits for every number of threads.

Shards are functions of the data alone. Each writes its own results, and sums over
shards are taken in their order by one thread. Kernels release the interpreter's lock.
Sums of long arrays are written out here because a BLAS adds in an order that depends
on its threads.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from partwise.jit import njit
from partwise.parameters import SettingsError

Floats = NDArray[np.float64]
Result = TypeVar("Result")

LANES = 8  # partial sums side by side, so that the loop vectorises
SHARD = 1 << 16  # numbers of a long array: a shard of two arrays fits the cache


class _Here(threading.local):
    """Whether this thread belongs to the pool: its loops use no other threads."""

    in_pool = False


_here = _Here()


def _enter_pool() -> None:
    _here.in_pool = True


@functools.cache
def _threads(process: int, n_jobs: int) -> ThreadPoolExecutor:
    """One pool for all loops; a forked process has none of its parent's threads."""
    return ThreadPoolExecutor(n_jobs, initializer=_enter_pool)


def _finish(others: list[Future[None]]) -> None:
    """Wait for what has begun; what has not is left out."""
    begun = [other for other in others if not other.cancel()]
    wait(begun)
    for other in begun:
        other.result()


def available_cores() -> int:
    """Cores that this process may use: containers and `taskset` may leave it fewer."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads; negative ones count from the number of cores."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise SettingsError("<n_jobs=0>: give a number of threads, or -1 for all cores")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def shard_size(n_rows: int) -> int:
    """Rows of a shard: of the data alone, never of n_jobs, so that bits are equal."""
    return min(512, max(16, n_rows // 16))


Shards = list[tuple[int, int]]


def shards_by_effort(effort: Floats) -> Shards:
    """Consecutive shards of about equal effort, so that a few long rows use all cores.

    At most 256 of them and at least two rows in each, unless one row is a shard's worth
    by itself: a shard costs a call of a kernel.
    """
    n_rows = len(effort)
    if n_rows == 0:
        return []
    total = np.cumsum(effort)
    wanted = max(1, min(n_rows // 2, 256))
    cuts = np.searchsorted(total, total[-1] * np.arange(1, wanted) / wanted)
    bounds = np.unique(np.concatenate([[0], cuts + 1, [n_rows]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def run_sharded(
    n_jobs: int,
    n_rows: int,
    work_on: Callable[[int, int], None],
    shard: int | Shards | None = None,
) -> None:
    """Call ``work_on(first, last)`` for consecutive shards of rows, on threads.

    `shard` is the number of rows of each, or the shards themselves. Within a thread of
    the pool, shards come one after the other.
    """
    if isinstance(shard, list):
        bounds = shard
    else:
        shard = shard or shard_size(n_rows)
        bounds = [(s, min(s + shard, n_rows)) for s in range(0, n_rows, shard)]
    if n_jobs == 1 or len(bounds) < 2 or _here.in_pool:
        for first, last in bounds:
            work_on(first, last)
        return
    waiting = iter(bounds)  # shared: next() of a list's iterator is atomic

    def work_until_done() -> None:
        for first, last in waiting:
            work_on(first, last)

    # One task per thread, not per shard: a task costs some 20 µs, and the calling
    # thread would otherwise only wait.
    threads = _threads(os.getpid(), n_jobs - 1)
    others = [threads.submit(work_until_done) for _ in range(n_jobs - 1)]
    try:
        work_until_done()
    finally:
        for _ in waiting:  # left over only after an error or Ctrl-C
            pass
        _finish(others)


def run_beside(
    n_jobs: int,
    work: Callable[[], Result],
    other_work: Callable[[], None],
    halt: Callable[[], None],
) -> Result:
    """Do two things that touch nothing in common, at the same time where threads allow.

    `work` is done by this thread, `other_work` by one of the pool, with no help from
    further threads. After an error or Ctrl-C in `work`, `halt` asks `other_work` to
    end. Returns what `work` returns.
    """
    if n_jobs == 1 or _here.in_pool:
        other_work()
        return work()
    other = _threads(os.getpid(), n_jobs - 1).submit(other_work)
    try:
        result = work()
    except BaseException:
        halt()
        wait([other])
        raise
    other.result()
    return result


@njit(cache=True, nogil=True)
def sum_products(one: Floats, other: Floats) -> float:
    """Σ_k one[k]·other[k] in one fixed order."""
    lanes = np.zeros(LANES)
    n = one.shape[0] // LANES * LANES
    for k in range(0, n, LANES):
        for lane in range(LANES):
            lanes[lane] += one[k + lane] * other[k + lane]
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    for k in range(n, one.shape[0]):
        total += one[k] * other[k]
    return total


def dot(n_jobs: int, one: Floats, other: Floats) -> float:
    """<one, other> of two flat arrays."""
    part = np.zeros(-(-len(one) // SHARD))

    def work_on(first: int, last: int) -> None:
        part[first // SHARD] = sum_products(one[first:last], other[first:last])

    run_sharded(n_jobs, len(one), work_on, shard=SHARD)
    return float(np.sum(part))


@njit(cache=True, nogil=True)
def _add(one: Floats, share: float, coef: float, other: Floats, out: Floats) -> None:
    for k in range(out.shape[0]):
        out[k] = share * one[k] + coef * other[k]


def add(n_jobs: int, one: Floats, coef: float, other: Floats, out: Floats) -> Floats:
    """Write one + coef·other, three flat arrays, to `out`; returns `out`."""

    def work_on(first: int, last: int) -> None:
        _add(one[first:last], 1.0, coef, other[first:last], out[first:last])

    run_sharded(n_jobs, len(out), work_on, shard=SHARD)
    return out


def add_scaled(
    n_jobs: int, into: Floats, coef: float, other: Floats, share: float = 1.0
) -> None:
    """Replace `into` by share·into + coef·other, two flat arrays."""

    def work_on(first: int, last: int) -> None:
        part = into[first:last]
        _add(part, share, coef, other[first:last], part)

    run_sharded(n_jobs, len(into), work_on, shard=SHARD)
