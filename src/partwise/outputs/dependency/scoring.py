"""How arcs are scored: by features, or by keys and a kernel on whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features._arc_compiled import N_VARIANTS
from partwise.features.arc_keys import ArcHasher
from partwise.features.arcs import ArcFeaturizer
from partwise.kernels.clusters import WordClusters
from partwise.outputs.kernel_scoring import KernelScoring
from partwise.outputs.scoring import (
    Arrays,
    FeatureScoring,
    State,
    optional_state,
    read_sparse_weights,
    sparse_weights,
)
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers.index_file import index_from_state, match_from_state

Listings = list[tuple[str, Sequence[str], list[Sequence[str]]]]  # title, header, rows


class SupportSentence(NamedTuple):
    """A training sentence, or a key, and its share of the winner's lead."""

    row: int | None  # place in the training data; None for a key without a kernel
    words: list[str]  # of the sentence, or what the key stands for
    share: float
    arcs: list[tuple[int, int, float]]  # (head, dependent, share), largest first

    def lines(self, tokens: list[str]) -> list[str]:
        """As text; `tokens` are those of the explained sentence."""
        names = ["ROOT", *tokens]
        words = " ".join(self.words)
        if self.row is not None:
            words = f"training sentence {self.row}: {words}"
        return [f"  {self.share:+.4f}  {words}"] + [
            f"    {share:+.4f}  {names[head]} → {names[dep]}"
            for head, dep, share in self.arcs[:3]
        ]


