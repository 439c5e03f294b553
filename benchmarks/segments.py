"""Spanish named entities by segments and by a BIO chain, with the same token features.

    python benchmarks/segments.py --data DIR [--templates ner] [--C 200 400 800]

DIR holds `conll2002_ner_spanish`. All taggers learn from its training file with the
features of the preset. The C of each is that of the best span F1 on testa, which is
the development file of CoNLL-2002, and testb is looked at with that C alone. Segments
have `--spans` besides, of which the default was best on testa among four lists of
templates. The interval is that of the difference to the chain on testb, a paired
bootstrap over sentences. Trained in turn in one process; times are CPU seconds of
training, without reading and compiling (a short fit goes before). The chain allows BIO
sequences only.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from partwise import SequenceTagger
from partwise.metrics import span_f1
from partwise.readers import read_columns
from partwise.readers.span_tags import spans

CORPUS = Path("conll2002_ner_spanish")
SPANS = (
    "lower(word);short_shape(word);pos;pos[-1]|pos|pos[1];"
    "lower(word)[-1]|short_shape(word);short_shape(word)|lower(word)[1]"
)


def load(folder, part):
    """One sentence begins with I-LOC, which the chain's constraints forbid."""
    X, y = read_columns(folder / CORPUS / f"esp.{part}.gz")
    return X, [[row[0].replace("I-", "B-"), *row[1:]] for row in y]


def counts(y, y_pred):
    """True, predicted and correct spans of each sentence, (n, 3)."""
    pairs = [(set(spans(a)), set(spans(b))) for a, b in zip(y, y_pred, strict=True)]
    return np.array([[len(a), len(b), len(a & b)] for a, b in pairs])


def interval(one, other, n_draws=2000):
    """95 % of the differences of span F1, sentences drawn with replacement."""
    rng = np.random.default_rng(0)
    n, gains = len(one), []
    for _ in range(n_draws):
        rows = rng.integers(n, size=n)
        a, b = (table[rows].sum(axis=0) for table in (one, other))
        gains.append(2 * a[2] / (a[0] + a[1]) - 2 * b[2] / (b[0] + b[1]))
    return np.quantile(gains, [0.025, 0.975])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA", "."))
    parser.add_argument("--templates", default="ner")
    parser.add_argument("--spans", default=SPANS)
    parser.add_argument("--C", type=float, nargs="+", default=[200, 400, 800])
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    folder = Path(args.data)
    parts = {name: load(folder, name) for name in ("train", "testa", "testb")}
    X, y = parts["train"]
    common = {"templates": args.templates, "tol": args.tol}
    segments = {"segments": True, "spans": args.spans}
    kinds = {
        "chain": {"scheme": "BIO"},
        "segments, overlap": segments | {"cost": "overlap"},
        "segments, hamming": segments,
    }
    rows, of_chain = [], None
    for name, settings in kinds.items():
        SequenceTagger(**common | settings | {"max_iter": 2}).fit(X[:50], y[:50])
        trials = []
        for C in args.C:
            begin = time.process_time()
            tagger = SequenceTagger(C=C, **common | settings).fit(X, y)
            seconds = time.process_time() - begin
            value = span_f1(parts["testa"][1], tagger.predict(parts["testa"][0]))
            trials.append((value, -C, seconds, tagger))
            print(
                f"  {name}, C = {C:g}: testa {value:.4f}, {seconds:.1f} s", flush=True
            )
        value, C, seconds, tagger = max(trials, key=lambda trial: trial[:2])
        X_test, y_test = parts["testb"]
        y_pred = tagger.predict(X_test)
        here = counts(y_test, y_pred)
        of_chain = here if of_chain is None else of_chain
        row = {
            "tagger": name, "C": -C, "cpu_seconds": seconds, "testa": value,
            "testb": span_f1(y_test, y_pred),
            "relative_gap": tagger.certificate_.relative_gap,
            "interval": interval(here, of_chain).tolist(),
        }  # fmt: skip
        rows.append(row)
        ratio = seconds / rows[0]["cpu_seconds"]
        low, high = row["interval"]
        print(
            f"{name:20} C {-C:g}  {seconds:.1f} s ({ratio:.2f} × chain)  gap "
            f"{row['relative_gap']:.3f}  span F1 testa {value:.4f}  testb "
            f"{row['testb']:.4f}, {low:+.4f} to {high:+.4f} of the chain", flush=True,
        )  # fmt: skip
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
