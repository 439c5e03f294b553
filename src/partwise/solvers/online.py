"""Online solvers: perceptron, MIRA and Pegasos.

Each visits examples in random order and changes w at once (`_online_epochs.py`). None
has a dual bound: it stays −∞, and the primal is evaluated once, after training.
Perceptron and MIRA count how often each output was stepped away from, α_i(ŷ) of the
dual perceptron (Altun, Tsochantaridis, Hofmann, ICML 2003, Algorithm 1), so their
support structures can be shown: the model is Σ α δ.

Perceptron
    w += δ(ŷ), ŷ the prediction, where ŷ is wrong. Stops after an epoch without mistake.
    When some unit vector separates all wrong outputs by γ, it makes at most
    max‖δ‖²/γ² mistakes (Novikoff; Collins, EMNLP 2002, Theorem 1).
Voted perceptron
    The same changes of w; each model predicts and has one vote for every visit after
    which it was the current one. Freund, Schapire, Machine Learning 1999; Collins,
    Duffy, ACL 2002 (reranking). The averaged perceptron approximates it by one model.
MIRA
    w moves as little as possible to satisfy the most violated cuts of the example,
    min ½‖w − w_t‖² + c_i ξ: with one cut, α = min(c_i, violation/‖a‖²); L2 penalties
    have α = violation/(‖a‖² + 1/c_i), hard margins and ``slack=False`` no cap. Stops
    after an epoch in which every cut was satisfied. Crammer, Dekel, Keshet,
    Shalev-Shwartz, Singer, JMLR 2006 (one cut: PA-I, PA-II, section 10); McDonald,
    Crammer, Pereira, ACL 2005 (k cuts).
Pegasos
    w ← (1 − 1/t)w + (1/t)(n/|B|) Σ_{i ∈ B} m_i a_i, a subgradient step on P(w) of
    length 1/t with masses m_i = c_i, or c_i ξ_i for L2. The average of the models,
    weighted by t, converges at rate 1/t. The optimum has ‖w‖² ≤ P(0), the ball of the
    projection. Shalev-Shwartz, Singer, Srebro, ICML 2007; Lacoste-Julien,
    Schmidt, Bach, arXiv:1212.2002 (weighted average).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwise.parameters import SettingsError
from partwise.protocol import (
    CapabilityError,
    KBest,
    Objective,
    Problem,
    Start,
    State,
    Votes,
    refuse_lacking,
)
from partwise.solvers import _online_compiled as kernels
from partwise.solvers._online_epochs import OnlineMemo, OnlineSolver, Run
from partwise.solvers._pieces import in_pieces


@dataclass(eq=False, repr=False)
class Perceptron(OnlineSolver):
    """Averaged structured perceptron; its parameters are those of `OnlineSolver`.

    Examples
    --------
    >>> from partwise.solvers.online import Perceptron
    >>> Perceptron(max_iter=5)
    Perceptron(max_iter=5, time_limit=None, random_state=0, averaged=True)
    """

    penalties = ("l1", "l2")  # it seeks no margin, so it reaches no hard one

    def visit(self, run: Run, first: int, last: int) -> int:
        """One step of each block whose prediction is wrong."""
        problem, memo, epoch = run.problem, run.memo, run.epoch
        return kernels.perceptron_sweep(
            problem.blocks, problem.plain_blocks, memo.work, memo.w, memo.sum_offset,
            epoch.order, first, last, memo.n_seen, *epoch[1:],
        )  # fmt: skip


class VotedPerceptron(Perceptron):
    """Perceptron whose models vote (`Reranker`).

    A vote needs the prediction of each model, as many as there were mistakes. Among
    given candidates they are cheap: each mistake adds a number to the score of each
    candidate. Other outputs would need a search per model, so estimators of them refuse
    it; there, ``Perceptron(averaged=True)`` stands in.

    Parameters
    ----------
    max_iter, time_limit, random_state
        Epochs, seconds, and the seed of the order of visits.
    averaged : bool
        Which single model the certificate is about: the average, or the last one.
    """

    is_voting = True

    def votes(self, state: State) -> Votes:
        """All models, as steps from one to the next, with their votes."""
        memo: OnlineMemo = state.memo
        return memo.log.votes(memo.n_seen)


@dataclass(eq=False, repr=False)
class MIRA(OnlineSolver):
    """Margin-infused relaxed algorithm (passive-aggressive updates).

    Parameters
    ----------
    max_iter, time_limit, random_state, averaged
        See `OnlineSolver`.
    k : int
        Cuts per visit; more than one needs a problem with k-best outputs.
    augmented : bool
        Take the most violated outputs. False, for k = 1 only: the prediction, with the
        margin of its loss.
    slack : bool
        Allow slack, which caps a step at c_i. False is the form of 003 eq. 6.1: each
        step satisfies its cuts, whatever C.
    """

    k: int = 1
    augmented: bool = True
    slack: bool = True

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """Several cuts need k-best outputs; predictions need a margin of size Δ."""
        super().refuse(problem, objective)
        if self.k < 1:
            raise ValueError(f"k={self.k!r}: give a positive number of outputs")
        if self.k > 1:
            refuse_lacking(problem, KBest, f"MIRA(k={self.k})", "use k=1")
        if not self.augmented and (self.k > 1 or not problem.formulation.is_additive):
            raise CapabilityError(
                "MIRA(augmented=False) runs k=1, <formulation='margin'>, <penalty='l1'>"
            )

    def visit(self, run: Run, first: int, last: int) -> int:
        """The least change of w that satisfies the cuts of each block."""
        problem, objective, memo, epoch = run
        cap, ridge = objective.cap(), objective.ridge()
        if not self.slack:
            cap, ridge = np.full(len(cap), np.inf), np.zeros(len(ridge))
        scratch = problem.zero()
        if self.k == 1:
            return kernels.mira_sweep(
                problem.blocks, problem.plain_blocks, memo.work, memo.w,
                memo.sum_offset, scratch, epoch.order, first, last, cap, ridge,
                self.augmented, memo.n_seen, *epoch[1:],
            )  # fmt: skip
        assert isinstance(problem, KBest)
        size = self.k + 1
        room = np.zeros((size, size)), np.zeros(size), np.zeros(size)
        changes = 0
        for q in range(first, last):
            i = epoch.order[q]
            cuts = problem.k_cuts(memo.w, epoch.order[q : q + 1], self.k)
            is_changed = kernels.mira_update(
                problem.blocks, memo.w, memo.sum_offset, scratch, i, cuts, cap[i],
                ridge[i], memo.n_seen + q, *room,
            )  # fmt: skip
            if is_changed:
                changes += 1
                alpha = room[2][: len(cuts.b)] * cuts.scale
                seen = np.full(len(alpha), memo.n_seen + q)
                memo.log.add(cuts.block, cuts.indptr, cuts.code, alpha, seen)
        return changes


@dataclass(eq=False, repr=False)
class Pegasos(OnlineSolver):
    """Stochastic subgradient descent on the primal.

    Parameters
    ----------
    max_iter, time_limit, random_state
        See `OnlineSolver`.
    averaged : bool
        Return the average of the models, weighted by t, instead of the last one.
    batch : int
        Examples per step. A step also costs one pass over the weights, so small
        batches pay only where there are few weights.
    project : bool
        Keep w in the ball that is known to hold the optimum. Without it the first steps
        may go far from the optimum, above all for L2, whose subgradients grow with w.
        Kernel models do without.
    """

    penalties = ("l1", "l2")

    max_iter: int = 50
    batch: int = 64
    project: bool = True

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """A given start counts as much as one epoch; else the first step sets w."""
        state = super().begin(problem, objective, start)
        memo: OnlineMemo = state.memo
        steps = 0.0 if start.model is None else -(-problem.n_blocks // len(memo.room))
        memo.clock = np.array([steps, 0.0, 0.0])
        if self.project and problem.is_euclidean:  # the kernel's norm costs a pass
            cuts = problem.oracle(problem.zero())
            state.oracle_calls += problem.n_blocks
            memo.radius = np.sqrt(objective.primal(0.0, cuts.violation))
        return state

    def refuse(self, problem: Problem, objective: Objective) -> None:
        """Refuse an empty batch, too."""
        super().refuse(problem, objective)
        if self.batch < 1:
            raise SettingsError(
                f"<batch={self.batch!r}>: give a positive number of examples"
            )

    def _new_memo(self, problem: Problem) -> OnlineMemo:
        memo = super()._new_memo(problem)
        batch = min(self.batch, problem.n_blocks)
        memo.room = np.zeros((batch, len(memo.room)), np.int32)
        return memo

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """One epoch of batches."""
        memo: OnlineMemo = state.memo
        order = memo.rng.permutation(problem.n_blocks)
        batch, coefs = len(memo.room), np.zeros(len(memo.room))

        def visit(first: int, last: int) -> int:
            kernels.pegasos_sweep(
                problem.blocks, memo.work, memo.w, memo.sum_offset, order, first, last,
                batch, objective.weight, objective.penalty == "l2", memo.radius,
                memo.clock, memo.room, coefs,
            )  # fmt: skip
            return last

        state.oracle_calls += in_pieces(memo.effort[order], visit, state, batch)
        t, share, total = memo.clock
        state.model = memo.w
        if self.averaged:
            state.model = (share * t * memo.w + memo.sum_offset) / total

    def support(self, state: State) -> None:
        """None: every step shrinks every coefficient."""
        return None
