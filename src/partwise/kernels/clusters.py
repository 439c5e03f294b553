"""Clusters of words, as one more column: from text alone, or from word vectors.

Given vectors are grouped by scikit-learn's k-means, as in section 6.3 of the thesis
behind the kernel method. Else words that stand in the same places belong together:
counts of neighbours, each place in the window apart, become positive pointwise mutual
information; a truncated singular value decomposition makes short vectors of it, and
k-means groups the vectors by direction. Places apart and smoothed counts of contexts
(Levy, Goldberg and Dagan, 2015) bring the groups closer to parts of speech.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from partwise.bounds import check_indices, read_array
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.kernels.checks import check_whole
from partwise.kernels.inputs import table_of
from partwise.kernels.word_vectors import group_vectors
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Parameters
from partwise.readers.table import Column, Table
from partwise.readers.vectors import as_vectors

N_STARTS = 4
MAX_ITER = 50
SMOOTHING = 0.75  # exponent of the counts of contexts
UNKNOWN = "c?"  # of words that were too rare, or not seen in training


@dataclass(eq=False, repr=False)
class WordClusters(Parameters):
    """Give each word a cluster, learned from text alone or from given vectors.

    Parameters
    ----------
    n_clusters : int
        At most; never more than there are words.
    n_dimensions : int
        Without `vectors`: length of the vectors that are grouped.
    window : int
        Without `vectors`: neighbours to either side.
    min_count : int
        Without `vectors`: words that occur less often get no cluster of their own, but
        ``c?``.
    column : str, optional
        Where the words stand; by default the first column.
    name : str
        Of the new column.
    random_state : int
    vectors : dict, pair, path or None
        Word vectors from elsewhere: a dict of word to vector, a pair (words, matrix),
        or a text file of word2vec or GloVe (see `partwise.readers.read_vectors`). The
        words of the text make the clusters; all other words that have a vector go to
        the nearest one. A word without a vector is looked up in lower case.

    Attributes
    ----------
    clusters_ : dict of str to str
        Word to cluster: ``c0``, ``c1`` and so on, by falling number of tokens.
    from_vectors_ : bool
        Whether vectors were given.

    Examples
    --------
    >>> X = [["the", animal, "sees", "a", other] for animal in ("cat", "dog", "owl")
    ...      for other in ("cat", "dog", "owl")]
    >>> model = WordClusters(n_clusters=3, n_dimensions=3, min_count=1).fit(X)
    >>> model.clusters_["cat"] == model.clusters_["dog"] != model.clusters_["sees"]
    True
    >>> list(model.transform(X).columns)
    ['word', 'cluster']

    With vectors, words that the text does not have find their cluster, too:

    >>> vectors = {"cat": [1, 0], "dog": [1, 0.1], "runs": [0, 1], "owl": [0.9, 0]}
    >>> model = WordClusters(2, vectors=vectors).fit([["Cat", "runs"], ["dog", "runs"]])
    >>> model.transform([["owl", "Dog", "runs", "far"]]).strings("cluster")
    [['c0', 'c0', 'c1', 'c?']]
    """

    kind = "clusters.v1"

    n_clusters: int = 100
    n_dimensions: int = 50
    window: int = 1
    min_count: int = 3
    column: str | None = None
    name: str = "cluster"
    random_state: int = 0
    vectors: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn clusters."""
        check_whole("n_clusters", self.n_clusters, 1, 1_000_000)
        check_whole("n_dimensions", self.n_dimensions, 1, 10_000)
        check_whole("window", self.window, 1, 100)
        check_whole("min_count", self.min_count, 1, 10**9)
        table = table_of(X)
        codes, words = self._words(table)
        counts = np.bincount(codes, minlength=len(words))
        self.from_vectors_ = self.vectors is not None
        if self.from_vectors_:
            self.clusters_ = self._of_vectors(words, counts)
            return self
        # by frequency, ties by the word: the result depends on the text alone
        order = sorted(range(len(words)), key=lambda w: (-counts[w], words[w]))
        frequent = [w for w in order if counts[w] >= self.min_count]
        if not frequent:
            raise SettingsError(
                f"no word occurs {self.min_count} times; lower <min_count=>"
            )
        number = np.full(len(words), -1, np.int64)
        number[frequent] = np.arange(len(frequent))
        random = np.random.default_rng(self.random_state)
        pairs = _neighbours(number[codes], table.offset, self.window, len(frequent))
        shape = len(frequent), 2 * self.window * len(frequent)
        vectors = _vectors(*pairs, shape, self.n_dimensions, random)
        group = k_means(vectors, min(self.n_clusters, len(frequent)), random)
        group = _by_size(group, counts[frequent])
        self.clusters_ = {
            words[w]: f"c{g}" for w, g in zip(frequent, group.tolist(), strict=True)
        }
        return self

    def _of_vectors(self, words: Sequence[str], counts: np.ndarray) -> dict[str, str]:
        """Clusters of all words that have a vector."""
        known, matrix = as_vectors(self.vectors)
        number = {word: w for w, word in enumerate(known)}
        tokens = np.zeros(len(known), np.int64)
        for word, count in zip(words, counts.tolist(), strict=True):
            place = number.get(word, number.get(word.lower()))
            if place is not None:
                tokens[place] += count
        if not tokens.any():
            raise ValueError(
                "no word of the text has a vector; check column= and the language of "
                "vectors="
            )
        group = group_vectors(matrix, tokens, self.n_clusters, self.random_state)
        group = _by_size(group, tokens)
        return {word: f"c{g}" for word, g in zip(known, group.tolist(), strict=True)}

    def unfitted(self) -> WordClusters:
        """The same settings, to be fitted to another text."""
        if getattr(self, "from_vectors_", False) and self.vectors is None:
            raise SettingsError(
                "<clusters=> were made of word vectors, which a model file does not "
                "keep; give clusters=WordClusters(vectors=…)"
            )
        return WordClusters(**self.get_params())

    def transform(self, X: Any) -> Table:
        """Add the column of clusters."""
        if not hasattr(self, "clusters_"):
            raise ValueError("no clusters yet; call fit first")
        table = table_of(X)
        codes, words = self._words(table)
        find = self.clusters_.get
        if self.from_vectors_:
            strings = [find(word) or find(word.lower(), UNKNOWN) for word in words]
        else:
            strings = [find(word, UNKNOWN) for word in words]
        values = sorted(set(strings))
        place = {string: code for code, string in enumerate(values)}
        new = np.array([place[string] for string in strings], np.int32)[codes]
        return Table({**table.columns, self.name: Column(new, values)}, table.offset)

    def fit_transform(self, X: Any, y: Any = None) -> Table:
        """Learn clusters and add their column."""
        return self.fit(X).transform(X)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        group = [int(name[1:]) for name in self.clusters_.values()]
        arrays = {
            **string_arrays(list(self.clusters_)),
            "group": np.array(group, np.int32),
        }
        params = self.get_params()
        del params["vectors"]  # the clusters of their words are in the arrays
        meta = {"kind": self.kind, "params": params, "vectors": self.from_vectors_}
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> WordClusters:
        """Rebuild from `state`; invalid input raises ValueError."""
        params = meta.get("params")
        names = set(cls._names()) - {"vectors"}
        if meta.get("kind") != cls.kind or not isinstance(params, Mapping):
            raise ValueError("damaged word clusters: no parameters")
        if set(params) != names or not isinstance(params["name"], str):
            raise ValueError("damaged word clusters: other parameters")
        if not isinstance(params["column"], str | None):
            raise ValueError("damaged word clusters: a column without a name")
        from_vectors = meta.get("vectors", False)
        if not isinstance(from_vectors, bool):
            raise ValueError("damaged word clusters: vectors neither true nor false")
        words = read_strings(arrays)
        group = read_array(arrays, "group", np.int32)
        if len(group) != len(words) or len(set(words)) < len(words):
            raise ValueError("damaged word clusters: words without a cluster")
        check_indices(group, 1 << 31, "a cluster")
        clusters = cls(**params)
        clusters.from_vectors_ = from_vectors
        clusters.clusters_ = {
            word: f"c{g}" for word, g in zip(words, group.tolist(), strict=True)
        }
        return clusters

    def _words(self, table: Table) -> Column:
        return table.column(self.column or next(iter(table.columns)))


