"""The dual of a problem as pools of planes, one per block (`_pool_kernels.py`)."""

from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Ints, Objective, Support
from partwise.solvers._pool_kernels import (
    Pool,
    assess,
    copy_pool,
    masses,
    polish,
    show,
    sweep,
)

PENALTY = {"l1": 0, "l2": 1, "hard": 2}


def new_pool(lengths: Ints, capacity: Ints) -> Pool:
    """An empty pool: `capacity[i]` slots for codes of `lengths[i]` integers."""

    def begin(sizes: Ints) -> Ints:
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    first = begin(capacity)
    code_first = begin(capacity * lengths)
    gram_first = begin(capacity * capacity)
    slots = first[-1]
    return Pool(
        first, np.zeros(len(lengths), np.int64), np.zeros(slots), np.zeros(slots),
        np.zeros(slots), np.zeros(slots, np.int64), code_first[:-1],
        np.zeros(code_first[-1], np.int32), gram_first[:-1], np.zeros(gram_first[-1]),
        np.zeros(len(lengths), np.uint8),
    )  # fmt: skip


class BlockDual:
    """The dual of a problem as pools of planes, with w kept equal to Σ α a.

    Runs the kernels above compiled for tags of arrays and interpreted for Python
    structures.
    """

    def __init__(self, problem: Any, objective: Objective, capacity: int) -> None:
        self.problem = problem
        self.objective = objective
        self.penalty = PENALTY[objective.penalty]
        self.cap = objective.cap()
        self.ridge = objective.ridge()
        rows = np.arange(problem.n_blocks)
        self.lengths = np.diff(problem.indptr_of(rows))
        self.pool = new_pool(self.lengths, np.full(problem.n_blocks, capacity))
        self.w = problem.zero()
        self.scratch = problem.local_zero()
        self.work = problem.borrow_work()
        self.fresh = np.zeros(int(self.lengths.max()), np.int32)
        self.slope = np.zeros(capacity)
        self.old = np.zeros(capacity)
        self.gaps = np.full(problem.n_blocks, np.inf)  # as of each last visit
        self.excess = np.full(problem.n_blocks, np.inf)  # violation above ξ_i, too
        self.n_planes = 0  # planes added in all

    def sweep(
        self, order: Ints, *, eps: float = -1.0, steps: int = 10, limit: int = 10
    ) -> int:
        """Visit blocks with the oracle; returns the number of planes added."""
        added = sweep(
            self.problem.blocks, self.problem.local_blocks, self.work, self.pool,
            self.w, self.scratch, order, self.objective.weight, self.cap, self.ridge,
            self.penalty, eps, steps, limit, self.fresh, self.slope, self.old,
            self.gaps, self.excess,
        )  # fmt: skip
        self._grow()
        self.n_planes += int(added)
        return int(added)

    def show(self, cuts: Cuts, *, steps: int = 10, limit: int = 10) -> int:
        """Visit blocks with given cuts; returns the number of planes added."""
        added = show(
            self.problem.blocks, self.problem.local_blocks, self.work, self.pool,
            self.w, self.scratch, cuts, self.objective.weight, self.cap, self.ridge,
            self.penalty, steps, limit, self.slope, self.old, self.gaps, self.excess,
        )  # fmt: skip
        self._grow()
        self.n_planes += int(added)
        return int(added)

    def assess(self, violation: Floats) -> None:
        """Renew `gaps` and `excess` from the violations of a full pass at w."""
        assess(
            self.problem.blocks, self.work, self.pool, self.w, violation,
            self.objective.weight, self.penalty, self.slope, self.gaps, self.excess,
        )  # fmt: skip

    def polish(self, order: Ints, *, steps: int = 10, tol: float = 0.0) -> float:
        """Visit blocks without the oracle; returns the largest promise seen."""
        largest = polish(
            self.problem.blocks, self.work, self.pool, self.w, order, self.cap,
            self.ridge, steps, self.slope, self.old, tol,
        )  # fmt: skip
        return float(largest)

    def rebuild(self) -> Floats:
        """Recompute w from α alone."""
        support = self.support()
        self.w[:] = self.problem.combine(support.cuts, support.alpha)
        return self.w

    def rescale(self) -> None:
        """Multiply α by the best factor θ, where the dual lives on a cone.

        D(θα) = θ ΣB − ½θ²(‖w‖² + ΣS²/c) is largest at the quotient of the two sums.
        Data that a hard margin cannot separate have w → 0 while B grows: without this
        step their dual rises to infinity by tiny steps only.
        """
        if self.penalty == PENALTY["l1"]:
            return
        offset, mass = self._masses()
        square = self.problem.dot(self.w, self.w) + np.sum(mass * mass * self.ridge)
        if square > 0.0:
            factor = np.sum(offset) / square
            self.pool.alpha[:] *= factor
            self.w *= factor

    def _masses(self) -> tuple[Floats, Floats]:
        offset = np.empty(self.problem.n_blocks)
        mass = np.empty(self.problem.n_blocks)
        masses(self.pool, offset, mass)
        return offset, mass

    def value(self) -> float:
        """D(α)."""
        return self.objective.dual(self.problem.dot(self.w, self.w), *self._masses())

    def support(self, *, idle: bool = False) -> Support:
        """All planes with α > 0, and on demand the idle ones."""
        pool = self.pool
        slots = np.concatenate(
            [
                np.arange(start, start + n)
                for start, n in zip(pool.first[:-1], pool.used, strict=True)
            ]
        ).astype(np.int64)
        if not idle:
            slots = slots[pool.alpha[slots] > 0]
        block = np.searchsorted(pool.first, slots, side="right") - 1
        length = self.lengths[block]
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        begin = pool.code_first[block] + (slots - pool.first[block]) * length
        code = pool.code[np.repeat(begin - indptr[:-1], length) + np.arange(indptr[-1])]
        zero = np.zeros(len(slots))
        cuts = Cuts(block, pool.b[slots], pool.scale[slots], zero, zero, indptr, code)
        return Support(cuts, pool.alpha[slots])

    def _grow(self) -> None:
        """Double the room of blocks in which a plane found no slot."""
        old = self.pool
        if not old.full.any():
            return
        size = np.diff(old.first)
        grown = new_pool(self.lengths, np.where(old.full, 2 * size, size))
        copy_pool(old, grown, self.lengths)
        self.pool = grown
        largest = int(np.diff(grown.first).max())
        if largest > len(self.slope):
            self.slope = np.zeros(largest)
            self.old = np.zeros(largest)
