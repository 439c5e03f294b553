"""Rankings: seconds to train on many queries; `letor.py` has measures on real ones.

    python benchmarks/ranking.py [--study pairs|measures] [--jobs 2]

pairs:    swapped pairs on 1,000,000 rows in 1,000 queries, 46 dense features or some
          40 of 10,000 sparse ones, grades 0, 1, 2.
measures: every measure on 2,000 queries of 50 rows.

Seconds are those of the clock, for the solver alone, after a first fit on a few rows
has compiled the kernels.
"""

import argparse
import time

import numpy as np

from partwise.certificate import certify
from partwise.features.arrays import DenseFeatures, make_features
from partwise.objective import Objective
from partwise.solvers import make_solver, suitable_solver
from partwise.structures.ranking import Ranking

MEASURES = (
    {"measure": "swapped_pairs"},
    {"measure": "average_precision"},
    {"measure": "reciprocal_rank"},
    {"measure": "ndcg", "k": 10},
    {"measure": "ndcg", "k": 10, "place_weights": lambda place: place**-0.25},
    {"measure": "precision_at_k", "k": 10},
)


def fit(settings, X, grades, C, options, solver=None):
    """Print a row of figures; returns one weight per feature."""
    began = time.perf_counter()
    problem = Ranking(**settings).pack(X, grades, n_jobs=options.jobs)
    packed = time.perf_counter()
    n = problem.n_blocks
    objective = Objective.create(C, n, "l1")
    name = solver or suitable_solver(problem, objective)
    state = make_solver(name, {"tol": options.tol}).solve(problem, objective)
    solved = time.perf_counter()
    certificate = certify(problem, objective, state.model, dual=state.dual)
    title = " ".join(str(value) for value in settings.values() if not callable(value))
    print(
        f"{title:20s} {name:9s} pack {packed - began:5.2f} s  solve "
        f"{solved - packed:6.2f} s  {state.oracle_calls / n:6.1f} passes  primal "
        f"{certificate.primal:.5g}  gap {certificate.relative_gap:.1e}",
        flush=True,
    )
    return problem.compact(state.model)


def queries(n_queries, n_rows, is_sparse, seed=0):
    """Rows of all queries, and grades 0, 1, 2 for the rest, a tenth and a twentieth."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_rows
    offset = np.arange(0, n + 1, n_rows)
    if is_sparse:
        n_features = 10_000
        share = 1.0 / np.arange(10, n_features + 10)
        columns = rng.choice(n_features, size=40 * n, p=share / share.sum())
        X = make_features(
            np.arange(0, 40 * n + 1, 40), columns, None, offset, n_features
        )
        weights = rng.normal(size=n_features)
        score = weights[columns].reshape(n, 40).sum(axis=1)
    else:
        X = DenseFeatures(rng.normal(size=(n, 46)), offset)
        score = X.X @ rng.normal(size=46)
    score += np.std(score) * rng.normal(size=n)
    place = np.argsort(np.argsort(-score.reshape(n_queries, n_rows), axis=1), axis=1)
    grades = 1.0 * (place < 3 * n_rows // 20) + (place < n_rows // 20)
    return X, grades.ravel()


def warm_up(options, settings=MEASURES, kinds=(False, True)):
    few = argparse.Namespace(jobs=2, tol=0.5)
    for is_sparse in kinds:
        X, grades = queries(6, 40, is_sparse)
        for each in settings:
            for solver in ("bcfw", "bundle"):
                fit(each, X, grades, 1.0, few, solver)


def study_pairs(options):
    warm_up(options, MEASURES[:1])
    print("---")
    for is_sparse in (False, True):
        X, grades = queries(1000, 1000, is_sparse)
        for solver in options.solver or (None,):
            fit({"measure": "swapped_pairs"}, X, grades, options.C, options, solver)


def study_measures(options):
    warm_up(options, kinds=(False,))
    print("---")
    X, grades = queries(2000, 50, False)
    for settings in MEASURES:
        for solver in options.solver or (None,):
            fit(settings, X, grades, options.C, options, solver)


STUDIES = {"pairs": study_pairs, "measures": study_measures}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=STUDIES, default="pairs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--solver", action="append", help="bcfw, bundle, one_slack")
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
