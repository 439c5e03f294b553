"""The small quadratic program of the cutting-plane family, by an active set.

    maximise  Σ_p b_p α_p − ½ αᵀ G α      α ≥ 0,  Σ α = total   (total finite)
                                          α ≥ 0                 (total infinite)

with G a Gram matrix, often singular because planes repeat or outnumber dimensions. An
inequality Σ α ≤ total is the equality with one more plane, b = 0 and G = 0; in cutting
planes that plane is the constraint ξ ≥ 0.

Method: a primal active set. On Σ α = total the term (σ/2)(Σα)² is constant, so G may be
replaced by G + σ11ᵀ, positive definite on every affinely independent set of planes. Its
Cholesky factor over the free planes F (α > 0) is updated as planes enter and leave.
Each round steps to the optimum over F, or to the first α that becomes zero; when F is
optimal, the plane of largest slope above the multiplier μ enters. A plane that depends
on F is exchanged along the direction of zero curvature. Ends when

    b_p − (Gα)_p ≤ μ + tol·scale   for all p,   equality on F,

so an optimal α has at most rank(G) + 1 free planes. Measured by ``benchmarks/qp.py``
beside DAQP, PIQP, Clarabel and the rejected alternative, pairwise steps with
second-order selection (SMO): from the α of the previous cutting plane it is several
times faster than any of them, and its residual is that of rounding; pairwise steps
crawl because cutting planes are nearly parallel.

Nocedal, Wright: Numerical Optimization, 2nd ed., section 16.5 (active set). Gill,
Golub, Murray, Saunders: Methods for modifying matrix factorizations, 1974 (updates).
"""

import numpy as np

from partwise.compiled import allocating, jitted
from partwise.protocol import Floats, Ints

OPTIMAL, LIMIT, UNBOUNDED = 0, 1, 2
DEPENDENT = 1e-12  # relative pivot below which a plane counts as dependent on F
ROUNDING = 8 * 2.0**-52
REFINEMENTS = 3  # full steps in a row before F counts as optimal


@jitted
def _append(
    chol: Floats, free: Ints, n: int, gram: Floats, sigma: float, p: int
) -> float:
    """Row n of the factor for plane p; returns the squared pivot, not yet stored."""
    for k in range(n):
        value = gram[p, free[k]] + sigma
        for j in range(k):
            value -= chol[n, j] * chol[k, j]
        chol[n, k] = value / chol[k, k]
    pivot = gram[p, p] + sigma
    for j in range(n):
        pivot -= chol[n, j] * chol[n, j]
    return pivot


@jitted
def _remove(chol: Floats, free: Ints, n: int, k: int) -> None:
    """Take the k-th of n free planes out of the factor, by Givens rotations."""
    for i in range(k, n - 1):
        free[i] = free[i + 1]
        for j in range(i + 2):
            chol[i, j] = chol[i + 1, j]
    for j in range(k, n - 1):
        a, b = chol[j, j], chol[j, j + 1]
        r = np.hypot(a, b)
        c, s = a / r, b / r
        for i in range(j, n - 1):
            a, b = chol[i, j], chol[i, j + 1]
            chol[i, j] = c * a + s * b
            chol[i, j + 1] = c * b - s * a


