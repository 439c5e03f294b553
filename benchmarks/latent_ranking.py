"""Precision at k on LETOR's MQ2008: Table 3 of Yu and Joachims (ICML 2009).

    python benchmarks/latent_ranking.py --data DIR [--folds 5] [--places 1 3 5 10]

Five folds of queries (parts S1 … S5 of `letor_mq2008`): three parts to learn from, one
to choose C, one to test on. For each k: weights that classify documents (where the
latent SVM begins), the latent SVM for precision at k, the ranking SVM (swapped pairs)
and ListNet with linear scores. C per query is chosen from the grid by precision at
k on its part. Also rounds of the latent SVM against C (Figure 3).
"""

import argparse
import gzip
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np

from partwise import Ranker
from partwise.outputs.ranking.estimator import first_weights
from partwise.structures.ranking.queries import by_query

arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
arguments.add_argument("--data", type=Path, required=True)
arguments.add_argument("--folds", type=int, default=5)
arguments.add_argument("--places", type=int, nargs="+", default=[1, 3, 5, 10])
arguments.add_argument("--C", type=float, nargs="+", default=[0.1, 1, 10, 100, 1000])
arguments.add_argument("--tol", type=float, default=0.01)


def read_part(path):
    """Rows, grades and queries of one part."""
    X, y, queries = [], [], []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        for line in lines:
            grade, query, *rest = line.split("#")[0].split()
            X.append([float(item.split(":")[1]) for item in rest])
            y.append(float(grade))
            queries.append(query)
    return np.array(X), np.array(y), np.array(queries)


def joined(parts):
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def precision(scores, part, k):
    """Mean precision at k over queries."""
    order, offset = by_query(part[2], len(scores))
    hits = []
    grades, scores = part[1][order] > 0, np.asarray(scores)[order]
    for first, last in pairwise(offset):
        best = np.argsort(-scores[first:last], kind="stable")[:k]
        hits.append(grades[first:last][best].sum() / k)
    return float(np.mean(hits))


def main():
    given = arguments.parse_args()
    folder = given.data / "letor_mq2008"
    parts = [read_part(path) for path in sorted(folder.glob("S*.txt*"))]
    if len(parts) != 5:
        raise SystemExit(f"{folder} has {len(parts)} parts S1 … S5 instead of 5")
    table, rounds = defaultdict(list), defaultdict(list)
    began = time.process_time()
    for fold in range(given.folds):
        train = joined([parts[(fold + i) % 5] for i in range(3)])
        choose, test = parts[(fold + 3) % 5], parts[(fold + 4) % 5]
        X, y, groups = train
        n = len(np.unique(groups))
        order, offset = by_query(groups, len(y))
        first = first_weights(X[order], y[order], offset)

        def fitted(settings, X=X, y=y, groups=groups, n=n):
            return [
                Ranker(C=C * n, tol=given.tol, **settings).fit(X, y, groups=groups)
                for C in given.C
            ]

        shared = {
            "ranking SVM": fitted({}),
            "ListNet": fitted({"loss": "log"}),
        }
        for k in given.places:
            latent = fitted({"measure": "precision_at_k", "k": k, "latent": True})
            for C, ranker in zip(given.C, latent, strict=True):
                rounds[C].append(ranker.n_iter_)
            table["initial weights", k].append(precision(test[0] @ first, test, k))
            for name, rankers in (shared | {"latent SVM": latent}).items():
                values = [precision(r.predict(choose[0]), choose, k) for r in rankers]
                best = rankers[int(np.argmax(values))]
                table[name, k].append(precision(best.predict(test[0]), test, k))
        print(f"fold {fold + 1}: CPU {time.process_time() - began:.0f} s", flush=True)
    print("| method | " + " | ".join(f"P@{k}" for k in given.places) + " |")
    for name in ("initial weights", "latent SVM", "ranking SVM", "ListNet"):
        means = [f"{np.mean(table[name, k]):.3f}" for k in given.places]
        print(f"| {name} | " + " | ".join(means) + " |")
    print("rounds:", {C: round(float(np.mean(each)), 1) for C, each in rounds.items()})


if __name__ == "__main__":
    main()
