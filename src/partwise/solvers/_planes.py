"""Planes under the whole slack term, for one-slack cutting planes and bundles.

F(w) = Σ_i c_i ξ_i(w) (L1) or Σ_i ½ c_i ξ_i(w)² (L2) is convex, and each choice of cuts
(a_i, b_i) with masses m_i ≥ 0 gives a plane below it,

    F(w) ≥ o − <w, g>,   g = Σ_i m_i a_i,   o = Σ_i m_i b_i           (L1, m_i ≤ c_i)
                                            o = Σ_i m_i b_i − m_i²/(2c_i)        (L2)

because ½cξ² ≥ mξ − m²/(2c) for all m. It touches F at the model whose most violated
cuts have m_i = c_i (ξ_i > 0), or c_i ξ_i. Over planes p, the bound

    min_w ½‖w‖² + max(0, max_p o_p − <w, g_p>)
        = max_α Σ_p α_p o_p − ½ αᵀGα,   α ≥ 0, Σ α = 1,   G = <g_p, g_q>,  w = Σ α_p g_p

is a lower bound of the objective. The store holds the zero plane (o = 0, g = 0) at
place 0, so that Σ α ≤ 1 over the others is an equality over all. Sums run in one fixed
order: the bits do not depend on the threads of a BLAS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.compiled import jitted
from partwise.objective import ROUNDING
from partwise.protocol import (
    Cuts,
    Floats,
    Ints,
    Model,
    Objective,
    Problem,
    SparseModels,
    Support,
    join,
    offsets_of,
    take,
    unit_cuts,
)
from partwise.solvers._simplex_qp import maximise
from partwise.threads import SHARD, add_scaled, run_sharded, sum_products

QP_TOL = 1e-12


@jitted
def dot_sparse(
    index: Ints, value: Floats, model: Floats, begin: int, end: int
) -> float:
    """Σ_k value[k]·model[index[k]] for k in [begin, end)."""
    total = 0.0
    for k in range(begin, end):
        total += value[k] * model[index[k]]
    return total


@jitted
def add_sparse(
    model: Floats, coef: float, index: Ints, value: Floats, begin: int, end: int
) -> None:
    """Add coef·value to the model at `index`, for k in [begin, end)."""
    for k in range(begin, end):
        model[index[k]] += coef * value[k]


@jitted
def count_nonzero(model: Floats, first: int, last: int) -> int:
    """How many numbers of model[first:last] are not zero."""
    count = 0
    for k in range(first, last):
        count += model[k] != 0.0
    return count


@jitted
def list_nonzero(
    model: Floats, first: int, last: int, at: int, index: Ints, value: Floats
) -> None:
    """List the numbers of model[first:last] that are not zero, from place `at` on."""
    for k in range(first, last):
        if model[k] != 0.0:
            index[at] = k
            value[at] = model[k]
            at += 1


@dataclass
class Plane:
    """A plane's gradient g = Σ m·a, sparse when more than half of it is zero."""

    index: Ints | None  # of the numbers that are not zero; None: all are in `value`
    value: Floats
    starts: Ints  # places in `index` where shards begin
    mass: Floats  # (r,) m of each cut
    cuts: Cuts  # (r,) what it is made of

    @classmethod
    def create(cls, model: Floats, cuts: Cuts, mass: Floats, n_jobs: int) -> Plane:
        """The plane with this gradient."""
        counts = np.zeros(-(-len(model) // SHARD) + 1, np.int64)

        def count(first: int, last: int) -> None:
            counts[first // SHARD + 1] = count_nonzero(model, first, last)

        run_sharded(n_jobs, len(model), count, shard=SHARD)
        starts = np.cumsum(counts)
        if 2 * starts[-1] >= len(model):
            return cls(None, model, starts, mass, cuts)
        index, value = np.empty(starts[-1], np.int32), np.empty(starts[-1])

        def compress(first: int, last: int) -> None:
            list_nonzero(model, first, last, starts[first // SHARD], index, value)

        run_sharded(n_jobs, len(model), compress, shard=SHARD)
        return cls(index, value, starts, mass, cuts)

    def dot(self, model: Floats, first: int, last: int) -> float:
        """<g, model> over the shard [first, last)."""
        if self.index is None:
            return float(sum_products(self.value[first:last], model[first:last]))
        begin, end = self.starts[first // SHARD : first // SHARD + 2]
        return float(dot_sparse(self.index, self.value, model, begin, end))

    def add_to(self, model: Floats, coef: float, first: int, last: int) -> None:
        """Add coef·g to a model, in place, over the shard [first, last)."""
        if self.index is None:
            add_scaled(1, model[first:last], coef, self.value[first:last])
        else:
            begin, end = self.starts[first // SHARD : first // SHARD + 2]
            add_sparse(model, coef, self.index, self.value, begin, end)


class PlaneStore:
    """Planes with their offsets and Gram matrix; place 0 is the zero plane.

    Parameters
    ----------
    problem : Problem
        Its models are float arrays; their inner product is the plain one, or where
        it is not Euclidean (kernels), the problem's `dot`. Of `SparseModels` a plane
        keeps the coefficients.

    Attributes
    ----------
    offset : array (m,)
    alpha : array (m,)
        The multipliers of the lower bound, kept between calls of `lower_bound`.
    idle : array (m,)
        Checks in a row at which a plane had no multiplier (see `drop_idle`).
    n_added : int
        Planes ever added.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_jobs = problem.n_jobs
        self.sparse = problem if isinstance(problem, SparseModels) else None
        zero = self._coefficients(problem.zero())
        self.planes = [Plane.create(zero, no_cuts(), np.zeros(0), self.n_jobs)]
        self.offset = np.zeros(1)
        self.alpha = np.ones(1)
        self.idle = np.zeros(1, np.int64)
        self.table = np.zeros((16, 16))
        self.n_added = 0

    def __len__(self) -> int:
        return len(self.planes)

    @property
    def gram(self) -> Floats:
        """<g_p, g_q>, shape (m, m)."""
        return self.table[: len(self), : len(self)]

    def add(self, model: Floats, offset: float, cuts: Cuts, mass: Floats) -> None:
        """A plane o − <w, model>, and the cuts with the masses that it is made of."""
        m = len(self)
        if m == len(self.table):
            self.table = np.pad(self.table, (0, m))
        coefficients = self._coefficients(model)
        self.planes.append(Plane.create(coefficients, cuts, mass, self.n_jobs))
        self.table[m, : m + 1] = self.table[: m + 1, m] = self.dots(model)
        self.offset = np.append(self.offset, offset)
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.n_added += 1

    def dots(self, model: Model, begin: int = 0) -> Floats:
        """<g_p, model> of all planes from `begin` on, shape (m − begin,)."""
        planes = self.planes[begin:]
        if self.sparse is not None:
            model = self.sparse.values(model)
        elif not self.problem.is_euclidean:
            return np.array([self.problem.dot(self._dense(p), model) for p in planes])
        part = np.zeros((-(-len(model) // SHARD), len(planes)))

        def work_on(first: int, last: int) -> None:
            for p, plane in enumerate(planes):
                part[first // SHARD, p] = plane.dot(model, first, last)

        run_sharded(self.n_jobs, len(model), work_on, shard=SHARD)
        return np.sum(part, axis=0)

    def combine(
        self, alpha: Floats, base: Model | None = None, share: float = 0.0
    ) -> Model:
        """Σ α_p g_p + share·base, a new model."""
        model = self._coefficients(self.problem.zero())
        base = None if base is None else self._coefficients(base)
        used = [(self.planes[p], float(alpha[p])) for p in np.flatnonzero(alpha)]

        def work_on(first: int, last: int) -> None:
            if base is not None:
                add_scaled(1, model[first:last], share, base[first:last])
            for plane, coef in used:
                plane.add_to(model, coef, first, last)

        run_sharded(self.n_jobs, len(model), work_on, shard=SHARD)
        return self._with_scores(model)

    def _dense(self, plane: Plane) -> Model:
        """The plane's gradient as a model."""
        model = self._coefficients(self.problem.zero())
        for first in range(0, len(model), SHARD):
            plane.add_to(model, 1.0, first, min(first + SHARD, len(model)))
        return self._with_scores(model)

    def _coefficients(self, model: Model) -> Floats:
        return model if self.sparse is None else self.sparse.coefficients(model)

    def _with_scores(self, coefficients: Floats) -> Model:
        if self.sparse is None:
            return coefficients
        return self.sparse.with_scores(coefficients)

    def ascend(self, offset: Floats, alpha: Floats) -> None:
        """Maximise Σ α o − ½ αᵀGα over the simplex, in place, from where α is."""
        m = len(self)
        maximise(self.table, offset, alpha, m, 1.0, QP_TOL, 100 + 20 * m)

    def lower_bound(self) -> float:
        """The bound above, after optimising `alpha`, less what rounding may add to it.

        αᵀGα adds numbers of the size (Σ α‖g‖)², which for a large C is far above their
        sum; where that spoils the bound, ‖Σ α g‖² is computed from the model itself.
        """
        self.ascend(self.offset, self.alpha)
        alpha, length = self.alpha, np.sqrt(np.maximum(np.diag(self.gram), 0.0))
        size = float(np.sum(alpha * length))
        total = float(np.sum(alpha * self.offset))
        error = ROUNDING * (abs(total) + len(self) * size * size)
        value = total - 0.5 * self.square(alpha)
        if error > 1e-10 * abs(value):
            model = self.combine(alpha)
            square = self.problem.dot(model, model)
            value = total - 0.5 * square
            error = ROUNDING * (abs(total) + len(self) * size * np.sqrt(max(square, 0)))
        return value - error

    def square(self, alpha: Floats) -> float:
        """‖Σ α_p g_p‖²."""
        used = np.flatnonzero(alpha)
        coef = alpha[used]
        return float(np.sum(coef[:, None] * self.table[np.ix_(used, used)] * coef))

    def support(self) -> Support:
        """The bound's multipliers as a dual of cuts: α_p·m, equal outputs joined.

        For L2 it is worth at least the bound, because Σ_p α_p m² ≥ (Σ_p α_p m)².
        """
        used = np.flatnonzero(self.alpha[1:]) + 1
        if not len(used):
            return Support(no_cuts(), np.zeros(0))
        cuts = join([self.planes[p].cuts for p in used])
        mass = np.concatenate([self.alpha[p] * self.planes[p].mass for p in used])
        first: dict[tuple[int, bytes], int] = {}
        alpha = np.zeros(len(mass))
        for r, i in enumerate(cuts.block.tolist()):
            code = cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]].tobytes()
            alpha[first.setdefault((i, code), r)] += mass[r]
        rows = np.array([first[key] for key in sorted(first)])
        return Support(take(cuts, rows), alpha[rows])

    def drop_idle(self, limit: int, is_used: Any) -> Ints:
        """Drop planes that were not used at `limit` checks in a row.

        Returns the places of the planes that stay, for arrays kept beside the store.
        """
        self.idle = np.where(is_used, 0, self.idle + 1)
        self.idle[0] = 0
        keep = np.flatnonzero(self.idle <= limit)
        if len(keep) < len(self):
            self.planes = [self.planes[p] for p in keep]
            self.table[: len(keep), : len(keep)] = self.table[np.ix_(keep, keep)]
            self.offset, self.alpha = self.offset[keep], self.alpha[keep]
            self.idle = self.idle[keep]
        return keep

    def rebase(self, old_truths: Cuts) -> None:
        """Follow a change of truths (`Latent.complete`).

        A plane's gradient changes by Σ m·s·(φ(new truth) − φ(old truth)). Offsets stay.
        """
        place = np.full(self.problem.n_blocks, -1, np.int64)
        place[old_truths.block] = np.arange(len(old_truths.block))
        for p, plane in enumerate(self.planes[1:], 1):
            mass = np.zeros(len(old_truths.block))
            at = place[plane.cuts.block]
            scaled = plane.mass * plane.cuts.scale
            np.add.at(mass, at[at >= 0], scaled[at >= 0])
            model = self._dense(plane)
            add_scaled(self.n_jobs, model, 1.0, self.problem.combine(old_truths, mass))
            self.planes[p] = Plane.create(
                self._coefficients(model), plane.cuts, plane.mass, self.n_jobs
            )
        for p, plane in enumerate(self.planes):
            self.table[p, : len(self)] = self.dots(self._dense(plane))

    def export(self) -> dict[str, Any]:
        """All that the next step depends on."""
        planes = [
            vars(plane) | {"cuts": plane.cuts._asdict()} for plane in self.planes[1:]
        ]
        return {
            "planes": planes,
            "offset": self.offset,
            "alpha": self.alpha,
            "idle": self.idle,
            "table": self.gram,
            "n_added": self.n_added,
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        for saved in tree["planes"]:
            self.planes.append(Plane(**saved | {"cuts": Cuts(**saved["cuts"])}))
        self.offset, self.alpha = tree["offset"], tree["alpha"]
        self.idle, self.n_added = tree["idle"], int(tree["n_added"])
        m = len(self)
        self.table = np.zeros((max(16, 2 * m),) * 2)
        self.table[:m, :m] = tree["table"]


def no_cuts() -> Cuts:
    """Cuts without a row."""
    return unit_cuts(np.zeros(0, np.int64), offsets_of([]), np.zeros(0, np.int32))


def add_cuts(
    planes: PlaneStore, problem: Problem, objective: Objective, cuts: Cuts
) -> None:
    """Add the plane of F made of these cuts, one per block."""
    mass = objective.slope(cuts.violation)
    rows = np.flatnonzero(mass)
    add_plane(planes, problem, objective, Support(take(cuts, rows), mass[rows]))


def add_plane(
    planes: PlaneStore, problem: Problem, objective: Objective, support: Support
) -> None:
    """Add the plane of F made of these cuts with their masses."""
    cuts, mass = support
    offset = float(np.sum(mass * cuts.b))
    if objective.penalty == "l2":
        total = np.bincount(cuts.block, mass, problem.n_blocks)
        offset -= float(np.sum(0.5 * total**2 / objective.weight))
    planes.add(problem.combine(cuts, mass), offset, cuts, mass)
