"""What online solvers share: epochs in random order, the average, one evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import (
    Floats,
    Ints,
    Objective,
    Problem,
    Solver,
    Start,
    State,
    Support,
)
from partwise.solvers._passes import evaluate
from partwise.solvers._pieces import in_pieces
from partwise.solvers._step_log import StepLog


@dataclass
class OnlineMemo:
    """Weights in motion, and what the average and the order of visits need."""

    w: Floats
    sum_offset: Floats  # of the sum of all models, see `_online_compiled.py`
    work: Any
    rng: np.random.Generator
    room: Ints  # codes of the blocks of a batch
    effort: Floats
    n_seen: int = 0
    mistakes: int = 0  # examples that changed w, over all epochs
    clock: Any = None  # Pegasos: see `pegasos_sweep`
    radius: float = np.inf
    log: StepLog = field(default_factory=StepLog)


class Epoch(NamedTuple):
    """The visits of one pass over the data, and the steps that they took."""

    order: Ints  # (n_blocks,) the blocks as they are visited
    indptr: Ints  # where the code of each visit begins
    log: Ints  # codes of the outputs that w was moved away from
    steps: Floats  # (n_blocks,) how far; 0 for none


class Run(NamedTuple):
    """What the visits of an epoch work on."""

    problem: Problem
    objective: Objective
    memo: OnlineMemo
    epoch: Epoch


@dataclass(eq=False, repr=False)
class OnlineSolver(Solver):
    """Epochs in random order, and one evaluation at the end.

    Parameters
    ----------
    max_iter, time_limit, random_state
        Epochs, seconds, and the seed of the order of visits.
    averaged : bool
        Return the average of the models after each visit instead of the last one.
    """

    tol = 1e-3  # never reached without a lower bound
    eps = None

    max_iter: int = 20
    time_limit: float | None = None
    random_state: int = 0
    averaged: bool = True

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """Zero weights, or a copy of the given ones."""
        memo = self._new_memo(problem)
        if start.model is not None:
            memo.w[:] = start.model
        return State(model=memo.w.copy(), memo=memo)

    def _new_memo(self, problem: Problem) -> OnlineMemo:
        longest = int(np.diff(problem.indptr_of(np.arange(problem.n_blocks))).max())
        return OnlineMemo(
            w=problem.zero(),
            sum_offset=problem.zero(),
            work=problem.borrow_work(),
            rng=np.random.default_rng(self.random_state),
            room=np.zeros(longest, np.int32),
            effort=problem.effort(),
            log=StepLog(keeps_order=self.is_voting),
        )

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """One epoch in random order; an epoch without a change is the last."""
        memo: OnlineMemo = state.memo
        order = memo.rng.permutation(problem.n_blocks)
        indptr = problem.indptr_of(order)
        log, steps = np.zeros(indptr[-1], np.int32), np.zeros(len(order))
        run = Run(problem, objective, memo, Epoch(order, indptr, log, steps))
        changes = 0

        def visit(first: int, last: int) -> int:
            nonlocal changes
            changes += int(self.visit(run, first, last))
            return last

        done = in_pieces(memo.effort[order], visit, state)
        seen = memo.n_seen + np.arange(len(order))
        memo.log.add(order, indptr, log, steps, seen)
        memo.mistakes += changes
        memo.n_seen += done
        state.oracle_calls += done
        state.model = (
            memo.w - memo.sum_offset / memo.n_seen if self.averaged else memo.w
        )
        if changes == 0 and done == len(order):
            state.stopped = "converged"
            state.model = memo.w  # w itself is what the epoch has proved

    def visit(self, run: Run, first: int, last: int) -> int:
        """Visit the blocks order[first:last] of an epoch; how many changed w."""
        raise NotImplementedError

    def finish(self, problem: Problem, objective: Objective, state: State) -> None:
        """Evaluate the model once."""
        problem.return_work(state.memo.work)
        evaluate(problem, objective, state)

    def support(self, state: State) -> Support | None:
        """Outputs that w was moved away from, with the coefficients of the model."""
        memo: OnlineMemo = state.memo
        averaged = self.averaged and state.stopped != "converged"
        return memo.log.support(memo.n_seen, averaged=averaged)

    def export(self, state: State) -> dict[str, Any]:
        """Weights, sums, random state."""
        memo: OnlineMemo = state.memo
        return {
            "w": memo.w,
            "late": memo.sum_offset,
            "rng": memo.rng.bit_generator.state,
            "n_seen": memo.n_seen,
            "mistakes": memo.mistakes,
            "clock": memo.clock,
            "radius": memo.radius,
            "log": memo.log.export(),
        }

    def restore(
        self, problem: Problem, objective: Objective, tree: dict[str, Any]
    ) -> OnlineMemo:
        """The memo that `export` described."""
        memo = self._new_memo(problem)
        memo.w[:], memo.sum_offset[:] = tree["w"], tree["late"]
        memo.rng.bit_generator.state = tree["rng"]
        memo.n_seen, memo.mistakes = tree["n_seen"], tree["mistakes"]
        memo.clock, memo.radius = tree["clock"], tree["radius"]
        memo.log.restore(tree["log"])
        return memo
