"""The contract between output spaces and solvers: read this file first.

An output y is a set of parts. Three parties work on it and do not know each other:

========= ================================================= =========================
who       knows                                             does not know
========= ================================================= =========================
structure which outputs are valid, how to find the best one where scores come from
scorer    how scores of parts follow from a model           what makes an output valid
solver    cuts, losses, inner products, a duality gap       x, y, features, kernels
========= ================================================= =========================

A solver minimises, over models w,

    P(w) = ½‖w‖² + Σ_i c_i ξ_i            (L1)
           ½‖w‖² + ½ Σ_i c_i ξ_i²         (L2)
           ½‖w‖²   subject to ξ = 0       (hard)

where ξ_i = max(0, max_ŷ  b − <w, a>) over the planes a = s·(φ(y_i) − φ(ŷ)) of block
i. The scale s and the offset b follow from the loss Δ(y_i, ŷ) by `Formulation`. Its
dual in α ≥ 0, with w = Σ α a, B_i = Σ_ŷ α b and S_i = Σ_ŷ α, is

    D(α) = Σ_i B_i − ½‖w‖²                        S_i ≤ c_i   (L1)
           Σ_i B_i − ½‖w‖² − Σ_i S_i²/(2 c_i)                 (L2)
           Σ_i B_i − ½‖w‖²                                    (hard)

(Tsochantaridis, Hofmann, Joachims, Altun, ICML 2004, section 4.1.)

This module imports numpy only. Structures and solvers never import each other; the
compiled half of the contract, for structures with numba kernels, is `compiled.py`.
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
        signature = inspect.signature(cls.__init__)
        return [name for name in signature.parameters if name != "self"]

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


# ------------------------------------------------------------------ the objective


class Formulation(NamedTuple):
    """How a loss becomes a plane: ``b − s·<w, φ(y) − φ(ŷ)>``.

    =========== ======= ====== ======
    rescaling   penalty s      b
    =========== ======= ====== ======
    ``hard``    –       1      1
    ``margin``  l1      1      Δ
    ``margin``  l2      1      √Δ
    ``slack``   l1      Δ      Δ
    ``slack``   l2      √Δ     √Δ
    =========== ======= ====== ======
    """

    rescaling: str = "margin"  # "margin", "slack" or "hard"
    penalty: str = "l1"  # "l1" or "l2"; a hard margin has no slack to penalise

    @property
    def is_additive(self) -> bool:
        """Whether b is Δ and s is 1, so that the loss merely adds to part scores."""
        return self.rescaling == "margin" and self.penalty == "l1"

    def plane(self, loss: float) -> tuple[float, float]:
        """Offset b and scale s of an output with this loss (> 0)."""
        if self.rescaling == "hard":
            return 1.0, 1.0
        size = loss if self.penalty == "l1" else float(np.sqrt(loss))
        return (size, 1.0) if self.rescaling == "margin" else (size, size)

    def validate(self) -> Self:
        """Refuse names that are not in the table."""
        if self.rescaling not in ("margin", "slack", "hard"):
            raise ValueError(
                f"formulation={self.rescaling!r}: choose 'margin', 'slack' or 'hard'"
            )
        if self.penalty not in ("l1", "l2"):
            raise ValueError(f"penalty={self.penalty!r}: choose 'l1' or 'l2'")
        return self


class Objective(NamedTuple):
    """What is minimised: the weight c_i of each block and the kind of penalty."""

    weight: Floats  # (n_blocks,) c_i; they add up to C
    penalty: str  # "l1", "l2", "hard" (planes) or "log" (conditional likelihood)

    @classmethod
    def create(
        cls, C: float, n_blocks: int, penalty: str, sample_weight: Any = None
    ) -> Objective:
        """c_i = C·v_i / Σ_j v_j with sample weights v (all equal: C/n)."""
        if not np.isfinite(C) or C <= 0:
            raise ValueError(f"C={C!r}: C must be a positive finite number")
        if sample_weight is None:
            return cls(np.full(n_blocks, C / n_blocks), penalty)
        v = np.asarray(sample_weight, dtype=np.float64)
        if v.shape != (n_blocks,) or not np.isfinite(v).all() or (v <= 0).any():
            raise ValueError(
                f"sample_weight: give {n_blocks} positive finite numbers, one per "
                "example; leave out examples that should not count"
            )
        return cls(C * v / v.sum(), penalty)

    def cap(self) -> Floats:
        """Upper limit of the dual mass S_i of each block."""
        if self.penalty == "l1":
            return self.weight
        return np.full(len(self.weight), np.inf)

    def ridge(self) -> Floats:
        """Curvature 1/c_i that an L2 penalty adds to the dual of each block."""
        if self.penalty == "l2":
            return 1.0 / self.weight
        return np.zeros(len(self.weight))

    def slack_term(self, slack: Floats) -> float:
        """Σ c ξ, or ½ Σ c ξ²; slack is clipped at zero."""
        slack = np.maximum(slack, 0.0)
        if self.penalty == "l2":
            slack = 0.5 * slack * slack
        return float(np.sum(self.weight * slack))

    def primal(self, square: float, violation: Floats) -> float:
        """P(w) from ‖w‖² and the largest violation of each block.

        A hard margin is scale-free: w divided by its smallest margin γ is feasible,
        so its value is ½‖w‖²/γ², and infinite when some margin is not positive.
        """
        if self.penalty == "hard":
            smallest = 1.0 - float(np.max(violation))
            return 0.5 * square / smallest**2 if smallest > 0 else np.inf
        return 0.5 * square + self.slack_term(violation)

    def dual(self, square: float, offset: Floats, mass: Floats) -> float:
        """D(α) from ‖w‖², B_i = Σ α b and S_i = Σ α of each block."""
        value = float(np.sum(offset)) - 0.5 * square
        if self.penalty == "l2":
            value -= float(np.sum(0.5 * mass * mass / self.weight))
        return value

    def slope(self, violation: Floats) -> Floats:
        """d(slack term)/dξ of each block: the mass a subgradient puts on its plane."""
        if self.penalty == "l2":
            return self.weight * np.maximum(violation, 0.0)
        return np.where(violation > 0, self.weight, 0.0)


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
    return Cuts(*(column[rows] for column in cuts[:5]), indptr, code)


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
    """One line of a training log; primal is NaN where it was not evaluated."""

    seconds: float
    oracle_calls: int
    primal: float
    dual: float


@dataclass
class State:
    """Everything a callback, a report or a restart needs."""

    model: Model
    primal: float = np.inf  # best primal value evaluated so far, that of `model`
    dual: float = -np.inf  # best lower bound so far
    violation: float = np.inf  # the papers' ε at the last full check
    n_iter: int = 0
    oracle_calls: int = 0
    seconds: float = 0.0
    stopped: str | None = None
    history: list[HistoryPoint] = field(default_factory=list)
    memo: Any = None  # the solver's own

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


@dataclass(frozen=True)
class Certificate:
    """What is known about a fitted model, and how.

    ``primal`` was computed by one pass over the data after training. ``dual`` is a
    lower bound on the optimum by the solver's own α (None without one). Because the
    objective is 1-strongly convex, ``data_bound`` = ½‖g‖² for a subgradient g bounds
    ``primal`` − optimum from the data alone, whoever trained the model.
    """

    primal: float
    dual: float | None
    data_bound: float | None
    oracle_calls: int
    exact_oracle: bool
    stopped: str
    penalty: str
    note: str = ""

    @property
    def lower(self) -> float | None:
        """The best known lower bound on the optimum."""
        if not self.exact_oracle:
            return self.dual
        bounds = [] if self.dual is None else [self.dual]
        if self.data_bound is not None:
            bounds.append(self.primal - self.data_bound)
        return max(bounds, default=None)

    @property
    def gap(self) -> float | None:
        """Primal minus the best lower bound; None when the oracle is inexact."""
        if not self.exact_oracle or self.lower is None:
            return None
        return max(self.primal - self.lower, 0.0)

    @property
    def relative_gap(self) -> float | None:
        """Gap divided by the primal."""
        if self.gap is None:
            return None
        return self.gap / abs(self.primal) if self.primal else self.gap

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, derived ones included."""
        names = ("primal", "dual", "gap", "relative_gap", "data_bound", "oracle_calls")
        more = ("exact_oracle", "stopped", "penalty", "note")
        return {name: getattr(self, name) for name in names + more}


