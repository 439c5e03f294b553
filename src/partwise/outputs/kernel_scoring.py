"""Scoring by keys: hash functions of parts, and the index of a kernel expansion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.features import DenseFeatures, Features
from partwise.features.columnar import as_table
from partwise.features.label_keys import lengths_offset
from partwise.kernels.base import same_kernel
from partwise.kernels.clusters import WordClusters
from partwise.kernels.inputs import token_inputs
from partwise.outputs.scoring import (
    WARM,
    Arrays,
    Packable,
    Scoring,
    ScoringFit,
    State,
    optional_state,
    prefixed,
)
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers.index_file import index_state, match_state
from partwise.scorers.kernel_index import IndexScorer, KernelIndex, TrainedScorer

MOST_SHOWN = 50  # keys

Listing = Iterator[tuple[str, list[str], Floats]]  # title, names, weights


class KernelScoring(Scoring):
    """
    Parts have keys, and keys have coefficients of training inputs, the anchors.

    Parameters
    ----------
    hasher : LabelHasher, ArcHasher or PhraseHasher
        Gives each part its keys.
    index : KernelIndex
        Anchors of each key; without a kernel each key has one weight.
    featurizer : fitted featurizer, optional
        Makes the rows that a kernel on tokens compares.
    clusters : WordClusters, optional
        Adds a column that hash functions and kernel may look at.
    """

    prefix: ClassVar[str] = "Kernel"
    # words for reports and errors
    parts_name: ClassVar[str]
    anchors_name: ClassVar[str]
    examples_name: ClassVar[str]
    gram_remedy: ClassVar[str]  # for a Gram matrix that does not fit

    def __init__(
        self,
        hasher: Any,
        index: KernelIndex,
        featurizer: Any = None,
        clusters: WordClusters | None = None,
    ) -> None:
        self.hasher = hasher
        self.index = index
        self.featurizer = featurizer
        self.clusters = clusters

    @property
    def takes(self) -> str:
        """Kind of the inputs: columns, dicts or arrays."""
        if self.featurizer is None:
            return "columns"
        return self.featurizer.kind.partition(".")[0]

    # ----------------------------------------------------------------- parts, inputs

    def view(self, X: Any) -> Any:
        """X with all columns that the model looks at; a list of tables as one."""
        if isinstance(X[0], Table):
            X = as_table(X)
        return X if self.clusters is None else self.clusters.transform(X)

    def lengths(self, X: Any) -> Ints:
        """Tokens of each sequence."""
        return np.diff(lengths_offset(X))

    def inputs(self, X: Any) -> Any:
        """Inputs of the kernel; None without a kernel."""
        kernel, anchors = self.index.kernel, self.index.anchors
        if kernel is None or anchors is None:
            return None
        if not self.index.by_token:
            return as_table(X).select(list(anchors.inputs.columns))
        is_ready = isinstance(X, Features | DenseFeatures)  # of a support
        return token_inputs(kernel, X if is_ready else self.featurizer.transform(X))

    def batches(self, X: Any) -> Iterator[Packable]:
        """Keys of new inputs, with scorers that look them up in the index."""
        X = self.view(X)
        offset = lengths_offset(X)
        for rows in self.index.runs(offset, self.hasher.n_keys(offset)):
            yield self.parts_of(X[rows])

    def training(self, X: Any, n_jobs: int) -> Packable:
        """Keys of the training data, with their Gram matrix computed anew."""
        X = self.view(X)
        scorer = TrainedScorer(self.index, self.inputs(X), n_jobs)
        return self.hasher.transform(X), scorer

    def parts_of(self, inputs: Any) -> Packable:
        """Keys of these inputs at once; they have all columns already."""
        scorer = IndexScorer(self.index, self.inputs(inputs))
        return self.hasher.transform(inputs), scorer

    def on(self, X: Any) -> ScoringFit:
        """The same kernel and hash functions on other data."""
        from partwise.outputs.kernel_fit import KernelFit

        X, index = self.view(X), self.index
        n_tokens = self.lengths(X)
        return KernelFit(
            type(self), index.kernel, self.hasher, X, self.inputs(X),
            options={"dtype": index.dtype}, by_token=index.by_token,
            words=lambda i: [""] * int(n_tokens[i]), featurizer=self.featurizer,
            clusters=self.clusters, is_named=False, is_checked=False,
        )  # fmt: skip

    # ------------------------------------------------------------------ descriptions

    def anchor_words(self) -> list[list[str]]:
        """Words of each anchor: one token, or the first column of a sequence."""
        anchors = self.index.anchors
        if anchors is None:
            return []
        if self.index.by_token:
            return [[word] for word in anchors.words]
        return anchors.inputs.strings(next(iter(anchors.inputs.columns)))

    @property
    def key_names(self) -> list[str]:
        """The keys in words."""
        return self.index.names

    def anchor_names(self) -> list[str]:
        """Place of each anchor in the training data, and its words."""
        anchors = self.index.anchors
        if anchors is None:
            return []
        words = map(" ".join, self.anchor_words())
        return [f"{anchors.name(k)}: {shown}" for k, shown in enumerate(words)]

    def heaviest_keys(self, weights: Floats) -> Listing:
        """For the heaviest keys their anchors; without a kernel, all keys at once."""
        index = self.index
        beta = weights[: len(index.anchor)]
        if index.anchors is None:
            yield "keys", index.names, beta
            return
        names = self.anchor_names()
        key = np.repeat(np.arange(len(index.key)), np.diff(index.begin))
        size = np.bincount(key, beta * beta, minlength=len(index.key))
        largest = np.argsort(-size, kind="stable")[:MOST_SHOWN]
        for k in sorted(largest.tolist(), key=lambda k: index.names[k]):
            rows = slice(index.begin[k], index.begin[k + 1])
            yield index.names[k], [names[a] for a in index.anchor[rows]], beta[rows]

    def shares(
        self, X: Any, keys: Any, parts: list[int], weights: Floats
    ) -> Iterator[tuple[int, str, float]]:
        """(part, anchor or key in words, share of its score) of these parts of X."""
        names, has_anchors = self.anchor_names(), self.index.anchors is not None
        shares = self.index.shares(self.inputs(X), keys, parts, weights)
        X = as_table(X) if self.hasher.columns else X
        for part, number, anchor, share in shares:
            if has_anchors and len(self.hasher.match) == 1:
                yield part, names[anchor], share
                continue
            key = self.hasher.describe(X, keys, part, number)
            yield part, f"{names[anchor]} ({key})" if has_anchors else key, share

    def check_start(self, kernel: Any, match: Any) -> None:
        """Refuse another kernel and other hash functions."""
        if match is None:
            raise SettingsError(
                f"{WARM}, which had a kernel; leave <kernel=> as it was"
            )
        if not same_kernel(kernel, self.index.kernel):
            raise ValueError(f"{WARM}, which had another kernel; leave it as it was")
        if match != self.hasher.match:
            raise SettingsError(f"{WARM}, and <match=> has changed; leave it as it was")

    def parameters(self) -> dict[str, Any]:
        """Kernel and hash functions."""
        return {"kernel": self.index.kernel, "match": list(self.hasher.match)}

    def facts(self) -> dict[str, Any]:
        """Hash functions, kernel, and the size of the index."""
        index, clusters = self.index, self.clusters
        settings, _ = optional_state("featurizer", self.featurizer)
        return {
            "n_features": len(index.anchor),
            "featurizer": settings,
            "match": self.hasher.names,
            "kernel": None if index.kernel is None else index.kernel.to_dict(),
            "clusters": 0 if clusters is None else clusters.n_clusters,
            "n_keys": len(index.key),
            "n_anchors": index.n_anchors,
        }

    def report_facts(self) -> list[tuple[str, str]]:
        """Hash functions, kernel, and the number of anchors."""
        facts = [(f"{self.parts_name} match by", ", ".join(self.hasher.names))]
        if self.index.kernel is not None:
            facts.append(("Kernel", str(self.index.kernel)))
            facts.append((self.anchors_name, f"{self.index.n_anchors:,}"))
        return facts

    def to_state(self, weights: Floats) -> State:
        """Hash functions and the index with its coefficients."""
        settings: dict[str, Any] = {"match": match_state(self.hasher.match)}
        coefficients = weights[: len(self.index.anchor)]
        settings["index"], arrays = index_state(self.index, coefficients)
        more: Arrays = prefixed("index", arrays)
        return settings, more