def k_means(vectors: Floats, n_clusters: int, random: Generator) -> np.ndarray:
    """Group vectors: the best of several k-means++ starts and Lloyd's iterations.

    Parameters
    ----------
    vectors : array of shape (n, n_dimensions)
    n_clusters : int
        At most n.
    random : Generator

    Returns
    -------
    int array of shape (n,)
        Numbers below n_clusters.
    """
    runs = [_lloyd(vectors, n_clusters, random) for _ in range(N_STARTS)]
    return min(runs, key=lambda run: run[1])[0]


def _lloyd(
    vectors: Floats, n_clusters: int, random: Generator
) -> tuple[np.ndarray, float]:
    """Groups of one start, and the sum of squared distances to their centres."""
    centres = _spread_out(vectors, n_clusters, random)
    group = np.full(len(vectors), -1)
    for _ in range(MAX_ITER):
        distance = _distances(vectors, centres)
        nearest = distance.argmin(axis=1)
        far = distance[np.arange(len(nearest)), nearest]
        if np.array_equal(nearest, group):
            break
        group, spread = nearest, float(far.sum())
        size = np.bincount(group, minlength=n_clusters)
        for d in range(vectors.shape[1]):
            sums = np.bincount(group, vectors[:, d], minlength=n_clusters)
            centres[:, d] = sums / np.maximum(size, 1)
        # an empty cluster starts again at the vector that is farthest from its centre
        for empty in np.flatnonzero(size == 0):
            worst = int(far.argmax())
            centres[empty] = vectors[worst]
            far[worst] = 0.0
    return group, spread


