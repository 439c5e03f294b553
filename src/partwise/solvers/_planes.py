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

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from partwise.protocol import Cuts, Floats, Ints, Model, Objective, Support, take
from partwise.solvers._simplex_qp import maximise
from partwise.threads import SHARD, add_scaled, run_sharded, sum_products

QP_TOL = 1e-12


@njit(cache=True, nogil=True)
def dot_sparse(
    index: Ints, value: Floats, model: Floats, begin: int, end: int
) -> float:
    """Σ_k value[k]·model[index[k]] for k in [begin, end)."""
    total = 0.0
    for k in range(begin, end):
        total += value[k] * model[index[k]]
    return total


@njit(cache=True, nogil=True)
def add_sparse(
    model: Floats, coef: float, index: Ints, value: Floats, begin: int, end: int
) -> None:
    """Add coef·value to the model at `index`, for k in [begin, end)."""
    for k in range(begin, end):
        model[index[k]] += coef * value[k]


@njit(cache=True, nogil=True)
def count_nonzero(model: Floats, first: int, last: int) -> int:
    """How many numbers of model[first:last] are not zero."""
    count = 0
    for k in range(first, last):
        count += model[k] != 0.0
    return count


@njit(cache=True, nogil=True)
def list_nonzero(
    model: Floats, first: int, last: int, at: int, index: Ints, value: Floats
) -> None:
    """List the numbers of model[first:last] that are not zero, from place `at` on."""
    for k in range(first, last):
        if model[k] != 0.0:
            index[at] = k
            value[at] = model[k]
            at += 1


