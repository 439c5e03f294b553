"""Word vectors of a word and its neighbours, beside the features of templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.bounds import check_magnitude, read_array, require
from partwise.features.arrays import Features, make_features
from partwise.features.columnar import Featurizer, as_table
from partwise.features.vocabulary import numbered, read_strings, string_arrays
from partwise.features.windows import neighbours
from partwise.readers.table import Table
from partwise.readers.vectors import MAX_DIMENSIONS, as_vectors

PLACES = (-1, 0, 1)  # the word before, the word, the word behind
MAX_COMPONENT = 1.001  # of a vector of length 1, rounded


class VectorFeaturizer:
    """Features of templates, and the vectors of each word and of its two neighbours.

    Parameters
    ----------
    templates : Featurizer
        It still has to be fitted.
    vectors : path, dict or pair
        See `partwise.readers.vectors.as_vectors`. They are scaled to length 1, so that
        they weigh about as much as the features of templates, whose values are 1.

    Attributes
    ----------
    n_features_ : int
    feature_names_ : list of str
        Those of the templates, then ``vector(word)[-1].0`` and so on.

    Examples
    --------
    >>> vectors = {"cat": [3, 4], "dog": [0, 2]}
    >>> featurizer = VectorFeaturizer(Featurizer("word"), vectors)
    >>> features = featurizer.fit_transform([["the", "Cat"], ["the", "owl"]])
    >>> featurizer.feature_names_[3:6]
    ['vector(word)[-1].0', 'vector(word)[-1].1', 'vector(word)[0].0']
    >>> features.data.round(1)  # of the: itself, the word behind it; of Cat; …
    array([1. , 0.6, 0.8, 1. , 0.6, 0.8, 1. , 1. ])

    Notes
    -----
    A word is looked up in the first column, as it is, then in lower case. One without a
    vector, and what is outside of the sentence, has no such features.
    """

    kind = "columns.vectors.v1"

    column: str

    def __init__(self, templates: Featurizer, vectors: Any) -> None:
        self.templates = templates
        words, matrix = as_vectors(vectors)
        length = np.sqrt((matrix.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        matrix = (matrix / np.where(length > 0, length, 1)).astype(np.float32)
        self._set_vectors(words, matrix)

    def _set_vectors(self, words: list[str], matrix: np.ndarray) -> None:
        self.vectors = words, matrix
        self._row = numbered(words)

    @property
    def n_features_(self) -> int:
        """Features of the templates and of all places."""
        return self.templates.n_features_ + len(PLACES) * self.vectors[1].shape[1]

    @property
    def columns(self) -> list[str]:
        """Columns that are used, each once."""
        return list(dict.fromkeys([self.column, *self.templates.columns]))

    @property
    def feature_names_(self) -> list[str]:
        """Names of all features."""
        numbers = [
            f"vector({self.column})[{place}].{i}"
            for place in PLACES
            for i in range(self.vectors[1].shape[1])
        ]
        return self.templates.feature_names_ + numbers

    def fit(self, X: Table | Sequence[Any], y: Any = None) -> VectorFeaturizer:
        """Learn the vocabulary of the templates; the vectors stay as they are."""
        table = as_table(X)
        self.templates.fit(table)
        self.column = next(iter(table.columns))
        return self

    def transform(self, X: Table | Sequence[Any]) -> Features:
        """Feature vectors of the tokens."""
        table = as_table(X)
        return self._join(self.templates.transform(table), table)

    def fit_transform(self, X: Table | Sequence[Any], y: Any = None) -> Features:
        """Learn the vocabulary and transform; faster than one after the other."""
        table = as_table(X)
        features = self.templates.fit_transform(table)
        self.column = next(iter(table.columns))
        return self._join(features, table)

    def _join(self, features: Features, table: Table) -> Features:
        """Put the numbers of the vectors behind the features of each token."""
        row = np.append(self._rows(table), -1)  # the last stands for the outside
        matrix = self.vectors[1]
        n_tokens, size = len(row) - 1, matrix.shape[1]
        near = neighbours(features.offset, PLACES)
        rows = np.stack([row[near[place]] for place in PLACES], axis=1)
        token, place = np.nonzero(rows >= 0)
        counts = np.diff(features.indptr)
        added = np.bincount(token, minlength=n_tokens) * size
        indptr = np.append(0, np.cumsum(counts + added))
        # where a number goes: behind the features of its token and earlier vectors
        first = np.append(0, np.cumsum(added))[:-1]
        order = np.arange(len(token)) * size - first[token]
        start = indptr[token] + counts[token] + order
        at = (start[:, None] + np.arange(size)).ravel()
        is_number = np.zeros(indptr[-1], bool)
        is_number[at] = True
        indices = np.empty(indptr[-1], np.int32)
        data = np.ones(indptr[-1])
        indices[~is_number] = features.indices
        if len(features.data) == len(features.indices):
            data[~is_number] = features.data
        base = self.templates.n_features_ + place * size
        indices[at] = (base[:, None] + np.arange(size)).ravel()
        data[at] = matrix[rows[token, place]].ravel()
        return make_features(indptr, indices, data, features.offset, self.n_features_)

    def _rows(self, table: Table) -> np.ndarray:
        """Row of each token's vector; -1 is none."""
        if self.column not in table.columns:
            raise ValueError(
                f"word vectors need a column {self.column!r}; there are "
                f"{', '.join(table.columns)}"
            )
        column = table.columns[self.column]
        row = self._row
        rows = [row.get(word, row.get(word.lower(), -1)) for word in column.values]
        return np.array(rows, np.int64)[column.codes]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        words, matrix = self.vectors
        meta, arrays = self.templates.state()
        arrays |= string_arrays(words, "words")
        return {**meta, "kind": self.kind, "column": self.column}, {
            **arrays, "vectors": matrix,
        }  # fmt: skip

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> VectorFeaturizer:
        """Rebuild from `state`; invalid input raises ValueError."""
        templates = {**meta, "kind": Featurizer.kind}
        featurizer = cls.__new__(cls)
        featurizer.templates = Featurizer.from_state(templates, arrays)
        column = meta.get("column")
        require(isinstance(column, str), "word vectors of no column")
        featurizer.column = str(column)
        words = read_strings(arrays, "words")
        require(len(set(words)) == len(words), "a word has two vectors")
        matrix = read_array(arrays, "vectors", np.float32, len(words), None)
        require(0 < matrix.shape[1] <= MAX_DIMENSIONS, "length of word vectors")
        check_magnitude(matrix, MAX_COMPONENT, "word vectors", remedy="")
        featurizer._set_vectors(words, matrix)
        return featurizer
