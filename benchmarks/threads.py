"""One thread against two: speed of full passes and batch solvers, and equal bits.

    python benchmarks/threads.py --data DIR [--runs 7] [--only NAME]

CoNLL-2000, window features; trees: every sixth sentence of UD English EWT, first order,
features of arcs alone. Wall-clock seconds, median of interleaved runs. Passes over the
data use all threads; steps between the planes of pools are taken by one of them.
"""

import argparse
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from partwise.features import PRESETS, Featurizer
from partwise.features.arc_templates import default_arc_templates
from partwise.features.arcs import ArcFeaturizer
from partwise.features.sentences import sentence_table
from partwise.objective import Formulation, Objective
from partwise.readers import read_columns, read_conllu
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.lbfgs import LBFGS
from partwise.solvers.one_slack import OneSlack
from partwise.structures.chain import Chain
from partwise.structures.dependency import Arborescence


def chunking(folder):
    """Problems for one and two threads, the number of examples."""
    X, y = read_columns(folder / "conll2000_chunking" / "train.txt.gz")
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    labels = {label: k for k, label in enumerate(sorted(set().union(*y)))}
    codes = np.array([labels[label] for row in y for label in row])
    chain = Chain(len(labels))
    return {
        n_jobs: chain.pack(features, codes, Formulation(), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    }, len(y)


def trees(folder):
    """The same for every sixth sentence of the treebank."""
    X, y = read_conllu(folder / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz")
    X, y = X[::6], y[::6]
    table = sentence_table(X)
    featurizer = ArcFeaturizer(default_arc_templates(table.columns), hash_bits=20)
    featurizer.fit(table, [heads for heads, _ in y])
    features = featurizer.transform(table)
    codes = np.concatenate([np.asarray(heads) for heads, _ in y])
    structure = Arborescence(0, projective=True, cost="uas")
    return {
        n_jobs: structure.pack(features, codes, Formulation(), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    }, len(y)


def solving(C, solver, **settings):
    """A task: the model of a solver after so many iterations, or at a tolerance."""

    def run(problem):
        penalty = "log" if solver is LBFGS else "l1"
        objective = Objective.create(C, problem.n_blocks, penalty)
        return solver(**settings).solve(problem, objective).model

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="", help="tasks with this in their names")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    chunks, n = chunking(Path(options.data))
    sentences, m = trees(Path(options.data))
    C = n / 10
    model = solving(C, BCFW, tol=0.5)(chunks[1])
    tasks = {
        "full oracle pass": (chunks, lambda p: p.oracle(model).violation),
        "OneSlack, 6 passes": (chunks, solving(C, OneSlack, max_iter=6)),
        "OneSlack to 1 %": (chunks, solving(C, OneSlack, tol=0.01)),
        "ProximalBundle, 6 passes": (chunks, solving(C, ProximalBundle, max_iter=6)),
        "ProximalBundle to 1 %": (chunks, solving(C, ProximalBundle, tol=0.01)),
        "OneSlack without pools, 20 passes": (
            chunks,
            solving(C, OneSlack, max_iter=20, cache=0, pool=False),
        ),
        "ProximalBundle without pools, 20 passes": (
            chunks,
            solving(C, ProximalBundle, max_iter=20, pool=False),
        ),
        "LBFGS, 3 iterations": (chunks, solving(C, LBFGS, max_iter=3)),
        "BCFW to 20 %": (chunks, solving(C, BCFW, tol=0.2)),
        "trees: full oracle pass": (
            sentences,
            lambda p: p.oracle(p.zero()).violation,
        ),
        "trees: BCFW(batch=16), 4 sweeps": (
            sentences,
            solving(m / 50, BCFW, batch=16, max_iter=4),
        ),
        "trees: OneSlack, 6 passes": (sentences, solving(m / 50, OneSlack, max_iter=6)),
    }
    print("| task | 1 thread, s | 2 threads, s | ratio | same bits |")
    print("| --- | ---: | ---: | ---: | --- |")
    for name, (problems, task) in tasks.items():
        if options.only not in name:
            continue
        seconds = {1: [], 2: []}
        results = {n_jobs: task(problem) for n_jobs, problem in problems.items()}
        for _ in range(options.runs):
            for n_jobs, problem in problems.items():
                begin = time.perf_counter()
                task(problem)
                seconds[n_jobs].append(time.perf_counter() - begin)
        one, two = (statistics.median(seconds[k]) for k in (1, 2))
        same = np.array_equal(results[1], results[2])
        print(f"| {name} | {one:.3f} | {two:.3f} | {one / two:.2f} | {same} |")


if __name__ == "__main__":
    main()
