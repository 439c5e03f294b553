"""Selections without learning, to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from partwise.features.covering import CoveringSet, WordCovers, words_of
from partwise.protocol import Floats, Ints
from partwise.structures.coverage.structure import Coverage

K1, B = 1.2, 0.75  # of BM25


def select_at_random(X: Sequence[Sequence[str]], k: int, seed: int = 0) -> list[Ints]:
    """Draw k documents of each set."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(len(x))[:k] for x in X]


def select_by_words(X: Sequence[Sequence[str]], k: int, weights: str) -> list[Ints]:
    """Greedy choice of documents that cover words.

    Parameters
    ----------
    X : list of lists of str
    k : int
    weights : {"unweighted", "essential_pages"}
        All words alike; or −r log r of the share r of documents that have the word: as
        in Essential Pages (Swaminathan et al. 2009), words that are neither in all
        documents nor in one alone count most.
    """
    chosen = []
    for x in WordCovers().transform(X):
        share = x.covers.mean(axis=0)
        value = np.ones(len(share))
        if weights == "essential_pages":
            value = -share * np.log2(share)
        one = CoveringSet(value[:, None], x.covers)
        chosen.append(Coverage(k).argmax(one, np.ones(1)))
    return chosen


def select_by_okapi(
    X: Sequence[Sequence[str]], queries: Sequence[str], k: int
) -> list[Ints]:
    """The k documents of highest BM25 score for the query, whatever they share."""
    chosen: list[Ints] = []
    for texts, query in zip(X, queries, strict=True):
        order = np.argsort(-okapi_scores(texts, query), kind="stable")
        chosen.append(order[:k])
    return chosen


def okapi_scores(texts: Sequence[str], query: str) -> Floats:
    """BM25 of each text, with document frequencies among them.

    Examples
    --------
    >>> okapi_scores(["a b", "b b c", "c"], "b").round(3)
    array([0.47 , 0.567, 0.   ])
    """
    counts = [Counter(words_of(text)) for text in texts]
    lengths = np.array([sum(count.values()) for count in counts], float)
    mean = max(lengths.mean(), 1.0)
    scores = np.zeros(len(texts))
    for word in set(words_of(query)):
        tf = np.array([count[word] for count in counts], float)
        n = int((tf > 0).sum())
        idf = np.log1p((len(texts) - n + 0.5) / (n + 0.5))
        scores += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * lengths / mean))
    return scores
