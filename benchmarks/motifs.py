"""Motifs: planted ones, and Table 1 of Yu and Joachims on real sequences.

    python benchmarks/motifs.py planted [--seeds 5] [--noise 0.1]
    python benchmarks/motifs.py warm [--noise 0.2] [--order 1]
    python benchmarks/motifs.py table1 --data DIR [--corpus promoters] [--order 3]

`planted` trains on half of the sequences and prints the share of sites of the others
that are predicted exactly, and up to the most frequent shift (a motif may be learned
some letters beside itself); beside it the same for a training that starts at the true
windows, an upper bound for any start, and for the Gibbs sampler, whose threshold is the
best one for the test sequences, as in the paper.

`warm` solves the convex problem of each round from the rebased planes of the round
before and from nothing, to the same tolerance, and prints the ratio of oracle calls.

`table1` compares errors in cross-validation, by several seeds: C, times the training
sequences, and the order of the background are chosen by the error on fifths of the
training folds, each held out once (`--inner 1`: on one of them); mean and standard
deviation over folds, the deviation over seeds, a paired t-test against the Gibbs
sampler, and rounds by C (Figure 3). The Gibbs sampler has the order and the threshold
that are best for the test sequences, so its error is too small. The sequences of ars1
are shifted at random, since their motif has one place; `donors` are the EI sequences of
splice against the N ones, `acceptors` the IE ones, `splice` both. The whole protocol is
the default; `--limit`, `--folds`, `--seeds`, `--grid`, `--restarts`, `--length`,
`--inner` and `--tol` ask for less.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from partwise import MotifClassifier
from partwise.datasets import planted_motifs
from partwise.objective import Objective
from partwise.readers.sequences import read_sequences
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.cccp import CCCP
from partwise.structures.motif import Motif
from partwise.structures.motif.gibbs import GibbsMotif

# file, classes with the motif, classes left out
CORPORA: dict[str, tuple[str, set[str], set[str]]] = {
    "promoters": ("dna_promoters/promoters.tsv", {"+"}, set()),
    "splice": ("dna_splice/splice.tsv.gz", {"EI", "IE"}, set()),
    "donors": ("dna_splice/splice.tsv.gz", {"EI"}, {"IE"}),
    "acceptors": ("dna_splice/splice.tsv.gz", {"IE"}, {"EI"}),
    "ars1": ("dna_yeast_ars1/ars1_variants.tsv.gz", {"+1"}, set()),
    "uniprobe": ("dna_uniprobe_motif/protein_052.tsv.gz", {"+1"}, set()),
}


class Setting(NamedTuple):
    """What table1 chooses."""

    C: float  # times the sequences
    order: int


def site_shares(places: Any, truth: Any) -> tuple[float, float]:
    """Share of sites at their places, and at the most frequent shift from them."""
    shift = np.asarray(places) - np.asarray(truth)
    common = np.bincount(shift - shift.min()).max() / len(shift)
    return float(np.mean(shift == 0)), float(common)


def best_accuracy(scores: Any, has_motif: Any) -> float:
    """By the best of all thresholds."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(np.where(has_motif[order], 1, -1))
    n_without = int((~has_motif).sum())
    return (max(0, int(right.max())) + n_without) / len(scores)


