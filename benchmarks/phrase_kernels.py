"""Phrase-structure parsers by features, keys and kernels on short Penn sentences.

    python benchmarks/phrase_kernels.py --data DIR [--longest 10] [--shares F …]

DIR holds `ptb_sample/train.mrg.gz` and `test.mrg.gz`. Rules are read off all training
trees; sentences of at most so many words are learnt from and parsed, from their tags,
to a relative gap of 5 %. C is each share of the number of sentences in turn. F1 is
EVALB's, the metric of `ConstituencyParser`.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

from partwise import ConstituencyParser
from partwise.readers import read_brackets

ENDS = (
    "rule, label+first.tag, label+first.tag[-1], label+last.tag, label+last.tag[1],"
    "label+tag, label+first.tag[-1]+last.tag[1], label+bucket, label+first.word,"
    "label+last.word"
)
KERNEL = "normalized(annotated:n=3)"
ROWS = {
    "features of spans": {},
    "rule": {"match": "rule"},
    "rule, label+tag": {"match": "rule, label+tag"},
    "ten hash functions": {"match": ENDS},
    "kernel, rule": {"kernel": KERNEL, "match": "rule"},
    "kernel, rule, label+tag": {"kernel": KERNEL, "match": "rule, label+tag"},
    "kernel, ten hash functions": {"kernel": KERNEL, "match": ENDS},
}


def main():
    """Print a line for each row and C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--longest", type=int, default=10)
    parser.add_argument("--shares", type=float, nargs="+", default=(0.02, 0.2, 1.0))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(options.data) / "ptb_sample"
    X, y = read_brackets(folder / "train.mrg.gz")
    X_test, y_test = read_brackets(folder / "test.mrg.gz")
    short = [i for i, x in enumerate(X_test) if len(x) <= options.longest]
    n = sum(len(x) <= options.longest for x in X)
    for name, settings in ROWS.items():
        for share in options.shares:
            model = ConstituencyParser(
                C=share * n, max_length=options.longest, **settings
            )
            began = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - began
            f1 = model.score([X_test[i] for i in short], [y_test[i] for i in short])
            gap = model.certificate_.relative_gap
            print(
                f"{name:28} C = {share:g} n: F1 {100 * f1:.1f}, gap {100 * gap:.1f} %, "
                f"{seconds:.1f} s, {len(model.model_.weights):,} weights",
                flush=True,
            )


if __name__ == "__main__":
    main()
