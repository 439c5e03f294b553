"""Sets of labels: graphs and losses, beside one-vs-rest and classifier chains.

    python benchmarks/multilabel.py [--data DIR] [--only NAME ...] [--c 0.01 0.1 1]
        [--losses hamming] [--differences]

DIR, by default PARTWISE_DATA, holds `multilabel_emotions`, `multilabel_scene`,
`multilabel_yeast` (their own training and test parts, features standardised) and
`taxonomy_enron` (rows scaled to length 1; all nodes of its tree are labels).

C of each model is the best of the grid in three-fold cross-validation within the
training rows, by the loss that the model is trained for (one-vs-rest and chains:
Hamming loss). The grid is C/n of ours and C of LinearSVC, times K for losses of whole
sets, which are K times smaller. Branch and bound over more than 14 labels stops after
1,000 nodes. The last column is the measure less that of independent labels trained for
the same loss: mean over test rows ± standard error. Times are those of the last fit, on
all training rows, on one core.

`--differences` compares all pairs with independent labels at each C instead: Hamming
loss, the mean difference over rows with its standard error, objectives and gaps.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from partwise import MultilabelClassifier
from partwise.outputs.multilabel.metrics import all_measures
from partwise.readers import read_arff, read_label_sets
from partwise.structures.taxonomy import NodeSets
from partwise.structures.taxonomy.nodes import Nodes

NAMES = ("emotions", "scene", "yeast", "enron")
OURS = [
    ("independent", "hamming"), ("tree", "hamming"), ("full", "hamming"),
    ("independent", "jaccard"), ("full", "jaccard"),
    ("independent", "f1"), ("full", "f1"),
]  # fmt: skip
MANY = 14  # labels, from which on branch and bound is cut short
GRID = [0.001, 0.003, 0.01, 0.03, 0.1]
SHOWN = ("hamming_loss", "jaccard", "example_f1", "micro_f1", "macro_f1", "exact_match")
TRAINED_FOR = {"hamming": "hamming_loss", "jaccard": "jaccard", "f1": "example_f1"}


def read(name, folder):
    """Training and test rows, both as (X, y)."""
    if name == "enron":
        files = [
            read_arff(folder / "taxonomy_enron" / f"Enron_corr_{part}.arff.gz")
            for part in ("trainvalid", "test")
        ]
        sets = NodeSets(Nodes.read(files[0].parents))
        rows = [[y if isinstance(y, list) else [y] for y in f.y] for f in files]
        pairs = zip(files, map(sets.closure, rows), strict=True)
        return [(normalize(csr_array(file.X)), y) for file, y in pairs]
    folder = folder / f"multilabel_{name}"
    files = [
        read_label_sets(folder / f"{name}-{part}.arff.gz", str(folder / f"{name}.xml"))
        for part in ("train", "test")
    ]
    dense = [f.X.toarray() if hasattr(f.X, "toarray") else f.X for f in files]
    scaler = StandardScaler().fit(dense[0])
    return [(scaler.transform(X), f.y) for X, f in zip(dense, files, strict=True)]


def models(n_labels):
    """Names, how a model is made from the grid's number, and what it is trained for."""

    def svc(c):
        return LinearSVC(C=c, loss="hinge", max_iter=20_000)

    yield "one-vs-rest", lambda c, n: OneVsRestClassifier(svc(c)), "hamming_loss"
    yield "chain", lambda c, n: ClassifierChain(svc(c)), "hamming_loss"
    for graph, cost in OURS:
        if graph == "full" and cost != "hamming" and n_labels > MANY:
            continue  # no exact search

        def make(c, n, graph=graph, cost=cost):
            factor = 1 if cost == "hamming" else n_labels
            return MultilabelClassifier(
                factor * c * n, graph=graph, cost=cost, tol=1e-2, max_iter=3000,
                time_limit=30.0, search_nodes=10_000 if n_labels <= MANY else 1000,
            )  # fmt: skip

        yield f"{graph}, {cost}", make, TRAINED_FOR[cost]


def predict(model, X, y, X_new):
    """Labels of new rows; those of no training row, or of all, are constant."""
    known = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)
    predicted = np.tile(y[0], (X_new.shape[0], 1))
    predicted[:, known] = model.fit(X, y[:, known]).predict(X_new)
    return predicted


