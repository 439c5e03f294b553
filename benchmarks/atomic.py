"""The atomic structural SVM on dependency trees: section 6.3 of the thesis, in small.

    python benchmarks/atomic.py hashes --data DIR        Tables 6.2 and 6.3
    python benchmarks/atomic.py kernels --data DIR       Figure 6.4
    python benchmarks/atomic.py construction --data DIR  Figure 6.5, Table 6.5
    python benchmarks/atomic.py larger --data DIR        Table 6.4, all sentences
    python benchmarks/atomic.py summed --data DIR        Table 6.6, explicit features
    python benchmarks/atomic.py products --data DIR      Figure 6.6
    python benchmarks/atomic.py speed --data DIR         one fit with its Gram matrix

DIR holds UD_English-EWT (en_ewt-ud-*.conllu.gz); PARTWISE_DATA stands in for it. The
first `--train` training sentences, and the first `--test` of the test file. Losses are
means over sentences of the share of wrong heads, as in the thesis; trees may cross.
Training stops when no constraint is violated by more than ξ_i + 0.05. Prints Markdown;
seconds are those of the processor, of all threads.
"""

import argparse
import os
import platform
import time

import numpy as np

from atomic_products import products
from atomic_setup import (
    BEST_HASH,
    COLUMNS,
    EPS,
    KERNELS,
    SHOWN,
    header,
    line,
    percent,
    read,
)
from partwise.features.arc_keys import ArcHasher
from partwise.features.arc_templates import default_arc_templates
from partwise.features.arcs import ArcFeaturizer
from partwise.kernels import as_kernel, gram
from partwise.objective import Objective
from partwise.scorers.kernel import KernelScorer, key_values
from partwise.scorers.kernel_index import IndexScorer, KernelIndex
from partwise.scorers.postings import weigh_keys
from partwise.solvers.bcfw import BCFW
from partwise.solvers.one_slack import OneSlack
from partwise.structures.dependency import Arborescence

NO_INDEX = KernelIndex(
    np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), None, False,
    None, [], "float32",
)  # fmt: skip


class Study:
    """One choice of hash functions and input kernel, for any C."""

    def __init__(self, bank, match, kernel=None, construction="exact", jobs=1):
        began = time.process_time()
        self.bank = bank
        self.kernel = None
        if kernel is not None:
            self.kernel = as_kernel(kernel).with_columns(bank.table.columns, COLUMNS)
        hasher = ArcHasher(match)
        self.keys = hasher.transform(bank.table)
        self.test_keys = hasher.transform(bank.test_table)
        values, self.test_values = None, np.ones((len(bank.test_table), 1), np.float32)
        if self.kernel is not None:
            names = self.kernel.columns_of(bank.table.columns)
            one, two = bank.table.select(names), bank.test_table.select(names)
            values = gram(self.kernel, one, dtype=np.float32, n_jobs=jobs)
            self.gram_seconds = time.process_time() - began
            self.test_values = gram(
                self.kernel, two, one, dtype=np.float32, n_jobs=jobs
            )
        tree = Arborescence(normalized=True, construction=construction)
        self.problem = tree.pack(
            self.keys, bank.heads, scorer=KernelScorer(values, dtype=np.float32),
            n_jobs=jobs,
        )  # fmt: skip
        scorer = IndexScorer(NO_INDEX, None)
        self.test = tree.pack(
            self.test_keys, bank.test_heads, scorer=scorer, n_jobs=jobs
        )

    def fit(self, C, solver=None):
        """Train; returns ‖w‖², train and test loss, seconds, share of trees."""
        began = time.process_time()
        problem = self.problem
        objective = Objective.create(C, problem.n_blocks, "l1")
        solver = solver or BCFW(eps=EPS, max_iter=300)
        self.state = solver.solve(problem, objective)
        seconds = time.process_time() - began
        train = problem.predict_codes(self.state.model).b.mean()
        # kernel values with the test sentences are computed once for all C, with all
        # sentences as columns; a model would compare those that it keeps
        rows, test = problem.blocks.rows, self.test.blocks.rows
        beta = problem.compact(self.state.model)
        held = np.flatnonzero(beta)
        key, count = np.unique(key_values(self.keys, rows)[held], return_counts=True)
        begin = np.append(0, np.cumsum(count))
        anchor = rows.postings.anchor[held]
        column = np.arange(self.test_values.shape[1], dtype=np.int32)
        model, n_slots = self.test.zero(), test.postings.n_slots
        row = test.postings.anchor if self.kernel else np.zeros(n_slots, np.int32)
        weigh_keys(
            key_values(self.test_keys, test), key, begin, anchor, beta[held], row,
            column, self.test_values, 0, n_slots, model[n_slots:],
        )  # fmt: skip
        loss = self.test.predict_codes(model).b.mean()
        valid = self.test.decode(model)[2].mean()
        square = problem.dot(self.state.model, self.state.model)
        return square, train, loss, seconds, valid


