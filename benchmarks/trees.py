"""Dependency trees: processor time per tree, beside ufal.chu_liu_edmonds (C++).

Scores are normal random numbers, so that best heads hardly ever form a tree and all
work is done. Each round measures every program once on the same trees, interleaved;
the smallest of the rounds counts. One thread; processor time, not wall time.

    pip install ufal.chu_liu_edmonds
    python benchmarks/trees.py                  first order, beside the peer
    python benchmarks/trees.py --programs       all programs
    python benchmarks/trees.py --climbing       how close climbing comes to the optimum

prints Markdown tables.
"""

import argparse
import platform
import time
from importlib.metadata import version

import numpy as np
from numba import njit

from partwise.structures.dependency._climb import climb_trees, new_climb_work
from partwise.structures.dependency._decoders import FirstOrder
from partwise.structures.dependency._eisner import eisner
from partwise.structures.dependency._frontier import new_frontier_work, tree_frontier
from partwise.structures.dependency._grandparents import (
    eisner_grandparents,
    new_grandparent_work,
)
from partwise.structures.dependency._k_best import k_best_trees, new_k_best_work
from partwise.structures.dependency._programs import chu_liu_edmonds, new_tree_work
from partwise.structures.dependency._second_order import (
    eisner_siblings,
    new_sibling_work,
)
from partwise.structures.dependency._sums import (
    new_sum_work,
    projective_sums,
    spanning_sums,
)
from partwise.structures.dependency.constraints import constrained_tree


@njit(cache=True, nogil=True)
def decode_all(scores, n, projective, single_root, work, heads):
    """Decode a batch, as training and prediction do: (trees, N, N) to (trees, n)."""
    total = 0.0
    for s in range(scores.shape[0]):
        if projective:
            total += eisner(scores[s], n, single_root, work, heads[s])
        else:
            total += chu_liu_edmonds(scores[s], n, single_root, work, heads[s])
    return total


def fastest(programs, rounds):
    """Smallest processor seconds of each program, measured in turn."""
    best = dict.fromkeys(programs, np.inf)
    for program in programs.values():
        program()  # compiles
    for _ in range(rounds):
        for name, program in programs.items():
            program()  # brings its data into the cache
            calls, clock = 0, time.thread_time()
            while calls == 0 or time.thread_time() < clock + 2e-3:
                program()
                calls += 1
            best[name] = min(best[name], (time.thread_time() - clock) / calls)
    return best


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join(["---:"] * len(head)) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()


