"""The data that pass between structures, solvers and certificates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Model = Any  # an element of the scorer's space; opaque to solvers

PULSE = 0.1  # seconds between two reports of progress within a step
EXACT = 1e-9  # relative; a bound this close to the violation found counts as reached


class Cuts(NamedTuple):
    """Planes ``b − <w, a>`` with ``a = scale·(φ(y_block) − φ(ŷ))``, row by row.

    The output ŷ is kept in the structure's own compact code (a tag sequence is one
    integer per token). Neither truth nor features are inside, so a cut survives a
    change of the truth (latent completion) and serves every scorer.

    A search returns two numbers for a block: the `violation` of the output that it
    found, and a `bound` that no output of the block exceeds. In an exact search they
    are equal, in a relaxation ``violation ≤ bound``, and a heuristic without a bound
    returns +inf.
    """

    block: Ints  # (m,) which example
    b: Floats  # (m,)
    scale: Floats  # (m,)
    violation: Floats  # (m,) b − <w, a> at the model of the search
    bound: Floats  # (m,) ≥ the violation of every output of the block
    indptr: Ints  # (m + 1,)
    code: Ints  # (indptr[-1],)

    @property
    def codes(self) -> list[Ints]:
        """The code of each output."""
        return np.split(self.code, self.indptr[1:-1]) if len(self.block) else []

    @property
    def is_exact(self) -> bool:
        """Whether the search found the largest slack of every block."""
        slack = np.maximum(self.violation, 0.0)
        return bool(np.all(self.bound <= slack + EXACT * (1.0 + slack)))


def offsets_of(lengths: Any) -> Ints:
    """Where runs of these lengths begin when laid end to end, (n + 1,) int64.

    Examples
    --------
    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def unit_cuts(block: Ints, indptr: Ints, code: Ints) -> Cuts:
    """Planes φ(y_block) − φ(ŷ) of outputs, of scale 1 and offset 0."""
    zero, one = np.zeros(len(block)), np.ones(len(block))
    return Cuts(block, zero, one, zero, zero, indptr, code)


def take(cuts: Cuts, rows: Any) -> Cuts:
    """The chosen rows of `cuts`, in the given order."""
    rows = np.asarray(rows, dtype=np.int64)
    length = np.diff(cuts.indptr)[rows]
    indptr = offsets_of(length)
    start = np.repeat(cuts.indptr[rows] - indptr[:-1], length)
    code = cuts.code[start + np.arange(indptr[-1])]
    block, b, scale, violation, bound = (column[rows] for column in cuts[:5])
    return Cuts(block, b, scale, violation, bound, indptr, code)


