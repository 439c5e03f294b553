"""Table 1 of paper 001: the measure-optimised model against an SVM with class weights.

    python benchmarks/measure_table.py --data DIR [--only NAME] [--jobs 2] [--log FILE]
        [--every K]

reuters:   every topic of `reuters21578_modapte` with at least 20 training stories, each
           against the rest; tf-idf of words in title and text (at least 3 stories),
           rows of length 1; ModApte's test part.
acq:       the 2,000 and 600 documents of `svmlight_examples`, a tenth of the positive
           ones drawn at random, five times.
optdigits: each digit against the others, pixels from 0 to 1.

`MeasureClassifier` is trained for the measure of its column. The other row is
`LinearSVC` with hinge loss and a weight of the positive class. C, and the weight, are
those of the best mean of the same measure in three stratified folds of the training
part; grids below. F1 is that of `predict`. Means over problems, and the p-value of a
two-sided Wilcoxon signed-rank test over problems. ArXiv and Covertype, the other data
of the paper, are not to be had. --every K takes the problems 0, K, 2K, … of each data
set in their order (topics by name), where time is short: no look at results decides.
"""

import argparse
import csv
import gzip
import json
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from partwise import MeasureClassifier
from partwise.metrics.binary import prbep

MEASURES = ("f1", "prbep", "roc_auc")
# times n/4, which for errors is C = 1 of LinearSVC
FACTORS = {
    "f1": (0.1, 1.0, 10.0, 100.0, 1000.0),
    "prbep": (0.1, 1.0, 10.0, 100.0, 1000.0),
    "roc_auc": (0.001, 0.01, 0.1, 1.0, 10.0),
}
PEER_C = (0.01, 0.1, 1.0, 10.0, 100.0)
PEER_WEIGHT = (1.0, 3.0, 10.0, 30.0)


def judge(model, X, y):
    """All three measures."""
    scores = model.decision_function(X)
    return {
        "f1": f1_score(y, model.predict(X), zero_division=0.0),
        "prbep": prbep(y, scores),
        "roc_auc": roc_auc_score(y, scores),
    }


def fit_ours(measure, factor, X, y):
    model = MeasureClassifier(
        measure=measure, C=factor * len(y) / 4, tol=0.01, max_iter=300
    )
    return model.fit(X, y)


def fit_peer(C, weight, X, y):
    model = LinearSVC(
        loss="hinge", C=C, class_weight={0: 1.0, 1: weight}, random_state=0
    )
    return model.fit(X, y)


def solve(problem):
    """Test measures of both, with what was chosen, for one binary problem."""
    warnings.filterwarnings("ignore")  # liblinear and ours at their last iteration
    name, X, y, X_new, y_new = problem
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def mean(make):
        each = [judge(make(X[a], y[a]), X[b], y[b]) for a, b in folds]
        return {m: np.mean([one[m] for one in each]) for m in MEASURES}

    grid = [(C, weight) for C in PEER_C for weight in PEER_WEIGHT]
    of_peer = [mean(lambda X, y, s=setting: fit_peer(*s, X, y)) for setting in grid]
    result = {"name": name, "positive": int(y.sum())}
    for measure in MEASURES:
        at = int(np.argmax([values[measure] for values in of_peer]))
        peer = judge(fit_peer(*grid[at], X, y), X_new, y_new)
        factors = FACTORS[measure]
        of_ours = [
            mean(lambda X, y, f=f, m=measure: fit_ours(m, f, X, y))[measure]
            for f in factors
        ]
        best = factors[int(np.argmax(of_ours))]
        ours = judge(fit_ours(measure, best, X, y), X_new, y_new)
        result[measure] = [float(ours[measure]), float(peer[measure]), best, *grid[at]]
    return result


def reuters(folder):
    def read(part):
        path = folder / "reuters21578_modapte" / f"{part}.tsv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        return [row[1].split() for row in rows], [" ".join(row[2:]) for row in rows]

    (topics, texts), (new_topics, new_texts) = read("train"), read("test")
    words = TfidfVectorizer(min_df=3)
    X, X_new = words.fit_transform(texts), words.transform(new_texts)
    names, counts = np.unique(np.concatenate(topics), return_counts=True)
    known = {topic for row in new_topics for topic in row}
    for topic in names[counts >= 20]:
        if topic in known:  # a measure of the test part needs a positive row
            y = np.array([topic in row for row in topics]).astype(int)
            y_new = np.array([topic in row for row in new_topics]).astype(int)
            yield str(topic), X, y, X_new, y_new


def acq(folder):
    files = [
        folder / "svmlight_examples" / f"acq_{p}.dat.gz" for p in ("train", "test")
    ]
    X, y = load_svmlight_file(str(files[0]), n_features=9947)
    X_new, y_new = load_svmlight_file(str(files[1]), n_features=9947)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows, new = (
            np.sort(
                np.append(
                    np.flatnonzero(each < 0),
                    rng.permutation(np.flatnonzero(each > 0))[
                        : int(sum(each > 0)) // 10
                    ],
                )
            )
            for each in (y, y_new)
        )
        labels = (y[rows] > 0).astype(int), (y_new[new] > 0).astype(int)
        yield f"acq {seed}", X[rows].tocsr(), labels[0], X_new[new].tocsr(), labels[1]


def optdigits(folder):
    parts = []
    for part in ("tra", "tes"):
        path = folder / "optdigits" / f"optdigits.{part}.gz"
        with gzip.open(path, "rt", encoding="ascii") as lines:
            table = np.array([[int(v) for v in row] for row in csv.reader(lines)])
        parts += [table[:, :-1] / 16.0, table[:, -1]]
    X, y, X_new, y_new = parts
    for digit in range(10):
        yield (
            str(digit),
            X,
            (y == digit).astype(int),
            X_new,
            (y_new == digit).astype(int),
        )


DATA = {"optdigits": optdigits, "acq": acq, "reuters": reuters}


def table(name, results):
    print(f"{name}: {len(results)} problems", flush=True)
    for measure in MEASURES:
        ours, peer = np.array([one[measure][:2] for one in results]).T
        differ = ours != peer
        p = wilcoxon(ours, peer).pvalue if differ.any() else 1.0
        print(
            f"  {measure:8s} ours {100 * ours.mean():5.1f}  LinearSVC "
            f"{100 * peer.mean():5.1f}  better in {np.sum(ours > peer)}, equal "
            f"{np.sum(~differ)}, worse {np.sum(ours < peer)}; p = {p:.2g}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--only", choices=DATA, action="append")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--log", help="a line of JSON for each problem")
    parser.add_argument("--every", type=int, default=1, help="one problem in so many")
    options = parser.parse_args()
    for name in options.only or DATA:
        results = []
        with ProcessPoolExecutor(options.jobs) as pool:
            problems = islice(DATA[name](Path(options.data)), 0, None, options.every)
            for one in pool.map(solve, problems):
                results.append(one)
                if options.log:
                    with open(options.log, "a", encoding="utf-8") as log:
                        log.write(json.dumps({"data": name, **one}) + "\n")
        table(name, results)


if __name__ == "__main__":
    main()
