"""CoNLL-2000 chunking: partwise beside python-crfsuite and, where at hand, SVM-hmm.

    python benchmarks/chunking.py --data DIR [--output FILE] [--rounds 3]

DIR holds `conll2000_chunking/train.txt.gz` and `test.txt.gz`. Words and tags in a
window of two and four tag bigrams (97,249 features), identical for all programs.
Seconds are CPU seconds of training alone, after compilation: the smallest of --rounds
runs for python-crfsuite but one run of its L-BFGS, and of four runs, one after each
peer, for our two rows in the second table. Primal and dual are recomputed by
`objective.py`. ``--select`` cross-validates the settings of the last two rows on the
training file.

SVM-hmm takes part when PARTWISE_SVM_HMM names the folder of its programs.
"""

import argparse
import os
import re
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pycrfsuite

import objective
from partwise import SequenceTagger
from partwise.features import PRESETS, Featurizer
from partwise.metrics import scorer, span_f1
from partwise.readers import read_columns, write_columns
from partwise.solvers.bcfw import BCFW
from partwise.solvers.online import Perceptron

C = 893.6
# the best of --select
ACCURATE = {"C": C, "solver": BCFW(tol=0.1)}
QUICK = {"solver": Perceptron(max_iter=10)}
# python-crfsuite's trainers with their default settings but for these
CRFSUITE = {
    "lbfgs": {"c2": 1.0, "c1": 0.0},
    "ap": {},
    "pa": {"max_iterations": 10},
    "arow": {},
}


def cpu(function, *args):
    """CPU seconds of a call, and its result."""
    begin = time.process_time()
    result = function(*args)
    return time.process_time() - begin, result


def dict_features(words, tags):
    """The window features of one sentence as python-crfsuite's dicts."""

    def at(column, t):
        return column[t] if 0 <= t < len(column) else "<s>"

    sentence = []
    for t in range(len(words)):
        token = {}
        for k in range(-2, 3):
            token[f"w{k}"] = at(words, t + k)
            token[f"p{k}"] = at(tags, t + k)
        for k in range(-2, 2):
            token[f"p{k}p{k + 1}"] = at(tags, t + k) + "|" + at(tags, t + k + 1)
        sentence.append(token)
    return sentence


def all_dicts(table):
    return [
        dict_features(words, tags)
        for words, tags in zip(table.strings("word"), table.strings("pos"), strict=True)
    ]


def crfsuite_rows(train, test, rounds):
    (X, y), (X_test, y_test) = train, test
    items, items_test = all_dicts(X), all_dicts(X_test)
    for algorithm, parameters in CRFSUITE.items():
        seconds = []
        for _ in range(rounds if algorithm != "lbfgs" else 1):
            trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
            for item, labels in zip(items, y, strict=True):
                trainer.append(item, labels)
            with tempfile.TemporaryDirectory() as folder:
                model = str(Path(folder) / "model")
                seconds.append(cpu(trainer.train, model)[0])
                tagger = pycrfsuite.Tagger()
                tagger.open(model)
                f1 = span_f1(y_test, [tagger.tag(item) for item in items_test])
        yield algorithm, min(seconds), f1


def fit(train, test, params):
    """(CPU seconds of solving, F1, tagger)."""
    tagger = SequenceTagger(templates="window", metric="span_f1", **params)
    seen = {}
    resolve = tagger._resolve_solver

    def timed_solver(problem, objective):
        solver = resolve(problem, objective)
        solve = solver.solve

        def timed(*args, **kwargs):
            seen["cpu"], state = cpu(lambda: solve(*args, **kwargs))
            return state

        solver.solve = timed
        return solver

    tagger._resolve_solver = timed_solver
    tagger.fit(*train)
    return seen["cpu"], tagger.score(*test), tagger


def certified_rows(train, test, rounds):
    """Training to a gap of 5 % and 1 %, with the objective recomputed outside."""
    X, y = train
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    for tol in (0.05, 0.01):
        runs = [fit(train, test, {"C": C, "tol": tol}) for _ in range(rounds)]
        seconds = min(run[0] for run in runs)
        _, f1, tagger = runs[0]
        number = {label: k for k, label in enumerate(tagger.classes_)}
        codes = np.array([number[label] for row in y for label in row])
        model = tagger.model_.parts()
        upper = objective.primal(features, codes, model.emission, model.bigram, C)
        lower = objective.dual(features, codes, len(number), tagger.model_.support, C)
        yield tol, seconds, upper, lower, f1