def join(pieces: list[Cuts]) -> Cuts:
    """Several cuts, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    columns = [np.concatenate([piece[k] for piece in pieces]) for k in range(5)]
    indptr = offsets_of(np.concatenate([np.diff(piece.indptr) for piece in pieces]))
    code = np.concatenate([piece.code for piece in pieces])
    block, b, scale, violation, bound = columns
    return Cuts(block, b, scale, violation, bound, indptr, code)


class Support(NamedTuple):
    """The dual of a fit: planes with their α, the support structures of the papers."""

    cuts: Cuts
    alpha: Floats  # (m,)

    def by_block(self) -> tuple[Ints, Cuts]:
        """The blocks with planes, rising, and the cuts numbered by their places."""
        blocks, place = np.unique(self.cuts.block, return_inverse=True)
        return blocks, self.cuts._replace(block=place.astype(np.int64))


class Votes(NamedTuple):
    """Models that vote: the zero model, then each after one more step Σ a."""

    cuts: Cuts  # (m,) planes whose a is added, one step after the other
    n_votes: Ints  # (m + 1,) votes of each model, the zero model first


class HistoryPoint(NamedTuple):
    """One line of a training log.

    `primal` is the best value evaluated by a full pass so far (infinite before the
    first), `estimate` what the solver takes it for without one (NaN when it does not).
    """

    seconds: float
    oracle_calls: int
    primal: float
    dual: float
    estimate: float = np.nan

    @property
    def objective(self) -> float:
        """The primal, or its estimate before the first full pass."""
        return self.primal if np.isfinite(self.primal) else self.estimate


@dataclass
class State:
    """Everything a callback, a report or a restart needs.

    The objective of the model has two values, see `Cuts`: `primal` by the bounds of the
    search, and `found` by the violations that it found. An exact search has them equal.
    """

    model: Model
    primal: float = np.inf  # smallest value evaluated so far, that of `model`
    found: float = np.inf  # the same by the violations found: at least so much
    dual: float = -np.inf  # best lower bound so far
    estimate: float = np.nan  # of the primal, between full passes
    violation: float = np.inf  # the papers' ε at the last full check, by bounds
    violation_found: float = np.inf  # the same by the violations found
    n_iter: int = 0
    oracle_calls: int = 0
    n_planes: int = 0  # constraints added so far, those dropped again included
    seconds: float = 0.0
    stopped: str | None = None
    history: list[HistoryPoint] = field(default_factory=list)
    note: str = ""  # for the user, e.g. which examples conflict
    memo: Any = None  # what the solver itself carries from step to step
    share: float = 0.0  # of the present step that is done
    deadline: float = np.inf  # of the clock `time.perf_counter`
    pulse: Callable[[State], Any] | None = None  # called with progress within a step
    next_pulse: float = 0.0
    thread: int = field(default_factory=threading.get_ident)  # that of the solver

    def report(self, share: float | None = None) -> None:
        """Report progress within a step; long steps call it several times a second.

        What other threads do beside the solver is no progress of its step.
        """
        if threading.get_ident() != self.thread:
            return
        if share is not None:
            self.share = share
        now = time.perf_counter()
        if self.pulse is not None and now >= self.next_pulse:
            self.next_pulse = now + PULSE
            self.pulse(self)

    def halt(self) -> None:
        """Let loops end as if the time were over."""
        self.deadline = -np.inf

    @property
    def is_late(self) -> bool:
        """Whether the time limit has passed; long steps then end early."""
        return time.perf_counter() >= self.deadline

    def keep_better(self, model: Model, primal: float, found: float) -> bool:
        """Take over a model whose value is smaller; returns whether it was."""
        is_better = (primal, found) < (self.primal, self.found)
        if is_better:
            self.model, self.primal, self.found = model, primal, found
        return is_better

    def point(self) -> HistoryPoint:
        """The present moment as a line of the log."""
        return HistoryPoint(
            self.seconds, self.oracle_calls, self.primal, self.dual, self.estimate
        )

    @property
    def gap(self) -> float:
        """Primal minus dual."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """Gap divided by the primal; infinite while one of them is unknown."""
        return relative(self.primal, self.dual)

    @property
    def relative_gap_found(self) -> float:
        """The relative gap that is left by the violations found."""
        return relative(self.found, self.dual)


def relative(upper: float, lower: float) -> float:
    """(upper − lower)/upper; infinite while one of them is unknown."""
    gap = upper - lower
    if not np.isfinite(gap):
        return np.inf
    return gap / abs(upper) if upper else gap


class Start(NamedTuple):
    """Where a solver may begin: a model, and a dual where one is known.

    The dual may be that of another problem with partly the same examples, which `keys`
    identify (`Problem.keys`). `outputs` are given where codes are valid in one problem
    alone.
    """

    model: Model | None = None
    support: Support | None = None
    keys: list[bytes] | None = None  # (n_blocks,) of that problem
    outputs: list[Any] | None = None  # (m,) where codes are not portable
    memo: Any = None  # the memo of a solver on this very problem, rebased if need be

    @classmethod
    def of(cls, given: Any) -> Start:
        """A start from itself, from a `State` on the same problem, or from a model."""
        if isinstance(given, Start):
            return given
        if isinstance(given, State):
            return cls(given.model, memo=given.memo)
        return cls(given)
