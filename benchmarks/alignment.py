"""Alignments: Table 4 of paper 000 on synthetic data, and BAliBASE against BLOSUM62.

    python benchmarks/alignment.py homologues [--samples 10] [--per-example]
    python benchmarks/alignment.py balibase --data DIR [--models simple window …]
                                   [--pairs 4] [--folds 4] [--longest 600]

homologues: error rates of the generative model and the SVM (L2 slacks, ε = 0.1, one gap
    cost, local alignment) for n training examples, and constraints added. Our numbers:
    native sequences of 30 letters, a fifth of the letters of homologues is noise, 20
    shuffled decoys, 100 test examples. The generative model has the gap cost of the
    grid that is best on the test set, as in the paper. C = 0.01 is the weight of
    (1/n) Σ ξ²/2, or with ``--per-example`` of Σ ξ²/2, nearer to the paper.
balibase: RV11 and RV12 by family, BB and BBS twins together, in four folds; one fold
    is the test, the next one chooses C, the others train, and the model of the best C
    is trained again on these three: C is chosen without a look at the test families.
    The gaps that the last fits reach are printed, and how many of all fits the clock
    stopped. At most ``--pairs`` pairs of each family train, 10 are evaluated, no
    sequence longer than ``--longest``; families without such a pair are left out, and
    counted. BLOSUM62 has gaps of 11 + k, global alignment. Q and Q4 in the core,
    means over families of all folds; p is that of Wilcoxon's signed rank test of the
    families' differences.

Models: simple (letters), window (and letters two places to either side),
window-position (and gaps at either end by scores of their own), columns,
anova2, tensor (letters, hydrophobicity and secondary-structure propensity, both means
over seven residues, in classes), anova2-window (and both of these two places to either
side), profile (window, and scores of letters by the other
sequences of the family, aligned by BLOSUM62 without the partner; it knows more than
BLOSUM62 does), columns-window and columns-profile (columns, and both of them two places
to either side, and the scores by profiles: Window and Profile of paper 001), each with
``-generative``.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from partwise import SequenceAligner
from partwise.datasets import toy_homologues
from partwise.metrics.alignments import lost_share
from partwise.readers import aligned_pairs, read_families, read_matrix
from partwise.solvers.n_slack import NSlack

SIZES = (1, 2, 4, 10, 20, 40, 80)
GAPS = (-0.05, -0.1, -0.2, -0.4, -0.8, -1.6)
LETTERS = "ARNDCQEGHILKMFPSTWYV"
KYTE_DOOLITTLE = (
    1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5, 3.8, -3.9, 1.9, 2.8, -1.6,
    -0.8, -0.7, -0.9, -1.3, 4.2,
)  # fmt: skip
# Chou and Fasman: propensities for helix and for strand
HELIX = (
    1.42, 0.98, 0.67, 1.01, 0.70, 1.11, 1.51, 0.57, 1.00, 1.08, 1.21, 1.16, 1.45, 1.13,
    0.57, 0.77, 0.83, 1.08, 0.69, 1.06,
)  # fmt: skip
STRAND = (
    0.83, 0.93, 0.89, 0.54, 1.19, 1.10, 0.37, 0.75, 0.87, 1.60, 1.30, 0.74, 1.05, 1.38,
    0.55, 0.75, 1.19, 1.37, 1.47, 1.70,
)  # fmt: skip
WINDOW = ["residue", "residue[-2..-1]", "residue[1..2]"]
PRODUCTS = ["profile * letters", "letters * profile", "profile * counts"]
NAMES = ("residue", "hydro", "fold")
COLUMNS = [f"{one} ~ {other}" for one in NAMES for other in NAMES]
NEIGHBOURS = [f"{name}[{k}]" for name in NAMES[1:] for k in (-2, -1, 1, 2)]
MODELS = {
    "simple": ["residue"],
    "window": WINDOW,
    "window-position": [*WINDOW, "open: position", "extend: bias", "extend: position"],
    "columns": "simple",
    "anova2": "anova2",
    "tensor": "tensor",
    "anova2-window": "anova2+window",
    "profile": [*WINDOW, *PRODUCTS],
    "columns-window": [*COLUMNS, *NEIGHBOURS],
    "columns-profile": [*COLUMNS, *NEIGHBOURS, *PRODUCTS],
}
START_SCALE = 0.01  # of BLOSUM62
PROFILE_SCALE = 0.05
STOPPED = []  # whether each fit of a model ended above its tolerance


# ------------------------------------------------------------------------ homologues


def study_homologues(options):
    settings = {"templates": ["residue", "extend: bias"], "mode": "local",
                "metric": "homologue_accuracy"}  # fmt: skip
    print(
        "  n   training: generative, svm      test: generative, svm       constraints"
    )
    for n in SIZES:
        began = time.perf_counter()
        errors, by_gap, n_planes = [], [], []
        for sample in range(options.samples):
            X, y = toy_homologues(n, random_state=1000 + sample)
            new = toy_homologues(100, random_state=2000 + sample)
            C = 0.01 * n if options.per_example else 0.01
            solver = NSlack(eps=0.1, reoptimise="all")
            svm = SequenceAligner(C, penalty="l2", solver=solver, **settings).fit(X, y)
            counted = SequenceAligner(solver="generative", **settings).fit(X, y)
            rows = []
            for gap in GAPS:
                counted.model_.weights[-1] = gap
                rows.append((1 - counted.score(X, y), 1 - counted.score(*new)))
            by_gap.append(rows)
            errors.append((1 - svm.score(X, y), 1 - svm.score(*new)))
            n_planes.append(svm.certificate_.n_planes)
        table = 100 * np.array(by_gap)  # sample, gap, training or test
        best = int(np.argmin(table[:, :, 1].mean(axis=0)))
        errors = 100 * np.array(errors)
        columns = [table[:, best, 0], errors[:, 0], table[:, best, 1], errors[:, 1]]
        shown = [
            f"{column.mean():5.1f} ± {np.std(column, ddof=1) / len(column) ** 0.5:3.1f}"
            for column in [*columns, np.array(n_planes)]
        ]
        seconds = time.perf_counter() - began
        print(
            f"{n:3}  {'  '.join(shown)}  {seconds:.1f} s  (gap {GAPS[best]})",
            flush=True,
        )


# -------------------------------------------------------------------------- balibase


def smoothed(text, scale, reach=3):
    """Means of a scale of letters over a window; unknown letters are neutral."""
    table = dict(zip(LETTERS, scale, strict=True))
    neutral = float(np.mean(scale))
    values = np.array([table.get(c, neutral) for c in text])
    weights = np.ones(2 * reach + 1)
    count = np.convolve(np.ones(len(text)), weights, "same")
    return np.convolve(values, weights, "same")[: len(text)] / count[: len(text)]


def with_columns(text):
    hydro = np.digitize(smoothed(text, KYTE_DOOLITTLE), [-1.5, -0.5, 0.5])
    helix, strand = smoothed(text, HELIX), smoothed(text, STRAND)
    fold = np.where(
        np.maximum(helix, strand) < 1.03, "C", np.where(helix > strand, "H", "E")
    )
    return {"residue": text, "hydro": hydro.astype(str).tolist(), "fold": fold.tolist()}


def with_profile(text, others, aligner, matrix):
    """Mean scores of letters beside those that other sequences have at each place."""
    known = matrix.rows
    place = np.array([max(known.find(c), 0) for c in text])
    counts = np.eye(len(known))[place]
    if others:
        alignments, _ = aligner.model_.align([(text, other) for other in others])
        for other, pairs in zip(others, alignments, strict=True):
            letters = [max(known.find(other[j]), 0) for j in pairs[:, 1].tolist()]
            np.add.at(counts, (pairs[:, 0], letters), 1.0)
    counts /= counts.sum(axis=1, keepdims=True)
    return {
        "residue": text,
        "letters": np.eye(len(known))[place],
        "counts": counts,
        "profile": PROFILE_SCALE * counts @ matrix.scores,
    }


def sample_pairs(family, n, longest, rng):
    """Pairs of one family with a core, at most n of them."""
    pairs = aligned_pairs([family], max_length=longest)
    usable = [k for k in range(len(pairs.X)) if pairs.core[k].any()]
    chosen = rng.permutation(usable)[:n].tolist()
    return [(pairs.X[k], pairs.y[k], pairs.core[k], pairs.names[k]) for k in chosen]


class Features:
    """Sequences of pairs as a model wants them."""

    def __init__(self, families, baseline, matrix):
        self.members = {
            f.name: {r.name: r.sequence.replace("-", "") for r in f.records}
            for f in families
        }
        self.baseline, self.matrix = baseline, matrix
        self.known = {}

    def __call__(self, name, pairs):
        if name in ("simple", "window"):
            return [x for x, *_ in pairs]
        if not name.endswith("profile"):
            return [tuple(self.columns(text) for text in x) for x, *_ in pairs]
        profiles = [
            (
                self.profile(x[0], family, one, other),
                self.profile(x[1], family, other, one),
            )
            for x, _, _, (family, one, other) in pairs
        ]
        if name == "profile":
            return profiles
        return [
            tuple(self.columns(text) | more for text, more in zip(x, both, strict=True))
            for (x, *_), both in zip(pairs, profiles, strict=True)
        ]

    def columns(self, text):
        if text not in self.known:
            self.known[text] = with_columns(text)
        return self.known[text]

    def profile(self, text, family, name, partner):
        key = (family, name, partner)
        if key not in self.known:
            members = self.members[family].items()
            others = [t for other, t in members if other not in (name, partner)]
            self.known[key] = with_profile(text, others, self.baseline, self.matrix)
        return self.known[key]


def qualities(aligner, X, pairs):
    """Means of Q and Q4 over the pairs of each family, by its number."""
    by_family = {}
    for predicted, (_, y, core, names) in zip(aligner.predict(X), pairs, strict=True):
        lost = [100 * lost_share(y[core], predicted, tolerance) for tolerance in (0, 4)]
        by_family.setdefault(names[0][-5:], []).append(100 - np.array(lost))
    return {key: np.mean(rows, axis=0) for key, rows in by_family.items()}


def blosum(path, example):
    """BLOSUM62 with its default gaps, as a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SequenceAligner(
            1e-12, start=path, start_scale=1.0, solver="pegasos", max_iter=1
        ).fit([example[0]], [example[1]])


