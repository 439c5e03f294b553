"""How classes of rows are scored: by the row's features, or by a kernel on rows.

A row is a sequence of one token, so all that taggers know of scores serves classes,
too; what differs is how a matrix becomes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import MAX_WEIGHT, entry, read_numbers, require, under
from partwise.features.arrays import MAX_FEATURES, DenseFeatures, Features
from partwise.features.label_keys import LabelKeys
from partwise.outputs.scoring import Arrays, Packable
from partwise.outputs.sequence.scoring import TokenFeatureScoring, TokenKeyScoring
from partwise.protocol import Floats, Ints
from partwise.scorers.index_file import index_from_state
from partwise.structures.multiclass import Multiclass
from partwise.structures.multiclass.structure import as_rows

BATCH = 10_000  # rows that a kernel model scores at once


class RowFeaturizer:
    """The rows of a matrix as features, with a column of ones for a threshold.

    Parameters
    ----------
    n_features : int
        Columns of the matrix.
    names : list of str
        Of the columns.
    has_intercept : bool
        Whether the last feature is the constant 1.
    """

    kind = "rows.v1"

    def __init__(self, n_features: int, names: list[str], has_intercept: bool) -> None:
        self.n_columns = n_features
        self.has_intercept = has_intercept
        self.n_features_ = n_features + has_intercept
        self.feature_names_ = [*names, *(["(intercept)"] if has_intercept else [])]

    def transform(self, X: Any) -> Features | DenseFeatures:
        """Features of each row, a sequence of its own."""
        rows: Any = as_rows(X)
        if rows.n_features == self.n_features_ and hasattr(X, "offset"):
            return rows  # of a support: made before
        if rows.n_features != self.n_columns:
            raise ValueError(
                f"X has {rows.n_features} features, but the model was trained with "
                f"{self.n_columns}"
            )
        if not self.has_intercept:
            return rows
        n = len(rows.offset) - 1
        if isinstance(rows, DenseFeatures):
            return rows._replace(X=np.hstack([rows.X, np.ones((n, 1))]))
        data = rows.data
        if len(data) != len(rows.indices):
            data = np.ones(len(rows.indices))
        ends = rows.indptr[1:]
        return rows._replace(
            indptr=rows.indptr + np.arange(n + 1),
            indices=np.insert(rows.indices, ends, self.n_columns).astype(np.int32),
            data=np.insert(data, ends, 1.0),
            n_features=self.n_features_,
        )

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Settings for a model file."""
        names = self.feature_names_[: self.n_columns]
        is_plain = names == [f"x{column}" for column in range(self.n_columns)]
        return {
            "kind": self.kind,
            "n_features": self.n_columns,
            "names": None if is_plain else names,
            "has_intercept": self.has_intercept,
        }, {}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RowFeaturizer:
        """Rebuild from `state`; nonsense raises ValueError."""
        settings = dict(state)
        require(settings.get("kind") == cls.kind, "no features of rows")
        n_features = entry(settings, "n_features", int)
        require(0 <= n_features < MAX_FEATURES, f"{n_features} features of rows")
        names = settings["names"]
        if names is None:
            names = [f"x{column}" for column in range(n_features)]
        is_list = isinstance(names, list) and all(isinstance(n, str) for n in names)
        require(is_list and len(names) == n_features, "names of other columns")
        return cls(n_features, names, entry(settings, "has_intercept", bool))


class ClassHasher:
    """Keys of classes for a kernel on rows: a class agrees with itself alone."""

    match: ClassVar[tuple[str, ...]] = ("label",)
    names: ClassVar[list[str]] = ["label"]
    columns: ClassVar[list[str]] = []
    has_pairs: ClassVar[bool] = False

    def __init__(self, labels: list[Any]) -> None:
        self.labels = labels

    def transform(self, X: Any) -> LabelKeys:
        """Keys of all classes of each row."""
        return Multiclass(len(self.labels)).label_keys(count_rows(X))

    def describe(self, X: Any, keys: LabelKeys, part: int, number: int) -> str:
        """The class of a part."""
        return str(self.labels[part % len(self.labels)])


class RowFeatureScoring(TokenFeatureScoring):
    """Classes are scored by the features of their row."""

    @classmethod
    def from_state(  # type: ignore[override]
        cls, settings: dict[str, Any], arrays: Arrays, labels: list[Any]
    ) -> tuple[RowFeatureScoring, Floats]:
        """Rebuild a scoring and its weights."""
        featurizer = RowFeaturizer.from_state(entry(settings, "featurizer", dict))
        size = featurizer.n_features_ * len(labels)
        return cls(featurizer), read_numbers(arrays, "weights", MAX_WEIGHT, size)


class RowKeyScoring(TokenKeyScoring):
    """Classes are scored through training rows."""

    parts_name: ClassVar[str] = "Classes"
    examples_name: ClassVar[str] = "rows"
    gram_remedy: ClassVar[str] = (
        "train on fewer rows, or make features with Nystroem(kernel)"
    )

    def view(self, X: Any) -> Any:
        """The matrix as it is."""
        return X

    def lengths(self, X: Any) -> Ints:
        """A row is a single token."""
        return np.ones(count_rows(X), np.int64)

    def batches(self, X: Any) -> Iterator[Packable]:
        """Some rows at a time."""
        n = count_rows(X)
        for first in range(0, n, BATCH):
            yield self.parts_of(X[first : first + BATCH])

    @classmethod
    def from_state(  # type: ignore[override]
        cls, settings: dict[str, Any], arrays: Arrays, labels: list[Any]
    ) -> tuple[RowKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        state = entry(settings, "index", dict)
        index, weights = index_from_state(state, under("index/", arrays))
        featurizer = RowFeaturizer.from_state(entry(settings, "featurizer", dict))
        fits = index.by_token and index.anchors is not None
        require(fits, "a kernel on other inputs than rows")
        assert index.anchors is not None
        width = index.anchors.inputs.n_features
        require(width == featurizer.n_features_, "anchors of another width")
        require(bool((index.key < len(labels)).all()), "keys of other classes")
        require(bool(index.names) or not len(index.key), "keys without names")
        return cls(ClassHasher(labels), index, featurizer), weights


def count_rows(X: Any) -> int:
    """Rows of a matrix or of features."""
    if hasattr(X, "offset"):
        return len(X.offset) - 1
    return X.shape[0] if hasattr(X, "shape") else len(X)
