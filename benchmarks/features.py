"""
Reading a file and extracting window features: columns against dicts per token.

    python benchmarks/features.py --data DIR

DIR holds ``conll2000_chunking/train.txt.gz``. Both ways read the file, extract the
features of the preset ``window`` and number them; the runs alternate, and the best of
each counts. Both must find the same features.
"""

import argparse
import gzip
import platform
import time
from collections import Counter
from pathlib import Path

import numpy as np

from partwise.features import PRESETS, Featurizer
from partwise.readers import read_columns

BOUNDARY = "<s>"


def read_with_columns(path):
    return read_columns(path)


def featurize_columns(data):
    table, _ = data
    featurizer = Featurizer(PRESETS["window"])
    return featurizer.fit_transform(table), featurizer


def read_with_lists(path):
    sentences, words, tags, labels = [], [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields:
                words.append(fields[0])
                tags.append(fields[1])
                labels.append(fields[2])
            elif words:
                sentences.append((words, tags, labels))
                words, tags, labels = [], [], []
    if words:
        sentences.append((words, tags, labels))
    return sentences


def token_features(words, tags, t):
    """Features of one token, as a user of a CRF package writes them."""
    features = {}
    for d in range(-2, 3):
        inside = 0 <= t + d < len(words)
        features[f"word[{d}]"] = words[t + d] if inside else BOUNDARY
        features[f"pos[{d}]"] = tags[t + d] if inside else BOUNDARY
    for d in range(-2, 2):
        pair = f"{features[f'pos[{d}]']}|{features[f'pos[{d + 1}]']}"
        features[f"pos[{d}]|pos[{d + 1}]"] = pair
    return features


def featurize_dicts(sentences):
    rows = [
        token_features(words, tags, t)
        for words, tags, _ in sentences
        for t in range(len(words))
    ]
    numbers = {}
    indices = []
    for row in rows:
        for key, value in row.items():
            indices.append(numbers.setdefault(f"{key}={value}", len(numbers)))
    return np.array(indices, np.int32), numbers


def timed(function, argument):
    start = time.perf_counter()
    result = function(argument)
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("--data", type=Path, required=True, help="folder of corpora")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    path = arguments.data / "conll2000_chunking" / "train.txt.gz"

    ways = {
        "columns": (read_with_columns, featurize_columns),
        "dicts": (read_with_lists, featurize_dicts),
    }
    cold = sum(timed_both(*ways["columns"], path)[:2])
    seconds = {way: [] for way in ways}
    found = {}
    for _ in range(arguments.runs):
        for way, steps in ways.items():
            read, extract, found[way] = timed_both(*steps, path)
            seconds[way].append((read + extract, read, extract))
    features, featurizer = found["columns"]
    indices, numbers = found["dicts"]
    assert set(featurizer.feature_names_) == set(numbers)
    counts = Counter(features.indices.tolist()).values()
    assert sorted(counts) == sorted(Counter(indices.tolist()).values())

    best = {way: min(times) for way, times in seconds.items()}
    print(f"{path.name}: {len(features.indptr) - 1:,} tokens, ", end="")
    print(
        f"{features.n_features:,} features, {len(features.indices):,} entries; ", end=""
    )
    print(f"best of {arguments.runs} on {platform.machine()}, ", end="")
    print(f"Python {platform.python_version()}")
    print()
    print("| way | read (s) | features (s) | total (s) | ratio |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for way, (total, read, extract) in best.items():
        ratio = best["dicts"][0] / total
        print(f"| {way} | {read:.3f} | {extract:.3f} | {total:.3f} | {ratio:.1f} |")
    print()
    print(f"First run of columns in this process: {cold:.2f} s; of that ", end="")
    print(f"{cold - best['columns'][0]:.2f} s to import numba and to compile or load.")


def timed_both(read, extract, path):
    reading, data = timed(read, path)
    extracting, features = timed(extract, data)
    return reading, extracting, features


if __name__ == "__main__":
    main()
