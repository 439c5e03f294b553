"""One thread against two: speed of full passes and batch solvers, and equal bits.

    python benchmarks/threads.py --data DIR [--runs 7] [--only NAME]

CoNLL-2000, window features. Wall-clock seconds, median of interleaved runs. Passes over
the data use all threads; steps between the planes of pools, which the batch solvers
take beside them by default, are taken one after the other.
"""

import argparse
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from partwise.features import PRESETS, Featurizer
from partwise.objective import Formulation, Objective
from partwise.readers import read_columns
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.lbfgs import LBFGS
from partwise.solvers.one_slack import OneSlack
from partwise.structures.chain import Chain


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", default="", help="tasks with this in their names")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    path = Path(options.data) / "conll2000_chunking" / "train.txt.gz"
    X, y = read_columns(path)
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    labels = {label: k for k, label in enumerate(sorted(set().union(*y)))}
    codes = np.array([labels[label] for row in y for label in row])
    chain = Chain(len(labels))
    problems = {
        n_jobs: chain.pack(features, codes, Formulation(), n_jobs=n_jobs)
        for n_jobs in (1, 2)
    }
    n = len(y)
    model = BCFW(tol=0.5).solve(problems[1], Objective.create(893.6, n, "l1")).model
    tasks = {
        "full oracle pass": lambda p: p.oracle(model).violation,
        "OneSlack, 6 passes": lambda p: (
            OneSlack(max_iter=6, cache=0)
            .solve(p, Objective.create(893.6, n, "l1"))
            .model
        ),
        "ProximalBundle, 6 passes": lambda p: (
            ProximalBundle(max_iter=6).solve(p, Objective.create(893.6, n, "l1")).model
        ),
        "OneSlack without pools, 20 passes": lambda p: (
            OneSlack(max_iter=20, cache=0, pool=False)
            .solve(p, Objective.create(893.6, n, "l1"))
            .model
        ),
        "ProximalBundle without pools, 20 passes": lambda p: (
            ProximalBundle(max_iter=20, pool=False)
            .solve(p, Objective.create(893.6, n, "l1"))
            .model
        ),
        "LBFGS, 3 iterations": lambda p: (
            LBFGS(max_iter=3).solve(p, Objective.create(893.6, n, "log")).model
        ),
        "BCFW to 20 %": lambda p: (
            BCFW(tol=0.2).solve(p, Objective.create(893.6, n, "l1")).model
        ),
    }
    print("| task | 1 thread, s | 2 threads, s | ratio | same bits |")
    print("| --- | ---: | ---: | ---: | --- |")
    for name, task in tasks.items():
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
