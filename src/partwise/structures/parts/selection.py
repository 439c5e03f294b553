"""Outputs given only by an alphabet of parts and what makes a set of them valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Floats, Ints, Problem, Structure
from partwise.structures.parts import PartLoss
from partwise.structures.parts import _decoders as decoders
from partwise.structures.parts._compared import ComparedParts, PartScores
from partwise.structures.parts._inputs import (
    as_parts,
    part_features,
    part_shape,
    true_parts,
)

METHODS = ("milp", "top", "positive", "search")


@dataclass(eq=False, repr=False)
class PartSelection(ComparedParts, Structure):
    """Choose a set of parts: the best by an integer program, a heuristic or your code.

    An input offers parts, each with a row of features; an output is a set of part
    numbers, scored by the sum of its parts. Nothing else needs to be written:
    matchings, paths, assignments, summaries within a budget are a few linear
    constraints.

    Parameters
    ----------
    constraints : callable, LinearConstraint, sequence of them, or None
        Linear constraints (``scipy.optimize.LinearConstraint`` or ``(A, lb, ub)``) on
        the 0/1 vector of the parts of an input, or ``constraints(x)`` that returns
        them.
    method : {"milp", "top", "positive", "search"}
        - ``"milp"``: integer programming, exact.
        - ``"top"``: the `size` parts of highest score.
        - ``"positive"``: all parts of positive score.
        - ``"search"``: hill climbing with kicks over sets that pass `is_valid`.
    size : int, callable or None
        Number of parts of every output, or ``size(x)``.
    is_valid : callable or None
        ``is_valid(x, y)`` says whether a set of parts is an output; for ``"search"``.
    start : callable or None
        ``start(x)``, a valid output for ``"search"`` to begin at when neither the empty
        set nor sets of high score are valid.
    part_loss : PartLoss or None
        None is ``PartLoss()``, the normalised form. It may be graded: overlapping spans
        or boxes are nearly right.
    decoder : compiled function or None
        In place of a method: an ``@njit`` function ``(scores, shape, selected)`` on
        ``float64[::1]``, ``int64[::1]`` and ``uint8[::1]`` that sets
        ``selected[p] = 1`` for the parts of the best output. `selected` comes filled
        with zeros; `scores` may be used as scratch space. Training then runs on arrays
        without the interpreter. The decoder must not raise: exceptions cannot leave
        compiled code.
    exact_decoder : bool
        Whether `decoder` always finds the best output.
    n_restarts : int
        Kicks of ``"search"``.
    random_state : int
        Seed of ``"search"``; every call starts from it, so equal calls agree.
    kernel : Kernel, str, callable or None
        Compare parts by a kernel on their rows of features, as in ``"rbf:gamma=0.5"``,
        instead of giving each feature a weight; see `partwise.kernels`.
    match : callable, sequence of them, or None
        Hash functions ``match(x)`` that return a whole number for each part: parts
        with different numbers are not alike, those with a negative one have no score.
        None: all parts of all inputs may be alike. With `match` alone, parts with the
        same number have the same score.

    Attributes
    ----------
    n_psi_ : int
        Number of features, the length of w.
    exact_oracle : bool
        Whether the argmax is one. ``"top"`` and ``"positive"`` look at scores alone:
        they are exact unless `constraints` or `is_valid` restrict the outputs further
        (their outputs may then be invalid). ``"search"`` never is. A certificate of an
        inexact oracle has no gap, and its primal is a lower estimate.

    Notes
    -----
    x is a matrix (n_parts, n_features), dense or CSR, or a pair (matrix, extra), where
    `extra` is for `constraints`, `size` and `is_valid`; with a `decoder` it is the
    array of integers `shape`. y is a sequence of part numbers.

    ``"milp"`` also offers `two_best` and `frontier`, the exact ``"top"`` and
    ``"positive"`` `frontier`: hard margins, slack rescaling and L2 penalties need them.
    With a graded loss only margin rescaling with an L1 penalty has an exact search.
    The heuristics are those of section 4.2.3 of the thesis behind the kernel method.

    Examples
    --------
    Assign two workers to two jobs; part 2·i + j is "worker i does job j":

    >>> from scipy.optimize import LinearConstraint
    >>> rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    >>> assignment = PartSelection(LinearConstraint(rows, 1, 1))
    >>> x = np.array([[3.0], [2.0], [2.5], [1.0]])
    >>> assignment = assignment.setup([x], [[1, 2]])
    >>> assignment.argmax(x, np.ones(1))
    array([1, 2])
    >>> assignment.loss([1, 2], [0, 3])
    1.0

    The same with a compiled decoder, which reads the number of workers from `shape`:

    >>> from numba import njit
    >>> @njit
    ... def swap_or_not(scores, shape, selected):
    ...     straight = scores[0] + scores[3] > scores[1] + scores[2]
    ...     for i in range(shape[0]):
    ...         selected[2 * i + (i if straight else 1 - i)] = 1
    >>> compiled = PartSelection(decoder=swap_or_not)
    >>> compiled.setup([(x, [2])], [[1, 2]]).argmax((x, [2]), np.ones(1))
    array([1, 2])
    """

    constraints: Any = None
    method: str = "milp"
    size: int | Callable[[Any], int] | None = None
    is_valid: Callable[[Any, Ints], bool] | None = None
    start: Callable[[Any], Sequence[int]] | None = None
    part_loss: PartLoss | None = None
    decoder: Any = None
    exact_decoder: bool = True
    n_restarts: int = 20
    random_state: int = 0
    kernel: Any = None
    match: Any = None

    # ------------------------------------------------------------- the four methods

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Number of features; refuses true outputs that are no outputs."""
        self._refuse()
        self.part_kernel().check()
        self.n_psi_ = part_features(X[0]).shape[1]
        self._graded = any(self._part_loss().is_graded(y) for y in Y)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            self._check_example(i, x, y)
            if self._graded:
                best = partial(self._best, x, y=y)
                self._part_loss().check(i, y, part_features(x).shape[0], best)
        return self

    def joint_feature(self, x: Any, y: Any) -> Any:
        """Sum of the rows of the selected parts; a kernel has no such features."""
        if self.has_keys:
            raise CapabilityError("parts with a kernel or keys have no explicit Ψ")
        rows = part_features(x)[as_parts(y)]
        if not sparse.issparse(rows):
            return rows.sum(axis=0)
        index, where = np.unique(rows.indices, return_inverse=True)
        return index, np.bincount(where, rows.data, len(index))

    def loss(self, y: Any, y_hat: Any) -> float:
        """Generalised Hamming loss (see `PartLoss`)."""
        return self._part_loss().loss(y, y_hat)

    def argmax(self, x: Any, w: Floats) -> Ints:
        """The best set of parts."""
        return self._best(x, self.scores_of(x, w))

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Ints:
        """The best set of parts after adding the loss to their scores."""
        scores = self.scores_of(x, w)
        addition, _ = self._part_loss().terms(y, len(scores))
        return self._best(x, scores + addition, y)

    # ---------------------------------------------------------------- capabilities

    @property
    def exact_oracle(self) -> bool:  # type: ignore[override]
        """Whether `argmax` is sure to find the best output."""
        if self.decoder is not None:
            return self.exact_decoder
        if self.method in ("top", "positive"):
            return self.constraints is None and self.is_valid is None
        return self.method == "milp"

    @property
    def two_best(self) -> Callable[[Any, Floats], list[Ints]]:
        """``two_best(x, w)``: the two best outputs; absent unless by ``"milp"``."""
        if self.decoder is not None or self.method != "milp":
            raise AttributeError("two_best needs method='milp'")
        return self._two_best

    @property
    def frontier(self) -> Callable[[Any, Any, Floats], Iterator[tuple[float, Ints]]]:
        """``frontier(x, y, w)``: best output of each loss; absent when inexact."""
        if self.decoder is not None or not self.exact_oracle:
            raise AttributeError("frontier needs an exact method")
        if self._is_graded():
            raise AttributeError("frontier needs a loss that counts parts")
        return self._frontier

    def _two_best(self, x: Any, w: Floats) -> list[Ints]:
        scores = self.scores_of(x, w)
        best = self._best(x, scores)
        another = decoders.differing(best, len(scores), 1, np.inf)
        second = decoders.best_by_milp(scores, [*self._rows(x), another])
        return [best] if second is None else [best, second]

    def _frontier(self, x: Any, y: Any, w: Floats) -> Iterator[tuple[float, Ints]]:
        scores, y = self.scores_of(x, w), as_parts(y)
        unit = self._part_loss().unit(y)
        if self.method != "milp":
            for d, y_hat in decoders.frontier_by_sorting(scores, y, self._size(x)):
                yield unit * d, y_hat
            return
        for d in range(1, len(scores) + 1):
            at_distance = decoders.differing(y, len(scores), d, d)
            best = decoders.best_by_milp(scores, [*self._rows(x), at_distance])
            if best is not None:
                yield unit * d, best

    # --------------------------------------------------------------------- batches

    def pack(
        self,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> Problem:
        """Arrays for numba when there is a decoder, else one call per example."""
        if self._is_graded():
            if not (formulation or Formulation()).is_additive:
                raise CapabilityError(
                    "a graded loss has no `frontier`: other outputs than the truth may "
                    "have loss 0, and losses are no counts; use <formulation='margin'> "
                    "with <penalty='l1'>"
                )
            loss = self._part_loss()
            sizes = [part_features(x).shape[0] for x in X]
            Y = [loss.truth(y, n) for y, n in zip(Y, sizes, strict=True)]
        formulation = formulation or Formulation()
        if not self.has_keys:
            if self.decoder is None:
                return super().pack(X, Y, formulation, n_jobs=n_jobs)
            from partwise.structures.parts._batch import pack_parts

            return pack_parts(self, X, Y, formulation, n_jobs)
        from partwise.structures.parts.kernel import pack_key_problem

        return pack_key_problem(self, X, Y, formulation, n_jobs)

    def decode(self, X: Sequence[Any], w: Any, *, n_jobs: int = 1) -> list[Ints]:
        """The best set of parts of every input."""
        models: Any = [w] * len(X)
        if self.has_keys:
            models = map(PartScores, w.scores(X, n_jobs))
        if self.has_keys or self.decoder is None:
            pairs = zip(X, models, strict=True)
            return [self._decode_one(i, x, model) for i, (x, model) in enumerate(pairs)]
        problem = self.pack(X, [[] for _ in X], n_jobs=n_jobs)
        return problem.outputs(problem.predict_codes(w))

    # -------------------------------------------------------------------- one input

    def _decode_one(self, i: int, x: Any, w: Floats) -> Ints:
        try:
            return self.argmax(x, w)
        except ValueError as error:
            raise ValueError(f"example {i}: {error}") from error

    def _best(self, x: Any, scores: Floats, y: Any = None) -> Ints:
        if self.decoder is not None:
            selected = np.zeros(len(scores), np.uint8)
            self.decoder(np.ascontiguousarray(scores), part_shape(x), selected)
            return np.flatnonzero(selected)
        if self.method == "top":
            return decoders.best_by_size(scores, self._size(x) or 0)
        if self.method == "positive":
            return decoders.positive(scores)
        best = (
            decoders.best_by_milp(scores, self._rows(x))
            if self.method == "milp"
            else self._search(x, scores, y)
        )
        if best is None:
            remedy = (
                "relax the constraints"
                if self.method == "milp"
                else "give start=, a function of x that returns a valid output"
            )
            raise ValueError(f"no valid set among {len(scores)} parts; {remedy}")
        return best

    def _search(self, x: Any, scores: Floats, y: Any) -> Ints | None:
        size, rows = self._size(x), self._rows(x)

        def is_valid(parts: Ints) -> bool:
            if decoders.violated_row(rows, parts, len(scores)) is not None:
                return False
            return self.is_valid is None or bool(self.is_valid(x, parts))

        starts = [decoders.positive(scores), np.zeros(0, np.int64)]
        if size is not None:
            starts.append(decoders.best_by_size(scores, size))
        if self.start is not None:
            starts.append(as_parts(self.start(x)))
        if y is not None:
            starts.append(as_parts(y))
        rng = np.random.default_rng(self.random_state)
        return decoders.best_by_search(scores, is_valid, starts, self.n_restarts, rng)

    def _part_loss(self) -> PartLoss:
        return PartLoss() if self.part_loss is None else self.part_loss

    def _is_graded(self) -> bool:
        return getattr(self, "_graded", False) or self._part_loss().is_graded()

    def _size(self, x: Any) -> int | None:
        return self.size(x) if callable(self.size) else self.size

    def _rows(self, x: Any) -> decoders.Rows:
        given = self.constraints(x) if callable(self.constraints) else self.constraints
        rows = decoders.as_rows(given)
        size = self._size(x)
        if size is not None:
            rows.append(decoders.exactly(part_features(x).shape[0], size))
        return rows

    # ------------------------------------------------------------------- refusals

    def _refuse(self) -> None:
        if self.method not in METHODS:
            raise ValueError(
                f"method={self.method!r}: choose from {', '.join(METHODS)}"
            )
        given = (self.constraints, self.size, self.is_valid, self.start)
        if self.decoder is not None:
            if any(option is not None for option in given):
                raise ValueError(
                    "a decoder decides which outputs are valid: leave out constraints, "
                    "size, is_valid and start"
                )
        elif self.method == "milp" and self.is_valid is not None:
            raise ValueError(
                "method='milp' cannot call is_valid: write it as linear constraints, "
                "or use method='search'"
            )
        elif self.method == "top" and self.size is None:
            raise ValueError("method='top' needs size=, the number of parts to select")
        elif self.method == "positive" and self.size is not None:
            raise ValueError("method='positive' has no size; use method='top'")

    def _check_example(self, i: int, x: Any, y: Any) -> None:
        n_parts, n_features = part_features(x).shape
        if n_features != self.n_psi_:
            raise ValueError(
                f"example {i}: parts have {n_features} features, those of example 0 "
                f"have {self.n_psi_}"
            )
        parts = true_parts(i, y, n_parts)
        if self.decoder is not None:
            part_shape(x)
        elif self.method == "milp":
            row = decoders.violated_row(self._rows(x), parts, n_parts)
            if row is not None:
                raise ValueError(
                    f"example {i}: the true output breaks row {row} of the "
                    "constraints; correct one of them"
                )