def planted(options: argparse.Namespace) -> None:
    """Recovery of planted sites."""
    rows = []
    for seed in range(options.seeds):
        X, y, p = planted_motifs(400, noise=options.noise, random_state=seed)
        half = 200
        new, has_motif = X[half:], y[half:] == 1
        began = time.perf_counter()
        finder = MotifClassifier(length=8, order=options.order[0], n_jobs=options.jobs)
        finder.fit(X[:half], y[:half])
        seconds = time.perf_counter() - began
        ours = site_shares(finder.positions(new)[has_motif], p[half:][has_motif])
        train = y[:half] == 1
        trained = site_shares(finder.positions(X[:half])[train], p[:half][train])
        structure = Motif(8, options.order[0]).setup()
        problem = structure.pack(X[:half], y[:half])
        problem.begin_with_codes(np.where(y[:half] > 0, p[:half] + 1, 0))
        objective = Objective.create(float(half), half, "l1")
        ideal = CCCP().solve(problem, objective)
        cuts = structure.pack(new, None).best_windows(ideal.model)
        best = site_shares(cuts.code[has_motif] - 1, p[half:][has_motif])
        gibbs = GibbsMotif(8, order=options.order[0], restarts=5, sweeps=20)
        gibbs.fit(
            [x for x, k in zip(X[:half], y, strict=False) if k],
            [x for x, k in zip(X[:half], y, strict=False) if not k],
        )
        theirs = site_shares(gibbs.positions(new)[has_motif], p[half:][has_motif])
        accuracy = float(finder.score(new, y[half:]))
        tuned = best_accuracy(gibbs.scores(new), has_motif)
        rows.append((*trained, *ours, best[0], *theirs, accuracy, tuned))
        print(
            f"seed {seed}: sites of training sequences {trained[0]:.3f}, new ones "
            f"{ours[0]:.3f} (shifted {ours[1]:.3f}), from the true windows "
            f"{best[0]:.3f}, Gibbs {theirs[0]:.3f} (shifted {theirs[1]:.3f}); accuracy "
            f"{accuracy:.3f}, Gibbs {tuned:.3f}; objective "
            f"{finder.certificate_.primal:.4g} against {ideal.found:.4g}; "
            f"{seconds:.1f} s",
            flush=True,
        )
    names = (
        "sites, training", "shifted", "sites, new", "shifted", "from the true windows",
        "Gibbs", "shifted", "accuracy", "Gibbs, tuned",
    )  # fmt: skip
    for name, column in zip(names, np.transpose(rows), strict=True):
        print(f"{name:22} {np.mean(column):.3f} ± {np.std(column):.3f}")


def warm(options: argparse.Namespace) -> None:
    """Oracle calls with rebased planes against those of cold starts."""
    for convex in (ProximalBundle(), BCFW()):
        n_warm = n_cold = 0
        for seed in range(3):
            X, y, _ = planted_motifs(200, noise=options.noise, random_state=seed)
            problem = Motif(8, options.order[0]).setup().pack(X, y)
            objective = Objective.create(200.0, 200, "l1")
            problem.complete_at_random(np.random.default_rng(seed))
            state = convex.solve(problem, objective)
            for _ in range(6):
                old = problem.complete(state.model)
                if not len(old.block):
                    break
                convex.rebase(state, old)
                state = convex.solve(problem, objective, start=state)
                n_warm += state.oracle_calls
                n_cold += convex.solve(problem, objective).oracle_calls
        name = type(convex).__name__
        print(f"{name}: {n_warm:,} calls warm, {n_cold:,} cold: {n_warm / n_cold:.2f}")


def shifted(X: Any, most: int, rng: Any) -> Any:
    """Sequences without a random number of letters at either end, together `most`."""
    begin = rng.integers(0, most + 1, size=len(X))
    return [x[a : len(x) - most + a] for x, a in zip(X, begin, strict=True)]


def read_corpus(options: argparse.Namespace) -> tuple[Any, Any]:
    """Sequences and whether they have the motif, in random order."""
    name, positive, left_out = CORPORA[options.corpus]
    data = read_sequences(Path(options.data) / name)
    assert data.y is not None
    used = [i for i, label in enumerate(data.y) if label not in left_out]
    y = np.array([data.y[i] in positive for i in used])
    rng = np.random.default_rng(0)
    sequences = [data.X[i] for i in used]
    if options.corpus == "ars1":
        sequences = shifted(sequences, 30, rng)
    X = np.array(sequences, dtype=object)
    order = rng.permutation(len(X))[: options.limit]
    return X[order], y[order]


def finder_for(
    X: Any, y: Any, length: int, setting: Setting, seed: int, options: Any
) -> MotifClassifier:
    """A motif classifier; C is times the sequences."""
    finder = MotifClassifier(
        length=length, order=setting.order, restarts=options.restarts,
        C=setting.C * len(X), n_jobs=options.jobs, tol=options.tol, seeds=options.tried,
        random_state=seed,
    )  # fmt: skip
    return finder.fit(X.tolist(), y.astype(int))


