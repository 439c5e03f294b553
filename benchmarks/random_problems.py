"""Certificates on random small problems, against the enumerated optimum.

    python benchmarks/random_problems.py --problems 10000 [--seed 0] [--jobs 2]

Chains with free confusions, segments whose labellings coincide, and users' structures
with ties; one to six examples, C from 1e-3 to 1e5, sample weights; every formulation
and solver. Of each run it checks

    dual ≤ optimum ≤ primal,  and what is called converged is within its tolerance:
    primal − optimum ≤ tol·primal, or with eps at most C·ε (L1).

Prints every failure, after each thousand problems how many runs were checked, and again
in the end; exits with 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from partwise.certificate import certify
from partwise.features.arrays import as_features
from partwise.objective import Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.chain import Chain
from partwise.testing.enumeration import (
    EnumeratedStructure,
    enumerate_planes,
    minimum,
)
from partwise.testing.structures import FORMULATIONS

ROUNDING = 1e-7  # relative to the optimum: what the reference itself is worth


class Segments(EnumeratedStructure):
    """Segmentations with token loss: two with the same labels differ without loss."""

    def __init__(self, n_labels=2, longest=2):
        self.n_labels = n_labels
        self.longest = longest

    def setup(self, X, Y):
        self.n_psi_ = self.n_labels * (X[0].shape[1] + self.longest)
        return self

    def enumerate(self, x):
        def extend(start):
            if start == len(x):
                yield ()
                return
            for size in range(1, min(self.longest, len(x) - start) + 1):
                for label in range(self.n_labels):
                    for rest in extend(start + size):
                        yield ((size, label), *rest)

        return list(extend(0))

    def joint_feature(self, x, y):
        width = x.shape[1]
        psi = np.zeros((self.n_labels, width + self.longest))
        start = 0
        for size, label in y:
            psi[label, :width] += x[start : start + size].sum(axis=0)
            psi[label, width + size - 1] += 1
            start += size
        return psi.ravel()

    def labels(self, y):
        return [label for size, label in y for _ in range(size)]

    def loss(self, y, y_hat):
        pairs = zip(self.labels(y), self.labels(y_hat), strict=True)
        return float(sum(a != b for a, b in pairs))


class Ties(EnumeratedStructure):
    """Classes with small whole features: many equal scores, losses that may be 0."""

    def __init__(self, losses=None):
        self.losses = losses

    def setup(self, X, Y):
        self.n_psi_ = len(self.losses) * len(X[0])
        return self

    def enumerate(self, x):
        return range(len(self.losses))

    def joint_feature(self, x, y):
        return np.arange(y * len(x), (y + 1) * len(x)), np.asarray(x, np.float64)

    def loss(self, y, y_hat):
        return float(self.losses[y][y_hat])


def draw_chain(rng, n):
    size = int(rng.integers(2, 4))
    cost = rng.integers(0, 3, size=(size, size)).astype(float)
    np.fill_diagonal(cost, 0.0)
    kind = ["hamming", "normalized", "zero_one", cost][rng.integers(4)]
    X = [rng.normal(size=(rng.integers(1, 4), 3)) for _ in range(n)]
    if rng.integers(2):
        X = [np.round(x) for x in X]
    Y = [rng.integers(0, size, size=len(x)).tolist() for x in X]
    chain = Chain(size, order=int(rng.integers(0, 3)), cost=kind).setup(X, Y)

    def pack(formulation):
        return chain.pack(as_features(X), np.concatenate(Y), formulation)

    return chain, X, Y, pack


def draw_segments(rng, n):
    X = [rng.normal(size=(rng.integers(1, 4), 2)) for _ in range(n)]
    segments = Segments().setup(X, None)
    Y = []
    for x in X:
        outputs = segments.enumerate(x)
        Y.append(outputs[rng.integers(len(outputs))])
    return segments, X, Y, lambda formulation: segments.pack(X, Y, formulation)


def draw_ties(rng, n):
    size = int(rng.integers(2, 5))
    losses = rng.integers(0, 3, size=(size, size)).astype(float)
    np.fill_diagonal(losses, 0.0)
    X = [rng.integers(-1, 2, size=3).astype(float) for _ in range(n)]
    ties = Ties(losses).setup(X, None)
    Y = rng.integers(0, size, size=n).tolist()
    return ties, X, Y, lambda formulation: ties.pack(X, Y, formulation)


DRAWS = (draw_chain, draw_segments, draw_ties)


def solvers(rng):
    """Each solver under `tol` and under `eps`, with a limit that ends hopeless runs."""
    tol = float(10.0 ** rng.uniform(-5, -2))
    eps = float(10.0 ** rng.uniform(-4, -1))
    for cls, rule in itertools.product(
        (BCFW, NSlack, OneSlack, ProximalBundle), ({"tol": tol}, {"eps": eps})
    ):
        yield cls(max_iter=50 if cls is NSlack else 300, **rule)
    yield OneSlack(max_iter=300, tol=tol, pool=False)
    yield BCFW(max_iter=300, tol=tol, batch=3)
    yield NSlack(max_iter=20, eps=eps, reoptimise="all")
    yield NSlack(max_iter=20, eps=eps, repeat=True)


def check_one(seed: int) -> tuple[Counter, list[str]]:
    """Draw a problem, solve it by enumeration and by every solver."""
    rng = np.random.default_rng(seed)
    structure, X, Y, pack = DRAWS[seed % 3](rng, int(rng.integers(1, 7)))
    formulation = FORMULATIONS[seed // 3 % 5]
    C = float(10.0 ** rng.uniform(-3, 5))
    weights = rng.uniform(0.2, 3.0, size=len(X)) if rng.integers(2) else None
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    objective = Objective.create(C, len(X), penalty, weights)
    counts: Counter = Counter()
    try:
        problem = pack(formulation)
    except CapabilityError:
        return Counter(refused=1), []
    planes = enumerate_planes(structure, X, Y, formulation, structure.enumerate)
    best = minimum(planes, objective)
    faults = []
    for solver in solvers(rng):
        if penalty not in solver.penalties:
            continue
        counts["runs"] += 1
        where = f"seed {seed} {formulation.rescaling} {penalty} C={C:.3g}: {solver!r}"
        state = solver.solve(problem, objective)
        counts[state.stopped] += 1
        found = certify(problem, objective, state.model, dual=state.dual)
        room = ROUNDING * (abs(best.value) if np.isfinite(best.value) else 1.0) + 1e-9
        if not np.isfinite(best.value):
            if found.at_most is not None and np.isfinite(found.at_most):
                faults.append(f"{where}: inseparable, yet primal {found.at_most}")
            continue
        if state.dual > best.value + room:
            faults.append(f"{where}: dual {state.dual} above optimum {best.value}")
        if found.lower > best.value + room:
            faults.append(f"{where}: bound {found.lower} above optimum {best.value}")
        if found.at_most is not None and found.at_most < best.lower - room:
            faults.append(f"{where}: primal {found.at_most} below {best.lower}")
        if state.stopped != "converged":
            continue
        allowed = solver.tol * abs(found.primal)
        if solver.eps is not None:
            slack = planes.slack(state.model, len(X))
            allowed = objective.slack_term(slack + solver.eps)
            allowed -= objective.slack_term(slack)
            if isinstance(solver, OneSlack | ProximalBundle):  # one joint constraint
                allowed = C * solver.eps
            if penalty == "hard":
                allowed = found.primal * (1 - (1 - min(solver.eps, 1)) ** 2)
        if found.primal - best.value > allowed + room:
            faults.append(
                f"{where}: converged at {found.primal}, "
                f"{found.primal - best.value:.3g} above the optimum where "
                f"{allowed:.3g} is allowed"
            )
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    began = time.perf_counter()
    counts: Counter = Counter()
    n_faults = 0
    seeds = range(options.seed, options.seed + options.problems)
    with ProcessPoolExecutor(options.jobs) as pool:
        results = pool.map(check_one, seeds, chunksize=20)
        for done, (found, faults) in enumerate(results, 1):
            counts += found
            n_faults += len(faults)
            for fault in faults:
                print(fault, flush=True)
            if done % 1000 == 0 or done == options.problems:
                seconds = time.perf_counter() - began
                told = ", ".join(f"{name}: {n}" for name, n in counts.most_common())
                print(f"{done} problems, {seconds:.0f} s; {told}", flush=True)
                print(f"{n_faults} failures", flush=True)
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
