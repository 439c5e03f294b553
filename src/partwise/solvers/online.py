"""Online solvers: perceptron, MIRA and Pegasos.

Each visits examples in random order and changes w at once. None has a dual: the lower
bound stays −∞, and the primal is evaluated once, after training.

Perceptron
    w += δ(ŷ), ŷ the prediction, where ŷ is wrong. Stops after an epoch without mistake.
    When some unit vector separates all wrong outputs by γ, it makes at most
    max‖δ‖²/γ² mistakes (Novikoff; Collins, EMNLP 2002, Theorem 1).
MIRA
    w moves as little as possible to satisfy the most violated cuts of the example,
    min ½‖w − w_t‖² + c_i ξ: with one cut, α = min(c_i, violation/‖a‖²); L2 penalties
    have α = violation/(‖a‖² + 1/c_i), hard margins no cap. Stops after an epoch in
    which every cut was satisfied. Crammer, Dekel, Keshet, Shalev-Shwartz, Singer,
    JMLR 2006 (one cut: PA-I, PA-II, section 10); McDonald, Crammer, Pereira, ACL 2005
    (k cuts).
Pegasos
    w ← (1 − 1/t)w + (1/t)(n/|B|) Σ_{i ∈ B} m_i a_i, a subgradient step on P(w) of
    length 1/t with masses m_i = c_i, or c_i ξ_i for L2. The average of the models,
    weighted by t, converges at rate 1/t. The optimum has ‖w‖² ≤ P(0), the ball of the
    projection. Shalev-Shwartz, Singer, Srebro, ICML 2007; Lacoste-Julien,
    Schmidt, Bach, arXiv:1212.2002 (weighted average).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.protocol import (
    CapabilityError,
    Floats,
    Ints,
    Model,
    Objective,
    Solver,
    State,
)
from partwise.solvers import _online_kernels as kernels


@dataclass
class OnlineMemo:
    """Weights in motion, and what the average and the order of visits need."""

    w: Floats
    late: Floats  # what the running sum of models lacks
    work: Any
    rng: np.random.Generator
    room: Ints  # codes of the blocks at hand
    n_seen: int = 0
    mistakes: int = 0  # examples that changed w, over all epochs
    clock: Any = None  # Pegasos: see `pegasos_sweep`
    radius: float = np.inf


class _Online(Solver):
    """What the three share: random order, epochs, one evaluation at the end."""

    tol = 1e-3  # never reached without a lower bound
    eps = None
    averaged: bool
    random_state: int

    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """Zero weights, or a copy of the given ones."""
        w = problem.zero() if start is None else np.array(start, np.float64)
        longest = int(np.diff(problem.indptr_of(np.arange(problem.n_blocks))).max())
        memo = OnlineMemo(
            w=w,
            late=problem.zero(),
            work=problem.borrow_work(),
            rng=np.random.default_rng(self.random_state),
            room=np.zeros(longest, np.int32),
        )
        return State(model=w.copy(), memo=memo)

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One epoch in random order; an epoch without a change is the last."""
        memo: OnlineMemo = state.memo
        order = memo.rng.permutation(problem.n_blocks)
        changes = self._sweep(problem, objective, memo, order)
        memo.mistakes += changes
        memo.n_seen += len(order)
        state.oracle_calls += len(order)
        state.model = memo.w - memo.late / memo.n_seen if self.averaged else memo.w
        if changes == 0:
            state.stopped = "converged"
            state.model = memo.w  # w itself is what the epoch has proved

    def _sweep(
        self, problem: Any, objective: Objective, memo: OnlineMemo, order: Ints
    ) -> int:
        """Visit the blocks; returns how many changed w."""
        raise NotImplementedError

    def finish(self, problem: Any, objective: Objective, state: State) -> None:
        """Evaluate the model once."""
        problem.return_work(state.memo.work)
        cuts = problem.oracle(state.model)
        state.oracle_calls += problem.n_blocks
        square = problem.dot(state.model, state.model)
        state.primal = objective.primal(square, cuts.bound)


class Perceptron(_Online):
    """Averaged structured perceptron.

    Parameters
    ----------
    max_iter : int
        Epochs.
    time_limit : float or None
        Seconds.
    random_state : int
        Seed of the order of visits.
    averaged : bool
        Return the average of the models after each visit instead of the last one.

    Examples
    --------
    >>> from partwise.solvers.online import Perceptron
    >>> Perceptron(max_iter=5)
    Perceptron(max_iter=5, time_limit=None, random_state=0, averaged=True)
    """

    penalties = ("l1", "l2")  # it seeks no margin, so a hard one is not its to reach

    def __init__(
        self,
        max_iter: int = 20,
        time_limit: float | None = None,
        random_state: int = 0,
        averaged: bool = True,
    ) -> None:
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.averaged = averaged

    def _sweep(
        self, problem: Any, objective: Objective, memo: OnlineMemo, order: Ints
    ) -> int:
        return kernels.perceptron_sweep(
            problem.blocks, problem.plain_blocks, memo.work, memo.w, memo.late, order,
            memo.n_seen, memo.room,
        )  # fmt: skip


