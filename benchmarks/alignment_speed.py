"""Cells per second of pairwise alignment on one core, beside Biopython and parasail.

    python benchmarks/alignment_speed.py [--lengths 300 2000] [--rounds 5]
    python benchmarks/alignment_speed.py --pairs 100000
    python benchmarks/alignment_speed.py --long 5000 20000

Random proteins over 20 letters, half of them with a mutated partner; BLOSUM62 (as
Biopython ships it, else random whole numbers), affine gaps −11 −1 (Biopython's and
parasail's "open" includes the first extension). Peers are used where they are
installed: Biopython's `PairwiseAligner` with its first path, parasail without SIMD and
with it (16 bits), with traceback and for the score alone. All programs align the same
pairs in the same run, one thread each, best CPU time of `--rounds` (a tenth of a second
or more each), and scores must agree. With whole-number weights our scores alone are
made in single precision, without rounding; with real weights in double precision, as
all tracebacks. A second table has one pair of long sequences with the memory that its
traceback takes, and feature-rich models, in which a match has many features.

With --pairs one pair of 5,000 tokens is aligned, and so many short ones (30 tokens) are
packed, aligned and searched once as in training (loss-augmented alignments of all, and
the sum of their planes): CPU seconds, and the peak memory of the process after each.

With --long pairs of so many tokens are aligned, and searched once as in training: CPU
seconds, and by how much the peak memory of the process is above that before. Each
length has a process of its own; with --keep all traces are kept, instead of a few rows
of them at a time.
"""

import argparse
import gc
import importlib.util
import resource
import subprocess
import sys
import time

import numpy as np

from partwise.structures.alignment import Alignment, _best

LETTERS = "ARNDCQEGHILKMFPSTWYV"
OPEN, EXTEND = -11.0, -1.0
LEAST = 0.1  # seconds of a round; clocks of CPU time may be coarse


def matrix():
    """Substitution scores (20, 20)."""
    if importlib.util.find_spec("Bio"):
        from Bio.Align import substitution_matrices

        table = substitution_matrices.load("BLOSUM62")
        return np.array([[table[a, b] for b in LETTERS] for a in LETTERS])
    random = np.random.default_rng(0).integers(-4, 2, (20, 20))
    return (random + random.T + 8 * np.eye(20)).astype(np.float64)


