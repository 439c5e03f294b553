"""Scores of the labels of tokens, by features, or by keys and a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import MAX_WEIGHT, entry, read_numbers, require, under
from partwise.features import featurizer_from_state
from partwise.features.label_keys import LabelHasher
from partwise.outputs.explanation import Contribution
from partwise.outputs.kernel_scoring import KernelScoring, Listing
from partwise.outputs.scoring import (
    Arrays,
    FeatureScoring,
    State,
    optional_state,
    read_weights,
    weight_arrays,
)
from partwise.protocol import Floats, Ints
from partwise.scorers.index_file import index_from_state, match_from_state
from partwise.structures.chain import Chain

MAX_PAIR_LABELS = 1000  # each sequence has a part for every pair of them


class TokenFeatureScoring(FeatureScoring):
    """Labels are scored by the features of their token."""

    @property
    def key_names(self) -> list[str]:
        """Refuse: there are no keys."""
        raise AttributeError("a tagger without kernel and match has no keys")

    def n_coefficients(self, n_labels: int) -> int:
        """A weight for each feature and label."""
        return self.featurizer.n_features_ * n_labels

    def emission(self, weights: Floats, n_labels: int) -> Floats:
        """Weights of features for labels, (n_features, L); a view."""
        return weights[: self.n_coefficients(n_labels)].reshape(-1, n_labels)

    def coefficients(self, weights: Floats, n_labels: int) -> Floats:
        """Weights of features for labels, (L, n_features)."""
        return self.emission(weights, n_labels).T

    def heaviest(self, weights: Floats, labels: Sequence[Any]) -> Listing:
        """For each label all features."""
        columns = self.coefficients(weights, len(labels))
        for label, values in zip(labels, columns, strict=True):
            yield str(label), self.feature_names, values

    def reasons(
        self, X: Any, weights: Floats, labels: Sequence[Any], outputs: Sequence[Ints]
    ) -> Iterator[Contribution]:
        """Shares of single features at tokens with different labels."""
        features, emission = self.features(X), self.emission(weights, len(labels))
        names = (self.feature_names, labels)
        return table_reasons(features, emission, outputs, names)

    def to_state(self, weights: Floats) -> State:
        """The featurizer and the weights."""
        settings, arrays = super().to_state(weights)
        return settings, arrays | weight_arrays(weights)

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, chain: Chain, labels: list[Any]
    ) -> tuple[TokenFeatureScoring, Floats]:
        """Rebuild a scoring and its weights."""
        state = entry(settings, "featurizer", dict)
        featurizer = featurizer_from_state(state, under("featurizer/", arrays))
        size = chain.n_weights(featurizer.n_features_)
        return cls(featurizer), read_weights(arrays, size)


class TokenKeyScoring(KernelScoring):
    """Labels are scored through training tokens or sequences, or by keys alone."""

    parts_name: ClassVar[str] = "Labels"
    anchors_name: ClassVar[str] = "Anchors"
    examples_name: ClassVar[str] = "sequences"
    gram_remedy: ClassVar[str] = (
        "train on fewer sequences, or make features of the rows with Nystroem(kernel) "
        "and train a linear tagger"
    )

    @property
    def feature_names(self) -> list[str]:
        """Names of the anchors; without a kernel, of the keys."""
        return self.key_names if self.index.kernel is None else self.anchor_names()

    def n_coefficients(self, n_labels: int) -> int:
        """Postings of the index."""
        return len(self.index.anchor)

    def emission(self, weights: Floats, n_labels: int) -> Floats:
        """No features."""
        return np.zeros((0, n_labels))

    def coefficients(self, weights: Floats, n_labels: int) -> Any:
        """The matrix key × anchor, CSR; without anchors, the weights of the keys."""
        index = self.index
        beta = weights[: len(index.anchor)]
        if index.anchors is None:
            return beta
        from scipy.sparse import csr_array

        shape = (len(index.key), index.n_anchors)
        return csr_array((beta, index.anchor, index.begin), shape=shape)

    def heaviest(self, weights: Floats, labels: Sequence[Any]) -> Listing:
        """For the heaviest keys their anchors; without a kernel, all keys at once."""
        return self.heaviest_keys(weights)

    # ---------------------------------------------------------------- explanation

    def reasons(
        self, X: Any, weights: Floats, labels: Sequence[Any], outputs: Sequence[Ints]
    ) -> Iterator[Contribution]:
        """Shares of anchors, or of keys where there are none, at different labels."""
        winner, runner = outputs
        keys = self.hasher.transform(X)
        places: list[tuple[int, str, str]] = []  # position, and both labels there
        uses: dict[int, list[tuple[int, float]]] = {}  # of a part: places, ±1

        def differ(t: int, parts: Sequence[int], names: Sequence[Any]) -> None:
            for part, sign in zip(parts, (1.0, -1.0), strict=True):
                uses.setdefault(int(part), []).append((len(places), sign))
            places.append((t, *names))

        for t in np.flatnonzero(winner != runner).tolist():
            names = [labels[y[t]] for y in outputs]
            differ(t, [keys.token[t] + y[t] for y in outputs], names)
        size = keys.n_labels
        for t in range(1, len(winner)) if keys.has_pairs else ():
            pairs = [(int(y[t - 1]), int(y[t])) for y in outputs]
            if pairs[0] != pairs[1]:
                names = ["→".join(str(labels[y]) for y in pair) for pair in pairs]
                first = keys.first[1] - size * size
                differ(t, [first + a * size + b for a, b in pairs], names)
        total: dict[tuple[int, str], float] = {}
        for part, reason, share in self.shares(X, keys, list(uses), weights):
            for place, sign in uses[part]:
                total[place, reason] = total.get((place, reason), 0.0) + sign * share
        for (place, reason), share in total.items():
            t, first_name, second_name = places[place]
            yield Contribution(t, reason, first_name, second_name, share)

    # ---------------------------------------------------------------------- files

    def to_state(self, weights: Floats) -> State:
        """Hash functions, index, rows of the kernel; weights of transitions apart."""
        settings, arrays = super().to_state(weights)
        settings["featurizer"], rows = optional_state("featurizer", self.featurizer)
        tail = np.asarray(weights[len(self.index.anchor) :], np.float64)
        return settings, arrays | rows | {"tail": tail}

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, chain: Chain, labels: list[Any]
    ) -> tuple[TokenKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        hasher = LabelHasher(match_from_state(settings), labels)
        state = entry(settings, "index", dict)
        index, weight = index_from_state(state, under("index/", arrays))
        require(not (index.by_token and hasher.has_pairs), "pairs of labels by token")
        require(bool(index.names) or not len(index.key), "keys without names")
        is_small = not hasher.has_pairs or len(labels) <= MAX_PAIR_LABELS
        require(is_small, f"pairs of {len(labels)} labels")
        tail = read_numbers(arrays, "tail", MAX_WEIGHT, chain.n_weights(0))
        featurizer: Any = None
        if settings["featurizer"] is not None:
            state = entry(settings, "featurizer", dict)
            featurizer = featurizer_from_state(state, under("featurizer/", arrays))
        require((featurizer is not None) == index.by_token, "no rows for the kernel")
        if index.by_token and index.anchors is not None:
            fits = index.anchors.inputs.n_features == featurizer.n_features_
            require(fits, "anchors of another width")
        return cls(hasher, index, featurizer), np.append(weight, tail)


def table_reasons(
    rows: Any,
    weights: Floats,
    columns: Sequence[Ints],
    names: tuple[Sequence[str], Sequence[Any]],
    positions: Any = None,
) -> Iterator[Contribution]:
    """
    Shares of single features of rows whose columns differ between two outputs.

    Parameters
    ----------
    rows : Features, DenseFeatures or matrix (n, n_features)
    weights : array (n_features, n_columns)
    columns : two int arrays (n,)
        The column of each row in the winner and in the runner-up.
    names : of features, and of columns
    positions : int array (n,), optional
        Where a row stands; its number by default.
    """
    winner, runner = columns
    for row in np.flatnonzero(winner != runner).tolist():
        a, b = winner[row], runner[row]
        index, value = row_entries(rows, row)
        shares = value * (weights[index, a] - weights[index, b])
        t = row if positions is None else int(positions[row])
        for f, share in zip(index, shares, strict=True):
            yield Contribution(t, names[0][f], names[1][a], names[1][b], float(share))


def row_entries(features: Any, row: int) -> tuple[Ints, Any]:
    """Features of a row, by number, and their values; 1.0 where all are one."""
    if not hasattr(features, "indptr"):
        values = getattr(features, "X", features)[row]
        return np.arange(len(values)), values
    entries = slice(features.indptr[row], features.indptr[row + 1])
    is_valued = len(features.data) == len(features.indices)
    return features.indices[entries], features.data[entries] if is_valued else 1.0
