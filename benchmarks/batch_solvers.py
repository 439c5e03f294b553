"""Passes over the data that batch solvers and Frank-Wolfe need, and warm starts.

    python benchmarks/batch_solvers.py --data DIR [--study chunking|trees|few|warm]

chunking: CoNLL-2000, 2,000 sentences, C = 200, to a relative gap of 1 %.
trees:    every sixth sentence of UD English EWT, the gap after 25 passes.
few:      six noisy sequences, C = 10⁴, to 0.1 %; largest figures of ten draws.
warm:     the first, again after 5 % more sentences and after doubling C.

Seconds are CPU time of the solver alone.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from partwise.features import PRESETS, Featurizer
from partwise.features.arc_templates import default_arc_templates
from partwise.features.arcs import ArcFeaturizer
from partwise.features.arrays import as_features
from partwise.features.sentences import sentence_table
from partwise.objective import Formulation, Objective
from partwise.protocol import Start
from partwise.readers import read_columns, read_conllu
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.structures.chain import Chain
from partwise.structures.dependency import Arborescence


def row(name, solver, problem, objective, start=None):
    """Solve and print; returns the state."""
    began = time.process_time()
    state = solver.solve(problem, objective, start=start)
    seconds = time.process_time() - began
    passes = state.oracle_calls / problem.n_blocks
    print(
        f"{name:34s} {passes:7.1f} passes  gap {state.relative_gap:7.4f}  "
        f"{seconds:6.1f} s  {state.n_planes:7,} constraints  {state.stopped}",
        flush=True,
    )
    return state


def chunks(folder, n):
    """(features, codes, number of labels, offset) of the first n sentences."""
    X, y = read_columns(Path(folder) / "conll2000_chunking" / "train.txt.gz")
    labels = {label: k for k, label in enumerate(sorted(set().union(*y)))}
    featurizer = Featurizer(PRESETS["window"]).fit(X[: n + n // 20])

    def pack(first):
        codes = np.array([labels[label] for tags in y[:first] for label in tags])
        features = featurizer.transform(X[:first])
        return Chain(len(labels)).pack(features, codes, Formulation())

    return pack


def study_chunking(folder, n=2000):
    problem = chunks(folder, n)(n)
    objective = Objective.create(n / 10, n, "l1")
    row("one-slack", OneSlack(tol=0.01), problem, objective)
    row("bundle", ProximalBundle(tol=0.01), problem, objective)
    row("Frank-Wolfe", BCFW(tol=0.01), problem, objective)
    row("one-slack, the papers' form", OneSlack(tol=0.01, pool=False, cache=0),
        problem, objective)  # fmt: skip
    row("one-slack, cached cuts", OneSlack(tol=0.01, pool=False), problem, objective)
    row("bundle without a pool", ProximalBundle(tol=0.01, pool=False), problem,
        objective)  # fmt: skip


def study_trees(folder):
    place = Path(folder) / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz"
    X, y = read_conllu(place)
    X, y = X[::6], y[::6]
    table = sentence_table(X)
    featurizer = ArcFeaturizer(default_arc_templates(table.columns), hash_bits=20)
    featurizer.fit(table, [heads for heads, _ in y])
    codes = np.concatenate([np.asarray(heads) for heads, _ in y])
    structure = Arborescence(0, projective=True, cost="uas")
    problem = structure.pack(featurizer.transform(table), codes, Formulation())
    objective = Objective.create(len(y) / 50, len(y), "l1")
    for name, solver in (
        ("one-slack", OneSlack(max_iter=25)),
        ("bundle", ProximalBundle(max_iter=25)),
        ("Frank-Wolfe", BCFW(max_iter=25, tol=1e-6)),
    ):
        row(name, solver, problem, objective)


def study_few(folder):
    for name, solver in (
        ("Frank-Wolfe", BCFW()),
        ("n-slack", NSlack()),
        ("one-slack", OneSlack()),
        ("bundle", ProximalBundle()),
    ):
        passes, gaps = [], []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X = [rng.normal(size=(3, 3)) for _ in range(6)]
            y = np.concatenate([rng.integers(0, 2, size=3) for _ in X])
            problem = Chain(2).pack(as_features(X), y, Formulation())
            state = solver.solve(problem, Objective.create(1e4, 6, "l1"))
            passes.append(state.oracle_calls / 6)
            gaps.append(state.relative_gap)
        print(f"{name:34s} {max(passes):7.1f} passes  gap {max(gaps):.1e}")


def study_warm(folder, n=2000):
    pack = chunks(folder, n)
    m = n + n // 20
    problem, larger = pack(n), pack(m)
    objective = Objective.create(n / 10, n, "l1")
    changes = {
        "5 % more sentences": (larger, Objective.create(m / 10, m, "l1")),
        "C doubled": (problem, Objective.create(n / 5, n, "l1")),
    }
    for name, solver in (
        ("Frank-Wolfe", BCFW(tol=0.01)),
        ("one-slack", OneSlack(tol=0.01)),
        ("bundle", ProximalBundle(tol=0.01)),
    ):
        first = row(name, solver, problem, objective)
        weights = problem.compact(first.model)
        support = solver.planes_at_hand(first)
        for change, (other, weight) in changes.items():
            cold = row(f"  {change}, cold", solver, other, weight)
            start = Start(other.expand(weights), support, problem.keys())
            warm = row(f"  {change}, warm", solver, other, weight, start)
            print(f"  share of the calls: {warm.oracle_calls / cold.oracle_calls:.2f}")


STUDIES = {
    "chunking": study_chunking,
    "trees": study_trees,
    "few": study_few,
    "warm": study_warm,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", choices=STUDIES, action="append")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    for name in options.study or STUDIES:
        print(f"== {name}")
        STUDIES[name](options.data)


if __name__ == "__main__":
    main()
