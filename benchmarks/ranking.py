"""Rankings: seconds to train on many queries, and measures on LETOR's MQ2008.

    python benchmarks/ranking.py [--study pairs|measures|letor] [--data DIR] [--jobs 2]

pairs:    swapped pairs on 1,000,000 rows in 1,000 queries, 46 dense features or some
          40 of 10,000 sparse ones, grades 0, 1, 2.
measures: every measure on 2,000 queries of 50 rows.
letor:    every measure on the first four parts of `letor_mq2008`, judged on the fifth;
          those of places also with latent true rankings, from the model of swapped
          pairs on.

Seconds are those of the clock, for the solver alone, after a first fit on a few rows
has compiled the kernels.
"""

import argparse
import gzip
import os
import time
from pathlib import Path

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


def read_letor(path):
    """Rows and grades of a file in svmlight format with query numbers."""
    values, grades, query = [], [], []
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for line in lines:
            fields = line.split("#")[0].split()
            grades.append(float(fields[0]))
            query.append(fields[1])
            values.append([float(field.split(":")[1]) for field in fields[2:]])
    begin = [r for r in range(len(query)) if r == 0 or query[r] != query[r - 1]]
    return np.array(values), np.array(grades), np.array([*begin, len(query)])


def fit_latent(settings, X, grades, C, options, weights):
    """Complete true rankings and train in turn, from given weights; the last ones."""
    problem = Ranking(**settings, ties="latent").pack(X, grades, n_jobs=options.jobs)
    objective = Objective.create(C, problem.n_blocks, "l1")
    solver = make_solver("bcfw", {"tol": options.tol})
    problem.complete(problem.expand(weights))
    state, values = None, []
    for _ in range(20):
        state = solver.solve(problem, objective, start=state)
        values.append(state.primal)
        if len(values) > 1 and values[-1] > (1 - options.tol) * values[-2]:
            break
        solver.rebase(state, problem.complete(state.model))
    print(f"    latent: {len(values)} rounds, from {values[0]:.5g} to {values[-1]:.5g}")
    return problem.compact(state.model)


def judge(X, grades, w):
    """Print mean measures of the queries; one without a relevant row counts 0."""
    relevant = np.maximum.reduceat(grades, X.offset[:-1]) > 0
    report = []
    for measure, k in (("average_precision", None), ("ndcg", 10), ("ndcg", 5)):
        problem = Ranking(measure, k=k).pack(X, grades)
        score = 1 - problem.predict_codes(problem.expand(w)).b
        report.append(
            f"{measure} {k or ''} {np.mean(np.where(relevant, score, 0)):.4f}"
        )
    print("    fifth part:", ", ".join(report))


def study_letor(options):
    parts = [
        read_letor(Path(options.data) / "letor_mq2008" / f"S{part}.txt.gz")
        for part in range(1, 6)
    ]
    x = np.concatenate([part[0] for part in parts[:4]])
    grades = np.concatenate([part[1] for part in parts[:4]])
    lengths = np.concatenate([np.diff(part[2]) for part in parts[:4]])
    X = DenseFeatures(x, np.append(0, np.cumsum(lengths)))
    test_x, test_grades, test_offset = parts[4]
    test = DenseFeatures(test_x, test_offset)
    warm_up(options, kinds=(False,))
    print("---")
    pairs = None
    for settings in MEASURES:
        w = fit(settings, X, grades, options.C, options)
        judge(test, test_grades, w)
        pairs = w if pairs is None else pairs
        if settings["measure"] in ("ndcg", "precision_at_k"):
            w = fit_latent(settings, X, grades, options.C, options, pairs)
            judge(test, test_grades, w)


STUDIES = {"pairs": study_pairs, "measures": study_measures, "letor": study_letor}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", choices=STUDIES, default="pairs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--solver", action="append", help="bcfw, bundle, one_slack")
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
