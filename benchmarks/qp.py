"""The small dual program of cutting planes: our active set against other solvers.

    maximise  Σ b_p α_p − ½ αᵀGα     α ≥ 0,  Σ α ≤ 1

Two kinds of program: planes of a one-slack run on a binary problem (nearly parallel, so
G is ill-conditioned; α of the previous iteration is at hand), and random planes. Each
solver gets the same arrays. The residual is the largest violation of the optimality
conditions relative to b and Gα, recomputed here from α.

    pip install daqp piqp clarabel
    python benchmarks/qp.py

prints a Markdown table; peers that are not installed are left out.
"""

import argparse
import importlib.util
import platform
import time
from importlib.metadata import version

import numpy as np
from numba import njit

from partwise.solvers._simplex_qp import maximise


def solve(gram, b, start=None):
    """Our α, from a feasible one; one more plane of zeros holds the rest of Σα ≤ 1."""
    m = len(b)
    table, offset, alpha = np.zeros((m + 1, m + 1)), np.append(b, 0.0), np.zeros(m + 1)
    table[:m, :m] = gram
    if start is not None:
        alpha[:m], alpha[m] = start, 1.0 - np.sum(start)
    maximise(table, offset, alpha, m + 1, 1.0, 1e-12, 120 + 20 * m)
    return alpha[:m]


def random_planes(m, rng):
    planes = rng.normal(size=(m, m // 2))
    return planes @ planes.T, 1.0 + rng.random(m), np.zeros(m)


def cutting_planes(m, rng, *, n=2000, d=200, C=2000.0):
    """The first m planes of a one-slack run, and the α before the last one."""
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))
    planes, b, w, alpha = np.zeros((0, d)), np.zeros(0), np.zeros(d), np.zeros(0)
    for _ in range(m):
        mass = C / n * (y * (X @ w) < 1)
        planes = np.vstack([planes, (mass * y) @ X])
        b = np.append(b, mass.sum())
        start = np.append(alpha, 0.0)
        gram = planes @ planes.T
        alpha = solve(gram, b, start)
        w = alpha @ planes
    return gram, b, start


def ours_cold(gram, b, start):
    return solve(gram, b)


def ours_warm(gram, b, start):
    return solve(gram, b, start)


@njit(cache=True)
def _pairwise(gram, b, alpha, tol, steps):
    """SMO with second-order selection; the last plane is zero and holds the rest."""
    slope = b - gram @ alpha
    for step in range(steps):
        up = np.argmax(slope)
        down, gain, worst = -1, 0.0, slope[up]
        for p in range(len(b)):
            if alpha[p] > 0.0:
                worst = min(worst, slope[p])
                ascent = slope[up] - slope[p]
                curvature = gram[up, up] + gram[p, p] - 2 * gram[up, p]
                if ascent > 0.0 and ascent * ascent > gain * max(curvature, 1e-300):
                    down, gain = p, ascent * ascent / max(curvature, 1e-300)
        if slope[up] - worst <= tol * np.abs(b).max() or down < 0:
            return step
        curvature = gram[up, up] + gram[down, down] - 2 * gram[up, down]
        size = min(alpha[down], (slope[up] - slope[down]) / max(curvature, 1e-300))
        alpha[up] += size
        alpha[down] = max(alpha[down] - size, 0.0)
        slope -= size * (gram[up] - gram[down])
    return steps


def pairwise_warm(gram, b, start):
    m = len(b)
    table = np.zeros((m + 1, m + 1))
    table[:m, :m] = gram
    alpha = np.append(start, 1.0 - np.sum(start))
    _pairwise(table, np.append(b, 0.0), alpha, 1e-10, 200_000)
    return alpha[:m]


def with_daqp(gram, b, start):
    import daqp

    m = len(b)
    upper = np.append(np.full(m, 1e30), 1.0)
    lower = np.append(np.zeros(m), -1e30)
    sense = np.zeros(m + 1, np.int32)
    return daqp.solve(gram, -b, np.ones((1, m)), upper, lower, sense)[0]


def with_piqp(gram, b, start):
    import piqp

    m = len(b)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    solver.setup(
        gram, -b, G=np.ones((1, m)), h_l=np.array([-np.inf]), h_u=np.ones(1),
        x_l=np.zeros(m), x_u=np.full(m, np.inf),
    )  # fmt: skip
    solver.solve()
    return solver.result.x


def with_clarabel(gram, b, start):
    import clarabel
    from scipy import sparse

    m = len(b)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    rows = sparse.csc_matrix(np.vstack([np.ones((1, m)), -np.eye(m)]))
    bound = np.append(1.0, np.zeros(m))
    cones = [clarabel.NonnegativeConeT(m + 1)]
    P = sparse.csc_matrix(np.triu(gram))
    return np.array(
        clarabel.DefaultSolver(P, -b, rows, bound, cones, settings).solve().x
    )


SOLVERS = {
    "active set, warm": (ours_warm, None),
    "active set, cold": (ours_cold, None),
    "pairwise steps, warm": (pairwise_warm, None),
    "DAQP": (with_daqp, "daqp"),
    "PIQP": (with_piqp, "piqp"),
    "Clarabel": (with_clarabel, "clarabel"),
}


def residual(gram, b, alpha):
    """Of the conditions: slope ≤ μ, equal where α > 0; μ ≥ 0, zero when Σα < 1."""
    if not np.isfinite(alpha).all():
        return np.inf
    product = gram @ alpha
    slope, rest = b - product, 1.0 - np.sum(alpha)
    mu = max(np.sum(alpha * slope), 0.0)
    scale = max(np.abs(b).max(), np.abs(product).max())
    parts = (
        np.max(slope - mu) / scale,
        np.max(np.abs(alpha * (slope - mu))) / scale,
        max(-rest, 0.0),
        max(rest, 0.0) * mu / scale,
        np.max(-alpha),
    )
    return max(*parts, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 100, 200])
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    names = [
        name
        for name, (_, module) in SOLVERS.items()
        if module is None or importlib.util.find_spec(module)
    ]
    modules = [SOLVERS[name][1] for name in names if SOLVERS[name][1]]
    peers = ", ".join(f"{module} {version(module)}" for module in modules)
    print(f"{platform.machine()}, Python {platform.python_version()}, {peers}\n")
    print("| planes | number | with α > 0 | " + " | ".join(names) + " |")
    print("| --- | --- | --- |" + " --- |" * len(names))
    for kind in (cutting_planes, random_planes):
        for m in args.sizes:
            cells = []
            gram, b, start = kind(m, np.random.default_rng(m))
            for name in names:
                run = SOLVERS[name][0]
                run(gram, b, start)  # compiles, and warms caches
                seconds = []
                for _ in range(args.repeat):
                    clock = time.perf_counter()
                    alpha = run(gram, b, start)
                    seconds.append(time.perf_counter() - clock)
                error = residual(gram, b, np.asarray(alpha))
                cells.append(f"{1e3 * np.median(seconds):.2f} ms ({error:.0e})")
            label = kind.__name__.replace("_", " ")
            used = np.count_nonzero(ours_cold(gram, b, start))
            print(f"| {label} | {m} | {used} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
