"""Dependency parsing of UD_English-EWT: accuracy, seconds and memory.

    python benchmarks/dependencies.py --data DIR [--study NAME]

Studies:

    sixth    every sixth training sentence (2,091), first and second order
    all      all 12,544 training sentences, first and second order
    table    C from 0.1 to 200 as in Table 6.1 of the thesis on kernels for structures:
             wrong heads on training and test data, halves of the sixth
    solvers  the same objective by every solver, a minute each, and online learning
    choices  settings on the development file: labels, decoder, cost, C, hashing
    between  tags between head and dependent on the development file: whether they
             occur, how often, or both
    languages  the defaults on French (Sequoia: trained on train, measured on dev and
             test) and German (GSD: trained on dev, measured on test, because its
             training file is not among the data), projective and not

Gold tags and lemmas; every token counts; labels with and without subtypes (the
official script leaves them out). Settings were chosen on the development file by the
study `choices`; the test file is used for the figures alone. Seconds are those of the
processor, compilation not counted; run it twice.
"""

import argparse
import os
import resource
import time
import warnings
from pathlib import Path

from partwise import DependencyParser
from partwise.features.arc_templates import (
    ARC_PRESETS,
    default_arc_templates,
    second_order_templates,
)
from partwise.metrics import las, uas
from partwise.readers import is_projective, read_conllu
from partwise.solvers.bcfw import BCFW
from partwise.solvers.online import MIRA

