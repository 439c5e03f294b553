"""Candidate sets of short texts with overlapping subtopics."""

from __future__ import annotations

import numpy as np


def toy_candidates(
    n: int = 30, random_state: int = 0
) -> tuple[list[list[str]], list[list[list[str]]]]:
    """
    Draw the documents of queries, with one to three of five subtopics each.

    A subtopic has four words, of which a document on it uses three. A document also
    has words of the query, which all documents share, and words of its own, which say
    nothing: a set that covers many words covers few subtopics.

    Parameters
    ----------
    n : int
        Queries.
    random_state : int

    Returns
    -------
    X : list of lists of str
        Twelve texts for each query; the first line is a title.
    y : list of lists of lists of str
        Subtopics of each text.

    Examples
    --------
    >>> X, y = toy_candidates(2)
    >>> len(X), len(X[0]), y[0][0]
    (2, 12, ['s0'])
    """
    rng = np.random.default_rng(random_state)
    X, y = [], []
    for query in range(n):
        texts, topics = [], []
        for d in range(12):
            first = int(rng.choice(5, p=[0.4, 0.25, 0.15, 0.1, 0.1])) if d else 0
            more = rng.choice(5, size=rng.integers(0, 3), replace=False)
            has = sorted({first, *more.tolist()}) if d else [0]
            words = [f"query{query}", "the", "of"]
            for topic in has:
                chosen = rng.choice(4, size=3, replace=False)
                words += [f"q{query}t{topic}w{k}" for k in chosen]
            words += [f"q{query}d{d}n{k}" for k in range(rng.integers(2, 15))]
            rng.shuffle(words)
            title = f"query{query} " + " ".join(f"q{query}t{t}w0" for t in has[:1])
            texts.append(f"{title}\n{' '.join(words)}")
            topics.append([f"s{topic}" for topic in has])
        X.append(texts)
        y.append(topics)
    return X, y
