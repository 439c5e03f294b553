"""Features of tokens given as dicts or lists of strings, as python-crfsuite takes them.

What a token may be:

    {"w": "the"}                   feature w:the, value 1
    {"caps": True, "tfidf": 0.3}   features caps and tfidf, values 1 and 0.3
    {"tags": ["a", "b"]}           features tags:a and tags:b, value 1 each
    {"next": {"w": "cat"}}         feature next:w:cat, value 1
    ["w=the", "caps"]              these features, value 1 each

A value of zero is the absence of the feature.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any

import numpy as np

from partwise.features.arrays import Features, make_features
from partwise.features.hashing import hash_strings
from partwise.features.vocabulary import (
    check_settings,
    pack_strings,
    state_array,
    unpack_strings,
)

Token = Mapping[str, Any] | Sequence[str] | AbstractSet[str]


class DictFeaturizer:
    """
    Features of tokens that are dicts, or lists of strings.

    Parameters
    ----------
    min_count : int
        Features that occur less often in training are left out.
    hash_bits : int, optional
        Hash features to ``2**hash_bits`` columns instead of keeping a vocabulary.

    Attributes
    ----------
    n_features_ : int
    feature_names_ : list of str
        By falling training frequency, ties in the order of the strings.

    Examples
    --------
    >>> featurizer = DictFeaturizer()
    >>> features = featurizer.fit_transform([[{"w": "the"}, {"w": "cat", "len": 3}]])
    >>> featurizer.feature_names_
    ['len', 'w:cat', 'w:the']
    >>> features.indices, features.data
    (array([2, 1, 0], dtype=int32), array([1., 1., 3.]))
    """

    kind = "dicts.v1"

    n_features_: int

    def __init__(self, min_count: int = 1, hash_bits: int | None = None) -> None:
        self.min_count, self.hash_bits = check_settings(min_count, hash_bits)
        if self.hash_bits is not None:
            self.n_features_ = 1 << self.hash_bits

    def fit(self, X: Sequence[Sequence[Token]]) -> "DictFeaturizer":
        """
        Learn the vocabulary.

        Parameters
        ----------
        X : sequence of sequences of tokens

        Returns
        -------
        DictFeaturizer
            Itself.
        """
        if not len(X):
            raise ValueError("no sequences to fit")
        counts = Counter(name for row in _rows(X) for name, _ in row)
        if self.hash_bits is None:
            kept = [name for name, n in counts.items() if n >= self.min_count]
            self._set_names(sorted(kept, key=lambda name: (-counts[name], name)))
        return self

    def transform(self, X: Sequence[Sequence[Token]]) -> Features:
        """
        Feature vectors of the tokens; features unseen in training are left out.

        Parameters
        ----------
        X : sequence of sequences of tokens

        Returns
        -------
        Features
        """
        self._check_fitted()
        numbers = _HashNumbers(self.n_features_) if self.hash_bits else self._numbers
        indices: list[int] = []
        data: list[float] = []
        indptr = [0]
        for row in _rows(X):
            for name, value in row:
                number = numbers[name] if self.hash_bits else numbers.get(name, -1)
                if number >= 0:
                    indices.append(number)
                    data.append(value)
            indptr.append(len(indices))
        lengths = np.fromiter(map(len, X), np.int64, len(X))
        return make_features(
            np.array(indptr),
            np.array(indices, np.int32),
            np.array(data, np.float64),
            np.append(0, np.cumsum(lengths)),
            self.n_features_,
        )

    def fit_transform(self, X: Sequence[Sequence[Token]]) -> Features:
        """Learn the vocabulary and transform."""
        return self.fit(X).transform(X)

    @property
    def feature_names_(self) -> list[str]:
        """Names such as ``w:the``, one per feature."""
        self._check_fitted()
        if self.hash_bits is not None:
            return [f"hash={i}" for i in range(self.n_features_)]
        return list(self._numbers)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Give what a model file must keep: JSON-able settings, and arrays."""
        self._check_fitted()
        meta = {
            "kind": self.kind,
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
        }
        if self.hash_bits is not None:
            return meta, {}
        text, text_offset = pack_strings(self.feature_names_)
        return meta, {"text": text, "text_offset": text_offset}

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> "DictFeaturizer":
        """Rebuild from `state`; nonsense raises ValueError."""
        if meta.get("kind") != cls.kind:
            raise ValueError("damaged featurizer state: not a featurizer of dicts")
        featurizer = cls(meta.get("min_count", 1), meta.get("hash_bits"))
        if featurizer.hash_bits is None:
            names = unpack_strings(
                state_array(arrays, "text", np.uint8),
                state_array(arrays, "text_offset", np.int64),
            )
            if len(set(names)) < len(names):
                raise ValueError("damaged featurizer state: a feature stands twice")
            featurizer._set_names(names)
        return featurizer

    def _set_names(self, names: list[str]) -> None:
        self._numbers: dict[str, int] = {name: i for i, name in enumerate(names)}
        self.n_features_ = len(names)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_"):
            raise ValueError("the featurizer has no vocabulary yet; call fit first")


class _HashNumbers(dict[str, int]):
    """Column of each name, hashed when first met."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns

    def __missing__(self, name: str) -> int:
        self[name] = int(hash_strings([name])[0]) % self.n_columns
        return self[name]


def _rows(X: Sequence[Sequence[Token]]) -> Iterator[list[tuple[str, float]]]:
    """Names and values of the features of each token, zeros left out."""
    for s, sequence in enumerate(X):
        if not len(sequence):
            raise ValueError(f"sequence {s} has no tokens; leave it out")
        for t, token in enumerate(sequence):
            try:
                yield _named_values(token)
            except (TypeError, ValueError) as error:
                raise type(error)(f"sequence {s}, token {t}: {error}") from None


def _named_values(token: Token) -> list[tuple[str, float]]:
    if isinstance(token, Mapping):
        return [pair for key, value in token.items() for pair in _expand(key, value)]
    if isinstance(token, str) or not isinstance(token, Sequence | AbstractSet):
        raise TypeError(f"{token!r} is neither a dict nor a list of strings")
    for name in token:
        if not isinstance(name, str):
            raise TypeError(f"feature {name!r} is no string")
    return [(name, 1.0) for name in _in_order(token)]


def _expand(key: Any, value: Any) -> list[tuple[str, float]]:
    """Names and values of one entry of a dict."""
    if not isinstance(key, str):
        raise TypeError(f"key {key!r} is no string")
    if isinstance(value, str):
        return [(f"{key}:{value}", 1.0)]
    if isinstance(value, Real | np.bool_):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"feature {key!r} is {number}; use a finite value")
        return [(key, number)] if number else []
    if isinstance(value, Mapping):
        return [
            (f"{key}:{name}", number)
            for inner, item in value.items()
            for name, number in _expand(inner, item)
        ]
    if isinstance(value, Sequence | AbstractSet) and all(
        isinstance(item, str) for item in value
    ):
        return [(f"{key}:{item}", 1.0) for item in _in_order(value)]
    raise TypeError(
        f"feature {key!r} has a value of type {type(value).__name__}; use a string, a "
        "number, strings in a list or set, or a dict of these"
    )


def _in_order(names: Sequence[str] | AbstractSet[str]) -> Sequence[str]:
    """Sort a set, whose order changes from process to process."""
    return sorted(names) if isinstance(names, AbstractSet) else names