class ArcFeatureScoring(FeatureScoring):
    """Arcs, and their labels, are scored by their features."""

    has_labels: ClassVar[bool] = True

    def parameters(self) -> dict[str, Any]:
        """How the features are made."""
        featurizer = self.featurizer
        return {
            "min_count": featurizer.min_count,
            "hash_bits": featurizer.hash_bits,
            "templates": [str(template) for template in featurizer.templates],
        }

    def named_weights(self, weights: Floats, top: int) -> list[tuple[str, float]]:
        """The `top` heaviest features for and against an arc, by falling weight.

        Weights without direction and distance; hashed features have no names.
        """
        featurizer = self.featurizer
        if featurizer.hash_bits is not None:
            return []
        names = featurizer.feature_names_
        plain = weights[: featurizer.n_rows_ * N_VARIANTS : N_VARIANTS]
        order = np.argsort(-plain, kind="stable")
        chosen = [f for f in order[:top] if plain[f] > 0]
        chosen += [f for f in order[max(0, len(order) - top) :] if plain[f] < 0]
        return [(names[f], float(plain[f])) for f in chosen]

    def heaviest(self, weights: Floats, top: int) -> tuple[dict[str, Any], Listings]:
        """Features of arcs with a name."""
        pairs = self.named_weights(weights, top) if top else []
        listing = ("features of arcs", (), _weight_rows(pairs))
        return {"features": pairs}, [listing] if pairs else []

    def supporters(
        self, table: Table, weights: Floats, outputs: Sequence[Ints], top: int
    ) -> list[SupportSentence]:
        """None: weights do not tell which sentences they come from."""
        return []

    def to_state(self, weights: Floats) -> State:
        """The featurizer, and the weights that are not zero."""
        settings, arrays = super().to_state(weights)
        return settings, arrays | sparse_weights(weights)

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, n_labels: int
    ) -> tuple[ArcFeatureScoring, Floats]:
        """Rebuild a scoring and its weights."""
        state = entry(settings, "featurizer", dict)
        featurizer = ArcFeaturizer.from_state(state, under("featurizer/", arrays))
        require(
            bool(n_labels) == bool(featurizer.label_templates), "labels without weights"
        )
        width = -(-n_labels // 4) * 4
        size = featurizer.n_rows_ * N_VARIANTS + featurizer.n_label_rows_ * 2 * width
        return cls(featurizer), read_sparse_weights(arrays, size)


class ArcKeyScoring(KernelScoring):
    """Arcs without labels are scored through training sentences, or by keys alone."""

    has_labels: ClassVar[bool] = False
    parts_name: ClassVar[str] = "Arcs"
    anchors_name: ClassVar[str] = "Training sentences kept"
    examples_name: ClassVar[str] = "sentences"
    gram_remedy: ClassVar[str] = "train on fewer sentences"

    def parameters(self) -> dict[str, Any]:
        """Kernel, hash functions and word clusters."""
        return super().parameters() | {"clusters": self.clusters}

    def named_weights(self, weights: Floats, top: int) -> list[tuple[str, float]]:
        """None: there are no features."""
        return []

    def heaviest(self, weights: Floats, top: int) -> tuple[dict[str, Any], Listings]:
        """The training sentences, or the keys, with the largest coefficients."""
        index, anchors = self.index, self.index.anchors
        if not top:
            return {"sentences": []}, []
        if anchors is None:
            order = np.argsort(-np.abs(weights), kind="stable")[:top]
            keys = [(index.names[k], float(weights[k])) for k in order.tolist()]
            return {"keys": keys}, [("keys of arcs", (), _weight_rows(keys))]
        size = np.sqrt(np.bincount(index.anchor, weights**2, index.n_anchors))
        words = self.anchor_words()
        sentences: list[dict[str, Any]] = [
            {"row": int(anchors.row[a]), "words": words[a], "size": float(size[a])}
            for a in np.argsort(-size, kind="stable")[:top].tolist()
        ]
        rows: list[Sequence[str]] = [
            (f"{one['size']:.4f}", str(one["row"]), " ".join(one["words"]))
            for one in sentences
        ]
        header = ("coefficients", "row", "")
        return {"sentences": sentences}, [("training sentences", header, rows)]

    def supporters(
        self, table: Table, weights: Floats, outputs: Sequence[Ints], top: int
    ) -> list[SupportSentence]:
        """Anchors, or keys without them, with the largest shares of the lead."""
        table = self.view(table)
        keys, n = self.hasher.transform(table), len(outputs[0])
        sign: dict[int, float] = {}  # of an arc: ±1, or 0 where both trees have it
        for code, side in zip(outputs, (1.0, -1.0), strict=False):
            for d, head in enumerate(code.tolist()):
                sign[head * n + d] = sign.get(head * n + d, 0.0) + side
        parts = [part for part, side in sign.items() if side]
        shares: dict[Any, dict[tuple[int, int], float]] = {}  # by anchor or key
        for part, number, anchor, share in self.index.shares(
            self.inputs(table), keys, parts, weights
        ):
            arc = part // n, part % n + 1
            name: Any = anchor
            if self.index.anchors is None:
                name = self.hasher.describe(table, keys, part, number)
            arcs = shares.setdefault(name, {})
            arcs[arc] = arcs.get(arc, 0.0) + sign[part] * share
        totals = {name: sum(arcs.values()) for name, arcs in shares.items()}
        order = sorted(shares, key=lambda name: -abs(totals[name]))[:top]
        words = self.anchor_words()
        answers = []
        for name in order:
            ranked = sorted(shares[name].items(), key=lambda item: -abs(item[1]))
            arcs_of = [(head, dep, share) for (head, dep), share in ranked if share]
            row, shown = None, [name]
            if self.index.anchors is not None:
                row, shown = int(self.index.anchors.row[name]), words[name]
            answers.append(SupportSentence(row, shown, totals[name], arcs_of))
        return answers

    def to_state(self, weights: Floats) -> State:
        """Hash functions, index and word clusters."""
        settings, arrays = super().to_state(weights)
        settings["clusters"], more = optional_state("clusters", self.clusters)
        return settings, arrays | more

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, n_labels: int
    ) -> tuple[ArcKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        state = entry(settings, "index", dict)
        index, weight = index_from_state(state, under("index/", arrays))
        require(not index.by_token, "a kernel on single words")
        clusters = None
        if settings.get("clusters") is not None:
            state = entry(settings, "clusters", dict)
            clusters = WordClusters.from_state(state, under("clusters/", arrays))
        hasher = ArcHasher(match_from_state(settings))
        return cls(hasher, index, clusters=clusters), weight


ArcScoring = ArcFeatureScoring | ArcKeyScoring


def _weight_rows(pairs: list[tuple[str, float]]) -> list[Sequence[str]]:
    return [(f"{weight:+.4f}", name) for name, weight in pairs]
