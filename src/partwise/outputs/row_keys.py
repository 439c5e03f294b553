"""Scores of the classes of rows through a kernel on rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features.label_keys import LabelKeys
from partwise.outputs.label_scoring import TokenKeyScoring
from partwise.outputs.rows import RowFeatureScoring, RowFeaturizer, count_rows
from partwise.outputs.scoring import Arrays, Packable
from partwise.protocol import Floats, Ints
from partwise.scorers.index_file import index_from_state
from partwise.structures.multiclass import Multiclass

BATCH = 10_000  # rows that a kernel model scores at once


class ClassHasher:
    """Keys of classes for a kernel on rows: the attributes that they have.

    By default a class agrees with itself alone. Where rows have one score, they are
    rows of one class.
    """

    match: ClassVar[tuple[str, ...]] = ("label",)
    names: ClassVar[list[str]] = ["label"]
    columns: ClassVar[list[str]] = []
    has_pairs: ClassVar[bool] = False

    def __init__(self, labels: list[Any], structure: Any = None) -> None:
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

    def parameters(self) -> dict[str, Any]:
        """The kernel."""
        return {"kernel": self.index.kernel}

    def view(self, X: Any) -> Any:
        """The matrix as it is."""
        return X

    def anchor_names(self) -> list[str]:
        """Numbers of the training rows."""
        anchors = self.index.anchors
        if anchors is None:
            return []
        return [f"row {row}" for row in (anchors.row + anchors.token).tolist()]

    def row_scores(self, X: Any, weights: Floats, n_jobs: int = 1) -> Floats:
        """Score of each row, where rows have one, (n,)."""
        scores = []
        scorer: Any
        for keys, scorer in self.batches(X):
            rows = scorer.bind(keys, 1)
            model = np.zeros(scorer.n_weights(rows))
            scorer.fill(rows, weights, model, n_jobs)
            scores.append(model[rows.postings.n_slots :][rows.slot[:, 0]])
        return np.concatenate(scores)

    def row_shares(self, X: Any, weights: Floats) -> Floats:
        """Shares of the anchors in the score of a few rows, (n, n_anchors)."""
        index = self.index
        values, column = index.values(self.inputs(X), index.key, 1)
        return values[:, column[index.anchor]] * weights

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
        structure: Any = None,
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


def row_scoring_from_state(
    settings: dict[str, Any],
    arrays: Arrays,
    labels: list[Any],
    structure: Any = None,
    columns: list[Any] | None = None,
) -> tuple[Any, Floats]:
    """Rebuild a scoring by keys or by features, and its weights.

    `columns` are what features have weights for, the labels by default.
    """
    if "index" in settings:
        return RowKeyScoring.from_state(settings, arrays, labels, structure)
    return RowFeatureScoring.from_state(settings, arrays, columns or labels)