def certify(
    problem: Problem,
    objective: Objective,
    model: Model,
    *,
    dual: float | None = None,
    oracle_calls: int = 0,
    stopped: str = "",
    note: str = "",
) -> Certificate:
    """Recompute the primal of `model` by one pass, and its data-only bound.

    For planes, g = w − Σ_i (∂ slack term_i) a_i is a subgradient at w; for
    ``penalty="log"`` it is the gradient. P(w) − P* ≤ ½‖g‖² (strong convexity). A hard
    margin has no subgradient to offer: its bound is the dual alone.
    """
    if objective.penalty == "log":
        value, gradient = log_loss(problem, objective, model)
        return Certificate(
            primal=value,
            dual=dual,
            data_bound=0.5 * problem.dot(gradient, gradient),
            oracle_calls=oracle_calls + problem.n_blocks,
            exact_oracle=True,
            stopped=stopped,
            penalty="log",
            note=note,
        )
    cuts = problem.oracle(model)
    square = problem.dot(model, model)
    bound = None
    if objective.penalty != "hard" and problem.exact_oracle:
        slope = objective.slope(cuts.violation)
        residual = model - problem.combine(cuts, slope)
        bound = 0.5 * problem.dot(residual, residual)
    return Certificate(
        primal=objective.primal(square, cuts.bound),
        dual=dual,
        data_bound=bound,
        oracle_calls=oracle_calls + problem.n_blocks,
        exact_oracle=problem.exact_oracle,
        stopped=stopped,
        penalty=objective.penalty,
        note=note,
    )


def log_loss(
    problem: Any, objective: Objective, model: Model
) -> tuple[float, Model]:
    """½‖w‖² + Σ c_i (log Z_i − <w, φ(y_i)>) and its gradient."""
    loss, expected_minus_truth = problem.log_likelihood(model, objective.weight)
    value = 0.5 * problem.dot(model, model) + float(np.sum(objective.weight * loss))
    return value, model + expected_minus_truth


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
                    f"{name} needs `{method}`, which {type(problem).__name__} lacks"
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
        try:
            while state.stopped is None:
                self.step(problem, objective, state)
                state.n_iter += 1
                state.seconds = time.perf_counter() - clock
                state.history.append(
                    HistoryPoint(
                        state.seconds, state.oracle_calls, state.primal, state.dual
                    )
                )
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