def study_balibase(options):
    folder = Path(options.data)
    matrix_path = str(folder / "substitution_matrices" / "BLOSUM62")
    matrix = read_matrix(matrix_path)
    families = [
        family
        for name in ("RV11", "RV12")
        for family in read_families(folder / "balibase3" / f"{name}.afa.gz")
    ]
    rng = np.random.default_rng(options.seed)
    keys = sorted({family.name[-5:] for family in families})
    fold_of = dict(
        zip(rng.permutation(keys).tolist(), np.arange(len(keys)) % 4, strict=True)
    )
    few, many = [[], [], [], []], [[], [], [], []]
    for family in families:
        fold = fold_of[family.name[-5:]]
        drawn = sample_pairs(family, 10, options.longest, rng)
        few[fold] += drawn[: options.pairs]
        many[fold] += drawn
    baseline = blosum(matrix_path, few[0][0])
    features = Features(families, baseline, matrix)
    reference = {}
    for fold in range(options.folds):
        reference |= qualities(baseline, features("simple", many[fold]), many[fold])
    names = sorted(reference)
    table = np.array([reference[name] for name in names])
    n_pairs = sum(map(len, many[: options.folds]))
    n_without = sum(fold_of[key] < options.folds for key in keys) - len(names)
    print(
        f"{len(names)} test families, {n_pairs} test pairs; {n_without} families left "
        f"out, without a pair of at most {options.longest} letters with a core"
    )
    q, q4 = table.mean(axis=0)
    print(f"{'BLOSUM62, 11 + k':22} {'':8} Q {q:.2f}  Q4 {q4:.2f}", flush=True)
    for model in options.models:
        began = time.perf_counter()
        by_family, chosen, gaps, aligner = {}, [], [], None
        STOPPED.clear()
        for fold in range(options.folds):
            train = [p for k in (2, 3) for p in few[(fold + k) % 4]]
            dev = few[(fold + 1) % 4]
            aligner, setting = choose(model, train, dev, features, matrix_path, options)
            chosen.append(setting)
            if setting:  # of generative models there is no gap
                gaps.append(f"{aligner.certificate_.relative_gap:.0%}")
            X = features(model.removesuffix("-generative"), many[fold])
            by_family |= qualities(aligner, X, many[fold])
        ours = np.array([by_family[name] for name in names])
        gain = ours - table
        p = [wilcoxon(gain[:, k]).pvalue if gain[:, k].any() else 1.0 for k in (0, 1)]
        seconds = time.perf_counter() - began
        q, q4 = ours.mean(axis=0)
        more, more4 = gain.mean(axis=0)
        print(
            f"{model:22} {len(aligner.coef_):8,} Q {q:.2f}  Q4 {q4:.2f}  gain "
            f"{more:+.2f} (p {p[0]:.1g}), {more4:+.2f} (p {p[1]:.1g})  {seconds:.0f} s"
            f"  C {chosen}  gaps {gaps}, {sum(STOPPED)} of {len(STOPPED)} fits stopped "
            "by the clock",
            flush=True,
        )


