"""Figure 6.6 of the thesis: naive, hash-table and indexed products in training."""

import time

import numpy as np
from numba import njit

from atomic_setup import BEST_HASH, COLUMNS, EPS, KERNELS, header, line, read
from partwise.features.arc_keys import ArcHasher
from partwise.kernels import as_kernel, gram
from partwise.objective import Objective
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.postings import complete_keys
from partwise.solvers.one_slack import OneSlack
from partwise.structures.dependency import Arborescence


@njit(cache=True, nogil=True)
def naive_product(key, anchor, entry, gram, w, n_slots, step):
    """Algorithm 4: every candidate key, or each `step`-th, with every model symbol."""
    for s in range(0, n_slots, step):
        total = 0.0
        for k in range(entry.shape[0]):
            e = entry[k]
            if key[e] == key[s]:
                total += w[e] * gram[anchor[e], anchor[s]]
        w[n_slots + s] = total


@njit(cache=True, nogil=True)
def table_product(key, anchor, by_anchor, ends, entry, gram, place, w, n_slots):
    """Algorithm 5: a table of the sentence's keys, looked up by all symbols."""
    for j in range(ends.shape[0] - 1):
        for k in range(ends[j], ends[j + 1]):
            place[key[by_anchor[k]]] = by_anchor[k]
            w[n_slots + by_anchor[k]] = 0.0
        for k in range(entry.shape[0]):
            e = entry[k]
            s = place[key[e]]
            if s >= 0:
                w[n_slots + s] += w[e] * gram[anchor[e], j]
        for k in range(ends[j], ends[j + 1]):
            place[key[by_anchor[k]]] = -1


class TimedScorer(KernelScorer):
    """Products by Algorithm 4, 5 or 7, under a clock.

    ``step`` > 1: of naive products only a sample of scores is computed, the rest by the
    index, and the time is that of all.
    """

    def __init__(self, values, way, step):
        super().__init__(values)
        self.way, self.step = way, step
        self.seconds, self.products = 0.0, 0

    def complete(self, rows, model, n_jobs=1):
        """Scores from coefficients."""
        key, begin, anchor, gram, n_slots = rows.postings
        entry = np.flatnonzero(model[:n_slots])
        entry = entry[np.argsort(anchor[entry], kind="stable")]
        by_anchor = np.argsort(anchor, kind="stable")
        ends = np.searchsorted(anchor[by_anchor], np.arange(len(gram) + 1))
        place = np.full(len(begin) - 1, -1)
        if self.step > 1:
            super().complete(rows, model)
        began = time.process_time()
        if self.way == "naive":
            naive_product(key, anchor, entry, gram, model, n_slots, self.step)
        elif self.way == "table":
            table_product(
                key, anchor, by_anchor, ends, entry, gram, place, model, n_slots
            )
        else:
            complete_keys(begin, anchor, gram, model, n_slots, 0, len(begin) - 1)
        self.seconds += self.step * (time.process_time() - began)
        self.products += 1


def products(args):
    """Time of naive, hash-table and indexed products in one-slack training."""
    C = (args.C or [10])[0]
    _time_products(args, 20, C, 1)  # compiles
    header(
        "sentences", "products", "indexed: s", "table: s", "naive: s",
        "naive ÷ indexed", "objective", "largest difference",
    )  # fmt: skip
    for n in (250, 500, 1000, 2000):
        if n > args.train:
            break
        step = 1 if n <= args.naive_up_to else 200
        seconds, count, objective, worst = _time_products(args, n, C, step)
        told = [f"{each:.2f}" for each in seconds]
        if step > 1:
            told[2] += " (by a sample)"
        line(
            n, count, *told, f"{seconds[2] / seconds[0]:.0f}", f"{objective:.6g}",
            f"{worst:.1e}",
        )  # fmt: skip


def _time_products(args, n, C, step):
    """Train with each way of products: seconds of each, and that they agree."""
    bank = read(args.data, n, 1)
    kernel = as_kernel(KERNELS["annotated n-gram"])
    kernel = kernel.with_columns(bank.table.columns, COLUMNS)
    inputs = bank.table.select(kernel.columns_of(bank.table.columns))
    values = gram(kernel, inputs, dtype=np.float32)
    keys = ArcHasher(BEST_HASH).transform(bank.table)
    tree = Arborescence(normalized=True)
    objective = Objective.create(C, n, "l1")
    seconds, primal, models, count = [], [], [], 0
    for way in ("indexed", "table", "naive"):
        scorer = TimedScorer(values, way, step if way == "naive" else 1)
        problem = tree.pack(keys, bank.heads, scorer=scorer)
        state = OneSlack(eps=EPS, max_iter=2000).solve(problem, objective)
        seconds.append(scorer.seconds)
        primal.append(state.primal)
        count = scorer.products
        if not models:
            coefficients = problem.compact(state.model).copy()
        models.append(problem.with_scores(coefficients))
    worst = max(np.abs(model - models[0]).max() for model in models)
    if worst > 1e-9 or max(primal) - min(primal) > 1e-6 * min(primal):
        raise SystemExit(f"n = {n}: products differ by {worst}, objectives {primal}")
    return seconds, count, primal[0], worst
