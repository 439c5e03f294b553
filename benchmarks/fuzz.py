"""Mutants of model files and texts: none may crash, hang, or take all memory.

    python benchmarks/fuzz.py [--hours H] [--mutants 50000] [--texts 500000] [--seed 0]
                              [--only NAME ...] [--replay N ...]

Trains a tiny model of every kind, changes bytes, headers, documents and arrays of its
file, and does with each mutant what a user does: load, inspect, predict, explain,
evaluate, verify, save again. Texts go through every reader. Each mutant and text has a
number, by which it is made again (``--replay`` for mutants). Exit code 1 when one
crashed, hung, took more memory than allowed or raised what is no refusal. With
``--hours`` further seeds follow until the time is over. With NUMBA_BOUNDSCHECK=1 reads
outside arrays are seen that happen to do no harm. The tools live in ``tests/fuzz``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fuzz"))

from forked_runs import Fuzzer, Limits, judge, warm
from model_subjects import make_subjects
from texts import SEEDS, judge_text


def fuzz_texts(seed: int, n_texts: int) -> Counter[str]:
    """Read texts in turn by all readers; print and count what happens."""
    began, counts = time.monotonic(), Counter()
    for k in range(n_texts):
        name = list(SEEDS)[k % len(SEEDS)]
        number = seed * 10**9 + k
        outcome = judge_text(name, number)
        counts[outcome.split()[0]] += 1
        if outcome.startswith("FAILED"):
            print(f"  {name} {number}: {outcome[7:]}", flush=True)
    told = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    print(f"{n_texts} texts: {told}; {time.monotonic() - began:.0f} s", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=0.0, help="go on for so long")
    parser.add_argument("--mutants", type=int, default=50_000, help="of one seed")
    parser.add_argument("--texts", type=int, default=500_000, help="of one seed")
    parser.add_argument("--seed", type=int, default=0, help="other mutants")
    parser.add_argument("--only", nargs="*", default=(), help="names of models")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=int, default=60, help="limit per mutant")
    parser.add_argument("--megabytes", type=int, default=1000, help="limit per mutant")
    parser.add_argument(
        "--replay", type=int, nargs="*", help="judge these mutants in this process"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    end = time.monotonic() + 3600 * options.hours
    seed, n_failures = options.seed, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subjects = []
        if options.mutants or options.replay is not None:
            subjects = list(make_subjects(folder, options.only))
            print(f"{len(subjects)} models", flush=True)
        if options.replay is not None:
            for number in options.replay:
                subject = subjects[number % len(subjects)]
                kept = Path(f"mutant-{number}.model")
                random.seed(0)
                outcome = judge(kept, subject, number, quiet=False)
                print(f"{kept} of {subject.name}: {outcome}", flush=True)
                n_failures += outcome.startswith("FAILED")
            return 1 if n_failures else 0
        warm(subjects, folder)
        while True:
            n_failures += fuzz_texts(seed, options.texts)["FAILED"]
            if subjects:
                began = time.monotonic()
                limits = Limits(options.seconds, options.megabytes)
                fuzzer = Fuzzer(subjects, folder, limits, options.jobs)
                first = seed * 10**9
                fuzzer.run(first, first + options.mutants)
                n_failures += len(fuzzer.failures)
                counts = sorted(fuzzer.counts.items())
                told = ", ".join(f"{n} {name}" for name, n in counts)
                spent = time.monotonic() - began
                print(f"{options.mutants} mutants: {told}; {spent:.0f} s", flush=True)
                for number, what in sorted(fuzzer.failures)[:50]:
                    print(f"  --replay {number}  {what}", flush=True)
            seed += 1
            if time.monotonic() >= end:
                return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