def chosen_c(make, goal, X, y, grid):
    """The number of the grid that is best in three-fold cross-validation."""
    sign = 1.0 if goal == "hamming_loss" else -1.0
    values = []
    for c in grid:
        folds = KFold(3, shuffle=True, random_state=0).split(X)
        losses = []
        for train, test in folds:
            predicted = predict(make(c, len(train)), X[train], y[train], X[test])
            losses.append(sign * all_measures(y[test], predicted)[goal])
        values.append(np.mean(losses))
    return grid[int(np.argmin(values))]


def study(name, options):
    (X, y), (X_new, y_new) = read(name, options.data)
    print(
        f"\n{name}: {len(y)} training rows, {X.shape[1]} columns, {y.shape[1]} labels"
    )
    print(f"| {name} | C/n | " + " | ".join(SHOWN) + " | seconds | gap | change |")
    print("| --- |" + " --- |" * (len(SHOWN) + 4))
    alone = {}  # of each loss: values of the test rows with independent labels
    wanted = [TRAINED_FOR[loss] for loss in options.losses]
    for title, make, goal in models(y.shape[1]):
        if goal not in wanted:
            continue
        c = chosen_c(make, goal, X, y, options.c)
        model = make(c, len(y))
        began = time.perf_counter()
        predicted = predict(model, X, y, X_new)
        seconds = time.perf_counter() - began
        measures = all_measures(y_new, predicted)
        cells = [
            f"**{measures[m]:.4f}**" if m == goal else f"{measures[m]:.4f}"
            for m in SHOWN
        ]
        gap = change = ""
        if hasattr(model, "certificate_"):
            gap = f"{model.certificate_.relative_gap:.1%}"
            rows = zip(y_new, predicted, strict=True)
            values = [all_measures([y], [y_hat])[goal] for y, y_hat in rows]
            less = np.subtract(values, alone.setdefault(goal, values))
            error = less.std(ddof=1) / np.sqrt(len(less))
            change = f"{less.mean():+.4f} ± {error:.4f}"
        print(
            f"| {title} | {c:g} | {' | '.join(cells)} | {seconds:.2f} | {gap} | "
            f"{change} |",
            flush=True,
        )


def differences(name, options):
    """All pairs against independent labels, row by row, at each C."""
    (X, y), (X_new, y_new) = read(name, options.data)
    known = (y.min(axis=0) == 0) & (y.max(axis=0) == 1)
    y, y_new = y[:, known], y_new[:, known]
    print(f"\n| {name}: C/n | rows | independent | full | difference | full, gap |")
    print("| --- | --- | --- | --- | --- | --- |")
    for c in options.c:
        wrong, gap = {"training": [], "test": []}, 0.0
        for graph in ("independent", "full"):
            model = MultilabelClassifier(
                c * len(y), graph=graph, tol=1e-3, time_limit=30.0,
                search_nodes=10_000 if y.shape[1] <= MANY else 1000,
            ).fit(X, y)  # fmt: skip
            wrong["training"].append((model.predict(X) != y).mean(axis=1))
            wrong["test"].append((model.predict(X_new) != y_new).mean(axis=1))
            gap = model.certificate_.relative_gap
        for rows, (one, other) in wrong.items():
            change = other - one
            error = change.std(ddof=1) / np.sqrt(len(change))
            print(
                f"| {c:g} | {rows} | {one.mean():.4f} | {other.mean():.4f} | "
                f"{change.mean():+.4f} ± {error:.4f} | {gap:.1%} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--c", nargs="*", type=float, default=GRID)
    parser.add_argument("--losses", nargs="*", default=list(TRAINED_FOR))
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    options.data = Path(options.data)
    warnings.simplefilter("ignore")
    for graph, cost in OURS:  # compiles what is timed below
        for X in (np.eye(4), csr_array(np.eye(4))):
            y = [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1]]
            MultilabelClassifier(graph=graph, cost=cost, max_iter=3).fit(X, y)
    for name in options.only:
        (differences if options.differences else study)(name, options)


if __name__ == "__main__":
    main()
