"""A trained tagger whose structure is `Segments` over BIO tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from partwise.features.columnar import as_table
from partwise.features.segments import SegmentFeaturizer, SegmentParts
from partwise.outputs.explanation import Contribution
from partwise.outputs.kernel_scoring import Listing
from partwise.outputs.label_scoring import TokenFeatureScoring, row_entries
from partwise.outputs.scoring import FeatureFit, Packable
from partwise.outputs.sequence.model import SequenceModel
from partwise.parameters import check_choice
from partwise.protocol import Floats, Ints
from partwise.readers.span_tags import Span
from partwise.structures.chain.layout import Weights
from partwise.structures.segments.inputs import no_spans
from partwise.structures.segments.structure import Segments

ROLES = ("first", "inside", "last")  # of tokens in a segment, by column of weights


class SegmentScoring(TokenFeatureScoring):
    """Segments are scored by features of their tokens, and by their own.

    Parameters
    ----------
    featurizer : fitted featurizer of tokens
    spans : SegmentFeaturizer or None
    structure : Segments
    types : list of str
        What the labels of segments are called.
    """

    def __init__(
        self,
        featurizer: Any,
        spans: SegmentFeaturizer | None,
        structure: Segments,
        types: list[str],
    ) -> None:
        super().__init__(featurizer)
        self.spans = spans
        self.structure = structure
        self.types = types

    @property
    def depth(self) -> int:
        """Tokens of the longest segment."""
        return int(self.structure.lengths().max())

    def with_spans(self, tokens: Any, X: Any) -> SegmentParts:
        """Features of tokens with those of the segments of X."""
        if self.spans is None:
            return SegmentParts(tokens, no_spans())
        return SegmentParts(tokens, self.spans.transform(as_table(X), self.depth))

    def features(self, X: Any) -> SegmentParts:
        """Features of tokens and segments."""
        return self.with_spans(super().features(X), X)

    def parts_of(self, inputs: Any) -> Packable:
        """A support keeps features of tokens, or sequences where segments have any."""
        if self.spans is None and hasattr(inputs, "n_features"):
            return SegmentParts(inputs, no_spans()), None
        return self.features(inputs), None

    def fit_to(self, parts: SegmentParts, X: Any) -> FeatureFit:
        """A fit to training data."""
        fit = FeatureFit(self, parts)
        fit.support_inputs = parts.tokens if self.spans is None else as_table(X)
        return fit

    def on(self, X: Any) -> FeatureFit:
        """The features of other data."""
        return self.fit_to(self.features(X), X)

    def parameters(self) -> dict[str, Any]:
        """Those of the tagger that follow from the segments."""
        return {"segments": True}

    def facts(self) -> dict[str, Any]:
        """Both featurizers."""
        spans = None if self.spans is None else self.spans.state()[0]
        return {**super().facts(), "types": self.types, "spans": spans}

    # -------------------------------------------------------------------- weights

    def n_coefficients(self, n_labels: int) -> int:
        """A weight for each feature of tokens, type and role."""
        return 3 * self.featurizer.n_features_ * n_labels

    def emission(self, weights: Floats, n_labels: int) -> Floats:
        """Weights of features of tokens, (n_features, 3L): by role, then type."""
        return weights[: self.n_coefficients(n_labels)].reshape(-1, 3 * n_labels)

    def heaviest(self, weights: Floats, labels: Sequence[Any]) -> Listing:
        """For each type all features: of tokens by role, of segments, lengths."""
        tables = self.structure.weights_of(weights, self.featurizer.n_features_)
        size = len(self.types)
        spans = [] if self.spans is None else self.spans.feature_names_
        lengths = [f"length {d}" for d in range(1, self.depth + 1)]
        for k, name in enumerate(self.types):
            for r, role in enumerate(ROLES):
                column = tables.tokens[:, r * size + k]
                yield f"{name}, {role} token", self.feature_names, column
            values = np.append(tables.spans[:, k], tables.lengths[k])
            yield f"{name}, whole segment", [*spans, *lengths], values

    def reasons(
        self, X: Any, weights: Floats, labels: Sequence[Any], outputs: Sequence[Ints]
    ) -> Iterator[Contribution]:
        """Shares of features at tokens and segments of one output alone."""
        tables = self.structure.weights_of(weights, self.featurizer.n_features_)
        parts, size, depth = self.features(X), len(self.types), self.depth
        segments = [set(self.structure.decode_code(y)) for y in outputs]
        longest = self.structure.lengths()
        columns = [set(_columns(one, longest)) for one in segments]
        total: dict[tuple[int, str], float] = {}

        def add(t: int, name: str, share: float) -> None:
            total[t, name] = total.get((t, name), 0.0) + share

        for k, sign in enumerate((1.0, -1.0)):
            for t, column in sorted(columns[k] - columns[1 - k]):
                index, value = row_entries(parts.tokens, t)
                shares = sign * value * tables.tokens[index, column]
                for f, share in zip(index, shares, strict=True):
                    role = ROLES[column // size]
                    add(t, f"{self.feature_names[f]}, {role} token", share)
            for first, last, label in sorted(segments[k] - segments[1 - k]):
                length = last - first
                share = tables.lengths[label, length - 1]
                add(first, f"length {length}", sign * share)
                if self.spans is not None:
                    index, _ = row_entries(parts.spans, first * depth + length - 1)
                    for f in index:
                        name = self.spans.feature_names_[f]
                        add(first, name, sign * tables.spans[f, label])
        for (t, name), share in total.items():
            a, b = (labels[y[t]] for y in outputs)
            yield Contribution(t, name, a, b, float(share))


class SegmentModel(SequenceModel):
    """Predicts and explains label sequences through segments.

    Weights are laid out as in `Segments.joint_feature`.
    """

    structure: Any
    scoring: SegmentScoring
    name: ClassVar[str] = "SegmentModel"
    segments: ClassVar[bool] = True

    @property
    def states(self) -> list[Any]:
        """Types of segments."""
        return self.scoring.types

    def parts(self) -> Weights:
        """Weights by the names of a chain's; views."""
        n_features = self.featurizer.n_features_
        tables = self.structure.weights_of(self.weights, n_features)
        none = np.zeros(0)
        empty = none.reshape(0, 0, 0)
        return Weights(tables.tokens, tables.edges, empty, none, none)

    def transitions(self) -> list[list[float | None]]:
        """Weights of pairs of types; every type may follow every other."""
        return self.parts().bigram.tolist()

    def marginals(
        self, X: Any, *, of: str = "tokens", least: float = 1e-3, n_jobs: int = 1
    ) -> Any:
        """Probabilities of labels, or of spans; see `SequenceTagger`."""
        check_choice("of", of, ("tokens", "spans"))
        if of == "tokens":
            return super().marginals(X, n_jobs=n_jobs)
        outside, answers = self.structure.outside, []
        for problem in self.problems(X, n_jobs):
            model = problem.expand(self.tempered_weights)
            for shares in problem.segment_marginals(model)[0]:
                spans = {}
                for b, d, k in np.argwhere(shares >= least).tolist():
                    if k != outside:
                        span = Span(self.states[k], b, b + d + 1)
                        spans[span] = min(float(shares[b, d, k]), 1.0)
                answers.append(spans)
        return answers

    def plain_primal(
        self, X: Any, codes: Ints, settings: dict[str, Any], objective: Any
    ) -> float:
        """The objective by plain Python; see `Task.plain_primal`."""
        from partwise.structures.segments.plain import plain_primal

        return plain_primal(self, X, codes, settings, objective)

    def _structure_reasons(self, winner: Ints, runner: Ints) -> Iterator[Contribution]:
        """Shares of pairs of types."""
        edges, outputs = self.parts().bigram, (winner, runner)
        pairs = [
            {
                (b.first, a.label, b.label)
                for a, b in pairwise(self.structure.decode_code(y))
            }
            for y in outputs
        ]
        for k, sign in enumerate((1.0, -1.0)):
            for t, a, b in sorted(pairs[k] - pairs[1 - k]):
                name = f"{self.states[a]} before {self.states[b]}"
                best, other = (self.labels[y[t]] for y in outputs)
                yield Contribution(t, name, best, other, float(sign * edges[a, b]))


def _columns(segments: Any, longest: Ints) -> Iterator[tuple[int, int]]:
    """Tokens with the columns of weights that score them."""
    size = len(longest)
    for first, last, label in segments:
        yield first, label
        yield from ((t, size + label) for t in range(first + 1, last))
        if longest[label] > 1:
            yield last - 1, 2 * size + label