HEADER = (
    "| setting | UAS | LAS | LAS, subtypes | CPU s | wall s | sentences/s | crossing |"
    " gap |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def load(folder, treebank="en_ewt", names=("train", "dev", "test")):
    """The files of a treebank as (X, y)."""
    return [read_conllu(folder / f"{treebank}-ud-{name}.conllu.gz") for name in names]


def run(name, train, test, **settings):
    """Fit, parse and print a row; returns the parser."""
    DependencyParser(**settings | {"max_iter": 1}).fit(train[0][:8], train[1][:8])
    parser = DependencyParser(**settings)
    begin = time.process_time(), time.perf_counter()
    parser.fit(*train)
    spent = time.process_time() - begin[0], time.perf_counter() - begin[1]
    parser.predict(test[0][:4])
    begin = time.process_time()
    trees = list(parser.predict(test[0]))
    speed = len(trees) / (time.process_time() - begin)
    scores = [uas(test[1], trees), las(test[1], trees)]
    scores.append(las(test[1], trees, subtypes=True))
    crossing = sum(not is_projective(tree.heads) for tree in trees)
    shown = " | ".join(f"{100 * score:.2f}" for score in scores)
    gap = parser.certificate_.relative_gap
    told = "–" if gap is None else f"{gap:.3f}"
    cells = (name, shown, *(f"{s:.1f}" for s in spent), f"{speed:,.0f}", crossing, told)
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return parser


def every(data, step):
    """Every step-th sentence."""
    return data[0][::step], data[1][::step]


def study_sixth(train, dev, test):
    """First and second order on every sixth sentence."""
    print(HEADER)
    small = every(train, 6)
    run("first order, projective", small, test)
    run("first order, crossing arcs", small, test, projective=False)
    run("first order, vocabulary", small, test, hash_bits=None)
    run("second order, projective", small, test, order=2)


def study_all(train, dev, test):
    """All training sentences."""
    print(HEADER)
    run("first order", train, test, n_jobs=2)
    print(f"\nat most {peak():.2f} GB\n\n{HEADER}")
    run("second order", train, test, order=2, cost=0.5, hash_bits=21, n_jobs=2)
    print(f"\nat most {peak():.2f} GB")


def study_choices(train, dev, test):
    """Settings on the development file."""
    print(HEADER)
    small = every(train, 6)
    n = len(small[1])
    run("default", small, dev)
    for cost in ("uas", 0.5, "las"):
        run(f"cost={cost}", small, dev, cost=cost)
    for share in (0.01, 0.02, 0.04, 0.08):
        run(f"C = {share} n", small, dev, C=share * n)
    for labels in ("joint", "second_stage"):
        run(f"labels={labels}", small, dev, labels=labels)
    for bits in (18, 20, 22, None):
        run(f"hash_bits={bits}", small, dev, hash_bits=bits)
    run("templates=mcdonald", small, dev, templates="mcdonald")
    run("crossing arcs", small, dev, projective=False)
    parser = run("best heads", small, dev, construction="best_heads")
    print(f"\nbest heads are trees for {100 * parser.valid_share(dev[0]):.1f} %")
    for k in (5, 10):
        run(f"second order, {k} candidates", small, dev, order=2, n_candidates=k)


def study_between(train, dev, test):
    """Presence or counts of the tags between, on the development file."""
    small = every(train, 6)
    n = len(small[1])
    columns = small[0].columns
    for text, name in (
        (default_arc_templates(columns), "default templates"),
        (ARC_PRESETS["mcdonald"], "mcdonald"),
    ):
        rest = [line for line in text.splitlines() if "count." not in line]
        counted = [line.replace("between.", "count.") for line in rest]
        both = [*rest, *(line for line in counted if "count." in line)]
        ways = {"presence": rest, "counts": counted, "both": both}
        print(f"\n{name}, mean of three seeds\n")
        print("| C | in between | UAS | LAS | CPU s |")
        print("| ---: | --- | ---: | ---: | ---: |")
        for share in (0.01, 0.02, 0.04):
            for way, templates in ways.items():
                cells = mean_of_seeds(small, dev, C=share * n, templates=templates)
                print(f"| {share} n | {way} | {cells} |", flush=True)

    print("\nsecond order, mean of three seeds\n")
    for counts in (False, True):
        text = default_arc_templates(columns, counts=counts)
        text += second_order_templates(columns)
        cells = mean_of_seeds(small, dev, templates=text, order=2)
        print(f"| {'both' if counts else 'presence'} | {cells} |", flush=True)


def mean_of_seeds(train, test, **settings):
    """UAS, LAS and seconds, the mean of three seeds."""
    DependencyParser(**settings | {"max_iter": 1}).fit(train[0][:8], train[1][:8])
    rows = []
    for seed in range(3):
        begin = time.process_time()
        parser = DependencyParser(random_state=seed, **settings).fit(*train)
        seconds = time.process_time() - begin
        trees = list(parser.predict(test[0]))
        rows.append((100 * uas(test[1], trees), 100 * las(test[1], trees), seconds))
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return f"{means[0]:.2f} | {means[1]:.2f} | {means[2]:.1f}"


def study_solvers(train, dev, test):
    """One objective by several solvers, and MIRA as in section 6.2.3."""
    print(HEADER)
    small = every(train, 6)
    text = default_arc_templates(small[0].columns, counts=False)
    for name in ("bcfw", "n_slack", "one_slack", "bundle"):
        run(name, small, test, solver=name, time_limit=60, templates=text)
    for name in ("pegasos", "perceptron"):
        run(name, small, test, solver=name, max_iter=10, templates=text)
    for k in (1, 5):
        solver = MIRA(max_iter=10, k=k, augmented=k > 1)
        settings = {"solver": solver, "C": len(small[1]), "templates": text}
        run(f"MIRA, k = {k}", small, test, **settings)


def study_table(train, dev, test):
    """Wrong heads in percent for C from 0.1 to 200, as the thesis counts C."""
    X, y = every(train, 6)
    fit, held = every((X, y), 2), (X[1::2], y[1::2])
    print("| C | train error | test error | Δ |\n| ---: | ---: | ---: | ---: |")
    for C in (0.1, 1.0, 10.0, 100.0, 200.0):
        parser = DependencyParser(
            C, templates="mcdonald_counts", labels=None, projective=False,
            normalized=True, hash_bits=None, min_count=2, solver=BCFW(tol=0.05),
        )  # fmt: skip
        parser.fit(*fit)
        wrong = [100 * (1 - uas(b, list(parser.predict(a)))) for a, b in (fit, held)]
        print(f"| {C} | {wrong[0]:.2f} | {wrong[1]:.2f} | {wrong[1] - wrong[0]:.2f} |")


def study_languages(data):
    """The default parser on French and German."""
    french = load(data / "ud_french_sequoia", "fr_sequoia")
    german = load(data / "ud_german_gsd", "de_gsd", ("dev", "test"))
    print(HEADER)
    for name, train, *held in (("French", *french), ("German", *german)):
        n_crossing = sum(not is_projective(tree.heads) for tree in train[1])
        print(f"| {name}: {n_crossing} of {len(train[1])} training trees cross |")
        for projective in (True, False):
            way = "projective" if projective else "crossing arcs"
            for k, test in enumerate(held, 3 - len(held)):
                file = ("dev", "test")[k - 1]
                run(f"{way}, {file}", train, test, projective=projective)


def peak():
    """Largest memory of the process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


STUDIES = {
    "sixth": study_sixth,
    "all": study_all,
    "table": study_table,
    "solvers": study_solvers,
    "choices": study_choices,
    "between": study_between,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", choices=[*STUDIES, "languages"], default="sixth")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    if options.study == "languages":
        study_languages(Path(options.data))
        return
    files = load(Path(options.data) / "ud_english_ewt")
    gold = sum(not is_projective(tree.heads) for tree in files[2][1])
    print(f"{gold} of {len(files[2][1])} true test trees have crossing arcs\n")
    STUDIES[options.study](*files)


if __name__ == "__main__":
    main()
