"""Features of tokens given as dicts or lists of strings, as python-crfsuite takes them.

What a token may be:

    {"w": "the"}                   feature w:the, value 1
    {"caps": True, "tfidf": 0.3}   features caps and tfidf, values 1 and 0.3
    {"tags": ["a", "b"]}           features tags:a and tags:b, value 1 each
    {"next": {"w": "cat"}}         feature next:w:cat, value 1
    ["w=the", "caps"]              these features, value 1 each

A value of zero is the absence of the feature.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE
from partwise.features.arrays import Features, make_features
from partwise.features.hashing import hash_strings
from partwise.features.vocabulary import check_settings, read_strings, string_arrays

Token = Mapping[str, Any] | Sequence[str] | AbstractSet[str]


class DictFeaturizer:
    """Features of tokens that are dicts, or lists of strings.

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

    def fit(self, X: Sequence[Sequence[Token]], y: Any = None) -> "DictFeaturizer":
        """Learn the vocabulary."""
        self.fit_transform(X)
        return self

    def transform(self, X: Sequence[Sequence[Token]]) -> Features:
        """Feature vectors of the tokens; features unseen in training are left out."""
        self._check_fitted()
        if self.hash_bits is not None:
            numbers: dict[str, int] = _HashedNumbers(self.n_features_)
            return make_features(*_scan(X, numbers, self.n_features_))
        return _without_unseen(_scan(X, self._numbers, self.n_features_))

    def fit_transform(self, X: Sequence[Sequence[Token]], y: Any = None) -> Features:
        """Learn the vocabulary and transform; faster than one after the other."""
        if not len(X):
            raise ValueError("no sequences to fit")
        if self.hash_bits is not None:
            return self.transform(X)
        numbers = _GrowingNumbers()
        features = _scan(X, numbers, 0)
        counts = np.bincount(features.indices, minlength=len(numbers)).tolist()
        frequent = [
            n for n, number in numbers.items() if counts[number] >= self.min_count
        ]
        frequent.sort(key=lambda name: (-counts[numbers[name]], name))
        self._set_names(frequent)
        final = np.array([self._numbers[name] for name in numbers], np.int32)
        indices = final[features.indices]
        return _without_unseen(
            features._replace(indices=indices, n_features=self.n_features_)
        )

    @property
    def feature_names_(self) -> list[str]:
        """Names such as ``w:the``, one per feature."""
        self._check_fitted()
        if self.hash_bits is not None:
            return [f"hash={i}" for i in range(self.n_features_)]
        return list(self._numbers)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        self._check_fitted()
        meta = {
            "kind": self.kind,
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
        }
        if self.hash_bits is not None:
            return meta, {}
        return meta, string_arrays(self.feature_names_)

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> "DictFeaturizer":
        """Rebuild from `state`; invalid input raises ValueError."""
        if meta.get("kind") != cls.kind:
            raise ValueError("damaged featurizer state: not a featurizer of dicts")
        featurizer = cls(meta.get("min_count", 1), meta.get("hash_bits"))
        if featurizer.hash_bits is None:
            names = read_strings(arrays)
            if len(set(names)) < len(names):
                raise ValueError("damaged featurizer state: a feature stands twice")
            featurizer._set_names(names)
        return featurizer

    def _set_names(self, names: list[str]) -> None:
        self._numbers = _KnownNumbers((name, i) for i, name in enumerate(names))
        self.n_features_ = len(names)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_"):
            raise ValueError("the featurizer has no vocabulary yet; call fit first")


class _GrowingNumbers(dict[str, int]):
    """Numbers of names in order of first appearance."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


class _KnownNumbers(dict[str, int]):
    """Numbers of the names of the vocabulary, -1 for any other."""

    def __missing__(self, name: str) -> int:
        return -1


class _HashedNumbers(dict[str, int]):
    """Column of each name, hashed when first met."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns

    def __missing__(self, name: str) -> int:
        self[name] = int(hash_strings([name])[0]) % self.n_columns
        return self[name]


def _scan(
    X: Sequence[Sequence[Token]], numbers: dict[str, int], n_features: int
) -> Features:
    """Number the features of all tokens."""
    indices: list[int] = []
    indptr = [0]
    places: list[int] = []  # of the values other than one, which are few
    values: list[float] = []
    for s, sequence in enumerate(X):
        if isinstance(sequence, Mapping):
            raise TypeError(
                f"sequence {s} is a dict, which is a token; give a list of sequences, "
                "of which each is a list of dicts: [X]"
            )
        if not len(sequence):
            raise ValueError(f"sequence {s} has no tokens; leave it out")
        for t, token in enumerate(sequence):
            try:
                for name, value in _named_values(token):
                    if value != 1.0:
                        places.append(len(indices))
                        values.append(value)
                    indices.append(numbers[name])
            except (TypeError, ValueError) as error:
                raise type(error)(f"sequence {s}, token {t}: {error}") from None
            indptr.append(len(indices))
    data = np.ones(len(indices))
    data[places] = values
    lengths = np.fromiter(map(len, X), np.int64, len(X))
    offset = np.append(0, np.cumsum(lengths))
    return Features(
        np.array(indptr), np.array(indices, np.int32), data, offset, n_features
    )


def _without_unseen(features: Features) -> Features:
    """Leave out the features of number -1."""
    indptr, indices, data, offset, n_features = features
    known = indices >= 0
    indptr = np.append(0, np.cumsum(known))[indptr]
    return make_features(indptr, indices[known], data[known], offset, n_features)


def _named_values(token: Token) -> Iterator[tuple[str, float]]:
    """Names and values of the features of a token, zeros left out."""
    if isinstance(token, Mapping):
        for key, value in token.items():
            if type(value) is str and type(key) is str:
                yield f"{key}:{value}", 1.0
            else:
                yield from _expand(key, value)
        return
    if isinstance(token, str) or not isinstance(token, Sequence | AbstractSet):
        raise TypeError(f"{token!r} is neither a dict nor a list of strings")
    for name in _in_order(token):
        if not isinstance(name, str):
            raise TypeError(f"feature {name!r} is no string")
        yield name, 1.0


def _expand(key: Any, value: Any) -> list[tuple[str, float]]:
    """Names and values of one entry of a dict."""
    if not isinstance(key, str):
        raise TypeError(f"key {key!r} is no string")
    if isinstance(value, str):
        return [(f"{key}:{value}", 1.0)]
    if isinstance(value, Real | np.bool_):
        size: Any = abs(value)  # of a whole number, it may be too large for a double
        if not size <= MAX_FEATURE:
            raise ValueError(
                f"feature {key!r} is {value!r:.40}; use a value within ±{MAX_FEATURE:g}"
            )
        number = float(value)
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
