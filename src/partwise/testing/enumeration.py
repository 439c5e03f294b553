"""Brute force: all outputs of small examples, and the optimum over all their planes.

All of it is deliberately simple. The quadratic program has one constraint per output
and is solved by a dense interior-point method, so the value does not depend on any
oracle or solver of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog, minimize

from partwise.objective import Formulation, Objective
from partwise.protocol import Floats, Ints, Structure
from partwise.structures.loop import LoopProblem, sparse_feature

Enumerate = Callable[[Any], Iterable[Any]]


class EnumeratedStructure(Structure):
    """A structure by listing its outputs: the reference for faster ones.

    Write ``setup``, ``joint_feature``, ``loss`` and ``enumerate(x)``; everything else,
    the optional capabilities included, tries all outputs.

    Examples
    --------
    >>> class Digit(EnumeratedStructure):
    ...     def setup(self, X, Y):
    ...         self.n_psi_ = 3
    ...         return self
    ...     def enumerate(self, x):
    ...         return range(3)
    ...     def joint_feature(self, x, y):
    ...         return np.array([y]), np.array([x])
    ...     def loss(self, y, y_hat):
    ...         return abs(y - y_hat)
    >>> digit = Digit().setup([1.0], [0])
    >>> digit.argmax(1.0, np.array([0.0, 2.0, 1.0]))
    1
    >>> list(digit.frontier(1.0, 0, np.zeros(3)))
    [(0, 0), (1, 1), (2, 2)]
    """

    def enumerate(self, x: Any) -> Iterable[Any]:
        """All outputs of x."""
        raise NotImplementedError(f"{type(self).__name__} lacks `enumerate(x)`")

    def score(self, x: Any, y: Any, w: Floats) -> float:
        """<w, Ψ(x, y)>."""
        index, value = sparse_feature(self.joint_feature(x, y), self.n_psi_)
        return float(np.sum(value * w[index]))

    def argmax(self, x: Any, w: Floats) -> Any:
        """The output of highest score."""
        return max(self.enumerate(x), key=lambda y: self.score(x, y, w))

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The output of highest score plus loss."""
        return max(
            self.enumerate(x),
            key=lambda y_hat: self.loss(y, y_hat) + self.score(x, y_hat, w),
        )

    def two_best(self, x: Any, w: Floats) -> list[Any]:
        """The two outputs of highest score."""
        return sorted(self.enumerate(x), key=lambda y: -self.score(x, y, w))[:2]

    def frontier(self, x: Any, y: Any, w: Floats) -> Iterator[tuple[float, Any]]:
        """The output of highest score for each loss."""
        best: dict[float, Any] = {}
        for y_hat in self.enumerate(x):
            loss = self.loss(y, y_hat)
            if loss not in best or self.score(x, best[loss], w) < self.score(
                x, y_hat, w
            ):
                best[loss] = y_hat
        yield from ((loss, best[loss]) for loss in sorted(best))


class EnumeratedProblem(LoopProblem):
    """A `LoopProblem` that can also sum over all outputs, for ``loss="log"``."""

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """−log p(y_i | x_i) of each example, and the gradient of their sum."""
        structure: Any = self.structure
        loss, gradient = np.empty(self.n_blocks), self.zero()
        for i, (x, y) in enumerate(zip(self.blocks.X, self.blocks.Y, strict=True)):
            psi = feature_matrix(structure, x, structure.enumerate(x))
            truth = feature_matrix(structure, x, [y])[0]
            score = psi @ model
            top = score.max()
            share = np.exp(score - top)
            loss[i] = top + np.log(share.sum()) - truth @ model
            gradient += weight[i] * (share @ psi / share.sum() - truth)
        return loss, gradient


def feature_matrix(structure: Any, x: Any, outputs: Iterable[Any]) -> Floats:
    """Dense Ψ(x, y) of each output, shape (n_outputs, n_psi_)."""
    rows = []
    for y in outputs:
        index, value = sparse_feature(structure.joint_feature(x, y), structure.n_psi_)
        row = np.zeros(structure.n_psi_)
        np.add.at(row, index, value)
        rows.append(row)
    return np.array(rows).reshape(len(rows), structure.n_psi_)


