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

from partwise.protocol import Cuts, Floats, Ints, Objective
from partwise.solvers._simplex_qp import maximise

LANES = 8  # partial sums side by side, so that the loop vectorises
QP_TOL = 1e-12


@njit(cache=True, nogil=True)
def dot_dense(value: Floats, model: Floats) -> float:
    """Σ_k value[k]·model[k]."""
    lanes = np.zeros(LANES)
    n = value.shape[0] // LANES * LANES
    for k in range(0, n, LANES):
        for lane in range(LANES):
            lanes[lane] += value[k + lane] * model[k + lane]
    total = 0.0
    for lane in range(LANES):
        total += lanes[lane]
    for k in range(n, value.shape[0]):
        total += value[k] * model[k]
    return total


@njit(cache=True, nogil=True)
def dot_sparse(index: Ints, value: Floats, model: Floats) -> float:
    """Σ_k value[k]·model[index[k]]."""
    total = 0.0
    for k in range(value.shape[0]):
        total += value[k] * model[index[k]]
    return total


@njit(cache=True, nogil=True)
def add_dense(model: Floats, coef: float, value: Floats) -> None:
    """Add coef·value to the model."""
    for k in range(value.shape[0]):
        model[k] += coef * value[k]


@njit(cache=True, nogil=True)
def add_sparse(model: Floats, coef: float, index: Ints, value: Floats) -> None:
    """Add coef·value to the model, at `index`."""
    for k in range(value.shape[0]):
        model[index[k]] += coef * value[k]


class Plane:
    """A plane's gradient, sparse when more than half of it is zero, and its masses."""

    __slots__ = ("block", "index", "mass", "value")

    def __init__(self, model: Floats, block: Ints, mass: Floats) -> None:
        index = np.flatnonzero(model)
        self.index: Ints | None = None
        self.value = model
        if 2 * len(index) < len(model):
            self.index = index
            self.value = model[index]
        self.block = block  # (r,) examples with mass
        self.mass = mass  # (r,) Σ m_i·scale_i: how often the truth of i is in g

    def dot(self, model: Floats) -> float:
        """<g, model>."""
        if self.index is None:
            return float(dot_dense(self.value, model))
        return float(dot_sparse(self.index, self.value, model))

    def add_to(self, model: Floats, coef: float) -> None:
        """Add coef·g to a model, in place."""
        if self.index is None:
            add_dense(model, coef, self.value)
        else:
            add_sparse(model, coef, self.index, self.value)


class PlaneStore:
    """Planes with their offsets and Gram matrix; place 0 is the zero plane.

    Parameters
    ----------
    zero : array
        The zero model; models are float arrays with the plain inner product.

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

    def __init__(self, zero: Floats) -> None:
        self.zero = zero.ravel()
        self.shape = zero.shape
        nobody = np.zeros(0, np.int64)
        self.planes = [Plane(np.zeros_like(self.zero), nobody, np.zeros(0))]
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

    def add(self, model: Floats, offset: float, block: Ints, mass: Floats) -> None:
        """A plane o − <w, model>, and which truths it contains how often."""
        m = len(self)
        if m == len(self.table):
            self.table = np.pad(self.table, (0, m))
        model = np.ascontiguousarray(model).ravel()
        self.planes.append(Plane(model, block, mass))
        self.table[m, : m + 1] = self.table[: m + 1, m] = self.dots(model)
        self.offset = np.append(self.offset, offset)
        self.alpha = np.append(self.alpha, 0.0)
        self.idle = np.append(self.idle, 0)
        self.n_added += 1

    def dots(self, model: Floats) -> Floats:
        """<g_p, model> of all planes, shape (m,)."""
        model = model.ravel()
        return np.array([plane.dot(model) for plane in self.planes])

    def combine(self, alpha: Floats) -> Floats:
        """Σ α_p g_p, a new model."""
        model = self.zero.copy()
        for plane, coef in zip(self.planes, alpha, strict=True):
            if coef != 0.0:
                plane.add_to(model, float(coef))
        return model.reshape(self.shape)

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
            model = shift(plane.block, plane.mass).ravel()
            plane.add_to(model, 1.0)
            self.planes[p] = Plane(model, plane.block, plane.mass)
        for p, plane in enumerate(self.planes):
            dense = self.zero.copy()
            plane.add_to(dense, 1.0)
            for q in range(p + 1):
                self.table[p, q] = self.table[q, p] = self.planes[q].dot(dense)


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
    planes.add(model, offset, cuts.block[held], (mass * cuts.scale)[held])
