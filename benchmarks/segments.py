"""Spanish named entities by segments and by a BIO chain, with the same token features.

    python benchmarks/segments.py --data DIR [--templates ner] [--C 200 400 800]

DIR holds `conll2002_ner_spanish`. All taggers learn from its training file with the
features of the preset. The C of each is that of the best span F1 in three-fold
cross-validation within the training file (runs of neighbouring sentences, C by their
number); by the same figure the loss of the segments is chosen. testa and testb, the
development and test files of CoNLL-2002, are looked at with the chosen C alone.
Segments have `--spans` besides, of which the default was best on testa among four lists
of templates. Intervals are those of the differences to the chain, a paired bootstrap
over sentences. Trained in turn in one process; times are CPU seconds of training on the
whole file, without reading and compiling (a short fit goes before). The chain allows
BIO sequences only.
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


def cross_validated(settings, C, X, y, n_folds=3):
    """Span F1 over the parts of the training file that the others predict."""
    predicted, n = [], len(y)
    for fold in np.array_split(np.arange(n), n_folds):
        rest = np.setdiff1d(np.arange(n), fold)
        tagger = SequenceTagger(C=C * len(rest) / n, **settings)
        tagger.fit(X[rest], [y[i] for i in rest])
        predicted.extend(tagger.predict(X[fold]))
    return span_f1(y, predicted)


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
    X, y = load(folder, "train")
    tests = {name: load(folder, name) for name in ("testa", "testb")}
    common = {"templates": args.templates, "tol": args.tol}
    segments = {"segments": True, "spans": args.spans}
    kinds = {"chain": {"scheme": "BIO"}} | {
        f"segments, {cost}": segments | {"cost": cost}
        for cost in ("overlap", "segments", "hamming")
    }
    rows, of_chain = [], {}
    for name, settings in kinds.items():
        settings = common | settings
        SequenceTagger(**settings | {"max_iter": 2}).fit(X[:50], y[:50])
        trials = {C: cross_validated(settings, C, X, y) for C in args.C}
        C = max(trials, key=trials.get)
        begin = time.process_time()
        tagger = SequenceTagger(C=C, **settings).fit(X, y)
        seconds = time.process_time() - begin
        row = {
            "tagger": name, "C": C, "cpu_seconds": seconds, "cross_validated": trials,
            "relative_gap": tagger.certificate_.relative_gap,
        }  # fmt: skip
        ratio = seconds / (rows[0] if rows else row)["cpu_seconds"]
        text = f"{name:18} C {C:g}  {seconds:.1f} s ({ratio:.2f} × chain)  gap "
        text += f"{row['relative_gap']:.3f}  cross-validated {trials[C]:.4f}"
        for part, (X_test, y_test) in tests.items():
            y_pred = tagger.predict(X_test)
            table = counts(y_test, y_pred)
            low, high = interval(table, of_chain.setdefault(part, table))
            row[part] = [span_f1(y_test, y_pred), low, high]
            text += f"  {part} {row[part][0]:.4f} ({low:+.4f} to {high:+.4f})"
        rows.append(row)
        print(text, flush=True)
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
