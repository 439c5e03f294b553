"""Sequences cut into labelled segments: a semi-Markov chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.compiled import plain_array
from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.parameters import check_choice, check_whole
from partwise.protocol import CapabilityError, Floats, Ints, Structure
from partwise.scorers.linear import LinearScorer
from partwise.structures.multiclass.problem import padded
from partwise.structures.segments._compiled import SegmentBlocks
from partwise.structures.segments.problem import SegmentsProblem
from partwise.structures.segments.segment_losses import (
    HAMMING,
    LOSSES,
    count_segments,
    segment_cost,
)


class Segment(NamedTuple):
    """Tokens [first, last) with a label."""

    first: int
    last: int
    label: int


class Segments(Structure):
    """Labelled segments that cover a sequence, one after the other.

    Ψ(x, y) adds up, for each segment with label l: the features of its first token in a
    column for l, those of its other tokens in another, those of its last token in a
    third, an indicator of its length, and one of the pair of its label and that of the
    segment before. The first two columns are those of the tags B and I of a chain;
    lengths and last tokens have weights besides: Sarawagi and Cohen, NIPS 2004.

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

    Notes
    -----
    An output is a list of `Segment`, or of triples (first, last, label). Runs margin
    rescaling with an L1 penalty; searches are exact.

    Examples
    --------
    >>> structure = Segments(2, longest=(1, 3), cost="segments", outside=0)
    >>> structure.loss([(0, 1, 0), (1, 3, 1)], [(0, 1, 0), (1, 2, 1), (2, 3, 0)])
    2.0
    """

    def __init__(
        self,
        n_labels: int,
        longest: Any = 8,
        cost: str = "hamming",
        outside: int | None = None,
    ) -> None:
        self.n_labels = n_labels
        self.longest = longest
        self.cost = cost
        self.outside = outside

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

    def encode(self, segments: Sequence[Any], n: int, where: str = "y") -> Ints:
        """The code of each token, (n,) int32."""
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
                raise ValueError(
                    f"{where}: a segment of {last - first} tokens with label {label}, "
                    f"where longest allows {longest[label]}; raise it"
                )
            code[first], code[first + 1 : last] = begin[label], inside[label]
            end = last
        if end != n:
            raise ValueError(f"{where}: segments end at token {end} of {n}")
        return code

    def decode_code(self, code: Ints) -> list[Segment]:
        """The segments of a code."""
        label_of, begins = self.meanings()
        code = np.asarray(code)
        firsts = np.flatnonzero(begins[code]).tolist()
        ends = [*firsts[1:], len(code)]
        return [
            Segment(a, z, int(label_of[code[a]]))
            for a, z in zip(firsts, ends, strict=True)
        ]

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Any, Y: Any) -> Self:
        """Number of features."""
        size, depth = self.n_labels, int(self.lengths().max())
        n_features = int(np.shape(X[0])[1])
        self.n_psi_ = 3 * size * n_features + size * depth + size * size
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, y): (n_features, 3L), lengths (L, D), pairs of labels (L, L)."""
        x, size, depth = np.asarray(x, float), self.n_labels, int(self.lengths().max())
        table = np.zeros((x.shape[1], 3 * size))
        lengths, edges = np.zeros((size, depth)), np.zeros((size, size))
        before = None
        for first, last, label in y:
            table[:, label] += x[first]
            table[:, size + label] += x[first + 1 : last].sum(axis=0)
            table[:, 2 * size + label] += x[last - 1]
            lengths[label, last - first - 1] += 1.0
            if before is not None:
                edges[before, label] += 1.0
            before = label
        return np.concatenate([table.ravel(), lengths.ravel(), edges.ravel()])

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of two segmentations."""
        kind, n = LOSSES[self.cost], y[-1][1]
        outside = -1 if self.outside is None else self.outside
        truth = self.encode(y, n)
        if kind == HAMMING:
            return float(np.sum(truth != self.encode(y_hat, n)))
        told = self.meanings()
        total = float(count_segments(truth, 0, n, outside, *told))
        for first, last, label in y_hat:
            total += segment_cost(kind, first, last, label, outside, truth, 0, n, *told)
        return total

    def argmax(self, x: Any, w: Floats) -> list[Segment]:
        """The segmentation of highest score."""
        return max(self.enumerate(x), key=lambda y: self.joint_feature(x, y) @ w)

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> list[Segment]:
        """The segmentation of highest score plus loss."""
        return max(
            self.enumerate(x),
            key=lambda one: self.loss(y, one) + self.joint_feature(x, one) @ w,
        )

    def enumerate(self, x: Any) -> list[list[Segment]]:
        """All segmentations; for tiny inputs."""
        longest = self.lengths()

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

    def pack(  # type: ignore[override]
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Any = None,
    ) -> SegmentsProblem:
        """Lay sequences out for a solver.

        Parameters
        ----------
        X : list of arrays (n_tokens, n_features); also `Features`, `DenseFeatures`
        Y : list of segmentations; None to predict only
        formulation : Formulation
        n_jobs : int
        scorer : LinearScorer, optional
        """
        formulation = (formulation or Formulation()).validate()
        if not formulation.is_additive:
            raise CapabilityError(
                "segments have no `frontier`: use <formulation='margin'> with "
                "<penalty='l1'>"
            )
        features: Any = as_features(X)
        offset, longest = features.offset, self.lengths()
        scorer = scorer or LinearScorer()
        width = padded(3 * self.n_labels)
        rows = scorer.bind(features, width)
        number = None
        if Y is None:
            y: Ints = np.full(offset[-1], self.codes()[0][0], np.int32)
        else:
            if len(Y) != len(offset) - 1:
                raise ValueError(f"X has {len(offset) - 1} sequences and Y {len(Y)}")
            codes = [
                self.encode(one, int(offset[i + 1] - offset[i]), f"Y[{i}]")
                for i, one in enumerate(Y)
            ]
            y = np.concatenate(codes)
            rows, number = scorer.ordered(rows)
        begin, inside = self.codes()
        label_of, begins = self.meanings()
        blocks = SegmentBlocks(
            rows=rows, y=y, offset=offset, longest=longest, depth=int(longest.max()),
            label_of=label_of, begins=begins, begin_code=begin, inside_code=inside,
            kind=LOSSES[self.cost],
            outside=-1 if self.outside is None else int(self.outside), has_loss=1,
            width=width,
        )  # fmt: skip
        return SegmentsProblem(self, blocks, formulation, n_jobs, scorer, number)