def svm_hmm_row(folder, train):
    """SVM-hmm -c C -e 0.1 on the same features: CPU seconds, primal, dual."""
    X, y = train
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    number = {label: k + 1 for k, label in enumerate(sorted(set().union(*y)))}
    with tempfile.TemporaryDirectory() as place:
        data, model = Path(place) / "train.dat", Path(place) / "model"
        with data.open("w") as out:
            t = 0
            for row, labels in enumerate(y, 1):
                for label in labels:
                    here = features.indices[features.indptr[t] : features.indptr[t + 1]]
                    text = " ".join(f"{f + 1}:1" for f in sorted(here))
                    out.write(f"{number[label]} qid:{row} {text}\n")
                    t += 1
        before = os.times()
        done = subprocess.run(
            [Path(folder) / "svm_hmm_learn", "-c", str(C), "-e", "0.1", data, model],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        after = os.times()
    seconds = after.children_user - before.children_user
    found = re.findall(r"(?:upper|lower) bound on.*?([\d.]+)|Dual objective.*?([\d.]+)",
                       done.stdout)  # fmt: skip
    return seconds, found, done.stdout.strip().splitlines()[-5:]


def file_to_file(test_path, tagger, train, rounds):
    """Tokens per second from file to file: ours, and python-crfsuite fed by dicts."""
    (X, y) = train
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": 1}, verbose=False)
    for item, labels in zip(all_dicts(X[:2000]), y[:2000], strict=True):
        trainer.append(item, labels)
    speeds = {"partwise": [], "python-crfsuite": []}
    with tempfile.TemporaryDirectory() as folder:
        model, out = str(Path(folder) / "model"), str(Path(folder) / "out")
        trainer.train(model)
        peer = pycrfsuite.Tagger()
        peer.open(model)
        for _ in range(rounds):
            begin = time.perf_counter()
            table, _ = read_columns(test_path)
            write_columns(out, table, tagger.model_.predict(table))
            speeds["partwise"].append(table.n_tokens / (time.perf_counter() - begin))
            begin = time.perf_counter()
            n = peer_file_to_file(test_path, out, peer)
            speeds["python-crfsuite"].append(n / (time.perf_counter() - begin))
    return {name: max(values) for name, values in speeds.items()}


def peer_file_to_file(path, out, tagger):
    """What a user of python-crfsuite writes: read, dicts, tag, write."""
    import gzip

    n = 0
    with gzip.open(path, "rt", encoding="utf-8") as lines, open(out, "w") as target:
        sentence = []
        for line in [*lines, "\n"]:
            if line.strip():
                sentence.append(line.split())
                continue
            if not sentence:
                continue
            words, tags = [c[0] for c in sentence], [c[1] for c in sentence]
            labels = tagger.tag(dict_features(words, tags))
            n += len(labels)
            for columns, label in zip(sentence, labels, strict=True):
                target.write(" ".join(columns[:2]) + " " + label + "\n")
            target.write("\n")
            sentence = []
    return n


def select(train):
    """Three-fold cross-validation on the training file for the two settings."""
    from sklearn.model_selection import GridSearchCV

    X, y = train
    for grid in (
        {
            "C": [446.8, 893.6, 1787.2, 3574.4],
            "solver": [BCFW(tol=0.2), BCFW(tol=0.1)],
        },
        {"solver": [Perceptron(max_iter=k) for k in (4, 6, 8, 10)]},
    ):
        search = GridSearchCV(
            SequenceTagger(templates="window"), grid, cv=3, scoring=scorer("span_f1")
        ).fit(X, y)
        for params, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"],
            strict=True,
        ):  # fmt: skip
            print(f"{score:.4f}  {params}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--output", help="write the Markdown here, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--select", action="store_true")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    folder = Path(options.data) / "conll2000_chunking"
    train = read_columns(folder / "train.txt.gz")
    test = read_columns(folder / "test.txt.gz")
    if options.select:
        select(train)
        return
    begin = time.perf_counter()
    small = (train[0][:50], train[1][:50])
    for params in ({"tol": 0.5}, QUICK):
        SequenceTagger(templates="window", **params).fit(*small)
    lines = [f"Warm-up (compilation where the cache is cold): "
             f"{time.perf_counter() - begin:.1f} s", ""]  # fmt: skip
    rounds = options.rounds
    lines += ["| training to a certified gap, C = 893.6 | CPU s | primal | dual | gap "
              "| F1 |", "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for tol, seconds, upper, lower, f1 in certified_rows(train, test, rounds):
        lines.append(
            f"| partwise, tol = {tol:g} | {seconds:.2f} | {upper:.1f} | {lower:.1f} | "
            f"{(upper - lower) / upper:.2%} | {100 * f1:.2f} |"
        )
    home = os.environ.get("PARTWISE_SVM_HMM")
    if home:
        seconds, found, tail = svm_hmm_row(home, train)
        lines.append(f"| SVM-hmm -e 0.1 | {seconds:.2f} | {found} | | | |")
        lines += ["", *tail]
    print("\n".join(lines), flush=True)
    accurate, quick = [], []
    peers = []
    for name, seconds, f1 in crfsuite_rows(train, test, rounds):
        peers.append((name, seconds, f1))
        for params, runs in ((ACCURATE, accurate), (QUICK, quick)):
            runs.append(fit(train, test, params)[:2])  # interleaved with the peers
    rows = [(f"python-crfsuite {n}", s, f) for n, s, f in peers]
    for name, runs in (("BCFW, C = 893.6, tol = 0.1", accurate),
                       ("Perceptron, 10 epochs", quick)):  # fmt: skip
        rows.append((f"partwise {name}", min(s for s, _ in runs), runs[0][1]))
    time_of = {n: s for n, s, _ in peers}
    more = ["", "| trainer | CPU s | test span F1 | L-BFGS / this | PA / this |",
            "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name, seconds, f1 in rows:
        more.append(
            f"| {name} | {seconds:.2f} | {100 * f1:.2f} | "
            f"{time_of['lbfgs'] / seconds:.1f} | {time_of['pa'] / seconds:.1f} |"
        )
    tagger = fit(train, test, QUICK)[2]
    speed = file_to_file(folder / "test.txt.gz", tagger, train, rounds)
    ours, theirs = speed["partwise"], speed["python-crfsuite"]
    more += [
        "",
        "| test file to labelled file | tokens / s |",
        "| --- | ---: |",
        f"| partwise | {ours:,.0f} |",
        f"| python-crfsuite, dicts | {theirs:,.0f} |",
        f"| ratio | {ours / theirs:.1f} |",
    ]
    print("\n".join(more), flush=True)
    if options.output:
        Path(options.output).write_text("\n".join(lines + more) + "\n")


if __name__ == "__main__":
    main()
