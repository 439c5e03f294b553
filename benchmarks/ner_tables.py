"""Tables 2 and 3 of the founding paper on Spanish named entities.

    python benchmarks/ner_tables.py --data DIR [--output FILE]

DIR holds `conll2002_ner_spanish/esp.train.gz`. 300 sentences, 5-fold cross-validation,
C = 1, ε = 0.01. The paper used a second-degree polynomial kernel on its own features;
here the features are the preset `ner` and the model is linear, so compare the rows
with each other rather than with the paper's figures. C and the number of epochs in
Table 2 are not tuned.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from partwise import SequenceTagger
from partwise.features import PRESETS, Featurizer
from partwise.metrics import token_error
from partwise.objective import Formulation, Objective
from partwise.readers import read_columns
from partwise.solvers.n_slack import NSlack
from partwise.structures.chain import Chain

TABLE_3 = {
    "SVM2": ("zero_one", "margin"),
    "SVM2, slack": ("hamming", "slack"),
    "SVM2, margin": ("hamming", "margin"),
}
TABLE_2 = {
    "HMM": {"solver": "hmm"},
    "CRF, hardly regularised": {"loss": "log", "C": 1e4, "tol": 0.01},
    "CRF": {"loss": "log", "C": 300.0, "tol": 0.001},
    "Perceptron, averaged": {"solver": "perceptron", "max_iter": 20},
    "SVM": {"C": 30.0},
}


def working_set_row(cost, rescaling, X, y, folds, C, eps):
    """Train error, test error, constraints and their mean loss, per fold."""
    rows = []
    labels = sorted(set().union(*y))
    number = {label: k for k, label in enumerate(labels)}
    for train, test in folds:
        featurizer = Featurizer(PRESETS["ner"]).fit(X[train])
        chain = Chain(len(labels), cost=cost)
        errors, codes = [], {}
        for name, part in (("train", train), ("test", test)):
            codes[name] = np.array([number[a] for i in part for a in y[i]])
        problem = chain.pack(
            featurizer.transform(X[train]),
            codes["train"],
            Formulation(rescaling, "l2"),
            n_jobs=2,
        )
        solver = NSlack(eps=eps)
        state = solver.solve(problem, Objective.create(C, len(train), "l2"))
        w = problem.compact(state.model)
        for name, part in (("train", train), ("test", test)):
            there = chain.pack(featurizer.transform(X[part]), None)
            predicted, _ = there.decode(there.expand(w))
            errors.append(100 * np.mean(predicted != codes[name]))
        cuts = state.memo.support(idle=True).cuts
        by_row = np.split(problem.blocks.y, problem.blocks.offset[1:-1])
        truth = np.concatenate([by_row[i] for i in cuts.block])
        losses = np.add.reduceat(cuts.code != truth, cuts.indptr[:-1])
        rows.append((*errors, len(cuts.block), losses.mean()))
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--output", help="write the Markdown here, too")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--C", type=float, default=1.0)
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    path = Path(options.data) / "conll2002_ner_spanish" / "esp.train.gz"
    X, y = read_columns(path)
    X, y = X[: options.sentences], y[: options.sentences]
    folds = list(KFold(5, shuffle=True, random_state=0).split(np.arange(len(y))))
    lines = ["| Table 3 | train error | test error | constraints | mean loss |",
             "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name, (cost, rescaling) in TABLE_3.items():
        rows = working_set_row(cost, rescaling, X, y, folds, options.C, 0.01)
        cells = [
            f"{m:.2f} ± {s:.2f}" for m, s in zip(rows.mean(0), rows.std(0), strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    lines += ["", "| Table 2 | token error |", "| --- | ---: |"]
    for name, params in TABLE_2.items():
        errors = []
        for train, test in folds:
            tagger = SequenceTagger(templates="ner", **params)
            tagger.fit(X[train], [y[i] for i in train])
            truth = [y[i] for i in test]
            errors.append(100 * token_error(truth, list(tagger.predict(X[test]))))
        lines.append(f"| {name} | {np.mean(errors):.2f} ± {np.std(errors):.2f} |")
        print(lines[-1], flush=True)
    print("\n".join(lines))
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