class Planes(NamedTuple):
    """All planes ``b − <w, a>`` of all outputs but the truths of all examples."""

    block: Ints  # (m,)
    loss: Floats  # (m,)
    b: Floats  # (m,)
    scale: Floats  # (m,)
    delta: Floats  # (m, n_psi) Ψ(x, y) − Ψ(x, ŷ)

    @property
    def a(self) -> Floats:
        """Normals, shape (m, n_psi)."""
        return self.scale[:, None] * self.delta

    def slack(self, w: Floats, n_blocks: int) -> Floats:
        """ξ_i(w), at least 0."""
        slack = np.zeros(n_blocks)
        np.maximum.at(slack, self.block, self.b - self.a @ w)
        return slack


class Optimum(NamedTuple):
    """The minimum of an enumerated problem; infinite for inseparable hard margins."""

    value: float  # P(w)
    lower: float  # D(α) ≤ minimum
    w: Floats
    alpha: Floats  # (m,)
    planes: Planes


def enumerate_planes(
    structure: Any,
    X: Sequence[Any],
    Y: Sequence[Any],
    formulation: Formulation,
    outputs_of: Enumerate,
) -> Planes:
    """One plane per output, except for outputs that are no constraint.

    These are the truth and outputs with its features and no loss; and, except under
    margin rescaling, all outputs without loss.
    """
    block, loss, delta = [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        outputs = list(outputs_of(x))
        truth = feature_matrix(structure, x, [y])[0]
        for y_hat, psi in zip(
            outputs, feature_matrix(structure, x, outputs), strict=True
        ):
            here = float(structure.loss(y, y_hat))
            is_free = formulation.rescaling == "margin" and (truth != psi).any()
            if here > 0 or is_free:
                block.append(i)
                loss.append(here)
                delta.append(truth - psi)
    b, scale = formulation.planes(loss)
    return Planes(
        np.array(block, np.int64),
        np.array(loss),
        b,
        scale,
        np.array(delta).reshape(len(loss), structure.n_psi_),
    )


def brute_force_optimum(
    structure: Any,
    X: Sequence[Any],
    Y: Sequence[Any],
    C: float = 1.0,
    formulation: Formulation | None = None,
    enumerate: Enumerate | None = None,
    *,
    sample_weight: Any = None,
) -> Optimum:
    """The optimum of the objective by listing every output of every example.

    Parameters
    ----------
    structure : Structure
        After `setup`.
    X, Y : sequences
        Small examples.
    C : float
    formulation : Formulation or None
        None is margin rescaling with an L1 penalty.
    enumerate : callable or None
        All outputs of x; None takes ``structure.enumerate``.
    sample_weight : array-like or None

    Returns
    -------
    Optimum
        With ``lower ≤ minimum ≤ value``, equal up to about eight digits while C ≤ 100.

    Examples
    --------
    >>> from partwise.testing.toys import toy_classes
    >>> structure, X, Y = toy_classes(seed=0)
    >>> best = brute_force_optimum(structure, X, Y, C=10.0)
    >>> bool(best.value - best.lower < 1e-6)
    True
    """
    formulation = (formulation or Formulation()).validate()
    planes = enumerate_planes(
        structure, X, Y, formulation, enumerate or structure.enumerate
    )
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    return minimum(planes, Objective.create(C, len(X), penalty, sample_weight))


def minimum(planes: Planes, objective: Objective) -> Optimum:
    """Minimise over explicit planes; see `brute_force_optimum`."""
    m, n_psi = planes.delta.shape
    n = len(objective.weight)
    if m == 0:
        return Optimum(0.0, 0.0, np.zeros(n_psi), np.zeros(0), planes)
    is_hard = objective.penalty == "hard"
    if is_hard and not _is_separable(planes):
        return Optimum(np.inf, np.inf, np.zeros(n_psi), np.zeros(m), planes)
    n_slack = 0 if is_hard else n
    P = np.diag(np.concatenate([np.ones(n_psi), np.zeros(n_slack)]))
    q = np.zeros(n_psi + n_slack)
    G = np.hstack([-planes.a, np.zeros((m, n_slack))])
    h = -planes.b
    if not is_hard:
        G[np.arange(m), n_psi + planes.block] = -1.0
        sign = np.hstack([np.zeros((n, n_psi)), -np.eye(n)])
        G, h = np.vstack([G, sign]), np.concatenate([h, np.zeros(n)])
        if objective.penalty == "l2":
            P[n_psi:, n_psi:] = np.diag(objective.weight)
        else:
            q[n_psi:] = objective.weight
    z, multiplier = interior_point(P, q, G, h)
    w, alpha = z[:n_psi], multiplier[:m]
    mass = _per_block(planes, alpha, n)
    if objective.penalty == "l1":
        alpha = (
            alpha
            * np.minimum(1.0, objective.weight / np.maximum(mass, 1e-300))[planes.block]
        )
        mass = _per_block(planes, alpha, n)
    v = alpha @ planes.a
    offset = _per_block(planes, alpha * planes.b, n)
    violation = np.full(n, -np.inf)
    np.maximum.at(violation, planes.block, planes.b - planes.a @ w)
    return Optimum(
        objective.primal(float(w @ w), violation),
        objective.dual(float(v @ v), offset, mass),
        w,
        alpha,
        planes,
    )


def _per_block(planes: Planes, value: Floats, n: int) -> Floats:
    return np.bincount(planes.block, value, n).astype(np.float64)


def _is_separable(planes: Planes) -> bool:
    free = (None, None)
    n_psi = planes.delta.shape[1]
    program = linprog(np.zeros(n_psi), A_ub=-planes.a, b_ub=-planes.b, bounds=free)
    return bool(program.success)


def interior_point(P: Floats, q: Floats, G: Floats, h: Floats) -> tuple[Floats, Floats]:
    """Minimise ½zᵀPz + qᵀz subject to Gz ≤ h; returns z and the multipliers.

    Mehrotra's predictor-corrector on dense matrices, for programs that fit on a page.
    """
    m = len(h)
    z = np.zeros(len(q))
    s, lam = np.maximum(h, 1.0), np.ones(m)
    size = 1.0 + max(np.abs(q).max(initial=0.0), np.abs(h).max(initial=0.0))
    best = (np.inf, z, lam)
    for _ in range(60):
        dual_residual = P @ z + q + G.T @ lam
        primal_residual = G @ z + s - h
        mu = float(s @ lam) / m
        worst = max(np.abs(dual_residual).max(), np.abs(primal_residual).max(), mu)
        # rounding spoils late iterates, so the best one counts and not the last
        best = min(best, (worst, z, lam), key=lambda item: item[0])
        if worst <= 1e-13 * size:
            break
        K = P + (G.T * (lam / s)) @ G
        factor = cho_factor(K + 1e-14 * np.trace(K) / len(q) * np.eye(len(q)))

        def direction(
            complement: Floats, rd: Any = dual_residual, rp: Any = primal_residual,
            factor: Any = factor, s: Any = s, lam: Any = lam,
        ) -> tuple[Floats, Floats, Floats]:  # fmt: skip
            dz = cho_solve(factor, -rd - G.T @ ((lam * rp - complement) / s))
            ds = -rp - G @ dz
            return dz, ds, -(complement + lam * ds) / s

        _, ds, dlam = direction(s * lam)
        t = min(_longest(s, ds), _longest(lam, dlam))
        center = (float((s + t * ds) @ (lam + t * dlam)) / m / mu) ** 3
        dz, ds, dlam = direction(s * lam + ds * dlam - center * mu)
        t = 0.99 * min(_longest(s, ds), _longest(lam, dlam))
        z, s, lam = z + t * dz, s + t * ds, lam + t * dlam
    return best[1], best[2]


def _longest(value: Floats, step: Floats) -> float:
    """The longest step ≤ 1 that keeps a positive vector positive."""
    falling = step < 0
    return float(np.min(-value[falling] / step[falling], initial=1.0))


def log_optimum(problem: EnumeratedProblem, objective: Objective) -> float:
    """Minimum of the conditional log-likelihood objective, by BFGS."""

    def value(w: Floats) -> tuple[float, Floats]:
        loss, gradient = problem.log_likelihood(w, objective.weight)
        return float(0.5 * w @ w + objective.weight @ loss), w + gradient

    minimum = minimize(
        value, problem.zero(), jac=True, method="BFGS", options={"gtol": 1e-10}
    )
    return float(minimum.fun)
