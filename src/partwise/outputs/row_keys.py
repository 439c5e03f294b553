"""How classes of rows are scored through a kernel on rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features.label_keys import LabelKeys
from partwise.outputs.label_scoring import TokenKeyScoring
from partwise.outputs.rows import RowFeaturizer, count_rows
from partwise.outputs.scoring import Arrays, Packable
from partwise.protocol import Floats, Ints
from partwise.scorers.index_file import index_from_state
from partwise.structures.multiclass import Multiclass

BATCH = 10_000  # rows that a kernel model scores at once


class ClassHasher:
    """Keys of classes for a kernel on rows: the attributes that they have.

    By default a class agrees with itself alone.
    """

    match: ClassVar[tuple[str, ...]] = ("label",)
    names: ClassVar[list[str]] = ["label"]
    columns: ClassVar[list[str]] = []
    has_pairs: ClassVar[bool] = False

    def __init__(self, labels: list[Any], structure: Multiclass | None = None) -> None:
        self.labels = labels
        self.structure = structure or Multiclass(len(labels))
        self.attributes = getattr(self.structure, "attribute_names", labels)

    def transform(self, X: Any) -> LabelKeys:
        """Keys of all classes of each row."""
        return self.structure.label_keys(count_rows(X))

    def describe(self, X: Any, keys: LabelKeys, part: int, number: int) -> str:
        """The attribute behind a key of a part."""
        return str(self.attributes[keys.key[part, number]])


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
        cls,
        settings: dict[str, Any],
        arrays: Arrays,
        labels: list[Any],
        structure: Multiclass | None = None,
    ) -> tuple[RowKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        hasher = ClassHasher(labels, structure)
        state = entry(settings, "index", dict)
        index, weights = index_from_state(state, under("index/", arrays))
        featurizer = RowFeaturizer.from_state(entry(settings, "featurizer", dict))
        fits = index.by_token and index.anchors is not None
        require(fits, "a kernel on other inputs than rows")
        assert index.anchors is not None
        width = index.anchors.inputs.n_features
        require(width == featurizer.n_features_, "anchors of another width")
        known = len(hasher.attributes)
        require(bool((index.key < known).all()), "keys of other classes")
        require(bool(index.names) or not len(index.key), "keys without names")
        return cls(hasher, index, featurizer), weights
