"""Scores of the parts of trees, by features, or by keys and a kernel on sentences.

Two parts are compared by the joint kernel of `partwise.scorers.kernel`: the hash
functions decide which arcs, or rules and brackets, may be alike, and the input of a
part is its whole sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features._arc_compiled import N_VARIANTS
from partwise.features.arc_keys import ArcHasher
from partwise.features.arcs import ArcFeaturizer
from partwise.features.phrase_keys import PhraseHasher
from partwise.kernels.clusters import WordClusters
from partwise.outputs.kernel_scoring import KernelScoring
from partwise.outputs.kernel_scoring import Listing as Weights
from partwise.outputs.listings import weight_listings
from partwise.outputs.scoring import (
    Arrays,
    FeatureScoring,
    Packable,
    State,
    optional_state,
    read_sparse_weights,
    sparse_weights,
)
from partwise.outputs.task import Listing
from partwise.outputs.tree_explanation import Reason, SupportSentence
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers.index_file import index_from_state, match_from_state
from partwise.scorers.kernel_index import KernelIndex

if TYPE_CHECKING:
    from partwise.features.spans import PhraseFeatures
    from partwise.structures.phrase import Grammar


class SentenceKeyScoring(KernelScoring):
    """Parts of trees are scored through training sentences, or by keys alone."""

    anchors_name: ClassVar[str] = "Training sentences kept"
    examples_name: ClassVar[str] = "sentences"
    gram_remedy: ClassVar[str] = "train on fewer sentences"

    @staticmethod
    def read_index(
        settings: dict[str, Any], arrays: Arrays
    ) -> tuple[KernelIndex, Floats]:
        """The index of a file, and its coefficients."""
        state = entry(settings, "index", dict)
        index, weights = index_from_state(state, under("index/", arrays))
        require(not index.by_token, "a kernel on single words")
        return index, weights

    def heaviest_sentences(
        self, weights: Floats, top: int, title: str
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The training sentences, or the keys, with the largest coefficients.

        `title` is that of a table of keys.
        """
        index, anchors = self.index, self.index.anchors
        if not top:
            return {"sentences": []}, []
        if anchors is None:
            order = np.argsort(-np.abs(weights), kind="stable")[:top]
            keys = [(index.names[k], float(weights[k])) for k in order.tolist()]
            return {"keys": keys}, weight_listings(title, keys)
        size = np.sqrt(np.bincount(index.anchor, weights**2, index.n_anchors))
        words = self.anchor_words()
        sentences: list[dict[str, Any]] = [
            {"row": int(anchors.row[a]), "words": words[a], "size": float(size[a])}
            for a in np.argsort(-size, kind="stable")[:top].tolist()
        ]
        rows = [
            (f"{item['size']:.4f}", str(item["row"]), " ".join(item["words"]))
            for item in sentences
        ]
        listing = Listing("training sentences", ("coefficients", "row", ""), rows)
        return {"sentences": sentences}, [listing]


# ---------------------------------------------------------------------- arcs