class MIRA(_Online):
    """Margin-infused relaxed algorithm (passive-aggressive updates).

    Parameters
    ----------
    max_iter : int
        Epochs.
    time_limit : float or None
        Seconds.
    random_state : int
        Seed of the order of visits.
    averaged : bool
        Return the average of the models after each visit instead of the last one.
    k : int
        Cuts per visit; more than one needs a problem with k-best outputs.
    augmented : bool
        Take the most violated outputs. False, for k = 1 only: the prediction, with the
        margin of its loss.

    Examples
    --------
    >>> from partwise.solvers.online import MIRA
    >>> MIRA(k=5).get_params()["k"]
    5
    """

    def __init__(
        self,
        max_iter: int = 20,
        time_limit: float | None = None,
        random_state: int = 0,
        averaged: bool = True,
        k: int = 1,
        augmented: bool = True,
    ) -> None:
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.averaged = averaged
        self.k = k
        self.augmented = augmented

    def refuse(self, problem: Any, objective: Objective) -> None:
        """Several cuts need k-best outputs; predictions need a margin of size Δ."""
        super().refuse(problem, objective)
        if self.k < 1:
            raise ValueError(f"k={self.k!r}: give a positive number of outputs")
        if self.k > 1 and not hasattr(problem, "k_best"):
            raise CapabilityError(
                f"MIRA(k={self.k}) needs `k_best`, which {type(problem).__name__} "
                "lacks; use k=1"
            )
        if not self.augmented and (self.k > 1 or not problem.formulation.is_additive):
            raise CapabilityError(
                "MIRA(augmented=False) runs k=1, formulation='margin', penalty='l1'"
            )

    def _sweep(
        self, problem: Any, objective: Objective, memo: OnlineMemo, order: Ints
    ) -> int:
        cap, ridge = objective.cap(), objective.ridge()
        scratch = problem.zero()
        if self.k == 1:
            return kernels.mira_sweep(
                problem.blocks, problem.plain_blocks, memo.work, memo.w, memo.late,
                scratch, order, cap, ridge, self.augmented, memo.n_seen, memo.room,
            )  # fmt: skip
        size = self.k + 1
        room = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        changes = 0
        for q, i in enumerate(order):
            cuts = problem.oracle(memo.w, order[q : q + 1], k=self.k)
            changes += kernels.mira_update(
                problem.blocks, memo.w, memo.late, scratch, i, cuts, cap[i], ridge[i],
                memo.n_seen + q, *room,
            )  # fmt: skip
        return changes


class Pegasos(_Online):
    """Stochastic subgradient descent on the primal.

    Parameters
    ----------
    max_iter : int
        Epochs.
    time_limit : float or None
        Seconds.
    random_state : int
        Seed of the order of visits.
    averaged : bool
        Return the average of the models, weighted by t, instead of the last one.
    batch : int
        Examples per step. A step also costs one pass over the weights, so small
        batches pay only where there are few weights.
    project : bool
        Keep w in the ball that is known to hold the optimum. Without it the first steps
        may go astray, far for L2, whose subgradients grow with w. Kernel models do
        without.

    Examples
    --------
    >>> from partwise.solvers.online import Pegasos
    >>> Pegasos(batch=1).get_params()["batch"]
    1
    """

    penalties = ("l1", "l2")

    def __init__(
        self,
        max_iter: int = 50,
        time_limit: float | None = None,
        random_state: int = 0,
        averaged: bool = True,
        batch: int = 64,
        project: bool = True,
    ) -> None:
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.averaged = averaged
        self.batch = batch
        self.project = project

    def begin(self, problem: Any, objective: Objective, start: Model | None) -> State:
        """A given start counts as much as one epoch; else the first step sets w."""
        if self.batch < 1:
            raise ValueError(
                f"batch={self.batch!r}: give a positive number of examples"
            )
        state = super().begin(problem, objective, start)
        memo: OnlineMemo = state.memo
        batch = min(self.batch, problem.n_blocks)
        memo.room = np.zeros((batch, len(memo.room)), np.int32)
        steps = 0.0 if start is None else -(-problem.n_blocks // batch)
        memo.clock = np.array([steps, 0.0, 0.0])
        if self.project and problem.is_euclidean:  # the kernel's norm costs a pass
            cuts = problem.oracle(problem.zero())
            state.oracle_calls += problem.n_blocks
            memo.radius = np.sqrt(objective.primal(0.0, cuts.bound))
        return state

    def step(self, problem: Any, objective: Objective, state: State) -> None:
        """One epoch of batches."""
        memo: OnlineMemo = state.memo
        order = memo.rng.permutation(problem.n_blocks)
        kernels.pegasos_sweep(
            problem.blocks, memo.work, memo.w, memo.late, order, len(memo.room),
            objective.weight, objective.penalty == "l2", memo.radius, memo.clock,
            memo.room, np.zeros(len(memo.room)),
        )  # fmt: skip
        state.oracle_calls += len(order)
        t, share, total = memo.clock
        state.model = memo.w
        if self.averaged:
            state.model = (share * t * memo.w + memo.late) / total
