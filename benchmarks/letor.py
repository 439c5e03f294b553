"""LETOR's MQ2008: every measure of `Ranker` beside a ranking SVM and LambdaMART.

    python benchmarks/letor.py --data DIR [--jobs 1] [--only NAME ...]

The official five folds of `letor_mq2008`: three parts train, one chooses the settings,
one is the test; every query is tested once. C is chosen from GRID times the number of
queries by the measure that a model is trained for (swapped pairs for the ranking SVM).

ranking SVM: scikit-learn's `LinearSVC` with hinge loss on the differences of all pairs
             of different grades in a query, each pair counted alike.
lambdarank:  LightGBM's with its defaults, steps of 0.05, stopped by NDCG@10 of the
             validation part.

Means over all 784 queries, with standard errors in brackets; a query without a
relevant row counts 0, also in swapped pairs, where less is better. The last lines
compare each model with the ranking SVM, query by query: the mean difference, and the
p-value of a two-sided signed-rank test.
"""

import argparse
import gzip
import os
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.svm import LinearSVC

from partwise import Ranker
from partwise.metrics.rankings import query_measures

SHOWN = ("p@1", "p@3", "p@5", "p@10", "map", "ndcg@10", "mrr", "swapped_pairs")
GRID = (0.1, 1.0, 10.0, 100.0)
OURS = {
    "swapped pairs": ({"measure": "swapped_pairs"}, "swapped_pairs"),
    "average precision": ({"measure": "average_precision"}, "map"),
    "reciprocal rank": ({"measure": "reciprocal_rank"}, "mrr"),
    "NDCG@10": ({"measure": "ndcg", "k": 10}, "ndcg@10"),
    "NDCG@10 by pairs": ({"measure": "ndcg_pairs", "k": 10}, "ndcg@10"),
    "precision@5": ({"measure": "precision_at_k", "k": 5}, "p@5"),
}


def read(path):
    """Rows, grades and queries of a file in svmlight format."""
    values, grades, query = [], [], []
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for line in lines:
            fields = line.split("#")[0].split()
            grades.append(float(fields[0]))
            query.append(fields[1])
            values.append([float(field.split(":")[1]) for field in fields[2:]])
    begin = [r for r in range(len(query)) if r == 0 or query[r] != query[r - 1]]
    return np.array(values), np.array(grades), np.array([*begin, len(query)])


def joined(parts):
    X, grades = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    sizes = np.concatenate([np.diff(part[2]) for part in parts])
    return X, grades, np.append(0, np.cumsum(sizes))


def judge(predict, part):
    """Measures of each query, by name."""
    X, grades, offset = part
    return query_measures(grades, predict(X), offset)


def choose(models, part, name):
    """The model with the best mean of a measure."""
    sign = -1 if name == "swapped_pairs" else 1
    return max(models, key=lambda predict: sign * judge(predict, part)[name].mean())


def fit_ours(settings, C, part, options):
    X, grades, offset = part
    groups = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    ranker = Ranker(
        **settings, C=C * (len(offset) - 1), tol=options.tol, n_jobs=options.jobs
    )
    return ranker.fit(X, grades, groups=groups).predict


def fit_svm(C, part):
    X, grades, offset = part
    differences = []
    for first, last in pairwise(offset.tolist()):
        x, y = X[first:last], grades[first:last]
        better, worse = np.nonzero(y[:, None] > y[None, :])
        differences.append(x[better] - x[worse])
    x = np.concatenate(differences)
    sign = np.where(np.arange(len(x)) % 2, 1, -1)
    model = LinearSVC(
        loss="hinge", C=C / len(x) * len(offset), fit_intercept=False, random_state=0
    ).fit(x * sign[:, None], sign)
    return lambda X: X @ model.coef_[0]


def fit_lambdarank(part, validation):
    import lightgbm

    X, grades, offset = part
    new_X, new_grades, new_offset = validation
    model = lightgbm.LGBMRanker(
        n_estimators=500, learning_rate=0.05, verbose=-1, random_state=0, n_jobs=1
    )
    model.fit(
        X, grades, group=np.diff(offset), eval_set=[(new_X, new_grades)],
        eval_group=[np.diff(new_offset)], eval_at=[10],
        callbacks=[lightgbm.early_stopping(50, verbose=False)],
    )  # fmt: skip
    return model.predict


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--only", nargs="*", help="models beside the ranking SVM")
    options = parser.parse_args()
    ours = {name: OURS[name] for name in OURS if name in (options.only or OURS)}
    has_trees = "lambdarank" in (options.only or ["lambdarank"])
    warnings.filterwarnings("ignore")
    folder = Path(options.data) / "letor_mq2008"
    parts = [read(folder / f"S{k}.txt.gz") for k in range(1, 6)]
    values = {name: [] for name in ("ranking SVM", "lambdarank", *ours)}
    if not has_trees:
        del values["lambdarank"]
    began = time.process_time()
    for fold in range(5):
        train = joined([parts[(fold + k) % 5] for k in range(3)])
        validation, test = parts[(fold + 3) % 5], parts[(fold + 4) % 5]
        svm = choose([fit_svm(C, train) for C in GRID], validation, "swapped_pairs")
        values["ranking SVM"].append(judge(svm, test))
        if has_trees:
            trees = fit_lambdarank(train, validation)
            values["lambdarank"].append(judge(trees, test))
        for name, (settings, measure) in ours.items():
            models = [fit_ours(settings, C, train, options) for C in GRID]
            values[name].append(judge(choose(models, validation, measure), test))
        seconds = time.process_time() - began
        print(f"fold {fold + 1} done, {seconds:.0f} s of processor time", flush=True)
    each = {
        name: {m: np.concatenate([fold[m] for fold in folds]) for m in SHOWN}
        for name, folds in values.items()
    }
    print("| | " + " | ".join(SHOWN) + " |")
    for name, measures in each.items():
        cells = [
            f"{v.mean():.3f} ({v.std(ddof=1) / np.sqrt(len(v)):.3f})"
            for v in measures.values()
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")
    for name, measures in each.items():
        if name != "ranking SVM":
            report = []
            for m, v in measures.items():
                other = each["ranking SVM"][m]
                p = wilcoxon(v, other).pvalue if (v != other).any() else 1.0
                report.append(f"{m} {np.mean(v - other):+.4f} p={p:.2g}")
            print(f"{name}: " + ", ".join(report))


if __name__ == "__main__":
    main()