def decoders_of(n, m, rng):
    """First-order programs on m trees of n words, and how many differ from ufal's."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds as peer

    scores = rng.normal(size=(m, n + 1, n + 1))
    turned = [np.ascontiguousarray(score.T) for score in scores]
    work = new_tree_work(n)
    heads = np.empty((m, n), dtype=np.int32)
    programs = {
        "ufal": lambda: [peer(score) for score in turned],
        "ours": lambda: decode_all(scores, n, False, False, work, heads),
        "one root": lambda: decode_all(scores, n, False, True, work, heads),
        "Eisner": lambda: decode_all(scores, n, True, False, work, heads),
        "Eisner, one root": lambda: decode_all(scores, n, True, True, work, heads),
    }
    programs["ours"]()
    theirs = np.array([peer(score)[0][1:] for score in turned])
    return programs, int(np.sum(np.any(theirs != heads, axis=1)))


def compare(lengths, rounds, rng):
    print(f"µs per tree; ufal.chu_liu_edmonds {version('ufal.chu_liu_edmonds')}\n")
    rows = []
    for n in lengths:
        m = max(20, 4000 // n)
        programs, differing = decoders_of(n, m, rng)
        best = fastest(programs, rounds)
        micro = [f"{seconds / m * 1e6:.1f}" for seconds in best.values()]
        ratio = f"{best['ufal'] / best['ours']:.1f}"
        rows.append([n, *micro, ratio, f"{differing} of {m}"])
    print_table(["words", *best, "ufal / ours", "trees that differ"], rows)


def every_row(n):
    """Numbers of the rows of tables that have one for each arc."""
    return np.arange((n + 1) ** 2, dtype=np.int32).reshape(n + 1, n + 1)


def programs_of(n, rng):
    """Every program on one sentence of n words."""
    size = n + 1
    score = rng.normal(size=(size, size))
    pruned = score.copy()
    for d in range(1, size):
        pruned[np.argsort(score[:, d])[: -min(8, n)], d] = -np.inf
    pruned[np.arange(n), np.arange(1, size)] = 0.0  # a chain: a tree always exists
    options = np.sort(rng.normal(size=(5, size, size)), axis=0)[::-1].copy()
    by_loss = rng.normal(size=(2, size, size))
    sibling, grandparent = rng.normal(size=(2, size * size, size))
    parts = (every_row(n), sibling, grandparent)
    trees, sums = new_tree_work(n), new_sum_work(n)
    siblings, grandparents = new_sibling_work(n), new_grandparent_work(n)
    climbs, losses = new_climb_work(n), new_frontier_work(n)
    k_best = new_k_best_work(n, 5)
    marginal, heads = np.empty((size, size)), np.empty(n, dtype=np.int32)
    many, ranks = np.empty((2, 100, n), dtype=np.int32)
    values = np.empty(100)
    free, projective = (FirstOrder(kind, False, trees) for kind in (False, True))
    found = (many, ranks, values)
    return {
        "Chu-Liu/Edmonds": lambda: chu_liu_edmonds(score, n, False, trees, heads),
        "Eisner": lambda: eisner(score, n, False, trees, heads),
        "arc probabilities": lambda: spanning_sums(score, n, False, sums, marginal),
        "arc probabilities, projective": lambda: projective_sums(
            score, n, False, sums, marginal
        ),
        "5 best, 5 labels": lambda: k_best_trees(free, options, n, 5, k_best, *found),
        "5 best, 5 labels, projective": lambda: k_best_trees(
            projective, options, n, 5, k_best, *found
        ),
        "frontier, projective": lambda: tree_frontier(by_loss, n, False, losses),
        "siblings": lambda: eisner_siblings(
            score, *parts[:2], n, False, siblings, heads
        ),
        "siblings, pruned": lambda: eisner_siblings(
            pruned, *parts[:2], n, False, siblings, heads
        ),
        "siblings and grandparents": lambda: eisner_grandparents(
            score, *parts, n, False, grandparents, heads
        ),
        "siblings and grandparents, pruned": lambda: eisner_grandparents(
            pruned, *parts, n, False, grandparents, heads
        ),
        "climbing, pruned": lambda: climb_trees(
            pruned, *parts, n, False, climbs, heads
        ),
    }


def all_programs(lengths, rounds, rng):
    print("µs per sentence, each called from Python; pruned: the 8 best heads\n")
    table = [fastest(programs_of(n, rng), rounds) for n in lengths]
    rows = [[name, *(f"{best[name] * 1e6:.0f}" for best in table)] for name in table[0]]
    print_table(["program", *(f"{n} words" for n in lengths)], rows)


def climbing(lengths, m, rng):
    print("second-order trees with crossing arcs, beside the exact integer program\n")
    rows = []
    for n in lengths:
        work, row = new_climb_work(n), every_row(n)
        heads = np.empty(n, dtype=np.int32)
        reached, short, seconds = 0, [], [0.0, 0.0]
        for _ in range(m):
            score = 2.0 * rng.normal(size=(n + 1, n + 1))
            sibling, grandparent = 0.5 * rng.normal(size=(2, n + 1, n + 1, n + 1))
            tables = [cube.reshape(-1, n + 1) for cube in (sibling, grandparent)]
            climb_trees(score, row, *tables, n, False, work, heads)
            clock = time.thread_time()
            value = climb_trees(score, row, *tables, n, False, work, heads)
            seconds[0] += time.thread_time() - clock
            clock = time.process_time()
            exact = constrained_tree(score, sibling=sibling, grandparent=grandparent)
            seconds[1] += time.process_time() - clock
            reached += value >= exact.value - 1e-9
            short.append(1.0 - value / exact.value)
        per_tree = [f"{total / m * 1e3:.3g}" for total in seconds]
        rows.append([n, f"{reached} of {m}", f"{np.mean(short):.2%}", *per_tree])
    head = ["words", "optimum reached", "score missed", "climbing, ms", "milp, ms"]
    print_table(head, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--climbing", action="store_true")
    parser.add_argument("--lengths", type=int, nargs="+")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{platform.processor() or platform.machine()}, numba {version('numba')}\n")
    if args.programs:
        all_programs(args.lengths or [10, 20, 40], args.rounds, rng)
    elif args.climbing:
        climbing(args.lengths or [6, 8, 10], 20, rng)
    else:
        compare(args.lengths or [10, 20, 40, 80], args.rounds, rng)


if __name__ == "__main__":
    main()
