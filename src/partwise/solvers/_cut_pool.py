"""The dual of a problem as pools of planes, one per block (`_pool_compiled.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Ints, Model, Objective, Problem, Support
from partwise.solvers import _pool_compiled as kernels
from partwise.solvers._passes import Pass
from partwise.solvers._pieces import in_pieces
from partwise.solvers._pool_arena import Pool, enlarged, masses, new_pool
from partwise.solvers._starts import with_idle
from partwise.state import State

MAX_MASS = 1e100  # of all α b; only an unbounded dual comes near it
PENALTY = {"l1": 0, "l2": 1, "hard": 2}
NO_MODEL = np.zeros(0)
IDLE_VISITS = 10  # with α = 0, after which a plane is dropped


class BlockDual:
    """The dual of a problem as pools of planes, with w kept equal to Σ α a.

    Runs the kernels compiled for tags of arrays and interpreted for Python structures.
    """

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        capacity: int,
        *,
        narrow: bool = False,
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.penalty = PENALTY[objective.penalty]
        self.cap = objective.cap()
        self.ridge = objective.ridge()
        rows = np.arange(problem.n_blocks)
        self.lengths = np.diff(problem.indptr_of(rows))
        self.effort = problem.effort()
        self.pool = new_pool(self.lengths, capacity)
        self.blocks: Any = problem.blocks
        self.w: Model = problem.zero()
        fast = problem.narrow_blocks() if narrow else None
        if fast is not None:
            self.blocks, self.w = fast
        self.scratch = problem.local_zero()
        self.work = problem.borrow_work()
        self.fresh = np.zeros(int(self.lengths.max()), np.int32)
        self.slope = np.zeros(2 * capacity)
        self.old = np.zeros(2 * capacity)
        self.gaps = np.full(problem.n_blocks, np.inf)  # as of each last visit
        self.excess = np.full(problem.n_blocks, np.inf)  # violation above ξ_i, too
        self.n_planes = 0  # planes added in all

    # -------------------------------------------------------------------- visits

    def sweep(
        self,
        order: Ints,
        state: State,
        *,
        eps: float = -1.0,
        steps: int = 10,
        limit: int = IDLE_VISITS,
    ) -> int:
        """Visit blocks with the oracle; returns the number of planes added.

        Ends early when the time is over; `state` counts the calls and the planes.
        """
        added = 0

        def visit(first: int, last: int) -> int:
            nonlocal added
            new, stop = kernels.sweep(
                self.blocks, self.problem.local_blocks, self.work, self.pool,
                self._model(), self.scratch, order, first, last, self.objective.weight,
                self.cap, self.ridge, self.penalty, eps, steps, limit, self.fresh,
                self.slope, self.old, self.gaps, self.excess,
            )  # fmt: skip
            added += int(new)
            state.oracle_calls += int(stop) - first
            if stop < last:
                self._grow(int(order[stop]))
            return int(stop)

        in_pieces(self.effort[order], visit, state)
        self.n_planes += added
        state.n_planes += added
        return added

    def _model(self) -> Model:
        """The model as kernels get it; narrow blocks have their own."""
        return NO_MODEL if self.is_narrow else self.w

    def show(self, cuts: Cuts, state: State, *, steps: int = 10) -> int:
        """Visit blocks with given cuts; returns the number of planes added.

        They are not counted in `state`: constraints of some solvers are other planes.
        """
        added = 0

        def visit(first: int, last: int) -> int:
            nonlocal added
            new, stop = kernels.show(
                self.blocks, self.problem.local_blocks, self.work, self.pool,
                self._model(), self.scratch, cuts, first, last, self.objective.weight,
                self.cap, self.ridge, self.penalty, steps, IDLE_VISITS, self.slope,
                self.old, self.gaps, self.excess,
            )  # fmt: skip
            added += int(new)
            if stop < last:
                self._grow(int(cuts.block[stop]))
            return int(stop)

        in_pieces(self.effort[cuts.block], visit, state)
        self.n_planes += added
        return added

    def polish(
        self, order: Ints, state: State, *, steps: int = 10, tol: float = 0.0
    ) -> float:
        """Visit blocks without the oracle; returns the largest slope of a pair."""
        largest = 0.0

        def visit(first: int, last: int) -> int:
            nonlocal largest
            slope = kernels.polish(
                self.blocks, self.work, self.pool, self._model(), order[first:last],
                self.cap, self.ridge, steps, self.slope, self.old, tol,
            )  # fmt: skip
            largest = max(largest, float(slope))
            return last

        in_pieces(self.effort[order], visit, state)
        return largest

    def _grow(self, i: int) -> None:
        """Make the arenas and buffers large enough for block i to double its room."""
        pool, size = self.pool, 2 * int(self.pool.room[i])
        if pool.used[i] >= len(self.slope):
            self.slope, self.old = np.zeros(2 * size), np.zeros(2 * size)
        ends, length = pool.ends, int(self.lengths[i])
        if ends[0] + size > len(pool.alpha):
            least = int(ends[0]) + size
            names = ("alpha", "b", "scale", "idle")
            new = {name: enlarged(getattr(pool, name), least) for name in names}
            pool = pool._replace(**new)
        if ends[1] + size * length > len(pool.code):
            pool = pool._replace(code=enlarged(pool.code, int(ends[1]) + size * length))
        if ends[2] + size * size > len(pool.gram):
            pool = pool._replace(gram=enlarged(pool.gram, int(ends[2]) + size * size))
        self.pool = pool

    def assess(self, evaluation: Pass, state: State) -> None:
        """Renew `gaps`, `excess` and the papers' ε of `state` from a full pass at w.

        ε is not below the one that explains the gap, see `Objective.eps_of_gap`.
        """
        cuts, slack = evaluation.cuts, np.empty(self.problem.n_blocks)
        kernels.assess(
            self.problem.blocks, self.work, self.pool, self.w, cuts.violation,
            self.objective.weight, self.penalty, self.slope, self.gaps, slack,
        )  # fmt: skip
        self.excess = cuts.violation - slack
        eps_of_gap = self.objective.eps_of_gap
        state.violation = max(
            float(np.max(cuts.bound - slack)),
            eps_of_gap(evaluation.primal, state.dual, slack),
            0.0,
        )
        state.violation_found = max(
            float(np.max(self.excess)),
            eps_of_gap(evaluation.found, state.dual, slack),
            0.0,
        )

    # ------------------------------------------------------------ the dual point

    def rebuild(self, *, recycle: bool = False) -> None:
        """Recompute w from α alone, in a new array; narrow visits end.

        With `recycle`, in the memory of the last w, to which nothing else may refer.
        """
        support, last = self.support(), self.w
        del self.w  # gives memory back before it is needed
        if recycle and not self.is_narrow:
            self.problem.recycle(last)
        del last
        self.blocks = self.problem.blocks
        self.w = self.problem.combine(support.cuts, support.alpha)

    @property
    def is_narrow(self) -> bool:
        """Whether visits may miss the best output, and w is in single precision."""
        return self.blocks is not self.problem.blocks

    def detach(self, model: Model) -> None:
        """Copy w if `model`, which must not change any more, is w itself."""
        if model is self.w:
            self.w = model.copy()

    def rescale(self) -> None:
        """Multiply α by the best factor θ, where the dual lives on a cone.

        D(θα) = θ ΣB − ½θ²(‖w‖² + ΣS²/c) is largest at the quotient of the two sums.
        Data that a hard margin cannot separate have w → 0 while B grows: without this
        step their dual rises to infinity by tiny steps only.
        """
        if self.penalty == PENALTY["l1"]:
            return
        offset, mass = self.masses()
        total = float(np.sum(offset))
        square = self.problem.dot(self.w, self.w)
        if self.penalty == PENALTY["l2"]:  # a hard margin has no ridge
            square += float(np.sum(mass * mass * self.ridge))
        if square > 0.0 and total > 0.0:
            # the cap keeps the masses of inseparable data within floating point
            factor = min(total / square, MAX_MASS / total)
            self.pool.alpha[: self.pool.ends[0]] *= factor
            self.w *= factor

    def masses(self) -> tuple[Floats, Floats]:
        """B_i = Σ α b and S_i = Σ α of each block."""
        offset = np.empty(self.problem.n_blocks)
        mass = np.empty(self.problem.n_blocks)
        masses(self.pool, offset, mass)
        return offset, mass

    def value(self) -> float:
        """D(α), rounded down; of narrow visits by a thousandth of ‖w‖²."""
        square = self.problem.dot(self.w, self.w)
        if self.is_narrow:
            square *= 1.001
        return self.objective.dual(square, *self.masses())

    def support(self, *, idle: bool = False) -> Support:
        """All planes with α > 0, and on demand the idle ones."""
        pool = self.pool
        block = np.repeat(np.arange(len(pool.used)), pool.used)
        place = np.arange(len(block)) - np.repeat(
            np.cumsum(pool.used) - pool.used, pool.used
        )
        if not idle:
            keep = pool.alpha[pool.first[block] + place] > 0
            block, place = block[keep], place[keep]
        return self._planes_at(block, place)

    def most_violated(self, model: Model) -> Support:
        """The most violated plane in each pool; α is the slope of the slack term."""
        n = self.problem.n_blocks
        chosen, violation = np.empty(n, np.int64), np.empty(n)
        kernels.choose(
            self.problem.blocks, self.work, self.pool, model, self.slope, chosen,
            violation,
        )  # fmt: skip
        block = np.flatnonzero(chosen >= 0)
        planes = self._planes_at(block, chosen[block])
        return planes._replace(alpha=self.objective.slope(violation)[block])

    def _planes_at(self, block: Ints, place: Ints) -> Support:
        pool = self.pool
        slots = pool.first[block] + place
        length = self.lengths[block]
        indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        begin = pool.code_first[block] + place * length
        code = pool.code[np.repeat(begin - indptr[:-1], length) + np.arange(indptr[-1])]
        zero = np.zeros(len(slots))
        cuts = Cuts(block, pool.b[slots], pool.scale[slots], zero, zero, indptr, code)
        return Support(cuts, pool.alpha[slots])

    def load(self, support: Support, *, keep: bool = False) -> None:
        """Replace the dual point by another: planes with their α, each output once.

        With `keep`, planes of the pools that it lacks stay, with α = 0.
        """
        if keep:
            support = with_idle(support, self.support(idle=True).cuts)
        self.pool.used[:] = 0
        cuts, first = support.cuts, 0
        while first < len(support.alpha):
            stop = kernels.load(
                self.problem.local_blocks, self.work, self.pool, self.scratch, cuts,
                support.alpha, first, len(support.alpha),
            )  # fmt: skip
            first = int(stop)
            if first < len(support.alpha):
                self._grow(int(cuts.block[first]))
        largest = int(self.pool.used.max(initial=0)) + 1
        if largest > len(self.slope):
            self.slope, self.old = np.zeros(2 * largest), np.zeros(2 * largest)
        self.rebuild()

    def begin_from(self, support: Support) -> None:
        """Begin at a dual point of another problem, made feasible and moved upwards.

        Masses above their limits are cut down. Where limits have grown (a larger C),
        examples whose mass was at its old limit will mostly be at the new one, too: the
        best point between the old masses and theirs filled up is taken. L2 and hard
        margins, which have no limits, take the best multiple.
        """
        n, block = self.problem.n_blocks, support.cuts.block
        mass: Floats = np.bincount(block, support.alpha, n).astype(np.float64)
        share = np.minimum(1.0, self.cap / np.maximum(mass, 1e-300))
        alpha = support.alpha * share[block]
        self.load(support._replace(alpha=alpha))
        self.rescale()
        if self.penalty != PENALTY["l1"]:
            return
        fill = mass * share / self.cap
        top = float(fill.max(initial=0.0))
        if not 0.0 < top < 1.0 - 1e-9:
            return
        factor = np.where(fill >= 0.999 * top, 1.0 / top, 1.0)[block]
        change = alpha * (factor - 1.0)
        step = self.problem.combine(support.cuts, change)
        rise = float(np.sum(change * support.cuts.b)) - self.problem.dot(self.w, step)
        square = self.problem.dot(step, step)
        t = min(max(rise / square, 0.0), 1.0) if square > 0 else 0.0
        # a rounding error above a limit would make the dual infeasible
        self.load(support._replace(alpha=(alpha + t * change) * (1.0 - 1e-12)))

    def rebase(self, old_truths: Cuts) -> None:
        """Follow a change of truths (`Latent.complete`): w, and Gram tables.

        a = s·(φ(y) − φ(ŷ)) of a block changes by s·(φ(new) − φ(old)), whatever ŷ.
        """
        support = self.support()
        scaled = np.bincount(
            support.cuts.block, support.alpha * support.cuts.scale, len(self.gaps)
        )
        mass = scaled[old_truths.block].astype(np.float64)
        self.w = self.w + self.problem.combine(old_truths, mass)
        kernels.renew_grams(
            self.problem.local_blocks, self.work, self.pool, self.scratch,
            old_truths.block, np.zeros(int(self.pool.used.max(initial=1))),
        )  # fmt: skip
        self.gaps[:] = np.inf  # w has moved for all blocks
        self.excess[:] = np.inf

    # --------------------------------------------------------------- checkpoints

    def export(self) -> dict[str, Any]:
        """All that the next visit depends on."""
        ends = self.pool.ends
        sizes = {"code": ends[1], "gram": ends[2]}
        sizes |= dict.fromkeys(("alpha", "b", "scale", "idle"), ends[0])
        pool = {
            name: array[: sizes[name]] if name in sizes else array
            for name, array in self.pool._asdict().items()
        }
        return {
            "pool": pool,
            "w": self.w,
            "is_narrow": self.is_narrow,
            "gaps": self.gaps,
            "excess": self.excess,
            "n_planes": self.n_planes,
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        self.pool = Pool(
            **{name: np.array(tree["pool"][name]) for name in Pool._fields}
        )
        if self.is_narrow and not tree.get("is_narrow", False):
            self.blocks, self.w = self.problem.blocks, self.problem.zero()
        self.w[:] = tree["w"]
        self.gaps[:] = tree["gaps"]
        self.excess[:] = tree["excess"]
        self.n_planes = int(tree["n_planes"])
        largest = int(self.pool.room.max(initial=1))
        self.slope, self.old = np.zeros(2 * largest), np.zeros(2 * largest)
