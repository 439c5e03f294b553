"""Conditional random fields: partwise beside python-crfsuite's L-BFGS, in one run.

    python benchmarks/crf.py --data DIR [--corpus chunking ner] [--select]

DIR holds `conll2000_chunking` and `conll2002_ner_spanish`. Both programs see the same
binary features (the presets `window` and `ner`). Objectives are in CRFsuite's units,
−log likelihood + c2·‖w‖² with c2 = 1, which is our C = n/2. Seconds are CPU seconds of
training alone, after compilation. ``equal objective`` is the time our L-BFGS needs to
reach the objective at which CRFsuite's stopped. CRFsuite has a weight for each pair of
an attribute and a label that occurs in training; ``all`` gives it all pairs, which is
the model that we train.

``--select`` compares values of C on held-out parts of the training file instead, or of
``--sentences`` of it.
"""

import argparse
import itertools
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pycrfsuite

from partwise import SequenceTagger
from partwise.features import PRESETS, Featurizer
from partwise.metrics import span_f1
from partwise.objective import Objective
from partwise.readers import read_columns
from partwise.solvers.lbfgs import LBFGS
from partwise.structures.chain import Chain

CORPORA = {
    "chunking": ("conll2000_chunking", "train.txt.gz", "test.txt.gz", "window"),
    "ner": ("conll2002_ner_spanish", "esp.train.gz", "esp.testb.gz", "ner"),
}
ALL = {"feature.possible_states": 1, "feature.possible_transitions": 1}
CANDIDATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # C/n


def read(folder, corpus):
    """(X, y) of the training and the test file, and the templates."""
    name, train, test, templates = CORPORA[corpus]
    pairs = [read_columns(Path(folder) / name / file) for file in (train, test)]
    return *pairs, templates


def attributes(features, lengths):
    """Sentences of tokens of attribute names, for CRFsuite."""
    names = [f"f{k}" for k in range(features.n_features)]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for first, last in itertools.pairwise(starts):
        yield [
            [
                names[k]
                for k in features.indices[features.indptr[t] : features.indptr[t + 1]]
            ]
            for t in range(first, last)
        ]