@jitted
def _sum(x: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += x[k]
    return total


@jitted
def _solve_lower(chol: Floats, n: int, x: Floats) -> None:
    for i in range(n):
        value = x[i]
        for j in range(i):
            value -= chol[i, j] * x[j]
        x[i] = value / chol[i, i]


@jitted
def _solve_upper(chol: Floats, n: int, x: Floats) -> None:
    for i in range(n - 1, -1, -1):
        x[i] /= chol[i, i]
        for j in range(i):
            x[j] -= chol[i, j] * x[i]


@jitted
def _slopes(
    gram: Floats,
    b: Floats,
    alpha: Floats,
    m: int,
    free: Ints,
    n: int,
    tol: float,
    slope: Floats,
) -> float:
    """Slope = b − Gα; returns the slope that counts as zero.

    That is `tol` relative to b and Gα, and not below what rounding leaves of it.
    """
    scale, terms = 0.0, 0.0
    for p in range(m):
        value, size = 0.0, 0.0
        for k in range(n):
            term = gram[p, free[k]] * alpha[free[k]]
            value += term
            size += abs(term)
        slope[p] = b[p] - value
        scale = max(scale, abs(b[p]), abs(value))
        terms = max(terms, size)
    return tol * scale + ROUNDING * terms


@jitted
def _factor(
    chol: Floats, free: Ints, gram: Floats, sigma: float, alpha: Floats, m: int
) -> int:
    """Factor over all α > 0; returns their number, or −1 when they are dependent."""
    n = 0
    for p in range(m):
        if alpha[p] > 0.0:
            pivot = _append(chol, free, n, gram, sigma, p)
            if pivot <= DEPENDENT * (gram[p, p] + sigma):
                return -1
            chol[n, n] = np.sqrt(pivot)
            free[n] = p
            n += 1
    return n


@jitted
def _vertex(gram: Floats, b: Floats, m: int, total: float) -> int:
    """The best single plane."""
    best, value = 0, -np.inf
    for p in range(m):
        here = b[p] - 0.5 * total * gram[p, p]
        if here > value:
            best, value = p, here
    return best


@jitted
def _longest(alpha: Floats, free: Ints, n: int, direction: Floats) -> tuple[float, int]:
    """How far α can go before a free plane reaches zero, and which (−1: none)."""
    step, block = np.inf, -1
    for k in range(n):
        if direction[k] < 0.0 and alpha[free[k]] < -direction[k] * step:
            step = -alpha[free[k]] / direction[k]
            block = k
    return step, block


@jitted
def _enter(
    chol: Floats,
    free: Ints,
    n: int,
    gram: Floats,
    sigma: float,
    alpha: Floats,
    p: int,
    ascent: float,
    direction: Floats,
) -> int:
    """Make plane p free; returns the number of free planes, −1 when unbounded.

    While p depends on F, α moves along the direction (z, 1) with (G + σ11ᵀ)(z, 1) ≈ 0,
    of slope `ascent`, until a free plane reaches zero and leaves.
    """
    while True:
        pivot = _append(chol, free, n, gram, sigma, p)
        if pivot > DEPENDENT * (gram[p, p] + sigma):
            break
        for k in range(n):
            direction[k] = -chol[n, k]
        _solve_upper(chol, n, direction)
        step, block = _longest(alpha, free, n, direction)
        if pivot > 0.0 and ascent < step * pivot:
            break
        if block < 0:
            return -1
        for k in range(n):
            alpha[free[k]] = max(alpha[free[k]] + step * direction[k], 0.0)
        alpha[p] += step
        alpha[free[block]] = 0.0
        _remove(chol, free, n, block)
        n -= 1
    chol[n, n] = np.sqrt(pivot)
    free[n] = p
    return n + 1


@allocating
def maximise(
    gram: Floats,
    b: Floats,
    alpha: Floats,
    m: int,
    total: float,
    tol: float,
    max_iter: int,
) -> int:
    """Optimise the first m entries of α in place, beginning where they are.

    Returns OPTIMAL, LIMIT (`max_iter` rounds, or rounding forbids `tol`) or UNBOUNDED
    (a direction of ascent without end, possible for infinite `total` only). The α left
    behind is feasible in each case.
    """
    is_simplex = total < np.inf
    chol = np.empty((m + 1, m + 1))
    free = np.empty(m + 1, np.int64)
    slope = np.empty(m)
    newton, ones = np.empty(m + 1), np.empty(m + 1)
    sigma = 0.0
    if is_simplex:
        for p in range(m):
            sigma = max(sigma, gram[p, p])
        sigma = sigma if sigma > 0.0 else 1.0
    n = _factor(chol, free, gram, sigma, alpha, m)
    mass = _sum(alpha, m)
    if n < 0 or (is_simplex and not abs(mass - total) <= 1e-6 * total):
        for p in range(m):
            alpha[p] = 0.0
        n = 0
    if n == 0 and is_simplex:
        alpha[_vertex(gram, b, m, total)] = total
        n = _factor(chol, free, gram, sigma, alpha, m)
    full_steps, short_steps = 0, 0  # in a row, the short ones of length zero
    for _ in range(max_iter):
        zero = _slopes(gram, b, alpha, m, free, n, tol, slope)
        for k in range(n):
            newton[k] = slope[free[k]]
            ones[k] = 1.0
        _solve_lower(chol, n, newton)
        _solve_upper(chol, n, newton)
        mu, rest = 0.0, 0.0
        if is_simplex:
            _solve_lower(chol, n, ones)
            _solve_upper(chol, n, ones)
            rest = total - _sum(alpha, m)  # nearly parallel planes let Σα drift
            mu = (_sum(newton, n) - rest) / _sum(ones, n)
        unrest = 0.0
        for k in range(n):
            unrest = max(unrest, abs(slope[free[k]] - mu))
            newton[k] -= mu * ones[k]
        is_settled = unrest <= zero and abs(rest) <= ROUNDING * total
        if not is_settled and full_steps < REFINEMENTS:
            step, block = _longest(alpha, free, n, newton)
            step = min(step, 1.0)
            for k in range(n):
                alpha[free[k]] = max(alpha[free[k]] + step * newton[k], 0.0)
            if step == 1.0:
                full_steps += 1
                continue
            full_steps = 0
            short_steps = 0 if step > 0.0 else short_steps + 1
            if short_steps > m:
                return LIMIT
            alpha[free[block]] = 0.0
            _remove(chol, free, n, block)
            n -= 1
            continue
        full_steps = 0
        for k in range(n):
            slope[free[k]] = mu  # a free plane, even at α = 0, is not to enter again
        entering, most = -1, mu + zero
        for p in range(m):
            if slope[p] > most:
                entering, most = p, slope[p]
        if entering < 0:
            return OPTIMAL
        n = _enter(chol, free, n, gram, sigma, alpha, entering, most - mu, newton)
        if n < 0:
            return UNBOUNDED
    return LIMIT
