"""The contract between output spaces, scorers and solvers: read this file first.

It is one file, longer than others, because the parties below meet nowhere else.

An output y is a set of parts. Three parties work on it:

========= ================================================= =========================
party     defines                                           is independent of
========= ================================================= =========================
structure which outputs are valid, how to find the best one where scores come from
scorer    how scores of parts follow from a model           what makes an output valid
solver    how weights follow from cuts and inner products   x, y, features, kernels
========= ================================================= =========================

What is minimised stands in `objective.py`; what passes between the parties, in
`state.py`; what is known afterwards, in `certificate.py`. Neither this module nor those
import more than numpy. Solvers import neither structures nor scorers, and are imported
by neither; a structure takes any scorer, its own by default. The compiled half of the
contract, for structures with numba kernels, is `partwise.compiled`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from partwise.objective import Formulation, Objective
from partwise.parameters import Parameters, SettingsError
from partwise.state import (
    Cuts,
    Floats,
    HistoryPoint,
    Ints,
    Model,
    Start,
    State,
    Support,
    Votes,
    join,
    offsets_of,
    take,
    unit_cuts,
)

__all__ = [
    "CapabilityError", "Checkpoint", "Cuts", "Floats", "Forking", "Formulation",
    "Generative", "HistoryPoint", "Ints", "KBest", "KnownParts", "Latent", "Likelihood",
    "Marginals", "Model", "Objective", "Parameters", "Problem", "RandomStarts",
    "Scorer", "Solver", "SparseModels", "Start", "State", "Structure", "Support",
    "Votes", "join", "offsets_of", "take", "unit_cuts",
]  # fmt: skip


class CapabilityError(SettingsError):
    """A structure lacks a method that the chosen formulation or solver needs."""


# ------------------------------------------------------------- what a solver sees


class Problem(ABC):
    """Packed data addressed by row numbers: all that a solver sees.

    Requires
        a model is an element of a Hilbert space in which `dot` is the inner product.
    Ensures
        `oracle` returns for each of these blocks a plane of an output ŷ ≠ y, or of y
        itself when none is violated, with its violation and a bound of the violation of
        all outputs (`Cuts`); results do not depend on `n_jobs`.

    Optional capabilities are the protocols below: `KBest`, `Marginals`, `Likelihood`,
    `Generative`, `Latent` (with `RandomStarts`, `KnownParts` and `Forking`),
    `SparseModels`.
    """

    n_blocks: int
    n_jobs: int = 1
    formulation: Formulation
    is_euclidean: bool = True  # whether `dot` is the plain sum of products
    is_relaxed: bool = False  # whether searches also return outputs that are not valid
    # Neighbours that a sweep visits one after the other. Where a visit takes no longer
    # than fetching its data, a wholly random order waits for memory most of the time.
    run_length: int = 1

    # The operations of `compiled/`, on arrays or as Python methods: with losses,
    # without, and with coordinates that need only a small model within one block.
    blocks: Any
    plain_blocks: Any
    local_blocks: Any

    def narrow_blocks(self) -> tuple[Any, Model] | None:
        """Blocks for faster visits, and their model; None where there are none.

        Their searches may miss the most violated output. The model is zero and in
        single precision; their operations work on it whatever model they are given.
        """
        return None

    @abstractmethod
    def zero(self) -> Model:
        """The zero model."""

    @abstractmethod
    def local_zero(self) -> Model:
        """The zero model for `local_blocks`."""

    def recycle(self, model: Model) -> None:  # noqa: B027 — memory may also be left
        """Take back a model that is no longer in use: its memory may serve again."""

    @abstractmethod
    def borrow_work(self) -> Any:
        """Buffers of one thread for the operations; give them back."""

    @abstractmethod
    def return_work(self, work: Any) -> None:
        """Give buffers back."""

    @abstractmethod
    def indptr_of(self, rows: Ints) -> Ints:
        """Where the codes of these rows begin when laid end to end, (m + 1,)."""

    @abstractmethod
    def oracle(self, model: Model, rows: Ints | None = None) -> Cuts:
        """Most violated plane of each row; ``rows=None`` means all."""

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
        """The outputs ŷ in the user's own form."""

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

    # ------------------------------------------- starts and checkpoints

    def keys(self) -> list[bytes] | None:
        """A digest of each example, which identifies it in another problem.

        None where examples have no digest; a start then consists of its model alone.
        """
        return None

    def portable_outputs(self, cuts: Cuts) -> list[Any] | None:
        """Outputs of the cuts, where codes mean nothing in another problem."""
        return None

    def adopt(self, cuts: Cuts, outputs: list[Any] | None) -> Cuts:
        """Planes of this problem for outputs found in another one with the same keys.

        `cuts` names blocks of this problem; `outputs` are what `portable_outputs` gave.
        """
        raise CapabilityError(f"{type(self).__name__} cannot take over outputs")

    def digest(self) -> bytes:
        """A digest of data and settings, which a checkpoint must share."""
        raise CapabilityError(
            f"{type(self).__name__} has no `digest`, so its training cannot be resumed "
            "from a checkpoint; leave checkpoint out"
        )

    def export_codes(self) -> dict[str, Any]:
        """What codes depend on besides the data, for a checkpoint."""
        return {}

    def import_codes(self, tree: dict[str, Any]) -> None:  # noqa: B027
        """Take over what `export_codes` gave in the run that is resumed."""


