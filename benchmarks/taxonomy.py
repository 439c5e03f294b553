"""Taxonomies: the four models of Table 1 of Tsochantaridis et al. (ICML 2004).

    python benchmarks/taxonomy.py [--data DIR] [--study table|whole|sets] [--only NAME]

DIR, by default PARTWISE_DATA, holds `newsgroups20_bydate`, `taxonomy_imclef07a`,
`taxonomy_diatoms` and `taxonomy_enron`. WIPO-alpha, which the paper uses, is not among
them.

table: flat and taxonomic features ('flt', 'tax') × training for 0/1 and for tree loss,
       and ``features="balanced"`` ('bal') for tree loss (--formulation, L1, C = n·c,
       rows of length 1). As in the paper, 4 training rows per class with 3 folds, then
       2 with 5: a fold draws so many rows of every class that has more, and tests on
       the others of these classes, 3,000 at most. c is chosen for each model and fold
       among --c by the tree loss of a two-fold cross-validation within the training
       rows. ± is the standard error over folds. The tests compare each model with the
       first row by row (losses of a row are averaged over the folds that test it):
       Wilcoxon's signed ranks for the tree loss.
whole: training on the whole training file, test on the test file, beside LinearSVC.
       `hiclass` is compared where it is installed.
sets:  several classes per row, on `taxonomy_enron`, beside one LinearSVC per node.

Seconds are those of the clock, after compilation.
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
from scipy.sparse import csr_array
from scipy.stats import wilcoxon
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from partwise import TaxonomyClassifier
from partwise.readers import read_arff, read_parents
from partwise.structures.taxonomy import NodeSets, Taxonomy
from partwise.structures.taxonomy.measures import class_measures, set_measures
from partwise.structures.taxonomy.nodes import Nodes

MODELS = {
    "flt 0/1": {"features": "class", "cost": "zero_one"},
    "tax 0/1": {"features": "ancestors", "cost": "zero_one"},
    "flt tree": {"features": "class", "cost": "tree"},
    "tax tree": {"features": "ancestors", "cost": "tree"},
    "bal tree": {"features": "balanced", "cost": "tree"},
}
FILES = {
    "imclef07a": ("taxonomy_imclef07a", "ImCLEF07A_Train", "ImCLEF07A_Test"),
    "diatoms": ("taxonomy_diatoms", "Diatoms_train", "Diatoms_test"),
}
MOST_TESTED = 3000


def read(name, folder):
    """Training and test rows with their classes, and the table of parents."""
    if name == "newsgroups":
        csv.field_size_limit(sys.maxsize)
        texts, y = [], []
        for part in ("train", "test"):
            path = folder / "newsgroups20_bydate" / f"{part}.tsv.gz"
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                rows = [line.rstrip("\n").split("\t") for line in lines]
            texts.append([f"{subject}\n{body}" for _, _, subject, body in rows])
            y.append(np.array([group for group, *_ in rows]))
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
        X = [vectorizer.fit_transform(texts[0]), vectorizer.transform(texts[1])]
        parents = read_parents(folder / "newsgroups20_bydate" / "taxonomy.tsv")
        return X, y, parents
    where, *names = FILES[name]
    files = [read_arff(folder / where / f"{one}.arff.gz") for one in names]
    scaler = StandardScaler().fit(files[0].X)
    X = [normalize(scaler.transform(file.X)) for file in files]
    return X, [file.y for file in files], files[0].parents


def draw(y, n_per_class, rng):
    """Training rows, and test rows of the same classes."""
    train, rest = [], []
    for name in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == name))
        if len(rows) > n_per_class:
            train.append(rows[:n_per_class])
            rest.append(rows[n_per_class:])
    rest = rng.permutation(np.concatenate(rest))[:MOST_TESTED]
    return np.concatenate(train), rest


def table(name, options):
    X, y, parents = read(name, options.data)
    X, y = X[0], y[0]
    nodes = Nodes.read(parents, np.unique(y).tolist())
    classes = np.unique(y).tolist()
    number = {c: k for k, c in enumerate(classes)}
    cost = Taxonomy(nodes, classes).cost_matrix()
    codes = np.array([number[c] for c in y])

    def fit(model, c, train):
        return TaxonomyClassifier(
            parents=parents, C=c * len(train), fit_intercept=False, tol=options.tol,
            formulation=options.formulation, **MODELS[model],
        ).fit(X[train], y[train])  # fmt: skip

    def losses_of(classifier, test):
        predicted = [number[p] for p in classifier.predict(X[test])]
        return cost[codes[test], predicted], codes[test] != predicted

    def chosen_c(model, train):
        if len(options.c) == 1:
            return options.c[0]
        halves = [train[0::2], train[1::2]]  # rows of a class are neighbours
        values = [
            sum(
                losses_of(fit(model, c, one), other)[0].sum()
                for one, other in (halves, halves[::-1])
            )
            for c in options.c
        ]
        return options.c[int(np.argmin(values))]

    for n_per_class in options.rows:
        n_folds = {4: 3, 2: 5}[n_per_class]
        losses = {m: np.full((n_folds, len(y)), np.nan) for m in MODELS}
        errors = {m: np.full((n_folds, len(y)), np.nan) for m in MODELS}
        chosen = {m: [] for m in MODELS}
        for fold in range(n_folds):
            rng = np.random.default_rng([fold, n_per_class])
            train, test = draw(y, n_per_class, rng)
            for model in MODELS:
                c = chosen_c(model, train)
                chosen[model].append(c)
                loss, error = losses_of(fit(model, c, train), test)
                losses[model][fold, test], errors[model][fold, test] = loss, error
        print(
            f"{name}: {n_per_class} rows per class, {n_folds} folds, "
            f"{options.formulation} rescaling, {len(train)} training and {len(test)} "
            "test rows"
        )
        for model in MODELS:
            accuracy = 100 * (1 - np.nanmean(errors[model], axis=1))
            loss = np.nanmean(losses[model], axis=1)
            print(
                f"  {model:9s} accuracy {accuracy.mean():6.2f} "
                f"± {accuracy.std(ddof=1) / n_folds**0.5:4.2f}   tree loss "
                f"{loss.mean():.4f} ± {loss.std(ddof=1) / n_folds**0.5:.4f}   c "
                + " ".join(f"{c:g}" for c in chosen[model])
            )
        tested = ~np.isnan(losses["flt 0/1"]).all(axis=0)
        first = np.nanmean(losses["flt 0/1"][:, tested], axis=0)
        for model in [m for m in MODELS if m != "flt 0/1"]:
            other = np.nanmean(losses[model][:, tested], axis=0)
            fall = 100 * (1 - other.mean() / first.mean())
            p = wilcoxon(first, other, zero_method="zsplit").pvalue
            print(
                f"  {model} against flt 0/1: tree loss falls by {fall:.1f} %, "
                f"p = {p:.2g} over {tested.sum()} rows"
            )
        sys.stdout.flush()


def whole(name, options):
    X, y, parents = read(name, options.data)
    nodes = Nodes.read(parents, np.unique(np.concatenate(y)).tolist())
    print(f"{name}: {X[0].shape[0]} training and {X[1].shape[0]} test rows")

    def show(title, predicted, seconds, note=""):
        measures = class_measures(nodes, y[1].tolist(), predicted.tolist())
        print(
            f"  {title:12s} accuracy {100 * measures['accuracy']:6.2f}   tree loss "
            f"{measures['tree_loss']:.4f}   {seconds:6.2f} s{note}",
            flush=True,
        )

    for model, settings in MODELS.items():
        began = time.perf_counter()
        classifier = TaxonomyClassifier(
            parents=parents, C=options.c[0] * len(y[0]), fit_intercept=False,
            tol=options.tol, time_limit=options.time_limit, **settings,
        ).fit(X[0], y[0])  # fmt: skip
        seconds = time.perf_counter() - began
        gap = classifier.certificate_.relative_gap
        show(model, classifier.predict(X[1]), seconds, f"  gap {gap:.1%}")
    if options.no_peers:
        return
    for kind in ("ovr", "crammer_singer"):
        began = time.perf_counter()
        peer = LinearSVC(C=options.c[0], multi_class=kind, fit_intercept=False)
        peer.fit(X[0], y[0])
        seconds = time.perf_counter() - began
        show(f"SVC {kind[:7]}", peer.predict(X[1]), seconds)
    try:
        from hiclass import LocalClassifierPerParentNode
    except ImportError:
        print("  hiclass is not installed")
        return
    ways = nodes.ancestors()
    depth = int(ways.sum(axis=1).max())
    paths = np.full((len(y[0]), depth), "", object)
    for i, label in enumerate(y[0]):
        way = np.flatnonzero(ways[nodes.number[label]])
        paths[i, : len(way)] = [nodes.names[z] for z in way]
    began = time.perf_counter()
    local = LocalClassifierPerParentNode(LinearSVC(C=options.c[0]))
    local.fit(X[0], paths)
    predicted = local.predict(X[1]).tolist()
    last = [[step for step in row if step][-1] for row in predicted]
    show("hiclass", np.array(last), time.perf_counter() - began)


def sets(options):
    names = ("Enron_corr_trainvalid", "Enron_corr_test")
    folder = options.data / "taxonomy_enron"
    train, test = (read_arff(folder / f"{name}.arff.gz") for name in names)
    X = [normalize(csr_array(file.X)) for file in (train, test)]
    nodes = Nodes.read(train.parents)
    structure = NodeSets(nodes)
    y = [structure.closure(as_lists(file.y)) for file in (train, test)]
    print(f"enron: {len(y[0])} training and {len(y[1])} test rows, {len(nodes)} nodes")

    def show(title, predicted, seconds, note=""):
        measures = set_measures(y[1], predicted)
        print(
            f"  {title:28s} F1 {measures['hierarchical_f1']:.4f}   exact "
            f"{measures['exact_match']:.4f}   hamming {measures['hamming_loss']:.4f}   "
            f"{seconds:.2f} s{note}",
            flush=True,
        )

    for c in options.c:
        for leaves in ("optional", "mandatory"):
            for cost in ("uniform", "siblings"):
                began = time.perf_counter()
                classifier = TaxonomyClassifier(
                    parents=train.parents, multiple=True, leaves=leaves, tol=1e-2,
                    node_cost=cost, C=c * len(nodes) * len(y[0]),
                    time_limit=options.time_limit,
                )  # fmt: skip
                if leaves == "mandatory":
                    keep = [structure_is_full(nodes, row) for row in y[0]]
                else:
                    keep = np.ones(len(y[0]), bool)
                rows = [structure.names(row) for row in y[0][keep]]
                classifier.fit(X[0][keep], rows)
                seconds = time.perf_counter() - began
                predicted = classifier.model_.predict_nodes(X[1])
                gap = f"  gap {classifier.certificate_.relative_gap:.1%}"
                show(f"c {c:g}, {leaves}, {cost}", predicted, seconds, gap)
        began = time.perf_counter()
        predicted = np.zeros_like(y[1])
        for z in range(len(nodes)):
            if 0 < y[0][:, z].sum() < len(y[0]):
                svc = LinearSVC(C=c, loss="hinge", max_iter=20_000)
                predicted[:, z] = svc.fit(X[0], y[0][:, z]).predict(X[1])
        show(f"c {c:g}, LinearSVC per node", predicted, time.perf_counter() - began)


def structure_is_full(nodes, row):
    return NodeSets(nodes, leaves="mandatory").is_valid(row)


def as_lists(y):
    return [label if isinstance(label, list) else [label] for label in y.tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", default="table", choices=["table", "whole", "sets"])
    parser.add_argument("--only", nargs="*", default=["newsgroups", *FILES])
    grid = [0.1, 1.0, 10.0, 100.0]
    parser.add_argument("--c", nargs="*", type=float, default=grid, help="C/n")
    parser.add_argument(
        "--rows", nargs="*", type=int, default=[4, 2], choices=[4, 2], help="per class"
    )
    parser.add_argument("--formulation", default="margin")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    options.data = Path(options.data)
    warnings.simplefilter("ignore")
    tiny = TaxonomyClassifier(max_iter=2)
    for matrix in (np.eye(4), csr_array(np.eye(4))):
        for settings in MODELS.values():  # compiles kernels before times are taken
            tiny.set_params(parents="/", **settings).fit(
                matrix, ["a/b", "a/c", "d", "d"]
            )
    if options.study == "sets":
        return sets(options)
    for name in options.only:
        (table if options.study == "table" else whole)(name, options)
    return None


if __name__ == "__main__":
    main()
