"""Spanish named entities by segments and by a BIO chain, with the same token features.

    python benchmarks/segments.py --data DIR [--templates ner] [--C 400] [--output FILE]

DIR holds `conll2002_ner_spanish`. Both taggers have the features of the preset, C and
the tolerance; segments have, besides, what the defaults of `SequenceTagger` give them.
Trained in turn in one process; times are CPU seconds of training, without reading and
compiling (a short fit goes before). The chain allows BIO sequences only.
"""

import argparse
import json
import os
import time
from pathlib import Path

from partwise import SequenceTagger
from partwise.metrics import span_f1
from partwise.readers import read_columns

CORPUS = Path("conll2002_ner_spanish")


def load(folder, part):
    """One sentence begins with I-LOC, which the chain's constraints forbid."""
    X, y = read_columns(folder / CORPUS / f"esp.{part}.gz")
    return X, [[row[0].replace("I-", "B-"), *row[1:]] for row in y]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA", "."))
    parser.add_argument("--templates", default="ner")
    parser.add_argument("--C", type=float, default=400.0)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    folder = Path(args.data)
    parts = {name: load(folder, name) for name in ("train", "testa", "testb")}
    X, y = parts["train"]
    common = {"C": args.C, "templates": args.templates, "tol": args.tol}
    kinds = {
        "chain": {"scheme": "BIO"},
        "segments, overlap": {"segments": True, "cost": "overlap"},
        "segments, hamming": {"segments": True},
    }
    rows = []
    for name, settings in kinds.items():
        SequenceTagger(**common | settings | {"max_iter": 2}).fit(X[:50], y[:50])
        begin = time.process_time()
        tagger = SequenceTagger(**common | settings).fit(X, y)
        row = {"tagger": name, "cpu_seconds": time.process_time() - begin}
        row["relative_gap"] = tagger.certificate_.relative_gap
        for part in ("testa", "testb"):
            row[f"span_f1 {part}"] = span_f1(
                parts[part][1], tagger.predict(parts[part][0])
            )
        rows.append(row)
        ratio = row["cpu_seconds"] / rows[0]["cpu_seconds"]
        print(
            f"{name:20} {row['cpu_seconds']:7.1f} s ({ratio:.2f} × chain)  gap "
            f"{row['relative_gap']:.3f}  span F1 testa {row['span_f1 testa']:.4f}  "
            f"testb {row['span_f1 testb']:.4f}", flush=True,
        )  # fmt: skip
    if args.output:
        args.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