def proteins(n_pairs, length, seed=0):
    """Pairs of sequences, every second one related."""
    rng = np.random.default_rng(seed)
    pairs = []
    for k in range(n_pairs):
        a = rng.integers(0, 20, length)
        b = rng.integers(0, 20, length)
        if k % 2 == 0:
            b = np.where(rng.random(length) < 0.6, a, b)
            b = np.delete(b, rng.integers(0, length, length // 30))
        pairs.append((a, b))
    return pairs


def best_seconds(run, rounds):
    """CPU seconds of a run, the best of several rounds, and what it returned."""
    shortest = np.inf
    for _ in range(rounds):
        begin, elapsed, n_runs = time.process_time(), 0.0, 0
        while elapsed < LEAST:
            result = run()
            n_runs += 1
            elapsed = time.process_time() - begin
        shortest = min(shortest, elapsed / n_runs)
    return shortest, result


def text(codes):
    return "".join(LETTERS[k] for k in codes)


def peers(pairs, scores, mode):
    """Other programs by name: (function that aligns all pairs, whether it traces)."""
    programs = {}
    strings = [(text(a), text(b)) for a, b in pairs]
    if importlib.util.find_spec("Bio"):
        from Bio.Align import PairwiseAligner, substitution_matrices

        aligner = PairwiseAligner(mode=mode)
        aligner.substitution_matrix = substitution_matrices.Array(LETTERS, 2, scores)
        aligner.open_gap_score = OPEN + EXTEND
        aligner.extend_gap_score = EXTEND
        programs["Biopython, first path"] = (
            lambda: [aligner.align(a, b)[0].score for a, b in strings],
            True,
        )
        programs["Biopython, score"] = (
            lambda: [aligner.score(a, b) for a, b in strings],
            False,
        )
    if importlib.util.find_spec("parasail"):
        import parasail

        table = parasail.matrix_create(LETTERS, 0, 0)
        for i in range(20):
            for j in range(20):
                table[i, j] = int(scores[i, j])
        kind = {"global": "nw", "local": "sw"}[mode]
        gaps = int(-OPEN - EXTEND), int(-EXTEND)

        def run(function, is_traced):
            for a, b in strings:
                result = function(a, b, *gaps, table)
                if is_traced:
                    result.cigar.seq  # noqa: B018 — this makes the traceback
                yield result.score

        for label, name, is_traced in (
            ("parasail without SIMD, traceback", f"{kind}_trace", True),
            ("parasail without SIMD, score", kind, False),
            ("parasail SIMD, traceback", f"{kind}_trace_striped_16", True),
            ("parasail SIMD, score", f"{kind}_striped_16", False),
        ):
            function = getattr(parasail, name)
            programs[label] = (
                lambda function=function, is_traced=is_traced: list(
                    run(function, is_traced)
                ),
                is_traced,
            )
    return programs


def compare(mode, length, rounds):
    """Rows of the first table."""
    scores = matrix()
    w = np.append(scores.ravel(), [OPEN, EXTEND] * 2)
    n_pairs = max(2, 4_000_000 // length**2 * 2)
    pairs = proteins(n_pairs, length)
    cells = sum(len(a) * len(b) for a, b in pairs)
    problem = Alignment((20,), mode=mode).pack(pairs, None)
    rows = []
    for label, model, trace in (
        ("partwise, traceback", w, True),
        ("partwise, score, real weights", w + 0.1, False),
        ("partwise, score", w, False),
    ):
        problem.align(model, trace=trace)
        seconds, (_, expected) = best_seconds(
            lambda model=model, trace=trace: problem.align(model, trace=trace), rounds
        )
        rows.append((label, cells / seconds / 1e6))
    for label, (run, _) in peers(pairs, scores, mode).items():
        seconds, values = best_seconds(run, rounds)
        if not np.allclose(values, expected):
            raise SystemExit(f"{label}: scores differ from ours, {mode}, {length}")
        rows.append((label, cells / seconds / 1e6))
    for label, speed in rows:
        print(f"| {mode} | {length} | {label} | {speed:,.0f} |")


def long_and_rich(rounds):
    """Rows of the second table."""
    rng = np.random.default_rng(1)
    rich = (20, 3, 5)
    cases = [
        ("one column", (20,), "simple", 5000, 1),
        ("simple, 9 templates", rich, "simple", 300, 20),
        ("anova2, 9 templates", rich, "anova2", 300, 20),
        ("tensor", rich, "tensor", 300, 20),
    ]
    for label, sizes, match, length, n_pairs in cases:
        alignment = Alignment(sizes, match=match)
        columns = [
            [
                np.stack([rng.integers(0, size, length) for size in sizes], axis=1)
                for _ in "ab"
            ]
            for _ in range(n_pairs)
        ]
        X = [tuple(pair) for pair in columns]
        w = rng.normal(size=alignment.layout().n_weights)
        w[-4:] = [-5, -0.5] * 2
        problem = alignment.pack(X, None)
        problem.align(w)
        seconds, _ = best_seconds(lambda problem=problem, w=w: problem.align(w), rounds)
        rows = problem.borrow_work().rows
        bits = (rows.bits.nbytes + rows.saved.nbytes) / 2**20
        speed = n_pairs * length**2 / seconds / 1e6
        print(f"| {label} | {len(w):,} | {length} | {speed:,.0f} | {bits:.1f} |")


def scale(n_pairs):
    """Seconds and memory of many short pairs, and of one long one."""
    alignment = Alignment((20,), tie_gaps=True)
    w = np.concatenate([matrix().ravel(), [OPEN, EXTEND]])

    def report(label, run):
        begin = time.process_time()
        result = run()
        seconds = time.process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {label} | {seconds:.2f} | {peak:,.0f} |", flush=True)
        return result

    few = proteins(2, 30)
    truths = alignment.pack(few, None).align(w)[0]
    problem = alignment.pack(few, truths)
    problem.combine(problem.oracle(0.05 * w), np.ones(2))
    print("| step | CPU seconds | peak MB |\n| --- | ---: | ---: |")
    (pair,) = report("a pair of 5,000 tokens made", lambda: proteins(1, 5000))
    report("aligned", lambda: alignment.pack([pair], None).align(w))
    pairs = report(f"{n_pairs:,} pairs made", lambda: proteins(n_pairs, 30))
    problem = report("packed", lambda: alignment.pack(pairs, None))
    truths = report("aligned", lambda: problem.align(w)[0])
    problem = report("packed with truths", lambda: alignment.pack(pairs, truths))
    cuts = report("searched", lambda: problem.oracle(0.05 * w))
    report("planes added", lambda: problem.combine(cuts, np.ones(n_pairs)))


def memory_of_one(length, keep):
    """Peak memory and seconds of one pair, in this process."""
    if keep:
        _best.MAX_BITS = 1 << 40
    alignment = Alignment((20,), tie_gaps=True)
    w = np.concatenate([matrix().ravel(), [OPEN, EXTEND]])

    def steps(pair):
        problem = alignment.pack([pair], None)
        begin = time.process_time()
        truths = problem.align(w)[0]
        yield time.process_time() - begin, peak()
        del problem
        gc.collect()  # problems and their buffers are cycles
        problem = alignment.pack([pair], truths)
        begin = time.process_time()
        problem.combine(problem.oracle(0.05 * w), np.ones(1))
        yield time.process_time() - begin, peak()

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    list(steps(proteins(1, 30)[0]))  # compiles
    (pair,) = proteins(1, length)
    before = peak()
    names = ("aligned", "searched as in training")
    for step, (seconds, after) in zip(names, steps(pair), strict=True):
        print(f"| {length:,} | {step} | {seconds:.2f} | {after - before:.1f} |")


def memory(lengths, keep):
    """Rows of a table, each length in a process of its own."""
    print("| tokens | step | CPU seconds | MB |\n| ---: | --- | ---: | ---: |")
    for length in lengths:
        command = [sys.executable, __file__, "--one", str(length)]
        subprocess.run(command + ["--keep"] * keep, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[300, 2000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, help="only so many short pairs")
    parser.add_argument("--long", type=int, nargs="+", help="memory of long pairs")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help="keep all traces")
    options = parser.parse_args()
    if options.one:
        memory_of_one(options.one, options.keep)
        return
    if options.long:
        memory(options.long, options.keep)
        return
    if options.pairs:
        scale(options.pairs)
        return
    print("| mode | tokens | program | M cells/s |\n| --- | ---: | --- | ---: |")
    for mode in ("global", "local"):
        for length in options.lengths:
            compare(mode, length, options.rounds)
    print("\n| model | weights | tokens | M cells/s, traceback | trace MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    long_and_rich(options.rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory of the process: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
