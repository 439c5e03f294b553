"""How rules and brackets are scored: by features, or by keys and a kernel on sentences.

Two parts are compared by the joint kernel of `partwise.scorers.kernel`: the hash
functions say which rules and brackets may be alike, and the input of a part is its
whole sentence, words and tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features.phrase_keys import PhraseHasher
from partwise.features.spans import PhraseFeatures
from partwise.outputs.kernel_scoring import KernelScoring, Listing
from partwise.outputs.scoring import (
    Arrays,
    FeatureScoring,
    Packable,
    State,
    read_sparse_weights,
    sparse_weights,
)
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers.index_file import index_from_state, match_from_state
from partwise.structures.phrase import Grammar


class Reason(NamedTuple):
    """A rule, feature, key or training sentence that decides between two trees."""

    name: str
    in_winner: int  # how often it occurs
    in_runner_up: int
    share: float  # of the lead

    def __str__(self) -> str:
        return (
            f"  {self.share:+.4f}  {self.name} ({self.in_winner} times rather than "
            f"{self.in_runner_up})"
        )


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

    def features(self, X: Any) -> PhraseFeatures:
        """Features of the phrases of sentences."""
        return self.grammar.phrases(X)

    def facts(self) -> dict[str, Any]:
        """How many weights there are."""
        return {"n_features": self.grammar.n_psi_}

    def heaviest(self, weights: Floats) -> Listing:
        """All rules and features."""
        yield "rules and features", self.grammar.feature_names(), weights

    def reasons(
        self, x: Any, problem: Any, weights: Floats, codes: Sequence[Ints]
    ) -> list[Reason]:
        """Shares of rules and features in the lead of the first code over the other."""
        one, other = (problem.features_of(0, code) for code in codes)
        names, shares = self.grammar.feature_names(), (one - other) * weights
        return [
            Reason(names[k], int(one[k]), int(other[k]), float(shares[k]))
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


class PhraseKeyScoring(KernelScoring):
    """Rules and brackets are scored through training sentences, or by keys alone."""

    parts_name: ClassVar[str] = "Rules and brackets"
    anchors_name: ClassVar[str] = "Training sentences kept"
    examples_name: ClassVar[str] = "sentences"
    gram_remedy: ClassVar[str] = "train on fewer sentences"

    def view(self, X: Any) -> Table:
        """Words and tags as columns."""
        return self.hasher.table(X)

    def parts_of(self, inputs: Any) -> Packable:
        """Keys of these sentences at once."""
        return super().parts_of(self.view(inputs))

    def heaviest(self, weights: Floats) -> Listing:
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
            rules, brackets = problem.grammar.parts(code, len(x))
            parts = [*rules, *(keys.bracket(0, i, j, a) for a, i, j in brackets)]
            for part in parts:
                counts.setdefault(part, [0, 0])[side] += 1
        decisive = [part for part, (n, m) in counts.items() if n != m]
        found: dict[str, Reason] = {}
        for part, name, share in self.shares(table, keys, decisive, weights):
            n, m = counts[part]
            old = found.get(name, Reason(name, 0, 0, 0.0))
            found[name] = Reason(
                name, old.in_winner + n, old.in_runner_up + m,
                old.share + (n - m) * share,
            )  # fmt: skip
        return list(found.values())

    @classmethod
    def from_state(
        cls, settings: dict[str, Any], arrays: Arrays, grammar: Grammar
    ) -> tuple[PhraseKeyScoring, Floats]:
        """Rebuild a scoring and its weights."""
        state = entry(settings, "index", dict)
        index, weights = index_from_state(state, under("index/", arrays))
        require(not index.by_token, "a kernel on single words")
        require(bool(index.names) or not len(index.key), "keys without names")
        hasher = phrase_hasher(match_from_state(settings), grammar)
        if index.anchors is not None:
            columns = set(index.anchors.inputs.columns)
            require(columns <= set(hasher.table([[("", "")]]).columns), "other columns")
        return cls(hasher, index), weights


PhraseScoring = PhraseFeatureScoring | PhraseKeyScoring


def phrase_hasher(match: Any, grammar: Grammar) -> PhraseHasher:
    """Hash functions of the rules and brackets of a grammar."""
    rules = [" ".join(rule) for rule in grammar.rules()]
    return PhraseHasher(
        match, rules, grammar.labels_, grammar.needs(), grammar.columns_of
    )