@runtime_checkable
class KBest(Protocol):
    """Several outputs per block, best first."""

    def k_best(self, model: Model, k: int) -> list[list[tuple[Any, float]]]:
        """The k outputs of highest score with their scores, for each block."""

    def k_cuts(self, model: Model, rows: Ints, k: int) -> Cuts:
        """The k most violated planes of each row at most; L1 margin rescaling."""


@runtime_checkable
class Marginals(Protocol):
    """Probabilities of parts under exp(score)."""

    def marginals(self, model: Model) -> Any:
        """Probabilities in the structure's own layout, and log Z of each block."""


@runtime_checkable
class Likelihood(Protocol):
    """The conditional likelihood, for ``loss="log"``."""

    def log_likelihood(self, model: Model, weight: Floats) -> tuple[Floats, Model]:
        """Loss log Z_i − <w, φ(y_i)> of each block, and Σ c_i (E[φ] − φ(y_i))."""


@runtime_checkable
class Generative(Protocol):
    """A model by counting: the baselines of the papers."""

    def generative_model(self, smoothing: float) -> Model:
        """Log of smoothed relative frequencies."""


@runtime_checkable
class SparseModels(Protocol):
    """Models that hold more than their mostly zero coefficients (kernels)."""

    def coefficients(self, model: Model) -> Floats:
        """What determines a model."""

    def values(self, model: Model) -> Floats:
        """`dot` is the plain product of one's coefficients and the other's values."""

    def with_scores(self, coefficients: Floats) -> Model:
        """The model that has these coefficients."""


@runtime_checkable
class Latent(Protocol):
    """A problem whose truths have hidden parts."""

    def complete(self, model: Model) -> Cuts:
        """Complete the hidden parts of all truths at a model, in place.

        Completions depend on the model alone, in ties, too: not on those before, or a
        run would depend on other runs on the same problem.

        Returns the *old* truths of the blocks whose truth changed, as cuts of scale 1:
        their δ is φ(new truth) − φ(old truth). Planes of those blocks are rebased with
        them; offsets stay, because a loss looks at the observed truth and at ŷ, never
        at a completion.
        """


@runtime_checkable
class RandomStarts(Protocol):
    """A latent problem with random completions."""

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """Draw the hidden parts of all truths; returns what `complete` returns."""


@runtime_checkable
class KnownParts(Protocol):
    """A latent problem whose known parts are a problem by themselves."""

    def known_problem(self) -> tuple[Problem, Ints]:
        """The problem without hidden parts, with models of the same layout.

        The second is the block of this problem that each of its blocks is taken from.
        Rounds begin with completions by its solution.
        """


@runtime_checkable
class Forking(Protocol):
    """A latent problem that may be solved from several starts at the same time.

    Results are those of one run after the other on the problem itself.
    """

    def fork(self) -> Problem:
        """A problem for one thread on the same data, with completions of its own."""


# ------------------------------------------------------- where scores come from


class Scorer(Protocol):
    """How scores of parts follow from a model.

    `Structure.pack` gives a scorer what describes the parts of its outputs: features
    of tokens, arcs or spans, or keys. The scorer binds them to **rows**, a tag of
    arrays with the operations of `partwise.compiled` (tokens), `partwise.scorers.arcs`
    (arcs) or `partwise.scorers.spans` (rules and brackets): the score of a part under a
    model, and the addition of a part to a model.

    Requires
        rows that were bound by a scorer are given back to the same scorer.
    Ensures
        the score of a part is linear in the model, and adding a part with a coefficient
        changes the score of another part by their inner product times the coefficient.

    Attributes
    ----------
    is_euclidean : bool
        Whether the inner product of two models is the plain sum of products; if not,
        structures pack a problem with the inner product of a kernel.
    """

    is_euclidean: bool

    def bind(self, parts: Any, width: int = 0) -> Any:
        """Rows of all parts.

        `width` is the number of labels that have weights of their own: in a row of a
        chain's model, or on an arc (0 for arcs without labels).
        """

    def ordered(self, rows: Any) -> tuple[Any, Ints | None]:
        """Rows in the order that is fastest to learn with, and the number of each.

        The second is the new number of each feature, None where no number changes.
        """
        return rows, None

    def local(self, rows: Any, offset: Ints) -> Any:
        """Rows with the same inner products within each block, for a small model.

        `offset` says where the tokens of each block begin. Gram matrices of the planes
        of one block use these rows; they may be the rows themselves.
        """
        return rows


