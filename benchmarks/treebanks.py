"""Readers of treebanks against the usual packages, on the same files in one process.

    pip install conllu pyconll nltk
    python benchmarks/treebanks.py --data DIR

DIR holds ``ud_english_ewt/en_ewt-ud-train.conllu.gz`` and ``ptb_sample/train.mrg.gz``.
Prints a Markdown table: processor seconds, the least of some interleaved runs, warm.
Peers that are not installed are left out. Ours checks that the heads make trees.
"""

import argparse
import gzip
import importlib.util
import os
import time
from pathlib import Path

from partwise.readers import read_brackets, read_conllu


def ours_conllu(path):
    X, y = read_conllu(path)
    return X.n_tokens, y


def by_conllu(path):
    import conllu

    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentences = conllu.parse(file.read())
    return sum(isinstance(t["id"], int) for s in sentences for t in s), sentences


def by_pyconll(path):
    import pyconll

    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentences = pyconll.load_from_string(file.read())
    return sum(t.id.isdigit() for s in sentences for t in s), sentences


def ours_brackets(path):
    X, y = read_brackets(path, traces=True, functions=True)
    return sum(map(len, X)), y


def by_nltk(path):
    import nltk

    with gzip.open(path, "rt", encoding="utf-8") as file:
        trees = [nltk.Tree.fromstring(line.split("\t")[1]) for line in file]
    return sum(len(tree.leaves()) for tree in trees), trees


READERS = {
    "ud_english_ewt/en_ewt-ud-train.conllu.gz": {
        "partwise": ours_conllu,
        "conllu": by_conllu,
        "pyconll": by_pyconll,
    },
    "ptb_sample/train.mrg.gz": {"partwise": ours_brackets, "nltk": by_nltk},
}


def measure(path, readers, repeats):
    seconds = {name: [] for name in readers}
    words = set()
    for run in range(repeats + 1):
        for name, reader in readers.items():
            began = time.process_time()
            words.add(reader(path)[0])
            if run:  # the first one compiles, and fills the caches
                seconds[name].append(time.process_time() - began)
    assert len(words) == 1, f"the readers count different words: {words}"
    return words.pop(), {name: min(times) for name, times in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    print("| file | words | reader | seconds | ratio |")
    print("| --- | ---: | --- | ---: | ---: |")
    for file, readers in READERS.items():
        installed = {
            name: reader
            for name, reader in readers.items()
            if importlib.util.find_spec(name)
        }
        words, seconds = measure(
            str(Path(options.data) / file), installed, options.repeats
        )
        ours = seconds["partwise"]
        for name, value in seconds.items():
            row = (Path(file).name, f"{words:,}", name, f"{value:.2f}")
            print(f"| {' | '.join(row)} | {value / ours:.1f} |")


if __name__ == "__main__":
    main()
