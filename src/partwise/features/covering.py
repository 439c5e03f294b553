"""Candidate sets as covering problems: documents cover elements with features.

By default elements are words, and φ says in how many documents of the set a word occurs
(Joachims, Hofmann, Yue, Yu, CACM 2009, section 3.1). The rich features of SVM-div (Yue
and Joachims, ICML 2008) distinguish how a document has a word: several times, in its
title, near its beginning; each of these ways is an element of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    check_list,
    check_magnitude,
    check_sparse,
    entry,
    require,
)
from partwise.parameters import SettingsError

WORD = re.compile(r"\w+")
SHARES = (0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5)  # of the documents of a set
WAYS = {"frequency": ("any",), "rich": ("any", "twice", "often", "title", "start")}
OFTEN = 4  # times in one document
START = 0.1  # of a document
MOST_SHARES = 1000

Tables = dict[str, np.ndarray]  # by way: (n_documents, n_words) bool


class CoveringSet(NamedTuple):
    """A candidate set: which elements documents cover, and the features of these."""

    features: np.ndarray  # (n_elements, n_features) φ(e, x)
    covers: np.ndarray  # (n_documents, n_elements) bool
    names: list[str] | None = None  # of the elements, for explanations

    def check(self, name: str) -> CoveringSet:
        """The same with checked arrays."""
        features = np.array(self.features, np.float64)
        covers = self.covers
        check_sparse(covers, name)
        if hasattr(covers, "toarray"):
            covers = covers.toarray()
        covers = np.asarray(covers) != 0
        if features.ndim != 2 or covers.ndim != 2 or covers.shape[1] != len(features):
            raise ValueError(
                f"{name}: features have shape {features.shape}, covers "
                f"{covers.shape}; give (elements, features) and (documents, elements)"
            )
        if not len(covers):
            raise ValueError(f"{name} has no document")
        check_magnitude(features, MAX_FEATURE, name)
        return CoveringSet(features, covers, self.names)


class WordCovers:
    """Make covering sets of texts or of word counts.

    Parameters
    ----------
    features : {"frequency", "rich"} or callable
        What φ consists of; or a function from a candidate set to a `CoveringSet`, or
        to a pair (features of elements, documents × elements).
    shares : sequence of float or None
        A feature for each: whether a word occurs in at least this share of the
        documents. None for `SHARES`.

    Notes
    -----
    A candidate set is a list of texts, whose first line is the title, or a matrix of
    word counts, dense or sparse, which has no titles and no order. Features are divided
    by the number of words of the set, so that large sets weigh no more.

    Examples
    --------
    >>> covers = WordCovers(shares=(0.0, 0.6))
    >>> one = covers.transform([["a b", "a c", "a"]])[0]
    >>> one.covers.astype(int)
    array([[1, 1, 0],
           [1, 0, 1],
           [1, 0, 0]])
    >>> (3 * one.features).tolist()  # a is in all documents
    [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """

    def __init__(self, features: Any = "frequency", shares: Any = None) -> None:
        if not callable(features) and features not in WAYS:
            raise SettingsError(
                f"<features={features!r}>: choose {' or '.join(WAYS)}, or give a "
                "function"
            )
        self.features = features
        self.shares = tuple(map(float, SHARES if shares is None else shares))
        if not self.shares or not all(0.0 <= share <= 1.0 for share in self.shares):
            raise SettingsError(f"<shares={shares!r}>: give shares from 0 to 1")

    @property
    def names(self) -> list[str] | None:
        """Of the features; None where they are those of a function."""
        if callable(self.features):
            return None
        return [
            f"{way}: in {share:.0%} of the documents" if share else f"{way}: a word"
            for way in WAYS[self.features]
            for share in self.shares
        ]

    def transform(self, X: Sequence[Any]) -> list[CoveringSet]:
        """A covering set for each candidate set."""
        check_list(X, "candidate sets")
        if len(X) and isinstance(X[0], str):
            raise ValueError("X is one candidate set; give a list of sets: [X]")
        return [self._one(x, f"candidate set {i}") for i, x in enumerate(X)]

    def _one(self, x: Any, name: str) -> CoveringSet:
        if isinstance(x, CoveringSet):
            return x.check(name)
        if callable(self.features):
            made: Callable[[Any], Any] = self.features
            return CoveringSet(*made(x)).check(name)
        make = _text_tables if _is_texts(x) else _count_tables
        tables, words = make(x, name)
        ways = WAYS[self.features]
        share = tables["any"].mean(axis=0)  # of the documents, (n_words,)
        steps = share[:, None] >= np.array(self.shares)[None, :] - 1e-12
        size = len(self.shares)
        features, covers, names = [], [], []
        for w, way in enumerate(ways):
            used = tables[way].any(axis=0)
            block = np.zeros((int(used.sum()), len(ways) * size))
            block[:, w * size : (w + 1) * size] = steps[used] / max(len(share), 1)
            features.append(block)
            covers.append(tables[way][:, used])
            names += [f"{words[v]} ({way})" for v in np.flatnonzero(used)]
        return CoveringSet(np.vstack(features), np.hstack(covers), names)

    # ------------------------------------------------------------------- files

    kind = "word_covers.v1"

    @property
    def n_features_(self) -> int:
        """Features of an element; 0 where a function makes them."""
        return len(self.names or ())

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for a model file."""
        if callable(self.features):
            raise ValueError(
                "features= is a function, which cannot be kept in a file; give "
                "covering sets in its place"
            )
        shares = list(self.shares)
        return {"kind": self.kind, "features": self.features, "shares": shares}, {}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> WordCovers:
        """Rebuild from `state`; invalid input raises ValueError."""
        settings = dict(state)
        require(settings.get("kind") == cls.kind, "no covers by words")
        shares = entry(settings, "shares", list)
        is_short = len(shares) <= MOST_SHARES
        require(is_short and all(type(s) is float for s in shares), "shares")
        return cls(entry(settings, "features", str), shares)


def _is_texts(x: Any) -> bool:
    return not hasattr(x, "shape") and len(x) > 0 and isinstance(x[0], str)


def words_of(text: str) -> list[str]:
    """Words in lower case.

    Examples
    --------
    >>> words_of("The 2nd word, then.")
    ['the', '2nd', 'word', 'then']
    """
    return WORD.findall(text.lower())


def _text_tables(texts: Sequence[str], name: str) -> tuple[Tables, list[str]]:
    """Which documents have which words in each way, and the words."""
    number: dict[str, int] = {}
    entries: list[tuple[int, int, int, bool, bool]] = []
    for d, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{name}: document {d} is no text")
        words = words_of(text)
        title, _, body = text.partition("\n")
        titled = set(words_of(title)) if body else set()
        start = set(words[: max(1, round(START * len(words)))])
        for word, count in Counter(words).items():
            column = number.setdefault(word, len(number))
            entries.append((d, column, count, word in titled, word in start))
    shape = (len(texts), len(number))
    tables = {way: np.zeros(shape, bool) for way in WAYS["rich"]}
    for d, column, count, in_title, at_start in entries:
        tables["any"][d, column] = True
        tables["twice"][d, column] = count >= 2
        tables["often"][d, column] = count >= OFTEN
        tables["title"][d, column] = in_title
        tables["start"][d, column] = at_start
    return tables, list(number)


def _count_tables(x: Any, name: str) -> tuple[Tables, list[str]]:
    check_sparse(x, name)
    counts = np.asarray(x.toarray() if hasattr(x, "toarray") else x)
    if counts.ndim != 2 or not len(counts) or counts.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: give a list of texts, or a matrix (documents, words) of counts"
        )
    if (counts < 0).any():
        raise ValueError(f"{name}: a word count below 0; give numbers of words")
    used = np.flatnonzero((counts > 0).any(axis=0))
    counts = counts[:, used]
    nowhere = np.zeros(counts.shape, bool)
    tables = {
        "any": counts > 0,
        "twice": counts >= 2,
        "often": counts >= OFTEN,
        "title": nowhere,
        "start": nowhere,
    }
    return tables, [f"w{column}" for column in used]