def explicit(bank, C, jobs):
    """The parser's own features with the same loss and trees: train and test loss."""
    began = time.process_time()
    templates = default_arc_templates(bank.table.columns)
    featurizer = ArcFeaturizer(templates, hash_bits=20)
    tree = Arborescence(normalized=True)
    problem = tree.pack(featurizer.transform(bank.table), bank.heads, n_jobs=jobs)
    objective = Objective.create(C, problem.n_blocks, "l1")
    model = BCFW(eps=EPS, max_iter=300).solve(problem, objective).model
    seconds = time.process_time() - began
    test = tree.pack(
        featurizer.transform(bank.test_table), bank.test_heads, n_jobs=jobs
    )
    train_loss = problem.predict_codes(model).b.mean()
    return train_loss, test.predict_codes(model).b.mean(), seconds


def hashes(args):
    """Hash functions without input kernel."""
    bank = read(args.data, args.train, args.test, clusters=args.clusters)
    grid = args.C or [0.1, 1, 10, 50, 100, 200]
    header("hash function", *(f"C = {C:g}: train, test" for C in grid), "seconds")
    columns = ["form", "lemma", "upos", "xpos"] + ["cluster"] * bool(args.clusters)
    for column in columns:
        for step in ("", "+direction", "+bucket", "+distance"):
            study = Study(bank, column + step, jobs=args.jobs)
            cells, total = [], 0.0
            for C in grid:
                _, train, test, seconds, _ = study.fit(C)
                cells.append(f"{percent(train)}, {percent(test)}")
                total += seconds
            line(f"`{column}{step}`", *cells, f"{total:.0f}")


def kernels(args):
    """Input kernels."""
    bank = read(args.data, args.train, args.test)
    header("input kernel", "C", "‖w‖²", "train", "test", "seconds")
    for name, kernel in {"none": None, **KERNELS}.items():
        if args.only and args.only not in name:
            continue
        normal = name == "none" or kernel.startswith("normalized")
        grid = args.C or ([10, 100, 1000, 10000] if normal else [0.1, 1, 10, 100])
        study = Study(bank, BEST_HASH, kernel, jobs=args.jobs)
        for C in grid:
            square, train, test, seconds, _ = study.fit(C)
            line(
                SHOWN.get(name, name), f"{C:g}", f"{square:.4g}", percent(train),
                percent(test), f"{seconds:.1f}",
            )  # fmt: skip


def construction(args):
    """The best tree beside the best head of each word."""
    bank = read(args.data, args.train, args.test)
    kernel = KERNELS["polynomial bag of words"]
    header("C", "exact: train, test", "best heads: train, test", "trees among them")
    ways = [
        Study(bank, BEST_HASH, kernel, way, args.jobs)
        for way in ("exact", "best_heads")
    ]
    for C in args.C or [0.001, 0.01, 0.1, 1, 2, 10]:
        one, two = (study.fit(C) for study in ways)
        line(
            f"{C:g}",
            *(f"{percent(fit[1])}, {percent(fit[2])}" for fit in (one, two)),
            percent(two[4]),
        )