class ArcFeatureScoring(FeatureScoring):
    """Arcs, and their labels, are scored by their features."""

    has_labels: ClassVar[bool] = True

    @property
    def feature_names(self) -> list[str]:
        """Refuse: a feature has several weights, by direction and distance."""
        raise AttributeError("see weights_by_label() for features of arcs by name")

    def parameters(self) -> dict[str, Any]:
        """Parameters of the featurizer."""
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
        arc_weights = weights[: featurizer.n_rows_ * N_VARIANTS : N_VARIANTS]
        order = np.argsort(-arc_weights, kind="stable")
        heaviest = [f for f in order[:top] if arc_weights[f] > 0]
        heaviest += [f for f in order[max(0, len(order) - top) :] if arc_weights[f] < 0]
        return [(names[f], float(arc_weights[f])) for f in heaviest]

    def heaviest(
        self, weights: Floats, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """Features of arcs with a name: for JSON, and as tables."""
        pairs = self.named_weights(weights, top) if top else []
        return {"features": pairs}, weight_listings("features of arcs", pairs)

    def supporters(
        self, table: Table, weights: Floats, outputs: Sequence[Ints], top: int
    ) -> list[SupportSentence]:
        """None: weights have no link to the sentences they come from."""
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


class ArcKeyScoring(SentenceKeyScoring):
    """Arcs without labels are scored through training sentences, or by keys alone."""

    has_labels: ClassVar[bool] = False
    parts_name: ClassVar[str] = "Arcs"

    def parameters(self) -> dict[str, Any]:
        """Kernel, hash functions and word clusters."""
        return super().parameters() | {"clusters": self.clusters}

    def named_weights(self, weights: Floats, top: int) -> list[tuple[str, float]]:
        """None: there are no features."""
        return []

    def heaviest(
        self, weights: Floats, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The training sentences, or the keys, with the largest coefficients."""
        return self.heaviest_sentences(weights, top, "keys of arcs")

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
        arcs_of: dict[Any, dict[int, float]] = {}  # shares of parts, by anchor or key
        for part, number, source, share in self.index.shares(
            self.inputs(table), keys, parts, weights
        ):
            if self.index.anchors is None:
                source = self.hasher.describe(table, keys, part, number)
            arcs = arcs_of.setdefault(source, {})
            arcs[part] = arcs.get(part, 0.0) + sign[part] * share
        totals = {source: sum(arcs.values()) for source, arcs in arcs_of.items()}
        words, supporters = self.anchor_words(), []
        for source in sorted(totals, key=lambda source: -abs(totals[source]))[:top]:
            ranked = sorted(arcs_of[source].items(), key=lambda item: -abs(item[1]))
            heads = [
                (part // n, part % n + 1, share) for part, share in ranked if share
            ]
            row, shown_words = None, [source]
            if self.index.anchors is not None:
                row, shown_words = int(self.index.anchors.row[source]), words[source]
            supporters.append(SupportSentence(row, shown_words, totals[source], heads))
        return supporters

    def to_state(self, weights: Floats) -> State:
        """Hash functions, index and word clusters."""
        settings, arrays = super().to_state(weights)
        settings["clusters"], cluster_arrays = optional_state("clusters", self.clusters)
        return settings, arrays | cluster_arrays

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, n_labels: int
    ) -> tuple[ArcKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        index, weight = cls.read_index(settings, arrays)
        clusters = None
        if settings.get("clusters") is not None:
            state = entry(settings, "clusters", dict)
            clusters = WordClusters.from_state(state, under("clusters/", arrays))
        hasher = ArcHasher(match_from_state(settings))
        return cls(hasher, index, clusters=clusters), weight


# ---------------------------------------------------------- rules and brackets


class PhraseFeatureScoring(FeatureScoring):
    """
    Rules have weights, and brackets those of their features.

    Parameters
    ----------
    grammar : Grammar
        After `setup`; it makes the features.
    """

    def __init__(self, grammar: Grammar) -> None:
        super().__init__(grammar.spans_)
        self.grammar = grammar

    @property
    def feature_names(self) -> list[str]:
        """Names of rules and of features of brackets."""
        return self.grammar.feature_names()

    def features(self, X: Any) -> PhraseFeatures:
        """Features of the phrases of sentences."""
        return self.grammar.phrases(X)

    def facts(self) -> dict[str, Any]:
        """Number of weights."""
        return {"n_features": self.grammar.n_psi_}

    def heaviest(self, weights: Floats) -> Weights:
        """All rules and features."""
        yield "rules and features", self.feature_names, weights

    def reasons(
        self, x: Any, problem: Any, weights: Floats, codes: Sequence[Ints]
    ) -> list[Reason]:
        """Shares of rules and features in the lead of the first code over the other."""
        winner, runner_up = (problem.features_of(0, code) for code in codes)
        names, shares = self.feature_names, (winner - runner_up) * weights
        return [
            Reason(names[k], int(winner[k]), int(runner_up[k]), float(shares[k]))
            for k in np.flatnonzero(shares).tolist()
        ]

    def to_state(self, weights: Floats) -> State:
        """The weights that are not zero; the file of the model keeps the features."""
        return {}, sparse_weights(weights)

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, grammar: Grammar
    ) -> tuple[PhraseFeatureScoring, Floats]:
        """Rebuild a scoring and its weights."""
        return cls(grammar), read_sparse_weights(arrays, grammar.n_psi_)


class PhraseKeyScoring(SentenceKeyScoring):
    """Rules and brackets are scored through training sentences, or by keys alone."""

    parts_name: ClassVar[str] = "Rules and brackets"

    def view(self, X: Any) -> Table:
        """Words and tags as columns."""
        return self.hasher.table(X)

    def parts_of(self, inputs: Any) -> Packable:
        """Keys of these sentences at once."""
        return super().parts_of(self.view(inputs))

    def heaviest(self, weights: Floats) -> Weights:
        """For the heaviest keys their training sentences; without a kernel, keys."""
        return self.heaviest_keys(weights)

    def reasons(
        self, x: Any, problem: Any, weights: Floats, codes: Sequence[Ints]
    ) -> list[Reason]:
        """Shares of training sentences, or keys, in the lead of the first code."""
        table = self.view([x])
        keys = self.hasher.transform(table)
        counts: dict[int, list[int]] = {}  # of a part: how often in either tree
        for side, code in enumerate(codes):
            rules, brackets = problem.structure.parts(code, len(x))
            parts = [*rules, *(keys.bracket(0, i, j, a) for a, i, j in brackets)]
            for part in parts:
                counts.setdefault(part, [0, 0])[side] += 1
        decisive = [part for part, (n, m) in counts.items() if n != m]
        reasons: dict[str, Reason] = {}
        for part, name, share in self.shares(table, keys, decisive, weights):
            n, m = counts[part]
            reason = reasons.get(name, Reason(name, 0, 0, 0.0))
            reasons[name] = Reason(
                name, reason.in_winner + n, reason.in_runner_up + m,
                reason.share + (n - m) * share,
            )  # fmt: skip
        return list(reasons.values())

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, grammar: Grammar
    ) -> tuple[PhraseKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        index, weights = cls.read_index(settings, arrays)
        require(bool(index.names) or not len(index.key), "keys without names")
        hasher = phrase_hasher(match_from_state(settings), grammar)
        if index.anchors is not None:
            columns = set(index.anchors.inputs.columns)
            require(columns <= set(hasher.table([[("", "")]]).columns), "other columns")
        return cls(hasher, index), weights


def phrase_hasher(match: Any, grammar: Grammar) -> PhraseHasher:
    """Hash functions of the rules and brackets of a grammar."""
    rules = [" ".join(rule) for rule in grammar.rules()]
    return PhraseHasher(
        match, rules, grammar.labels_, grammar.needs(), grammar.columns_of
    )