def _spread_out(vectors: Floats, n: int, random: Generator) -> Floats:
    """k-means++: each centre is drawn by its squared distance to those before."""
    centres = np.empty((n, vectors.shape[1]))
    centres[0] = vectors[random.integers(len(vectors))]
    nearest = _distances(vectors, centres[:1])[:, 0]
    for k in range(1, n):
        total = np.cumsum(nearest)
        at = np.searchsorted(total, random.random() * total[-1], side="right")
        centres[k] = vectors[min(int(at), len(vectors) - 1)]
        np.minimum(nearest, _distances(vectors, centres[k : k + 1])[:, 0], out=nearest)
    return centres


def _distances(vectors: Floats, centres: Floats) -> Floats:
    """Squared distances, shape (n, n_centres), without BLAS: same bits everywhere."""
    from partwise.kernels._vector_compiled import dense_products

    dots = np.empty((len(vectors), len(centres)))
    every, all_centres = np.arange(len(vectors)), np.arange(len(centres))
    dense_products(vectors, every, centres, all_centres, dots)
    squares = (vectors * vectors).sum(axis=1)[:, None]
    return np.maximum(squares - 2 * dots + (centres * centres).sum(axis=1), 0.0)


def _neighbours(
    codes: np.ndarray, offset: np.ndarray, window: int, n_words: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each word with each of its contexts: a place times n_words plus a word.

    Code -1 is no word. Places are 1 before, 1 after, 2 before and so on.
    """
    sequence = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    words, contexts = [], []
    for gap in range(1, window + 1):
        left, right = codes[:-gap], codes[gap:]
        is_pair = (sequence[:-gap] == sequence[gap:]) & (left >= 0) & (right >= 0)
        place = 2 * (gap - 1) * n_words
        words += [right[is_pair], left[is_pair]]
        contexts += [left[is_pair] + place, right[is_pair] + place + n_words]
    return np.concatenate(words), np.concatenate(contexts)


def _vectors(
    words: np.ndarray,
    contexts: np.ndarray,
    shape: tuple[int, int],
    n_dimensions: int,
    random: Generator,
) -> Floats:
    """Unit vectors of words from a truncated SVD of positive mutual information."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    n, n_contexts = shape
    counts = csr_array((np.ones(len(words)), (words, contexts)), shape=shape)
    counts.sum_duplicates()
    row = np.repeat(np.arange(n), np.diff(counts.indptr))
    of_word = np.bincount(words, minlength=n)
    of_context = np.bincount(contexts, minlength=n_contexts) ** SMOOTHING
    expected = of_word[row] * of_context[counts.indices] / max(of_context.sum(), 1.0)
    counts.data = np.maximum(np.log(counts.data / expected), 0.0)
    k = min(n_dimensions, n - 1)
    if k < 1 or not counts.data.any():
        return np.zeros((n, 1))
    left, values, _ = svds(counts, k=k, v0=random.uniform(0.5, 1.5, n))
    vectors = np.ascontiguousarray(left * np.sqrt(np.maximum(values, 0.0)))
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def _by_size(group: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Number clusters by falling number of tokens."""
    size = np.bincount(group, counts)
    rank = np.empty(len(size), np.int64)
    rank[np.argsort(-size, kind="stable")] = np.arange(len(size))
    return rank[group]


def fit_clusters(clusters: int | WordClusters, table: Table) -> WordClusters:
    """Clusters of the words of a table, by their number or by settings."""
    if not isinstance(clusters, WordClusters):
        column = "form" if "form" in table.columns else None
        clusters = WordClusters(n_clusters=clusters, column=column)
    if clusters.name in table.columns:
        raise SettingsError(
            f"<clusters=> makes a column {clusters.name!r}, which the sentences have "
            "already; leave it out"
        )
    return clusters.unfitted().fit(table)