def larger(args):
    """All sentences, two kernels."""
    bank = read(args.data, args.train, args.test)
    header("input kernel", "C", "train", "test", "test − train", "seconds")
    for name in ("n-gram", "polynomial bag of words"):
        study = Study(bank, BEST_HASH, KERNELS[name], jobs=args.jobs)
        normal = KERNELS[name].startswith("normalized")
        for C in args.C or ([10, 100, 1000] if normal else [0.1, 1, 10]):
            _, train, test, seconds, _ = study.fit(C)
            line(
                SHOWN[name], f"{C:g}", percent(train), percent(test),
                percent(test - train), f"{seconds:.0f}",
            )  # fmt: skip
        del study


def summed(args):
    """Sums of hash functions with the annotated kernel, and explicit features."""
    bank = read(args.data, args.train, args.test)
    grid = args.C or [10, 100, 500, 1000, 5000]
    header("arcs", "input kernel", "C", "train", "test", "test − train", "seconds")
    kernel = KERNELS["annotated n-gram"]
    sums = [
        BEST_HASH,
        f"{BEST_HASH}, form",
        f"{BEST_HASH}, form+direction",
        "xpos+bucket, head.form+dep.xpos+bucket, head.xpos+dep.form+bucket, "
        "form+direction, dep.xpos[-1]+xpos+bucket, dep.xpos[1]+xpos+bucket, "
        "head.xpos[-1]+xpos+bucket, head.xpos[1]+xpos+bucket",
    ]
    for match in sums:
        for name in (None, kernel):
            study = Study(bank, match, name, jobs=args.jobs)
            for C in grid:
                _, train, test, seconds, _ = study.fit(C)
                line(
                    f"`{match}`", "annotated" if name else "none", f"{C:g}",
                    percent(train), percent(test), percent(test - train),
                    f"{seconds:.0f}",
                )  # fmt: skip
            del study
    for C in grid:
        train, test, seconds = explicit(bank, C, args.jobs)
        line(
            "the parser's features", "", f"{C:g}", percent(train), percent(test),
            percent(test - train), f"{seconds:.0f}",
        )  # fmt: skip


def speed(args):
    """One fit, Gram matrix included."""
    bank = read(args.data, args.train, args.test)
    C = (args.C or [100])[0]
    few = read(args.data, 20, 20)  # compiles
    header("solver", "Gram matrix: s", "training: s", "wall: s", "train", "test")
    for name in ("bcfw", "one_slack"):
        made = {"bcfw": BCFW, "one_slack": OneSlack}[name](eps=EPS, max_iter=2000)
        Study(few, BEST_HASH, KERNELS["annotated n-gram"]).fit(C, made)
        began = time.perf_counter()
        study = Study(bank, BEST_HASH, KERNELS["annotated n-gram"], jobs=args.jobs)
        _, train, test, seconds, _ = study.fit(C, made)
        line(
            name, f"{study.gram_seconds:.1f}", f"{seconds:.1f}",
            f"{time.perf_counter() - began:.1f}", percent(train), percent(test),
        )  # fmt: skip


STUDIES = {
    study.__name__: study
    for study in (hashes, kernels, construction, larger, summed, products, speed)
}


def main():
    """Read the command line and run one study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--train", type=int, help="training sentences")
    parser.add_argument("--test", type=int, default=2000, help="test sentences")
    parser.add_argument("--C", type=float, nargs="+")
    parser.add_argument("--only", help="kernels: those with this in their names")
    parser.add_argument("--clusters", type=int, default=1250)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--naive-up-to", type=int, default=250,
        help="train with naive products up to so many sentences; time one above",
    )  # fmt: skip
    args = parser.parse_args()
    if not args.data:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    if args.train is None:
        args.train = {"larger": 10**6, "products": 2000}.get(args.study, 5000)
    print(f"{platform.processor() or platform.machine()}, Python", end=" ")
    print(f"{platform.python_version()}: {args.study}, {vars(args)}")
    STUDIES[args.study](args)


if __name__ == "__main__":
    main()
