"""Gram matrices of real text: speed, memory, precision, equal bits.

    python benchmarks/gram.py --data DIR [--sentences 2000] [--jobs 2]

UD_English-EWT training sentences (the first N; 0 for all), and the trees of the Penn
Treebank sample. Processor seconds are those of all threads; "ns" are per pair of tokens
(string kernels), of rows (vectors) or of nodes (trees), each unordered pair once.
"""

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np

from partwise.features import Featurizer
from partwise.kernels import (
    AnnotatedNGram,
    BagOfWords,
    ConvolutionTree,
    NGram,
    Normalized,
    Polynomial,
    estimate,
    gram,
)
from partwise.readers import read_brackets, read_conllu

TRAIN = Path("ud_english_ewt") / "en_ewt-ud-train.conllu.gz"
TREES = Path("ptb_sample") / "train.mrg.gz"
COLUMNS = ("form", "lemma", "upos", "xpos")


def measure(name, kernel, X, options, dtype):
    bound = kernel.bind(X)
    work = float(bound.row_work().sum() * bound.column_work().sum()) / 2
    del bound
    first = kernel.input_family().select(X, np.arange(2))
    gram(kernel, first, dtype=dtype)  # compile
    guess = estimate(kernel, X, dtype=dtype, n_jobs=options.jobs)
    wall, processor = time.perf_counter(), time.process_time()
    matrix = gram(kernel, X, dtype=dtype, n_jobs=options.jobs)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"| {name} | {dtype} | {len(matrix):,} | {guess.seconds:.1f} | {wall:.1f} | "
        f"{processor:.1f} | {processor / work * 1e9:.2f} | "
        f"{matrix.nbytes / 1e6:,.0f} |",
        flush=True,
    )


def check(kernel, X, jobs):
    """Threads must not change bits; single precision must only round."""
    one = gram(kernel, X, dtype="float32", n_jobs=1)
    two = gram(kernel, X, dtype="float32", n_jobs=jobs)
    exact = gram(kernel, X)
    error = np.max(np.abs(one - exact) / np.maximum(exact, 1e-30))
    same = np.array_equal(one, two)
    print(f"\n{len(X)} sentences: same bits with 1 and {jobs} threads: {same};")
    print(f"largest relative error of float32: {error:.1e}")
    least = np.linalg.eigvalsh(Normalized(kernel)(X))[0]
    print(f"smallest eigenvalue, normalised: {least:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", help="annotated: that kernel alone, in float32")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    X, _ = read_conllu(Path(options.data) / TRAIN)
    X = X.select(COLUMNS)[: options.sentences or len(X)]
    annotated = AnnotatedNGram()
    print(f"{len(X):,} sentences, {X.n_tokens:,} tokens, {options.jobs} threads\n")
    print("| kernel | dtype | rows | estimate, s | wall, s | processor, s | ns | MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    measure("annotated n-grams", annotated, X, options, "float32")
    if options.only != "annotated":
        measure("annotated n-grams", annotated, X, options, "float64")
        measure("n-grams of forms", NGram(column="form"), X, options, "float32")
        bags = BagOfWords(degree=2, coef0=1.0)
        measure("bag of forms, degree 2", bags, X, options, "float32")
        tokens = Featurizer("form[-1..1]\nupos[-1..1]").fit_transform(X[: len(X) // 5])
        measure("polynomial, windows", Polynomial(), tokens, options, "float32")
        _, trees = read_brackets(Path(options.data) / TREES)
        measure("trees", ConvolutionTree(), trees[: len(X)], options, "float64")
        check(annotated, X[:500], options.jobs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of the process {peak:,.0f} MB")


if __name__ == "__main__":
    main()
