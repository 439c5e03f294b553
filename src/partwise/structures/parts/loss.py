"""The generalised Hamming loss on sets of parts, exact or graded.

A part is right when it is selected in both outputs or in neither; graded, it may also
be nearly right. Each form here is linear in the predicted parts, so a loss-augmented
argmax is an argmax on edited scores, and works with every decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Floats
from partwise.structures.losses import Loss

ROUNDING = 1e-9  # of a loss in units
GRADED = ("predicted", "wrong", "true")


class PartLoss(Loss):
    """How many parts must be added to, or taken from, ŷ to make it y.

    The count form is |y| + |ŷ| − 2·|y ∩ ŷ|. The normalised form divides it by 2·|y|, so
    that large structures do not weigh more than small ones; it lies in [0, 1] for
    |ŷ| ≤ |y| and may exceed 1 otherwise. An empty y has no size to divide by: it counts
    as one part, and the normalised loss is then |ŷ|/2.

    Parameters
    ----------
    normalized : bool
        Divide by 2·max(|y|, 1).
    similarity : matrix, callable or None
        s(σ, σ′) in [0, 1] of a true part σ and any part σ′, with s(σ, σ) = 1: a matrix
        (n_parts, n_parts), or a function of two part numbers. None: parts are equal or
        not. Where inputs have parts of their own, such as the boxes of an image, give
        their true outputs as `GradedTruth`.
    graded : {"predicted", "wrong", "true"}
        What a similarity counts for; see Notes.

    See Also
    --------
    PartSelection : the structure that uses it.
    box_overlap : a similarity of spans and boxes.

    Notes
    -----
    Section 4.3 of the thesis behind the kernel method; `terms` is its equation 4.21. It
    proposes to replace the equality of parts in the loss by their similarity. Let u be
    1, or 1/(2·max(|y|, 1)), and let m(σ′) = max_{σ ∈ y} s(σ, σ′) be the best similarity
    of a part to a true one. The forms are

    - ``"predicted"``: Δ = u·(|y| + |ŷ| − 2 Σ_{σ′ ∈ ŷ} m(σ′)), the thesis's form where
      each predicted part is compared with the true part that resembles it most. A part
      with m = 1 in the place of the true one costs nothing.
    - ``"wrong"``: Δ = u·(|y ∖ ŷ| + Σ_{σ′ ∈ ŷ ∖ y} (1 − m(σ′))): similarity excuses a
      wrong part, but the true one is still missing.
    - ``"true"``: Δ = u·(|y| + |ŷ| − 2 Σ_{σ ∈ y} max_{σ′ ∈ ŷ} s(σ, σ′)).

    The first two are linear in ŷ, a constant plus one number per predicted part, and
    the loss-augmented search is exact wherever the plain search is. The last is not:
    what a part adds depends on the other parts. It can be measured (`loss`), and
    training with it is refused.

    ``"predicted"`` is never negative when no output has more parts than the truth, and
    when the predicted parts are disjoint spans or boxes and s is their overlap (those
    near one true part then have similarities that sum to at most 1). Elsewhere several
    parts near one true part may sum to more than they should; `PartSelection` searches
    for such an output before training and refuses it. ``"wrong"`` is never negative.

    Other outputs than the truth may have loss 0 where s = 1. They are outputs like any
    other: margin rescaling requires only that none of them scores above the truth.

    Examples
    --------
    Parts 0 and 1 are right, part 2 was predicted in place of 3:

    >>> PartLoss(normalized=False).loss([0, 1, 3], [0, 1, 2])
    2.0
    >>> PartLoss().loss([0, 3], [0, 2])
    0.5
    >>> PartLoss().terms([0, 3], n_parts=4)
    (array([-0.25,  0.25,  0.25, -0.25]), 0.5)

    Spans [begin, end): the second overlaps the first by half of their union.

    >>> spans = [(0, 3), (1, 4), (6, 9)]
    >>> loss = PartLoss(normalized=False, similarity=box_overlap(spans))
    >>> loss.loss([0], [1]), loss.loss([0], [2])
    (1.0, 2.0)
    """

    def __init__(
        self, normalized: bool = True, similarity: Any = None, graded: str = "predicted"
    ) -> None:
        self.normalized = normalized
        self.similarity = similarity
        self.graded = graded

    def unit(self, y: Iterable[int]) -> float:
        """What one part in the wrong place costs."""
        return 1.0 / (2.0 * max(len(_parts(y)), 1)) if self.normalized else 1.0

    def loss(self, y: Iterable[int], y_hat: Iterable[int]) -> float:
        """Δ(y, ŷ) of two sets of part numbers; repeated numbers count once."""
        true, predicted = _parts(y), _parts(y_hat)
        if not self.is_graded(y):
            return self.unit(true) * len(true ^ predicted)
        if self.graded == "true":
            best = self._rows(y, sorted(predicted)).max(axis=0, initial=0.0)
            total = len(true) + len(predicted) - 2.0 * float(best.sum())
        else:
            extra = sorted(predicted - true)
            total = len(true - predicted) + float(self._cost(y, extra).sum())
        if abs(total) < ROUNDING:
            total = 0.0
        return self.unit(true) * total

    def terms(self, y: Iterable[int], n_parts: int) -> tuple[Floats, float]:
        """The same loss as additions to part scores.

        Returns
        -------
        addition : ndarray of shape (n_parts,)
        constant : float
            Δ(y, ŷ) = constant + Σ_{σ ∈ ŷ} addition[σ].
        """
        parts = _parts(y)
        unit = self.unit(parts)
        addition = np.full(n_parts, unit)
        if self.is_graded(y):
            self.refuse()
            addition *= self._cost(y, range(n_parts))
        addition[sorted(parts)] = -unit
        return addition, unit * len(parts)

    # ---------------------------------------------------------------------- graded

    def is_graded(self, y: Any = None) -> bool:
        """Whether parts may be nearly right, in general or for this truth."""
        return self.similarity is not None or isinstance(y, GradedTruth)

    def check(
        self, i: int, y: Any, n_parts: int, best: Callable[[Floats], Any]
    ) -> None:
        """Raise where some output of example i has a loss below zero.

        `best` gives the output of highest sum of part scores.
        """
        addition, constant = self.terms(self.truth(y, n_parts), n_parts)
        if (np.delete(addition, sorted(_parts(y))) >= 0).all():
            return  # no part lowers the loss but the true ones
        least = best(-addition)
        value = constant + float(addition[least].sum())
        if value < -ROUNDING:
            raise ValueError(
                f"example {i}: the parts {[int(part) for part in least]} have the loss "
                f"{value:.3g}, because several of them resemble one true part; add "
                "constraints that let one of them in, or use PartLoss(graded='wrong')"
            )

    def refuse(self) -> None:
        """Raise where the loss has no exact search."""
        if self.graded not in GRADED:
            raise ValueError(f"graded={self.graded!r}: choose from {', '.join(GRADED)}")
        if self.graded == "true":
            raise CapabilityError(
                "graded='true' is not linear in the predicted parts, so no search by "
                "part scores is exact; train with graded='predicted' or 'wrong', and "
                "measure this one"
            )

    def truth(self, y: Any, n_parts: int) -> GradedTruth:
        """A true output with its similarity to all parts of its input."""
        if isinstance(y, GradedTruth):
            if len(y.similarity) != n_parts:
                raise ValueError(
                    f"a GradedTruth tells the similarity of {len(y.similarity)} parts "
                    f"where the input has {n_parts}"
                )
            return y
        return GradedTruth(y, self._table(sorted(_parts(y)), range(n_parts)))

    def _cost(self, y: Any, parts: Any) -> Floats:
        """What each of these wrong parts costs, in units."""
        factor = 2.0 if self.graded == "predicted" else 1.0
        return 1.0 - factor * self._rows(y, parts).max(axis=1, initial=0.0)

    def _rows(self, y: Any, parts: Any) -> Floats:
        """Similarities (n_parts, |y|) of these parts to the true ones."""
        if isinstance(y, GradedTruth):
            return y.similarity[list(parts)]
        return self._table(sorted(_parts(y)), parts)

    def _table(self, true: list[int], parts: Any) -> Floats:
        """The same from the matrix or the function; a true part resembles itself."""
        if self.similarity is None:
            return np.equal.outer(np.asarray(parts), true).astype(np.float64)
        if callable(self.similarity):
            rows = [[float(self.similarity(a, b)) for a in true] for b in parts]
            table = np.array(rows).reshape(len(rows), len(true))
        else:
            matrix = np.asarray(self.similarity, np.float64)
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise ValueError(
                    f"similarity= has shape {matrix.shape}; give a square matrix, one "
                    "row and column per part"
                )
            last = max([*true, *parts], default=-1)
            if last >= len(matrix):
                raise ValueError(
                    f"similarity= knows {len(matrix)} parts and not part {last}; give "
                    "a larger matrix, or a GradedTruth per example"
                )
            table = matrix[np.ix_(true, list(parts))].T
        return check_similarity(table, true, list(parts))


class GradedTruth:
    """A true output of an input that has parts of its own.

    Parameters
    ----------
    parts : iterable of int
        The true parts.
    similarity : array (n_parts, len(parts)) or (n_parts, n_parts)
        s in [0, 1] of every part of the input to each true part, in increasing order of
        their numbers, or of all pairs of parts.

    Examples
    --------
    Of three boxes (left, top, right, bottom) the first is true:

    >>> boxes = [(0, 0, 2, 2), (0, 0, 2, 1), (5, 5, 6, 6)]
    >>> y = GradedTruth([0], box_overlap(boxes))
    >>> PartLoss().loss(y, [0]), PartLoss().loss(y, [1]), PartLoss().loss(y, [2])
    (0.0, 0.5, 1.0)
    """

    def __init__(self, parts: Iterable[int], similarity: Any) -> None:
        self.parts = tuple(sorted({int(part) for part in parts}))
        table = np.asarray(similarity, np.float64)
        if table.ndim != 2 or any(not 0 <= p < len(table) for p in self.parts):
            raise ValueError(
                f"the similarity of a GradedTruth has shape {table.shape}; give one "
                "row per part of the input, the true ones included"
            )
        if table.shape[1] == len(table) != len(self.parts):
            table = table[:, list(self.parts)]
        if table.shape[1] != len(self.parts):
            raise ValueError(
                f"the similarity of a GradedTruth has {table.shape[1]} columns; give "
                f"one per true part, {len(self.parts)}"
            )
        self.similarity = check_similarity(table, list(self.parts), range(len(table)))

    def __iter__(self) -> Iterator[int]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        return f"GradedTruth({list(self.parts)})"


def check_similarity(table: Floats, true: list[int], parts: Any) -> Floats:
    """A table (n_parts, n_true) in [0, 1] where each true part resembles itself."""
    for row, column in np.argwhere(~((table >= 0) & (table <= 1)))[:1]:
        raise ValueError(
            f"the similarity of parts {true[column]} and {parts[row]} is "
            f"{table[row, column]}; give numbers from 0 to 1"
        )
    same = np.equal.outer(np.asarray(parts, np.int64), np.asarray(true, np.int64))
    if (table[same] != 1).any():
        part = np.asarray(parts)[(same & (table != 1)).any(axis=1)][0]
        raise ValueError(
            f"part {part} has similarity {table[same].min()} to itself; it must be 1"
        )
    return table


def box_overlap(boxes: Any, others: Any = None) -> Floats:
    """Intersection over union of boxes, or of spans.

    Parameters
    ----------
    boxes : array (n, 2d)
        d lower ends, then d upper ends: (begin, end) of spans, end excluded; (left,
        top, right, bottom) of boxes in the plane.
    others : array (m, 2d), optional
        By default the same boxes.

    Returns
    -------
    ndarray of shape (n, m)
        In [0, 1]; 1 for a box and itself.

    Examples
    --------
    >>> box_overlap([(0, 4), (2, 6), (9, 10)], [(0, 4)])
    array([[1.        ],
           [0.33333333],
           [0.        ]])
    """
    one = np.asarray(boxes, np.float64)
    other = one if others is None else np.asarray(others, np.float64)
    for given in (one, other):
        if given.ndim != 2 or given.shape[1] % 2 or given.shape[1] != one.shape[1]:
            raise ValueError(
                f"boxes of shape {given.shape}: give lower ends, then upper ends, in "
                "one row per box"
            )
        d = given.shape[1] // 2
        if not (given[:, :d] < given[:, d:]).all():
            raise ValueError("a box has no volume; its lower ends must be below")
    d = one.shape[1] // 2
    low = np.maximum(one[:, None, :d], other[None, :, :d])
    high = np.minimum(one[:, None, d:], other[None, :, d:])
    common = np.prod(np.maximum(high - low, 0.0), axis=2)
    size = [np.prod(given[:, d:] - given[:, :d], axis=1) for given in (one, other)]
    return common / (size[0][:, None] + size[1] - common)


def _parts(y: Iterable[int]) -> set[int]:
    return y if isinstance(y, set) else {int(part) for part in y}
