"""What the studies of the atomic structural SVM share: data, kernels, tables."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from partwise.kernels import WordClusters
from partwise.readers import Table, read_conllu

EPS = 0.05
BEST_HASH = "xpos+distance"
COLUMNS = ("form", "lemma", "upos", "xpos")  # that kernels without names compare
KERNELS = {
    "bag of words": "bow:columns=form",
    "polynomial bag of words": "bow:columns=form,degree=2,coef0=1",
    "n-gram": "normalized(ngram:n=6,decay=0.5,column=form)",
    "annotated n-gram": "normalized(annotated:n=6,decay=0.5)",
}
SHOWN = {
    "bag of words": "⟨bow, bow′⟩",
    "polynomial bag of words": "(⟨bow, bow′⟩ + 1)²",
    "n-gram": "n-gram, normalised",
    "annotated n-gram": "annotated n-gram, normalised",
}


@dataclass
class Treebank:
    """Sentences and heads, to learn from and to be judged by."""

    table: Table
    heads: np.ndarray
    test_table: Table
    test_heads: np.ndarray


def read(folder, n_train, n_test, clusters=0):
    """Read the corpus; `clusters` word clusters become a column."""
    parts = []
    for part, n in (("train", n_train), ("test", n_test)):
        found = sorted(Path(folder).rglob(f"en_ewt-ud-{part}.conllu*"))
        if not found:
            raise SystemExit(f"{folder}: no en_ewt-ud-{part}.conllu.gz")
        X, trees = read_conllu(found[0])
        parts += [X[:n], np.concatenate([tree.heads for tree in trees[:n]])]
    table, heads, test_table, test_heads = parts
    if clusters:
        found = WordClusters(n_clusters=clusters).fit(table)
        table, test_table = found.transform(table), found.transform(test_table)
    return Treebank(table, heads, test_table, test_heads)


def line(*cells):
    """One row of a Markdown table, as soon as it is known."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(*cells):
    """The first two rows of a table."""
    print(flush=True)
    line(*cells)
    line(*["---"] * len(cells))


def percent(value):
    """Two digits after the point, as the thesis prints them."""
    return f"{100 * value:.2f}%"