class Plane:
    """A plane's gradient, sparse when more than half of it is zero, and its masses."""

    __slots__ = ("block", "cuts", "index", "mass", "starts", "value")

    def __init__(self, model: Floats, block: Ints, mass: Floats, n_jobs: int) -> None:
        counts = np.zeros(-(-len(model) // SHARD) + 1, np.int64)

        def count(first: int, last: int) -> None:
            counts[first // SHARD + 1] = count_nonzero(model, first, last)

        run_sharded(n_jobs, len(model), count, shard=SHARD)
        self.starts = np.cumsum(counts)  # places in `index` where shards begin
        self.index: Ints | None = None
        self.value = model
        self.block = block  # (r,) examples with mass
        self.mass = mass  # (r,) Σ m_i·scale_i: how often the truth of i is in g
        self.cuts: Cuts | None = None  # (r,) what it is made of, one per example
        if 2 * self.starts[-1] >= len(model):
            return
        index, value = np.empty(self.starts[-1], np.int32), np.empty(self.starts[-1])

        def compress(first: int, last: int) -> None:
            list_nonzero(model, first, last, self.starts[first // SHARD], index, value)

        run_sharded(n_jobs, len(model), compress, shard=SHARD)
        self.index, self.value = index, value

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
        it is not Euclidean (kernels), the problem's `dot`. A problem whose models hold
        more than sparse coefficients says so by `with_scores`: ``coefficients(model)``
        is then what a plane keeps, ``values(model)`` what coefficients are multiplied
        with to give `dot`, and ``with_scores(coefficients)`` the model.

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

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.n_jobs = getattr(problem, "n_jobs", 1)
        self.is_split = hasattr(problem, "with_scores")
        zero = self._coefficients(problem.zero())
        nobody = np.zeros(0, np.int64)
        self.planes = [Plane(zero, nobody, np.zeros(0), self.n_jobs)]
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

    def add(
        self,
        model: Floats,
        offset: float,
        block: Ints,
        mass: Floats,
        cuts: Cuts | None = None,
    ) -> None:
        """A plane o − <w, model>, and which truths it contains how often."""
        m = len(self)
        if m == len(self.table):
            self.table = np.pad(self.table, (0, m))
        kept = self._coefficients(model)
        self.planes.append(Plane(kept, block, mass, self.n_jobs))
        self.planes[m].cuts = cuts
        self.table[m, : m + 1] = self.table[: m + 1, m] = self.dots(model)
        self.offset = np.append(self.offset, offset)
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.n_added += 1

    def dots(self, model: Model, begin: int = 0) -> Floats:
        """<g_p, model> of all planes from `begin` on, shape (m − begin,)."""
        planes = self.planes[begin:]
        if self.is_split:
            model = self.problem.values(model)
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
        return self.problem.coefficients(model) if self.is_split else model

    def _with_scores(self, coefficients: Floats) -> Model:
        return self.problem.with_scores(coefficients) if self.is_split else coefficients

    def ascend(self, offset: Floats, alpha: Floats) -> None:
        """Maximise Σ α o − ½ αᵀGα over the simplex, in place, from where α is."""
        m = len(self)
        maximise(self.table, offset, alpha, m, 1.0, QP_TOL, 100 + 20 * m)

    def lower_bound(self) -> float:
        """The bound above, after optimising `alpha`."""
        self.ascend(self.offset, self.alpha)
        return float(np.sum(self.alpha * self.offset)) - 0.5 * self.square(self.alpha)

    def square(self, alpha: Floats) -> float:
        """‖Σ α_p g_p‖²."""
        used = np.flatnonzero(alpha)
        coef = alpha[used]
        return float(np.sum(coef[:, None] * self.table[np.ix_(used, used)] * coef))

    def support(self) -> Support:
        """The bound's multipliers as a dual of cuts: α_p·m_i, equal outputs joined.

        For L2 it is worth at least the bound, because Σ_p α_p m² ≥ (Σ_p α_p m)².
        """
        shares: dict[tuple[int, bytes], float] = {}
        pieces: list[tuple[Cuts, int]] = []
        for p in np.flatnonzero(self.alpha):
            cuts = self.planes[p].cuts
            if cuts is None:
                continue
            mass = self.alpha[p] * self.planes[p].mass / cuts.scale
            for r, i in enumerate(cuts.block):
                key = int(i), cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]].tobytes()
                if key not in shares:
                    shares[key] = 0.0
                    pieces.append((cuts, r))
                shares[key] += float(mass[r])
        return Support(join(pieces), np.array(list(shares.values())))

    def drop_idle(self, limit: int, is_used: Any) -> Ints:
        """Forget planes that were not used at `limit` checks in a row.

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

    def rebase(self, shift: Callable[[Ints, Floats], Floats]) -> None:
        """Follow a change of the truths, as when latent parts are completed anew.

        ``shift(block, mass)`` returns Σ mass_i·(φ_new(y_i) − φ_old(y_i)) as a model.
        Offsets stay: a loss looks at ŷ, never at the completion of the truth.
        """
        for p, plane in enumerate(self.planes[1:], 1):
            model = self._dense(plane)
            add_scaled(self.n_jobs, model, 1.0, shift(plane.block, plane.mass))
            kept = self._coefficients(model)
            self.planes[p] = Plane(kept, plane.block, plane.mass, self.n_jobs)
            self.planes[p].cuts = plane.cuts
        for p, plane in enumerate(self.planes):
            self.table[p, : len(self)] = self.dots(self._dense(plane))


def join(pieces: list[tuple[Cuts, int]]) -> Cuts:
    """Single rows of several cuts, one after the other."""
    columns = [np.array([cuts[k][r] for cuts, r in pieces]) for k in range(5)]
    codes = [cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]] for cuts, r in pieces]
    indptr = np.cumsum([0, *map(len, codes)], dtype=np.int64)
    block = columns[0].astype(np.int64)
    code = np.concatenate([np.zeros(0, np.int32), *codes])
    b, scale, violation, bound = columns[1:]
    return Cuts(block, b, scale, violation, bound, indptr, code)


def add_cuts(
    planes: PlaneStore, problem: Any, objective: Objective, cuts: Cuts
) -> None:
    """Add the plane of F made of these cuts, one per block."""
    mass = objective.slope(cuts.violation)
    held = np.flatnonzero(mass)
    offset = float(np.sum(mass * cuts.b))
    if objective.penalty == "l2":
        offset -= float(np.sum(0.5 * mass[held] ** 2 / objective.weight[held]))
    model = problem.combine(cuts, mass)
    scaled = (mass * cuts.scale)[held]
    planes.add(model, offset, cuts.block[held], scaled, take(cuts, held))