def error_of(finder: MotifClassifier, X: Any, y: Any) -> float:
    """Per cent."""
    return 100 * (1 - finder.score(X.tolist(), y.astype(int)))


def choose(
    X: Any, y: Any, length: int, rounds: dict[float, list[int]], options: Any
) -> Setting:
    """The setting of smallest error on fifths of the training sequences."""
    settings = [Setting(C, order) for C in options.grid for order in options.order]
    if len(settings) == 1:
        return settings[0]
    fifth = np.arange(len(X)) % 5
    errors = dict.fromkeys(settings, 0.0)
    for setting in settings:
        for held in range(options.inner):
            inner = fifth != held
            trial = finder_for(X[inner], y[inner], length, setting, 0, options)
            errors[setting] += error_of(trial, X[~inner], y[~inner])
            rounds[setting.C].append(len(trial.rounds_))
    return min(errors, key=errors.__getitem__)


def gibbs_error(
    train: tuple[Any, Any], test: tuple[Any, Any], length: int, options: Any
) -> float:
    """Per cent, with the order and the threshold that are best for the test data."""
    X, y = train
    best = 0.0
    for order in options.order:
        gibbs = GibbsMotif(length, order=order, restarts=3, sweeps=15)
        gibbs.fit(X[y].tolist(), X[~y].tolist())
        best = max(best, best_accuracy(gibbs.scores(test[0].tolist()), test[1]))
    return 100 * (1 - best)


def table1(options: argparse.Namespace) -> None:
    """Errors in cross-validation."""
    X, y = read_corpus(options)
    fold = np.arange(len(X)) % options.folds
    for length in options.length:
        began = time.process_time()
        ours = np.zeros((options.folds, options.seeds))
        theirs, chosen = [], []
        rounds: dict[float, list[int]] = {C: [] for C in options.grid}
        for k in range(options.folds):
            train, test = fold != k, fold == k
            Xt, yt = X[train], y[train]
            setting = choose(Xt, yt, length, rounds, options)
            chosen.append(setting)
            for seed in range(options.seeds):
                finder = finder_for(Xt, yt, length, setting, seed, options)
                ours[k, seed] = error_of(finder, X[test], y[test])
            theirs.append(gibbs_error((Xt, yt), (X[test], y[test]), length, options))
        mean = ours.mean(axis=1)
        p = ttest_rel(mean, theirs).pvalue
        settings = ", ".join(
            f"C/n {C:g} order {order}: {n}"
            for (C, order), n in sorted(Counter(chosen).items())
        )
        by_C = {C: round(float(np.mean(n)), 1) for C, n in rounds.items() if n}
        print(
            f"{options.corpus}, {len(X)} sequences, {100 * y.mean():.0f} % with the "
            f"motif, l = {length}: latent SVM {np.mean(mean):.2f} ± {np.std(mean):.2f} "
            f"% (over {options.seeds} seeds ± {np.mean(ours.std(axis=1)):.2f}), Gibbs "
            f"{np.mean(theirs):.2f} ± {np.std(theirs):.2f} %, p = {p:.2g}; folds by "
            f"setting {settings}; rounds by C/n {by_C}; "
            f"CPU {time.process_time() - began:.0f} s",
            flush=True,
        )


def main() -> None:
    """Read options and run a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("planted", "warm", "table1"))
    parser.add_argument("--data", default=".")
    parser.add_argument("--corpus", choices=sorted(CORPORA), default="promoters")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--length", type=int, nargs="+", default=[11, 17])
    parser.add_argument(
        "--grid", type=float, nargs="+", default=[0.1, 1.0, 10.0, 100.0, 1000.0],
        help="C, times the sequences",
    )  # fmt: skip
    parser.add_argument(
        "--order", type=int, nargs="+", default=[0], help="of the background"
    )
    parser.add_argument("--inner", type=int, default=5, choices=range(1, 6))
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tried", type=int, default=100, help="seed windows; 0: none")
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    {"planted": planted, "warm": warm, "table1": table1}[options.study](options)


if __name__ == "__main__":
    main()