def choose(model, train, dev, features, matrix_path, options):
    """The setting that is best on the validation families, trained on these, too."""
    name = model.removesuffix("-generative")
    if name != model:
        return learn(name, train + dev, features, options, {"solver": "generative"}), ""
    X_dev = features(name, dev)
    best = None
    for C in options.C:
        setting = {"start": matrix_path, "start_scale": START_SCALE, "C": C}
        aligner = learn(name, train, features, options, setting)
        quality = np.mean(list(qualities(aligner, X_dev, dev).values()), axis=0)
        if options.verbose:
            gap = aligner.certificate_.relative_gap
            print(f"  {model} C {C}: dev {quality.round(2)} gap {gap:.3f}"
                  f" {aligner.fit_seconds_:.1f} s", flush=True)  # fmt: skip
        if best is None or quality[0] > best[0]:
            best = quality[0], setting
    setting = best[1] | {"C": best[1]["C"] * len(train + dev) / len(train)}
    return learn(name, train + dev, features, options, setting), best[1]["C"]


def learn(name, pairs, features, options, setting):
    y, core = [pair[1] for pair in pairs], [pair[2] for pair in pairs]
    aligner = SequenceAligner(
        templates=MODELS[name], tol=0.05, cost=options.cost, n_jobs=options.jobs,
        time_limit=options.seconds, **setting,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the time limit, which is printed
        aligner.fit(features(name, pairs), y, core=core)
    if "C" in setting:
        STOPPED.append(aligner.certificate_.relative_gap > aligner.tol)
    return aligner


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=("homologues", "balibase"))
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--per-example", action="store_true")
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--models", nargs="*", default=["simple", "window"])
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--folds", type=int, choices=range(1, 5), default=4)
    parser.add_argument("--longest", type=int, default=600)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--cost", default="q")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of one fit")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.study == "balibase" and not options.data:
        parser.error("give --data, the folder with balibase3 and substitution_matrices")
    unknown = {name.removesuffix("-generative") for name in options.models} - set(
        MODELS
    )
    if unknown:
        parser.error(f"--models: choose from {', '.join(MODELS)}, with -generative")
    {"homologues": study_homologues, "balibase": study_balibase}[options.study](options)


if __name__ == "__main__":
    main()
