"""Half of the labels, spread over all sentences or all in half of the sentences.

    python benchmarks/partial_labels.py --data DIR [--sentences 2000] [--seeds 3]
        [--loss log --C 0.5]

CoNLL-2000 chunking. Of the first sentences of the training file

* `partly`: each label is hidden with probability 1/2, and completed in rounds, or, with
  `--loss log`, summed over by the likelihood of the others;
* `half`: as many labels, in sentences that have all of theirs.

Span F1 on the test file, mean and standard deviation over seeds. C is the number of
sentences times `--C` for all of them, and weights a known label the same.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from partwise import SequenceTagger
from partwise.metrics import span_f1
from partwise.readers import read_columns

arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
arguments.add_argument("--data", type=Path, required=True)
arguments.add_argument("--sentences", type=int, default=2000)
arguments.add_argument("--seeds", type=int, default=3)
arguments.add_argument("--C", type=float, default=0.1)
arguments.add_argument("--tol", type=float, default=0.01)
arguments.add_argument("--solver", default="bcfw")
arguments.add_argument("--loss", default="hinge")


def main():
    given = arguments.parse_args()
    folder = given.data / "conll2000_chunking"
    X, y = read_columns(next(folder.glob("train*")))
    X_test, y_test = read_columns(next(folder.glob("test*")))
    X, y = X[: given.sentences], y[: given.sentences]
    n_labels = sum(map(len, y))

    def learn(name, X, y):
        n_known = sum(label is not None for row in y for label in row)
        began = time.process_time()
        tagger = SequenceTagger(
            C=given.C * len(y), templates="chunk", tol=given.tol, loss=given.loss,
            solver="auto" if given.loss == "log" else given.solver,
        ).fit(X, y)  # fmt: skip
        seconds = time.process_time() - began
        value = 100 * span_f1(y_test, tagger.predict(X_test))
        print(
            f"{name:7} {len(y):6} sentences {n_known:7} labels  F1 {value:6.2f}  "
            f"rounds {len(tagger.rounds_):2}  CPU {seconds:5.0f} s",
            flush=True,
        )
        return value

    learn("all", X, y)
    values = {"partly": [], "half": []}
    for seed in range(given.seeds):
        rng = np.random.default_rng(seed)
        partly = [[a if rng.random() < 0.5 else None for a in row] for row in y]
        values["partly"].append(learn("partly", X, partly))
        order, size = rng.permutation(len(y)), 0
        chosen = []
        for i in order.tolist():
            if size >= n_labels // 2:
                break
            chosen.append(i)
            size += len(y[i])
        chosen.sort()
        half = X[np.array(chosen)]
        values["half"].append(learn("half", half, [y[i] for i in chosen]))
    for name, each in values.items():
        print(f"{name:7} F1 {np.mean(each):.2f} ± {np.std(each):.2f}")


if __name__ == "__main__":
    main()
