"""Multiclass classification beside liblinear, at the same value of the objective.

    python benchmarks/multiclass.py [--data DIR] [--rounds 3] [--only newsgroups]

DIR, by default PARTWISE_DATA, holds `newsgroups20_bydate` and `conll2000_chunking`: 20
newsgroups by tf-idf (default settings of scikit-learn), and the tokens of the chunking
corpus with words and tags in a window of two as independent examples.

Both programs minimise ½‖w‖² + c·Σ ξ_i of Crammer and Singer without thresholds on one
core. liblinear is called through `LinearSVC`, at each of two settings of its `tol`.
Ours has to reach the objective that liblinear ended at: it runs with the duality gaps
0.01, 0.005, 0.002, … one after the other, each from the beginning, and the first that
is low enough counts. Seconds are those of the processor for the whole of `fit`, or
of `pack` and `solve`, after compilation; the smallest of --rounds runs. Objectives are
recomputed here, and accuracies are those of the test files.
"""

import argparse
import csv
import gzip
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from partwise.features import PRESETS, Featurizer
from partwise.objective import Objective
from partwise.readers import read_columns
from partwise.solvers.bcfw import BCFW
from partwise.structures.multiclass import Multiclass

GAPS = [0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5]


def newsgroups(folder):
    """Training and test matrices with their classes; c of liblinear."""
    csv.field_size_limit(sys.maxsize)
    texts, groups = {}, {}
    for part in ("train", "test"):
        path = folder / "newsgroups20_bydate" / f"{part}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        texts[part] = [f"{subject}\n{body}" for _, _, subject, body in rows]
        groups[part] = [group for group, *_ in rows]
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(texts["train"]), vectorizer.transform(texts["test"])
    names, y = np.unique(groups["train"], return_inverse=True)
    return X, (y, np.searchsorted(names, groups["test"])), 1.0


def chunking(folder):
    """The same for the tokens of the chunking corpus."""
    featurizer = Featurizer(PRESETS["window"])
    paths = [folder / "conll2000_chunking" / f"{p}.txt.gz" for p in ("train", "test")]
    tables, tags = zip(*(read_columns(path) for path in paths), strict=True)
    found = featurizer.fit_transform(tables[0]), featurizer.transform(tables[1])
    X = [
        sparse.csr_matrix(
            (np.ones(len(f.indices)), f.indices, f.indptr),
            (len(f.indptr) - 1, f.n_features),
        )
        for f in found
    ]
    flat = [np.concatenate([np.asarray(tags_) for tags_ in part]) for part in tags]
    names, y = np.unique(flat[0], return_inverse=True)
    place = np.minimum(np.searchsorted(names, flat[1]), len(names) - 1)
    return X, (y, np.where(names[place] == flat[1], place, -1)), 0.1


def objective_of(W, X, y, c):
    """½‖w‖² + c·Σ ξ_i of weights (K, n_features)."""
    scores, each = X @ W.T, np.arange(len(y))
    slack = 1.0 + scores - scores[each, y][:, None]
    slack[each, y] = 0.0
    return 0.5 * np.sum(W * W) + c * np.sum(slack.max(axis=1))


def by_liblinear(X, y, c, tol):
    """Seconds and weights."""
    svm = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=c, tol=tol,
        max_iter=10_000, random_state=0,
    )  # fmt: skip
    begin = time.process_time()
    svm.fit(X, y)
    return time.process_time() - begin, svm.coef_


def by_partwise(X, y, c, tol):
    """Seconds, weights, and the final state of the solver."""
    begin = time.process_time()
    n, n_classes = len(y), int(y.max()) + 1
    problem = Multiclass(n_classes).pack(X, y)
    state = BCFW(tol=tol).solve(problem, Objective.create(n * c, n, "l1"))
    seconds = time.process_time() - begin
    weights = problem.compact(state.model).reshape(-1, n_classes).T
    return seconds, np.ascontiguousarray(weights), state


def compare(name, data, rounds):
    (X, X_test), (y, y_test), c = data
    print(f"\n{name}: {X.shape[0]} x {X.shape[1]}, {y.max() + 1} classes, c = {c}")
    by_partwise(X[:200], y[:200], c, 0.1)  # compiles
    gaps = list(GAPS)
    for tol in (0.1, 0.01):
        theirs, ours = [], []
        for _ in range(rounds):
            seconds, W = by_liblinear(X, y, c, tol)
            theirs.append(seconds)
            target = objective_of(W, X, y, c)
            peer_accuracy = np.mean((X_test @ W.T).argmax(axis=1) == y_test)
            seconds, V, state = by_partwise(X, y, c, gaps[0])
            while objective_of(V, X, y, c) > target:
                gaps.pop(0)
                seconds, V, state = by_partwise(X, y, c, gaps[0])
                ours = []
            ours.append(seconds)
        gap, value = gaps[0], objective_of(V, X, y, c)
        accuracy = np.mean((X_test @ V.T).argmax(axis=1) == y_test)
        print(
            f"liblinear tol {tol}: {min(theirs):.2f} s, objective {target:.2f}, "
            f"test accuracy {peer_accuracy:.4f}"
        )
        print(
            f"  partwise gap {gap}: {min(ours):.2f} s, objective {value:.2f}, dual "
            f"{state.dual:.2f}, {state.n_iter} sweeps, test accuracy {accuracy:.4f}"
        )
        both = [", ".join(f"{t:.2f}" for t in times) for times in (ours, theirs)]
        ratio = min(ours) / min(theirs)
        print(f"  time of partwise / liblinear: {ratio:.2f} ({both[0]} / {both[1]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"), type=Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--only", choices=["newsgroups", "chunking"])
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set PARTWISE_DATA")
    warnings.filterwarnings("ignore", category=FutureWarning)
    for name, read in (("newsgroups", newsgroups), ("chunking", chunking)):
        if options.only in (None, name):
            compare(name, read(options.data), options.rounds)


if __name__ == "__main__":
    main()
