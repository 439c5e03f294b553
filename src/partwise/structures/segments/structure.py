"""Sequences cut into labelled segments: a semi-Markov chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.compiled import plain_array
from partwise.objective import Formulation
from partwise.parameters import check_choice, check_whole
from partwise.protocol import CapabilityError, Floats, Ints, Structure
from partwise.scorers.linear import LinearScorer
from partwise.structures.row_structure import padded
from partwise.structures.segments._compiled import SegmentBlocks
from partwise.structures.segments.inputs import (
    as_parts,
    refuse_long,
    split_input,
    truth_codes,
)
from partwise.structures.segments.plain import Segment, plain_search
from partwise.structures.segments.problem import SegmentsProblem
from partwise.structures.segments.segment_losses import (
    HAMMING,
    LOSSES,
    count_segments,
    segment_cost,
)


class SegmentWeights(NamedTuple):
    """The weights of a model by name; views."""

    tokens: Floats  # (n_features, 3L): columns of first, other and last tokens
    spans: Floats  # (n_span_features, L)
    lengths: Floats  # (L, D)
    edges: Floats  # (L, L), from row to column


class Segments(Structure):
    """Labelled segments that cover a sequence, one after the other.

    Ψ(x, y) adds up, for each segment with label l: the features of its first token in a
    column for l, those of its other tokens in another, those of its last token in a
    third (where segments of l may have several tokens), features of the segment as a
    whole, an indicator of its length, and one of the pair of its label and that of the
    segment before. The first two columns are those of the tags B and I of a chain; the
    others are what a chain cannot score:
    Sarawagi and Cohen, NIPS 2004.

    Parameters
    ----------
    n_labels : int
    longest : int or sequence of int (L,)
        Most tokens of a segment, by label; 1 for tokens outside of all segments.
    cost : {"hamming", "segments", "overlap"}
        The loss: tokens whose label is wrong, or that begin a segment on one side
        alone; segments of one side alone; the same with partial credit for overlap (see
        `segment_losses.segment_cost`).
    outside : int or None
        Label whose segments the last two do not count.
    begin, inside : sequences of int (L,), optional
        Codes of the first token of a segment of each label, and of its other tokens, −1
        for a label whose segments have one token: numbers of tags, as B-X and I-X.

    Notes
    -----
    x is a matrix (n, n_features) of tokens, or a pair of it and an array (n, D, G) with
    the features of the segments of d + 1 tokens from token t on at [t, d]; D is the
    largest of `longest`. An output is a list of `Segment`, or of triples (first, last,
    label), or an array (n,) of codes. Runs margin rescaling with an L1 penalty, and
    likelihoods; searches are exact. Pairs of labels have the place of a chain's
    transitions: `order` is 1, and there is no `boundary`.

    Examples
    --------
    >>> structure = Segments(2, longest=(1, 3), cost="segments", outside=0)
    >>> structure.loss([(0, 1, 0), (1, 3, 1)], [(0, 1, 0), (1, 2, 1), (2, 3, 0)])
    2.0
    """

    order = 1
    boundary = False

    def __init__(
        self,
        n_labels: int,
        longest: Any = 8,
        cost: str = "hamming",
        outside: int | None = None,
        begin: Any = None,
        inside: Any = None,
    ) -> None:
        self.n_labels = n_labels
        self.longest = longest
        self.cost = cost
        self.outside = outside
        self.begin = begin
        self.inside = inside

    def lengths(self) -> Ints:
        """Most tokens of a segment of each label, (L,)."""
        check_choice("cost", self.cost, LOSSES)
        check_whole("n_labels", self.n_labels, 1)
        given = np.asarray(self.longest)
        if given.dtype.kind not in "iu" or given.ndim > 1 or (given < 1).any():
            raise ValueError(f"longest={self.longest!r}: give whole numbers from 1 on")
        if given.ndim == 1 and len(given) != self.n_labels:
            raise ValueError(
                f"longest has {len(given)} numbers where there are {self.n_labels} "
                "labels"
            )
        return plain_array(np.broadcast_to(given, self.n_labels), np.int64)

    # ---------------------------------------------------------------------- codes

    def codes(self) -> tuple[Ints, Ints]:
        """Codes of the first token of a segment of each label, and of the others."""
        if self.begin is not None:
            given = [plain_array(k, np.int32) for k in (self.begin, self.inside)]
            return given[0], given[1]
        numbers = np.arange(self.n_labels, dtype=np.int32)
        return numbers + self.n_labels, numbers

    def meanings(self) -> tuple[Ints, Ints]:
        """The label of each code, and whether a segment begins there (0 or 1)."""
        begin, inside = self.codes()
        n_codes = int(max(begin.max(), inside.max())) + 1
        label_of, begins = np.zeros(n_codes, np.int32), np.zeros(n_codes, np.uint8)
        known = inside >= 0
        label_of[inside[known]] = np.flatnonzero(known)
        label_of[begin], begins[begin] = np.arange(self.n_labels), 1
        return label_of, begins

    def encode(
        self, segments: Sequence[Any], n: int, where: str = "y", names: Any = None
    ) -> Ints:
        """The code of each token, (n,) int32; `names` of codes are for messages."""
        longest, code = self.lengths(), np.zeros(n, np.int32)
        begin, inside = self.codes()
        end = 0
        for first, last, label in segments:
            if first != end or not first < last <= n:
                raise ValueError(
                    f"{where}: segment ({first}, {last}, {label}) after token {end} of "
                    f"{n}; segments must cover the tokens in their order"
                )
            if not 0 <= label < self.n_labels:
                raise ValueError(f"{where}: labels are 0 to {self.n_labels - 1}")
            if last - first > longest[label]:
                refuse_long(self, where, last - first, label, names)
            code[first], code[first + 1 : last] = begin[label], inside[label]
            end = last
        if end != n:
            raise ValueError(f"{where}: segments end at token {end} of {n}")
        return code

    def repaired(self, codes: Ints, offset: Ints) -> Ints:
        """Codes of sequences in which every segment has a beginning.

        A token that goes on with a segment of its label which is not there begins one,
        as conlleval reads I-X after O.

        Parameters
        ----------
        codes : int array (n_tokens,)
        offset : int array (n_sequences + 1,)
        """
        label_of, begins = self.meanings()
        label, is_first = label_of[codes], begins[codes] > 0
        is_first[offset[:-1]] = True
        is_first[1:] |= label[1:] != label[:-1]
        begin, inside = self.codes()
        return np.where(is_first, begin[label], inside[label]).astype(np.int32)

    def decode_code(self, code: Ints) -> list[Segment]:
        """The segments of a code."""
        label_of, begins = self.meanings()
        code = self.repaired(np.asarray(code), np.array([0, len(code)]))
        firsts = np.flatnonzero(begins[code]).tolist()
        ends = [*firsts[1:], len(code)]
        return [
            Segment(a, z, int(label_of[code[a]]))
            for a, z in zip(firsts, ends, strict=True)
        ]

    def segments_of(self, y: Any) -> Sequence[Any]:
        """An output as segments, if it is not."""
        return self.decode_code(y) if isinstance(y, np.ndarray) else y

    def allows(self, y: Any) -> bool:
        """Whether an output has segments that are short enough for their labels."""
        longest = self.lengths()
        return all(z - a <= longest[label] for a, z, label in self.segments_of(y))

    def n_outputs(self, n: int) -> int:
        """Number of segmentations of n tokens.

        Examples
        --------
        >>> Segments(2, longest=(1, 2)).n_outputs(2)  # four of single tokens, and one
        5
        """
        counts = [1]  # whole numbers of Python: they do not overflow
        for e in range(1, n + 1):
            lengths = self.lengths().tolist()
            counts.append(sum(sum(counts[max(0, e - most) : e]) for most in lengths))
        return counts[n]

    def facts(self) -> dict[str, Any]:
        """What `inspect` says of it."""
        return {"segments": {"cost": self.cost, "longest": self.lengths().tolist()}}

    def cost_matrix(self) -> Floats:
        """1 for a wrong code of a token, (n_codes, n_codes); to order errors."""
        return 1.0 - np.eye(len(self.meanings()[0]))

    # ----------------------------------------------------------- the four methods

    def n_weights(self, n_features: int, n_span_features: int = 0) -> int:
        """Length of a model."""
        size, depth = self.n_labels, int(self.lengths().max())
        return size * (3 * n_features + n_span_features + depth + size)

    def weights_of(self, weights: Floats, n_features: int) -> SegmentWeights:
        """The weights of a model by name."""
        size, depth = self.n_labels, int(self.lengths().max())
        ends = [3 * size * n_features, len(weights) - size * (depth + size)]
        tokens, spans, rest = np.split(weights, ends)
        lengths, edges = np.split(rest, [size * depth])
        return SegmentWeights(
            tokens.reshape(-1, 3 * size), spans.reshape(-1, size),
            lengths.reshape(size, depth), edges.reshape(size, size),
        )  # fmt: skip

    def setup(self, X: Any, Y: Any) -> Self:
        """Number of features."""
        tokens, spans = split_input(X[0], int(self.lengths().max()))
        self.n_psi_ = self.n_weights(tokens.shape[1], spans.shape[2])
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, y): tokens (n_features, 3L), spans (G, L), lengths (L, D), pairs (L, L).

        Columns of tokens are those of first, other and last ones, by label.
        """
        size, longest = self.n_labels, self.lengths()
        depth = int(longest.max())
        x, features = split_input(x, depth)
        table = np.zeros((x.shape[1], 3 * size))
        spans = np.zeros((features.shape[2], size))
        lengths, edges = np.zeros((size, depth)), np.zeros((size, size))
        before = None
        for first, last, label in self.segments_of(y):
            spans[:, label] += features[first, last - first - 1]
            table[:, label] += x[first]
            table[:, size + label] += x[first + 1 : last].sum(axis=0)
            if longest[label] > 1:
                table[:, 2 * size + label] += x[last - 1]
            lengths[label, last - first - 1] += 1.0
            if before is not None:
                edges[before, label] += 1.0
            before = label
        tables = (table, spans, lengths, edges)
        return np.concatenate([each.ravel() for each in tables])

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of two segmentations."""
        y, y_hat = self.segments_of(y), self.segments_of(y_hat)
        kind, n = LOSSES[self.cost], y[-1][1]
        truth = self.encode(y, n)
        if kind == HAMMING:
            return float(np.sum(truth != self.encode(y_hat, n)))
        total = float(count_segments(truth, 0, n, self._outside, *self.meanings()))
        return total + sum(self.loss_of_segment(truth, *one) for one in y_hat)

    @property
    def _outside(self) -> int:
        return -1 if self.outside is None else int(self.outside)

    def loss_of_segment(self, truth: Ints, first: int, last: int, label: int) -> float:
        """What a segment adds to the loss, given the codes of the truth (n,)."""
        kind = LOSSES[self.cost]
        if kind != HAMMING:
            return segment_cost(
                kind, first, last, label, self._outside, truth, 0, len(truth),
                *self.meanings(),
            )  # fmt: skip
        begin, inside = self.codes()
        wrong = np.sum(truth[first + 1 : last] != inside[label])
        return float(wrong + (truth[first] != begin[label]))

    def argmax(self, x: Any, w: Floats) -> list[Segment]:
        """The segmentation of highest score."""
        return plain_search(self, split_input(x, int(self.lengths().max())), w)

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> list[Segment]:
        """The segmentation of highest score plus loss."""
        inputs = split_input(x, int(self.lengths().max()))
        truth = self.encode(self.segments_of(y), len(inputs[0]))
        return plain_search(self, inputs, w, truth)

    def enumerate(self, x: Any) -> list[list[Segment]]:
        """All segmentations; for tiny inputs."""
        longest = self.lengths()
        x = x[0] if isinstance(x, tuple) else x

        def after(first: int) -> list[list[Segment]]:
            if first == len(x):
                return [[]]
            return [
                [Segment(first, first + d, label), *rest]
                for label in range(self.n_labels)
                for d in range(1, min(int(longest[label]), len(x) - first) + 1)
                for rest in after(first + d)
            ]

        return after(0)

    # ------------------------------------------------------------------- batches

    def pack(
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
        token_weight: Any = None,
        label_names: Sequence[Any] | None = None,
        may_hide: bool = False,
    ) -> SegmentsProblem:
        """Lay sequences out for a solver.

        Parameters
        ----------
        X : list of inputs; also `Features`, `DenseFeatures`, `SegmentParts`
        Y : list of segmentations, or codes of all tokens; None to predict only
        formulation : Formulation
        n_jobs : int
        scorer : LinearScorer, optional
        token_weight, label_names, may_hide
            Of `Chain.pack`; factors of tokens and hidden labels are refused.
        """
        formulation = (formulation or Formulation()).validate()
        is_hidden = may_hide and isinstance(Y, np.ndarray) and (Y < 0).any()
        if token_weight is not None or is_hidden:
            raise CapabilityError(
                "<segments=True> needs labels of all tokens, of equal weight; leave "
                "<token_weight> and the sequences with None out"
            )
        if not formulation.is_additive:
            raise CapabilityError(
                "segments have no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        longest = self.lengths()
        depth = int(longest.max())
        parts = as_parts(X, depth)
        offset = plain_array(parts.offset, np.int64)
        if len(parts.spans.indptr) - 1 not in (0, offset[-1] * depth):
            raise ValueError(f"features of segments of other lengths than {depth}")
        scorer = scorer or LinearScorer()
        width = padded(3 * self.n_labels)
        rows = scorer.bind(parts.tokens, width)
        number = None
        begin, inside = self.codes()
        y = np.full(offset[-1], begin[0], np.int32)
        if Y is not None:
            y = truth_codes(self, Y, offset, label_names)
            rows, number = scorer.ordered(rows)
        label_of, begins = self.meanings()
        blocks = SegmentBlocks(
            rows=rows, span_rows=scorer.bind(parts.spans), y=y, offset=offset,
            longest=longest, depth=depth, label_of=label_of, begins=begins,
            begin_code=begin, inside_code=inside, kind=LOSSES[self.cost],
            outside=self._outside, has_loss=1, width=width,
            span_width=-(-self.n_labels // 4) * 4,
        )  # fmt: skip
        return SegmentsProblem(self, blocks, formulation, n_jobs, scorer, number)