def peer(train, test, y, y_test, **settings):
    """CPU seconds, objective and F1 of CRFsuite's L-BFGS."""
    trainer = pycrfsuite.Trainer(
        "lbfgs", {"c1": 0.0, "c2": 1.0} | settings, verbose=False
    )
    for tokens, labels in zip(train, y, strict=True):
        trainer.append(tokens, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        begin = time.process_time()
        trainer.train(path)
        seconds = time.process_time() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        f1 = span_f1(y_test, [tagger.tag(tokens) for tokens in test])
    last = trainer.logparser.last_iteration
    return seconds, last["loss"], f1, last["num"]


def ours(features, codes, chain, C, target=None, tol=1e-3):
    """CPU seconds, objective (CRFsuite's units for C = n/2), weights, evaluations."""
    problem = chain.pack(features, codes)
    n = problem.n_blocks
    objective = Objective.create(C, n, "log")
    LBFGS(max_iter=1).solve(problem, objective)  # compiles
    begin = time.process_time()
    state = LBFGS(tol=1e-9 if target else tol).solve(
        problem, objective, callback=lambda s: target and s.primal * n / C <= target
    )
    seconds = time.process_time() - begin
    calls = state.oracle_calls // n
    return seconds, state.primal * n / C, problem.compact(state.model), calls


def decode(features, chain, weights, labels):
    """Labels of new sentences."""
    there = chain.pack(features, None)
    codes, _ = there.decode(there.expand(weights))
    rows = np.split(codes, there.blocks.offset[1:-1])
    return [[labels[c] for c in row] for row in rows]


def compare(folder, corpus, with_all):
    """Print a table of both programs."""
    (X, y), (X_test, y_test), templates = read(folder, corpus)
    featurizer = Featurizer(PRESETS[templates]).fit(X)
    features, features_test = featurizer.transform(X), featurizer.transform(X_test)
    labels = sorted(set().union(*y))
    number = {label: k for k, label in enumerate(labels)}
    codes = np.array([number[a] for row in y for a in row])
    chain = Chain(len(labels))
    n = len(y)
    print(
        f"\n{corpus}: {n:,} sentences, {features.n_features:,} features, "
        f"{len(labels)} labels"
    )
    print("| program | CPU s | objective | span F1 | evaluations |")
    print("| --- | --- | --- | --- | --- |")

    def row(name, seconds, value, f1, calls):
        print(
            f"| {name} | {seconds:.1f} | {value:,.1f} | {100 * f1:.2f} | {calls} |",
            flush=True,
        )

    train = list(attributes(features, [len(r) for r in y]))
    test = list(attributes(features_test, [len(r) for r in y_test]))
    seconds, target, f1, calls = peer(train, test, y, y_test)
    row("CRFsuite, c2 = 1", seconds, target, f1, calls)
    for name, goal, C in (
        ("equal objective", target, n / 2),
        ("tol=0.001", None, n / 2),
    ):
        seconds, value, weights, calls = ours(features, codes, chain, C, goal)
        f1 = span_f1(y_test, decode(features_test, chain, weights, labels))
        row(f"partwise, c2 = 1, {name}", seconds, value, f1, calls)
    if with_all:
        row("CRFsuite, c2 = 1, all", *peer(train, test, y, y_test, **ALL))
    begin = time.process_time()
    tagger = SequenceTagger(templates=templates, loss="log").fit(X, y)
    seconds = time.process_time() - begin
    C = tagger.objective_.weight.sum()
    f1 = span_f1(y_test, list(tagger.predict(X_test)))
    calls = tagger.certificate_.oracle_calls // n
    name = f"partwise, defaults (C = {C / n:g} n), features included"
    row(name, seconds, tagger.certificate_.primal * n / C, f1, calls)


def select(folder, corpus, n_sentences, n_folds=3):
    """Span F1 on held-out parts of the training file, for values of C and of c2."""
    (X, y), _, templates = read(folder, corpus)
    if n_sentences is not None:  # spread over the file, whose documents differ
        some = np.linspace(0, len(y) - 1, min(n_sentences, len(y))).astype(int)
        X, y = X[some], [y[i] for i in some]
    labels = sorted(set().union(*y))
    number = {label: k for k, label in enumerate(labels)}
    chain = Chain(len(labels))
    found = {}
    for fold in range(n_folds):
        held = np.arange(len(y)) % n_folds == fold
        inner, outer = np.flatnonzero(~held), np.flatnonzero(held)
        featurizer = Featurizer(PRESETS[templates]).fit(X[inner])
        features, there = featurizer.transform(X[inner]), featurizer.transform(X[outer])
        y_in, y_out = [y[i] for i in inner], [y[i] for i in outer]
        codes = np.array([number[a] for row in y_in for a in row])
        train = list(attributes(features, [len(r) for r in y_in]))
        test = list(attributes(there, [len(r) for r in y_out]))
        found.setdefault("CRFsuite, c2 = 1", []).append(
            peer(train, test, y_in, y_out)[2]
        )
        for share in CANDIDATES:
            weights = ours(features, codes, chain, share * len(inner))[2]
            f1 = span_f1(y_out, decode(there, chain, weights, labels))
            found.setdefault(f"C = {share:g} n", []).append(f1)
        print(f"\n{corpus}, {fold + 1} of {n_folds} folds")
        for name, values in found.items():
            print(f"| {name} | {100 * np.mean(values):.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA), choices=CORPORA)
    parser.add_argument(
        "--all", action="store_true", help="CRFsuite with all pairs, too"
    )
    parser.add_argument("--select", action="store_true")
    parser.add_argument(
        "--sentences", type=int, help="of the training file, for --select"
    )
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    for corpus in options.corpus:
        if options.select:
            select(options.data, corpus, options.sentences)
        else:
            compare(options.data, corpus, options.all)


if __name__ == "__main__":
    main()
