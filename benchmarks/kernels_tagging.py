"""Figures 1 and 3 of the hidden Markov SVM paper, and Table 2 of the founding paper.

    python benchmarks/kernels_tagging.py --data DIR [--task ner|pos|all] [--output FILE]

DIR holds `conll2002_ner_spanish/esp.train.gz` and
`ud_english_ewt/en_ewt-ud-train.conllu.gz`. 300 sentences, 5-fold cross-validation,
a window of three words and the spelling of each, no part-of-speech tags; token error in
per cent. The perceptron and the SVM use a second-degree polynomial kernel.

The paper's C = 1 (eq. 22) is n/4 here. Where no C is given, it is chosen by threefold
cross-validation within the training folds. The loss is the number of wrong tokens, but
for the paper's own SVM, to which all wrong labellings are equally bad. The first 300
sentences stand for the papers' random ones, and UD_English-EWT (fine tags) for the Penn
Treebank: compare the rows with each other rather than with the papers' figures.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from partwise import SequenceTagger
from partwise.metrics import scorer, token_error
from partwise.readers import read_columns, read_conllu
from partwise.solvers.online import Perceptron

TEMPLATES = """
word[-1..1]
lower(word)[-1..1]
short_shape(word)[-1..1]
suffix(lower(word),3)[-1..1]
suffix(lower(word),2)
prefix(lower(word),3)
match(word,"[0-9]")[-1..1]
match(word,"[.]$")[-1..1]
match(word,"-")
bias
"""
KERNEL = "poly:degree=2"


def named_entities(folder, n):
    """Spanish news wire: words and nine labels."""
    X, y = read_columns(Path(folder) / "conll2002_ner_spanish" / "esp.train.gz")
    return X[:n].select(["word"]), y[:n]


def part_of_speech(folder, n):
    """English web text: words and fine tags."""
    path = Path(folder) / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz"
    X, _ = read_conllu(path)
    X = X[:n]
    tags = X.strings("xpos")
    return type(X)({"word": X.columns["form"]}, X.offset), tags


def chosen(tagger, values):
    """The tagger with the C that is best in threefold cross-validation."""
    grid = {"C": values}
    return GridSearchCV(tagger, grid, scoring=scorer("token_accuracy"), cv=3)


def models(n_train, options):
    """The rows of the figures, by name."""
    plain = SequenceTagger(templates=TEMPLATES)
    crf = clone(plain).set_params(loss="log", tol=0.02)
    perceptron = clone(plain).set_params(
        kernel=KERNEL, solver="perceptron", max_iter=options.epochs
    )
    svm = clone(plain).set_params(
        kernel=KERNEL, C=n_train / 4, tol=options.tol, time_limit=options.time_limit
    )
    linear = clone(plain).set_params(tol=options.tol)
    rows = {
        "HMM": clone(plain).set_params(solver="hmm"),
        "CRF": chosen(crf, [30.0, 300.0, 3000.0]),
        "HM-perceptron": clone(perceptron).set_params(
            solver=Perceptron(max_iter=options.epochs, averaged=False)
        ),
        "HM-perceptron, averaged": perceptron,
        "HM-SVM, 0/1 loss, C as in the paper": clone(svm).set_params(cost="zero_one"),
        "HM-SVM, C as in the paper": svm,
        "HM-SVM": chosen(svm, [c * n_train / 4 for c in (1e-3, 0.01, 0.1, 1)]),
        "SVM without kernel": chosen(linear, [1.0, 10.0, 100.0]),
    }
    return {name: row for name, row in rows.items() if options.only in ("", name)}


def run(title, X, y, options):
    """Errors of all models in per cent, fold by fold."""
    n_labels = len(set().union(*y))
    print(f"{title}: {len(y)} sentences, {X.n_tokens} tokens, {n_labels} labels")
    folds = KFold(5, shuffle=True, random_state=0).split(np.arange(len(y)))
    folds = list(folds)[: options.folds]
    lines = [f"| {title} | token error | seconds per fit |", "| --- | ---: | ---: |"]
    for name in models(1, options):
        errors, seconds = [], []
        for train, test in folds:
            tagger = models(len(train), options)[name]
            began = time.process_time()
            tagger.fit(X[train], [y[i] for i in train])
            seconds.append(time.process_time() - began)
            predicted = list(tagger.predict(X[test]))
            errors.append(100 * token_error([y[i] for i in test], predicted))
            fitted = getattr(tagger, "best_estimator_", tagger)
            gap = fitted.certificate_.relative_gap
            print(f"  {name}: {errors[-1]:.2f} %, relative gap {gap:.2g}", flush=True)
        lines.append(
            f"| {name} | {np.mean(errors):.2f} ± {np.std(errors):.2f} | "
            f"{np.mean(seconds):.1f} |"
        )
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--task", choices=("ner", "pos", "all"), default="all")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--tol", type=float, default=0.02)
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--only", default="", help="the row of this name")
    parser.add_argument("--output", help="write the Markdown here, too")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    lines = []
    tasks = {
        "ner": ("Spanish named entities", named_entities),
        "pos": ("Parts of speech, UD_English-EWT", part_of_speech),
    }
    for task, (title, read) in tasks.items():
        if options.task in (task, "all"):
            X, y = read(options.data, options.sentences)
            lines += [*run(title, X, y, options), ""]
    print("\n".join(lines))
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