# --------------------------------------------------------------- what a user writes


class Structure(Parameters, ABC):
    """An output space, by four methods on one example. Scores are maximised.

    Requires
        Δ(y, y) = 0 and Δ(y, ŷ) ≥ 0; `joint_feature` depends on (x, y) alone.
    Ensures
        with these methods every solver trains the L1 margin-rescaled objective.
        Optional capabilities open the rest: ``frontier(x, y, w)`` yields pairs
        (loss, ŷ), the output of highest score for each attainable loss, zero included
        where others than the truth attain it, for slack rescaling and L2;
        ``two_best(x, w)`` the two outputs of highest score, for hard margins;
        ``complete(x, y, w)`` latent parts, and ``complete_at_random(x, y, rng)`` a draw
        of them to begin with. A method that is absent is refused by name before any
        work.

    Attributes
    ----------
    exact_oracle : bool
        Set it to False when `loss_augmented_argmax` (or what stands for it) may miss
        the best output. A method ``loss_augmented_bound(x, y, w)``, an upper bound of
        Δ(y, ŷ) + <w, Ψ(x, ŷ)> over all ŷ, as of a relaxation, then gives certificates
        with a gap.

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
    exact_oracle: bool = True

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Read sizes from the data; called on a clone. Sets ``n_psi_``."""
        return self

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """Ψ(x, y): a dense vector, or a pair (indices, values)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) ≥ 0, and 0 for the truth.

        Another output may have loss 0, too: a prediction as good as the truth, as with
        another hidden part. Margin rescaling then requires that it score no higher than
        the truth; slack rescaling and hard margins require nothing.
        """

    @abstractmethod
    def argmax(self, x: Any, w: Floats) -> Any:
        """The ŷ of largest <w, Ψ(x, ŷ)>."""

    @abstractmethod
    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The ŷ of largest Δ(y, ŷ) + <w, Ψ(x, ŷ)> among all outputs, y included."""

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
        from partwise.structures.latent_loop import Completing, LatentLoopProblem
        from partwise.structures.loop import LoopProblem

        kind = LatentLoopProblem if offers(self, Completing) else LoopProblem
        return kind(self, X, Y, formulation or Formulation())


# ------------------------------------------------------------------------ solvers


class Checkpoint(Protocol):
    """Storage for a run: see `partwise.checkpoint`."""

    def resume(
        self, solver: Solver, problem: Problem, objective: Objective
    ) -> State | None:
        """The stored state, None when there is none; refuses one of another run."""

    def keep(self, solver: Solver, state: State) -> None:
        """Store the state if it is time to, or if a limit has stopped the run."""

    def end(self, solver: Solver, state: State) -> None:
        """Store the result of a run that has reached its end."""


class _Loops(threading.local):
    """States of the loops of solvers that run in a thread, the outermost first."""

    def __init__(self) -> None:
        self.states: list[State] = []


_loops = _Loops()


def is_solving() -> bool:
    """Whether a loop of this thread answers KeyboardInterrupt with its model so far."""
    return any(state.stopped is None for state in _loops.states)


class Solver(Parameters, ABC):
    """One outer loop for all algorithms; a solver writes `begin` and `step`.

    Stopping: by ``tol``, the relative duality gap (P − D)/P; or, when ``eps`` is
    given, by the papers' rule that no constraint is violated by more than ξ_i + ε.
    The two are never mixed. Where the search is not exact, the same rules on what it
    finds end the run as "search exhausted". ``max_iter`` and ``time_limit`` (seconds)
    always hold, and Ctrl-C ends training with the best model so far.
    """

    penalties: ClassVar[tuple[str, ...]] = ("l1", "l2", "hard")
    needs: ClassVar[tuple[type, ...]] = ()  # capabilities of the problem
    is_voting: ClassVar[bool] = False  # whether predictions are votes of all models
    # name of the solver whose compiled loops over planes it runs
    loops: ClassVar[str | None] = None

    tol: float
    eps: float | None
    max_iter: int
    time_limit: float | None

    @abstractmethod
    def begin(self, problem: Any, objective: Objective, start: Start) -> State:
        """State before the first step."""

    @abstractmethod
    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One iteration; updates model, primal, dual, violation and counters."""

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Put the best model into `state.model`; called once, also on Ctrl-C."""

    def support(self, state: State) -> Support | None:
        """Planes and their α; None of solvers without them."""
        return None

    def votes(self, state: State) -> Votes:
        """The models that vote, of solvers with `is_voting`."""
        raise CapabilityError(f"{type(self).__name__} ends with a single model")

    def planes_at_hand(self, state: State) -> Support | None:
        """What a later run may start from: the dual and idle planes."""
        return self.support(state)

    def rebase(self, state: State, old_truths: Cuts) -> None:
        """Let the planes of a state follow a change of truths (`Latent.complete`).

        The state then serves as the start of the next convex problem. Solvers without
        planes have nothing to do.
        """

    def export(self, state: State) -> dict[str, Any]:
        """The memo as nested dicts and lists of arrays, numbers and strings."""
        raise CapabilityError(
            f"{type(self).__name__} does not write checkpoints; leave checkpoint out"
        )

    def restore(self, problem: Any, objective: Objective, tree: dict[str, Any]) -> Any:
        """The memo that `export` described."""
        raise NotImplementedError

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """Raise before any work when this solver cannot run this problem."""
        name = type(self).__name__
        if objective.penalty not in self.penalties:
            raise CapabilityError(
                f"{name} runs penalty {' or '.join(self.penalties)}, not "
                f"{objective.penalty!r}; choose another solver or penalty"
            )
        for capability in self.needs:
            refuse_lacking(problem, capability, name, "choose another solver")
        for parameter in ("tol", "eps", "time_limit"):
            value = getattr(self, parameter, None)
            if value is not None and not value > 0:
                raise ValueError(f"{parameter}={value!r}: give a positive number")

    def solve(
        self,
        problem: Problem,
        objective: Objective,
        *,
        start: Start | State | Model | None = None,
        checkpoint: Checkpoint | None = None,
        callback: Callable[[State], Any] | None = None,
        pulse: Callable[[State], Any] | None = None,
    ) -> State:
        """Minimise; the only outer loop.

        Parameters
        ----------
        problem : Problem
        objective : Objective
        start : Start, State or model, optional
            Where to begin. A state of this solver on this problem brings its planes,
            after a change of truths rebased.
        checkpoint : Checkpoint, optional
            Where the run is stored; a run stored there is resumed.
        callback : callable, optional
            Called with the state after each iteration; stops when it returns True.
        pulse : callable, optional
            Called with the state several times a second within an iteration, for
            progress (`State.share`).
        """
        self.refuse(problem, objective)
        clock = time.perf_counter()
        state = None
        if checkpoint is not None:
            state = checkpoint.resume(self, problem, objective)
        if state is None:
            state = self.begin(problem, objective, Start.of(start))
        elif state.stopped is not None:
            return state
        else:
            state.stopped = self._verdict(state)
        clock -= state.seconds  # of the runs that this one resumes
        if self.time_limit is not None:
            state.deadline = clock + self.time_limit
        state.pulse = pulse
        depth = len(_loops.states)
        try:
            _loops.states.append(state)
            while state.stopped is None:
                state.share = 0.0
                self.step(problem, objective, state)
                state.n_iter += 1
                state.seconds = time.perf_counter() - clock
                state.history.append(state.point())
                state.stopped = self._verdict(state)
                if callback is not None and callback(state) and not state.stopped:
                    state.stopped = "callback"
                if checkpoint is not None:
                    checkpoint.keep(self, state)
        except KeyboardInterrupt:  # perhaps between α and w: nothing to keep
            state.stopped = "interrupted"
        finally:
            del _loops.states[depth:]
        self.finish(problem, objective, state)
        state.seconds = time.perf_counter() - clock
        if checkpoint is not None:
            checkpoint.end(self, state)
        return state

    def _verdict(self, state: State) -> str | None:
        if state.stopped:
            return state.stopped
        if self.eps is not None:
            by_bound, by_search = state.violation, state.violation_found
        else:
            by_bound, by_search = state.relative_gap, state.relative_gap_found
        limit = self.tol if self.eps is None else self.eps
        if by_bound <= limit:
            return "converged"
        if by_search <= limit:
            return "search exhausted"
        if state.n_iter >= self.max_iter:
            return "max_iter"
        if self.time_limit is not None and state.seconds >= self.time_limit:
            return "time limit"
        return None


def methods_of(capability: type) -> list[str]:
    """The methods that a capability consists of."""
    return [name for name in vars(capability) if not name.startswith("_")]


def offers(owner: object, capability: type) -> bool:
    """Whether an object has all methods of a capability."""
    return all(callable(getattr(owner, name, None)) for name in methods_of(capability))


def refuse_lacking(problem: Problem, capability: type, what: str, remedy: str) -> None:
    """Raise when a problem lacks a capability, naming its methods."""
    if offers(problem, capability):
        return
    named = " and ".join(f"`{name}`" for name in methods_of(capability))
    raise CapabilityError(
        f"{what} needs {named}, which {type(problem).__name__} lacks; {remedy}"
    )
