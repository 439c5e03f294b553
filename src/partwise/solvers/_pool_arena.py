"""Storage for the planes of all blocks: arenas that grow without copying blocks."""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel
from partwise.state import Ints


class Pool(NamedTuple):
    """Planes of all blocks in three arenas: of slots, of codes, of Gram tables.

    Block i has `room[i]` slots from `first[i]` on. A block that needs more moves to the
    end of the arenas with twice the room; the other blocks stay.
    """

    first: np.ndarray  # (n,) int64
    room: np.ndarray  # (n,) int64
    used: np.ndarray  # (n,) int64, how many slots hold a plane
    alpha: np.ndarray  # (slots,)
    b: np.ndarray  # (slots,)
    scale: np.ndarray  # (slots,)
    idle: np.ndarray  # (slots,) int64, visits with α = 0
    code_first: np.ndarray  # (n,) int64
    code: np.ndarray  # int32
    gram_first: np.ndarray  # (n,) int64
    gram: np.ndarray  # tables (room, room)
    ends: np.ndarray  # (3,) int64, where the free parts of the arenas begin


def new_pool(lengths: Ints, capacity: int) -> Pool:
    """An empty pool: `capacity` slots per block, for codes of `lengths[i]` integers.

    The arenas are three times as large; memory that was never used costs nothing.
    """
    n = len(lengths)
    slots, codes = n * capacity, int(capacity * lengths.sum())
    tables = slots * capacity
    places = np.arange(n, dtype=np.int64)
    factor = 3
    return Pool(
        first=places * capacity,
        room=np.full(n, capacity, np.int64),
        used=np.zeros(n, np.int64),
        alpha=np.zeros(factor * slots),
        b=np.zeros(factor * slots),
        scale=np.zeros(factor * slots),
        idle=np.zeros(factor * slots, np.int64),
        code_first=(np.cumsum(lengths) - lengths).astype(np.int64) * capacity,
        code=np.zeros(factor * codes, np.int32),
        gram_first=places * capacity * capacity,
        gram=np.zeros(2 * factor * tables),
        ends=np.array([slots, codes, tables], np.int64),
    )


def enlarged(array: Any, least: int) -> Any:
    """A copy with twice the room, or `least`; empty pages are not touched."""
    larger = np.zeros(max(2 * len(array), least), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def copy_code(source, at, into, to, length):
    """Copy a code from place `at` of one arena to place `to` of another.

    A loop, here and elsewhere, because numba takes a second or more to compile each
    assignment between slices.
    """
    for t in range(length):
        into[to + t] = source[at + t]


@kernel
def drop(pool, i, p, length):
    """Remove plane p of block i; the last plane takes its place."""
    last = pool.used[i] - 1
    first = pool.first[i]
    if p != last:
        pool.alpha[first + p] = pool.alpha[first + last]
        pool.b[first + p] = pool.b[first + last]
        pool.scale[first + p] = pool.scale[first + last]
        pool.idle[first + p] = pool.idle[first + last]
        at = pool.code_first[i]
        copy_code(pool.code, at + last * length, pool.code, at + p * length, length)
        size = pool.room[i]
        begin = pool.gram_first[i]
        gram = pool.gram[begin : begin + size * size].reshape(size, size)
        for q in range(last + 1):
            gram[p, q] = gram[last, q]
        for q in range(last + 1):
            gram[q, p] = gram[q, last]
        gram[p, p] = gram[last, last]
    pool.used[i] = last


@kernel
def drop_idle(pool, i, length, limit):
    """Remove planes whose α was zero on the last `limit` visits."""
    p = pool.used[i] - 1
    while p >= 0:
        if pool.idle[pool.first[i] + p] > limit:
            drop(pool, i, p, length)
        p -= 1


@kernel
def contains(pool, i, length, code):
    """Whether the pool of block i has this output."""
    for p in range(pool.used[i]):
        same = True
        at = pool.code_first[i] + p * length
        for t in range(length):
            if pool.code[at + t] != code[t]:
                same = False
                break
        if same:
            return True
    return False


@kernel
def can_grow(pool, i, length, most):
    """Whether block i can take one more plane, `most` in all, with what there is."""
    if pool.used[i] >= most:
        return False
    if pool.used[i] < pool.room[i]:
        return True
    size = 2 * pool.room[i]
    return (
        pool.ends[0] + size <= pool.alpha.shape[0]
        and pool.ends[1] + size * length <= pool.code.shape[0]
        and pool.ends[2] + size * size <= pool.gram.shape[0]
    )


@kernel
def make_room(pool, i, length):
    """Move block i to the end of the arenas, with twice the room, if it is full."""
    n_planes, before = pool.used[i], pool.room[i]
    if n_planes < before:
        return
    after = 2 * before
    old, new = pool.first[i], pool.ends[0]
    for p in range(n_planes):
        pool.alpha[new + p] = pool.alpha[old + p]
        pool.b[new + p] = pool.b[old + p]
        pool.scale[new + p] = pool.scale[old + p]
        pool.idle[new + p] = pool.idle[old + p]
    copy_code(pool.code, pool.code_first[i], pool.code, pool.ends[1], n_planes * length)
    for p in range(n_planes):
        for q in range(n_planes):
            value = pool.gram[pool.gram_first[i] + p * before + q]
            pool.gram[pool.ends[2] + p * after + q] = value
    pool.room[i] = after
    pool.first[i], pool.code_first[i], pool.gram_first[i] = (
        pool.ends[0],
        pool.ends[1],
        pool.ends[2],
    )
    pool.ends[0] += after
    pool.ends[1] += after * length
    pool.ends[2] += after * after


@kernel
def masses(pool, offset, mass):
    """B_i = Σ α b and S_i = Σ α of each block."""
    for i in range(pool.used.shape[0]):
        offset[i] = 0.0
        mass[i] = 0.0
        for slot in range(pool.first[i], pool.first[i] + pool.used[i]):
            offset[i] += pool.alpha[slot] * pool.b[slot]
            mass[i] += pool.alpha[slot]
