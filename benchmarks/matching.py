"""Matchings of random items: seconds to a gap of 1 %.

    python benchmarks/matching.py [--examples 10000] [--size 20]

Pairs of points and noisy copies in another order (`toy_matchings`), four features per
pair and sixteen that say nothing. Seconds of the clock and of the processor, after
compilation, and the share of right pairs on new examples beside the nearest copies.
"""

import argparse
import time

import numpy as np

from partwise import AssignmentMatcher
from partwise.datasets import toy_matchings
from partwise.outputs.matching.metrics import pair_f1


def examples(n, size, seed):
    """Matchings with further features that are noise."""
    rng = np.random.default_rng(seed)
    X, y = toy_matchings(n, random_state=seed, size=size)
    more = (rng.normal(size=(*x.shape[:2], 16)) for x in X)
    return [np.concatenate(both, axis=2) for both in zip(X, more, strict=True)], y


def main():
    """Train and print a line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    X, y = examples(options.examples, options.size, 0)
    X_new, y_new = examples(500, options.size, 1)
    AssignmentMatcher(max_iter=1).fit(X[:4], y[:4])
    matcher = AssignmentMatcher(tol=0.01, n_jobs=options.jobs)
    begin = time.perf_counter(), time.process_time()
    matcher.fit(X, y)
    wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
    certificate = matcher.certificate_
    nearest = [np.argmin(x[:, :, :2].sum(axis=2), axis=1) for x in X_new]
    print(
        f"{options.examples:,} examples of {options.size} × {options.size}: "
        f"{wall:.1f} s, {cpu:.1f} s of processors, gap {certificate.relative_gap:.2%}, "
        f"{matcher.n_iter_} sweeps; F1 of new pairs {matcher.score(X_new, y_new):.3f}, "
        f"nearest copies {pair_f1(y_new, nearest):.3f}"
    )


if __name__ == "__main__":
    main()
