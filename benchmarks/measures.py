"""Label vectors: seconds to train for F1, ROC area and others on one large example.

    python benchmarks/measures.py --data DIR [--study chunks|sparse|growth] [--jobs 2]

chunks: tokens of CoNLL-2000 with words and tags in a window, B-SBAR against the rest
        (211,727 rows, 2,207 positive), C = 20 in the notation of SVM-perf. Seconds of
        SVM-perf are those of its program on the same rows at ``-e 0.1`` (see below).
sparse: 100,000 rows, 50,000 sparse features, 1 % positive: F1.
growth: seconds against the number of rows, for F1, ROC area and error.

SVM-perf adds a feature that is 1 in all rows and minimises ½‖v‖² + C·ξ with losses in
percent and half our Ψ: ξ = 100 max(Δ − ½<v, δΨ>). With v = 2w that is four times
½‖w‖² + 25C max(Δ − <w, δΨ>): our C is 25 times as large, our values are a quarter. For
F1 at C = 20 it printed a primal value of 1976.6 and a dual value of 1974.9; `chunks`
prints four times ours, at 500.

Seconds are processor time, and in brackets that of the clock, of the solver alone,
after a first fit on a few rows has compiled the kernels.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from partwise.certificate import certify
from partwise.features import PRESETS, Featurizer
from partwise.objective import Objective
from partwise.readers import read_columns
from partwise.solvers import make_solver, suitable_solver
from partwise.structures.label_vector import LabelVector

# seconds of SVM-perf at -e 0.1, one core
PEER = {"f1": 59.0, "precision_at_k": 54.0, "prbep": 9.8, "roc_auc": 4.8}


def jaccard(tp, fp, fn, tn):
    """A measure of the user's own, searched through boxes of tables."""
    return tp / (tp + fp + fn)


def fit(measure, x, y, C, n_jobs, tol):
    """Seconds for solving by processor and clock, the state and its certificate."""
    measure = jaccard if measure == "jaccard" else measure
    problem = LabelVector(measure).pack(x, y, n_jobs=n_jobs)
    objective = Objective.create(C, 1, "l1")
    solver = make_solver(suitable_solver(problem, objective), {"tol": tol})
    began = time.process_time(), time.perf_counter()
    state = solver.solve(problem, objective)
    seconds = time.process_time() - began[0], time.perf_counter() - began[1]
    certificate = certify(problem, objective, state.model, dual=state.dual)
    return seconds, state, certificate


def row(name, result, peer=None, unit=1.0):
    (seconds, clock), state, certificate = result
    ratio = f"{peer / seconds:6.1f} x" if peer else ""
    print(
        f"{name:16s} {seconds:6.2f} s ({clock:5.2f} s) {ratio:9s} {state.n_iter:4d} "
        f"passes  primal {unit * certificate.primal:10.4f}  dual "
        f"{unit * certificate.dual:10.4f}  gap {certificate.relative_gap:.1e}",
        flush=True,
    )


def warm_up(measures):
    rng = np.random.default_rng(0)
    x = sparse.random_array((40000, 50), density=0.02, rng=rng, format="csr")
    y = np.where(rng.random(40000) < 0.1, 1, -1)
    for measure in measures:
        fit(measure, x, y, 1.0, 2, 0.5)


def study_chunks(options):
    X, tags = read_columns(Path(options.data) / "conll2000_chunking" / "train.txt.gz")
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    n_rows = len(features.indptr) - 1
    data = np.ones(len(features.indices))
    x = sparse.csr_array(
        (data, features.indices, features.indptr), (n_rows, features.n_features)
    )
    x = sparse.hstack([x, np.ones((n_rows, 1))], format="csr")
    y = np.array([1 if tag == "B-SBAR" else -1 for row in tags for tag in row])
    print(f"{x.shape[0]:,} rows, {x.shape[1]:,} features, {np.sum(y == 1):,} positive")
    measures = options.measure or [*PEER, "error", "jaccard"]
    warm_up(measures)
    for measure in measures:
        result = fit(measure, x, y, 25 * 20.0, options.jobs, options.tol)
        row(measure, result, PEER.get(measure), unit=4.0)


def sparse_rows(n, seed=0):
    """Rows of about 40 features out of 50,000, 1 % of them positive."""
    rng = np.random.default_rng(seed)
    n_features = 50_000
    # frequent and rare features, as of words
    share = 1.0 / np.arange(10, n_features + 10)
    columns = rng.choice(n_features, size=(n, 40), p=share / share.sum())
    indptr = np.arange(0, 40 * n + 1, 40)
    data = np.ones(40 * n)
    x = sparse.csr_array((data, columns.ravel(), indptr), (n, n_features))
    x.sum_duplicates()
    x = x.multiply(1 / np.sqrt(x.multiply(x).sum(axis=1))[:, None]).tocsr()
    score = x @ rng.normal(size=n_features) + 0.3 * rng.normal(size=n)
    y = np.where(score >= np.quantile(score, 0.99), 1, -1)
    return x, y


def study_sparse(options):
    x, y = sparse_rows(100_000)
    warm_up(["f1"])
    for C in (1e4, 1e5, 1e6):
        row(f"f1, C = {C:g}", fit("f1", x, y, C, options.jobs, options.tol))


def study_growth(options):
    measures = options.measure or ["f1", "roc_auc", "error"]
    warm_up(measures)
    for n in (10_000, 30_000, 100_000, 300_000):
        x, y = sparse_rows(n)
        for measure in measures:
            result = fit(measure, x, y, 1e5, options.jobs, options.tol)
            row(f"{measure} {n:,}", result)


STUDIES = {"chunks": study_chunks, "sparse": study_sparse, "growth": study_growth}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", choices=STUDIES, default="chunks")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--measure", action="append", help="only these")
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
