"""The contract between output spaces and solvers: read this file first.

It is one file, longer than others, because the parties below meet nowhere else.

An output y is a set of parts. Three parties work on it and do not know each other:

========= ================================================= =========================
who       knows                                             does not know
========= ================================================= =========================
structure which outputs are valid, how to find the best one where scores come from
scorer    how scores of parts follow from a model           what makes an output valid
solver    cuts, losses, inner products, a duality gap       x, y, features, kernels
========= ================================================= =========================

What is minimised stands in `objective.py`; what is known afterwards, in
`certificate.py`. Neither this module nor those import more than numpy. Structures and
solvers never import each other; the compiled half of the contract, for structures with
numba kernels, is `compiled.py`.
"""

from __future__ import annotations

import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from partwise.objective import Formulation, Objective

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Model = Any  # an element of the scorer's space; opaque to solvers


class CapabilityError(ValueError):
    """A structure lacks a method that the chosen formulation or solver needs."""


class Parameters:
    """`get_params` and `set_params`, so scikit-learn can clone and grid-search us.

    Duck typing keeps scikit-learn out of structures and solvers (its import costs
    more than a second), yet ``clone``, ``solver__tol`` and grids work.
    """

    @classmethod
    def _names(cls) -> list[str]:
        # a class without an __init__ of its own shows object's (self, *args, **kwargs)
        starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [
            p.name for p in parameters if p.name != "self" and p.kind not in starred
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name; nested ones as ``outer__inner``."""
        values = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(values.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    nested = value.get_params(deep=True)
                    values |= {f"{name}__{key}": v for key, v in nested.items()}
        return values

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name, ``outer__inner`` for nested ones."""
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in self._names():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; "
                    f"choose from {', '.join(self._names())}"
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"


# ------------------------------------------------------------- what a solver sees


class Cuts(NamedTuple):
    """Planes ``b − <w, a>`` with ``a = scale·(φ(y_block) − φ(ŷ))``, row by row.

    The output ŷ is kept in the structure's own compact code (a tag sequence is one
    integer per token). Neither truth nor features are inside, so a cut survives a
    change of the truth (latent completion) and serves every scorer.
    """

    block: Ints  # (m,) which example
    b: Floats  # (m,)
    scale: Floats  # (m,)
    violation: Floats  # (m,) b − <w, a> at the model asked about
    bound: Floats  # (m,) ≥ the largest violation of the block; equal when exact
    indptr: Ints  # (m + 1,)
    code: Ints  # (indptr[-1],)


class Problem(ABC):
    """Packed data seen as row numbers: all that a solver may know.

    Requires
        a model is an element of a Hilbert space in which `dot` is the inner product.
    Ensures
        `oracle` returns for each asked block the plane of largest violation among
        wrong outputs (Δ > 0), or an output with violation ≤ 0 when none is violated;
        results do not depend on `n_jobs`.
    """

    n_blocks: int
    formulation: Formulation
    exact_oracle: bool = True
    is_euclidean: bool = True  # whether `dot` is the plain sum of products
    blocks: Any  # the operations of `compiled.py`, on arrays or as Python methods

    @abstractmethod
    def zero(self) -> Model:
        """The zero model."""

    @abstractmethod
    def oracle(self, model: Model, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated planes, k per block at most; ``rows=None`` asks for all."""

    @abstractmethod
    def predict_codes(self, model: Model, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score, without loss; `b` then holds their loss Δ."""

    @abstractmethod
    def margins(self, model: Model, cuts: Cuts) -> Floats:
        """<model, a> of each cut, shape (m,)."""

    @abstractmethod
    def combine(self, cuts: Cuts, alpha: Floats) -> Model:
        """Σ α a, accumulated in row order."""

    @abstractmethod
    def outputs(self, cuts: Cuts) -> list[Any]:
        """The outputs ŷ as the user knows them."""

    def effort(self) -> Floats:
        """What asking each block costs, in any unit, shape (n_blocks,)."""
        return np.ones(self.n_blocks)

    def compact(self, model: Model) -> Model:
        """A model in the layout that users see; solvers may work in a faster one."""
        return model

    def expand(self, weights: Model) -> Model:
        """A model in the layout of this problem, from that of `compact`."""
        return weights

    def settle(self, model: Model) -> Model:
        """The trained model without what rounding has left in it."""
        return model

    def dot(self, one: Model, other: Model) -> float:
        """<one, other>; the default serves models that are float arrays."""
        return float(np.sum(one * other))

    def gram(self, cuts: Cuts, others: Cuts) -> Floats:
        """<a, a'> of all pairs of planes, shape (m, m')."""
        table = np.empty((len(cuts.block), len(others.block)))
        for k in range(len(others.block)):
            plane = self.combine(take(others, [k]), np.ones(1))
            table[:, k] = self.margins(plane, cuts)
        return table


def take(cuts: Cuts, rows: Any) -> Cuts:
    """The chosen rows of `cuts`, in the given order."""
    rows = np.asarray(rows, dtype=np.int64)
    length = np.diff(cuts.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    start = np.repeat(cuts.indptr[rows] - indptr[:-1], length)
    code = cuts.code[start + np.arange(indptr[-1])]
    block, b, scale, violation, bound = (column[rows] for column in cuts[:5])
    return Cuts(block, b, scale, violation, bound, indptr, code)


# --------------------------------------------------------------- what a user writes


class Structure(Parameters, ABC):
    """An output space, by four methods on one example. Scores are maximised.

    Requires
        Δ(y, y) = 0 and Δ(y, ŷ) ≥ 0; `joint_feature` depends on (x, y) alone.
    Ensures
        with these methods every solver trains the L1 margin-rescaled objective.
        Optional capabilities open the rest: ``frontier(x, y, w)`` yields pairs
        (loss, ŷ), the output of highest score for each attainable loss > 0, for
        slack rescaling and L2; ``two_best(x, w)`` the two outputs of highest score,
        for hard margins; ``complete(x, y, w)`` latent parts. A method that is absent
        is refused by name before any work.

    Examples
    --------
    >>> class Sign(Structure):
    ...     def setup(self, X, Y):
    ...         self.n_psi_ = len(X[0])
    ...         return self
    ...     def joint_feature(self, x, y):
    ...         return y * np.asarray(x) / 2
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def argmax(self, x, w):
    ...         return 1 if w @ x >= 0 else -1
    ...     def loss_augmented_argmax(self, x, y, w):
    ...         return max((1, -1), key=lambda v: self.loss(y, v) + v * (w @ x) / 2)
    >>> Sign().setup([[1.0, 2.0]], [1]).loss(1, -1)
    1.0
    """

    n_psi_: int  # length of w, known after `setup`

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Read sizes from the data; called on a clone. Sets ``n_psi_``."""
        return self

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """Ψ(x, y): a dense vector, or a pair (indices, values)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) ≥ 0."""

    @abstractmethod
    def argmax(self, x: Any, w: Floats) -> Any:
        """The ŷ of largest <w, Ψ(x, ŷ)>."""

    @abstractmethod
    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The ŷ of largest Δ(y, ŷ) + <w, Ψ(x, ŷ)>."""

    def decode(self, X: Sequence[Any], w: Floats) -> list[Any]:
        """The best output of each example."""
        return [self.argmax(x, w) for x in X]

    def pack(
        self,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> Problem:
        """Lay the data out for a solver; built-in structures return numba problems."""
        from partwise.structures.loop import LoopProblem

        return LoopProblem(self, X, Y, formulation or Formulation())


# -------------------------------------------------------------------- what comes out


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
    """Everything a callback, a report or a restart needs."""

    model: Model
    primal: float = np.inf  # best primal value evaluated so far, that of `model`
    dual: float = -np.inf  # best lower bound so far
    estimate: float = np.nan  # of the primal, between full passes
    violation: float = np.inf  # the papers' ε at the last full check
    n_iter: int = 0
    oracle_calls: int = 0
    seconds: float = 0.0
    stopped: str | None = None
    history: list[HistoryPoint] = field(default_factory=list)
    note: str = ""  # what the user should know, e.g. which examples conflict
    memo: Any = None  # the solver's own
    deadline: float = np.inf  # of the clock `time.perf_counter`

    def is_late(self) -> bool:
        """Whether the time limit has passed; long steps ask and end early."""
        return time.perf_counter() >= self.deadline

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
        if not np.isfinite(self.gap):
            return np.inf
        return self.gap / abs(self.primal) if self.primal else self.gap


class Support(NamedTuple):
    """The dual of a fit: planes with their α, the support structures of the papers."""

    cuts: Cuts
    alpha: Floats  # (m,)


# ------------------------------------------------------------------------ solvers


class Solver(Parameters, ABC):
    """One outer loop for all algorithms; a solver writes `begin` and `step`.

    Stopping: by ``tol``, the relative duality gap (P − D)/P; or, when ``eps`` is
    given, by the papers' rule that no constraint is violated by more than ξ_i + ε.
    The two are never mixed. ``max_iter`` and ``time_limit`` (seconds) always hold,
    and Ctrl-C ends training with the best model so far.
    """

    penalties: ClassVar[tuple[str, ...]] = ("l1", "l2", "hard")
    needs: ClassVar[tuple[str, ...]] = ()  # methods of the problem beyond `Problem`

    tol: float
    eps: float | None
    max_iter: int
    time_limit: float | None

    @abstractmethod
    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """State before the first step."""

    @abstractmethod
    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One iteration; updates model, primal, dual, violation and counters."""

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Put the best model into `state.model`; called once, also on Ctrl-C."""

    def support(self, state: State) -> Support | None:
        """Planes and their α, where the solver keeps them."""
        return None

    def refuse(self, problem: Any, objective: Objective) -> None:
        """Raise before any work when this solver cannot run this problem."""
        name = type(self).__name__
        if objective.penalty not in self.penalties:
            raise CapabilityError(
                f"{name} runs penalty {' or '.join(self.penalties)}, not "
                f"{objective.penalty!r}; choose another solver or penalty"
            )
        for method in self.needs:
            if not hasattr(problem, method):
                raise CapabilityError(
                    f"{name} needs `{method}`, which {type(problem).__name__} lacks; "
                    "choose another solver"
                )
        for parameter in ("tol", "eps", "time_limit"):
            value = getattr(self, parameter, None)
            if value is not None and not value > 0:
                raise ValueError(f"{parameter}={value!r}: give a positive number")

    def solve(
        self,
        problem: Any,
        objective: Objective,
        *,
        start: Model | None = None,
        callback: Callable[[State], Any] | None = None,
    ) -> State:
        """Minimise; the only outer loop. A callback that returns True stops it."""
        self.refuse(problem, objective)
        clock = time.perf_counter()
        state = self.begin(problem, objective, start)
        if self.time_limit is not None:
            state.deadline = clock + self.time_limit
        try:
            while state.stopped is None:
                self.step(problem, objective, state)
                state.n_iter += 1
                state.seconds = time.perf_counter() - clock
                state.history.append(state.point())
                state.stopped = self._verdict(state)
                if callback is not None and callback(state) and not state.stopped:
                    state.stopped = "callback"
        except KeyboardInterrupt:
            state.stopped = "interrupted"
        self.finish(problem, objective, state)
        state.seconds = time.perf_counter() - clock
        return state

    def _verdict(self, state: State) -> str | None:
        if state.stopped:
            return state.stopped
        if self.eps is not None:
            if state.violation <= self.eps:
                return "converged"
        elif state.relative_gap <= self.tol:
            return "converged"
        if state.n_iter >= self.max_iter:
            return "max_iter"
        if self.time_limit is not None and state.seconds >= self.time_limit:
            return "time limit"
        return None
