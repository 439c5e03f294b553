"""Starts, restarts and duals of the rounds of `cccp.py`."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from partwise.protocol import (
    Checkpoint,
    Cuts,
    Forking,
    HistoryPoint,
    KnownParts,
    Latent,
    Likelihood,
    Model,
    Objective,
    RandomStarts,
    Solver,
    Start,
    State,
    Support,
    offers,
)
from partwise.solvers._passes import evaluate
from partwise.solvers.lbfgs import LBFGS
from partwise.state import EXACT


@dataclass
class Runs:
    """Runs that have ended, and the memo of the one under way, for a checkpoint."""

    values: list[float] = field(default_factory=list)  # their objectives
    oracle_calls: int = 0
    seconds: float = 0.0
    best: State | None = None
    memo: Any = None

    def add(self, state: State) -> None:
        """Keep the results of a run, and its state if it is the best so far."""
        self.values.append(float(state.found))
        self.oracle_calls += state.oracle_calls
        self.seconds += state.seconds
        if self.best is None or state.found < self.best.found:
            self.best = state


class RunCheckpoint:
    """The checkpoint of several runs, one after the other, for the one under way.

    Parameters
    ----------
    place : Checkpoint
    whole : Solver
        The solver of all runs, which exports and restores `Runs`.
    problem, objective
    """

    def __init__(
        self, place: Checkpoint, whole: Solver, problem: Any, objective: Objective
    ) -> None:
        self.place, self.whole = place, whole
        self.runs = Runs()
        self.result: State | None = None  # of all runs
        self._last = place.resume(whole, problem, objective)
        if self._last is not None and self._last.stopped is not None:
            self.result = self._last
        elif self._last is not None:
            self.runs, self._last.memo = self._last.memo, self._last.memo.memo
            self._last.seconds -= self.runs.seconds

    def resume(
        self, solver: Solver, problem: Any, objective: Objective
    ) -> State | None:
        """The state of the run that was under way, once."""
        state, self._last = self._last, None
        return state

    def keep(self, solver: Solver, state: State) -> None:
        """Store the runs that have ended with the state of this one."""
        stored = copy.copy(state)
        stored.memo = replace(self.runs, memo=state.memo)
        stored.seconds += self.runs.seconds
        self.place.keep(self.whole, stored)

    def end(self, solver: Solver, state: State) -> None:
        """The last of the runs is stored by `best_of`."""


def best_of(
    runs: Sequence[Solver],
    problem: Any,
    objective: Objective,
    start: Any,
    callback: Callable[[State], Any] | None,
    pulse: Callable[[State], Any] | None,
    time_limit: float | None = None,
    checkpoint: RunCheckpoint | None = None,
) -> State:
    """The run of smallest objective; `problem` is left with its completions.

    The first one has the start. Runs are parallel where the problem can be forked, and
    one after the other where it cannot, or with a checkpoint; their results are the
    same. Runs share the seconds that are left, and those that find none left are not
    begun.
    """
    clock = time.perf_counter()
    starts = [start] + [None] * (len(runs) - 1)
    done = Runs() if checkpoint is None else checkpoint.runs
    clock -= done.seconds
    # a fork begins at the first completions, whatever another run has left behind
    is_forked = offers(problem, Forking) and checkpoint is None
    n_at_once = problem.n_jobs if is_forked else 1

    def work(r: int, **reporting: Any) -> State | None:
        run = runs[r]
        if time_limit is not None:
            left = clock + time_limit - time.perf_counter()
            if r and left <= 0:
                return None
            n_turns = -(-(len(runs) - r) // n_at_once)
            run.time_limit = max(left / n_turns, 1e-3)
        return run.solve(problems[r], objective, start=starts[r], **reporting)

    problems = [problem.fork() if is_forked else problem for _ in runs]
    if n_at_once > 1:
        with ThreadPoolExecutor(n_at_once) as threads:
            for state in threads.map(work, range(len(runs))):
                if state is not None:
                    done.add(state)
    else:
        for r in range(len(done.values), len(runs)):
            state = work(r, callback=callback, pulse=pulse, checkpoint=checkpoint)
            if state is None:
                break
            done.add(state)
            if state.stopped in ("interrupted", "callback"):
                break
    best, n_runs = done.best, len(done.values)
    assert best is not None
    problem.complete(best.model)  # depends on the model alone: those of its run
    best.oracle_calls = done.oracle_calls
    if n_runs > 1:
        values = ", ".join(f"{value:.6g}" for value in done.values)
        note = f"best of {n_runs} runs with objectives {values}"
        best.note = "; ".join(filter(None, (best.note, note)))
    if n_runs < len(runs) and best.stopped == "converged":
        best.stopped = "time limit"
    best.seconds = time.perf_counter() - clock
    return best


NUMBERS = (
    "primal", "found", "dual", "n_iter", "oracle_calls", "n_planes", "seconds",
)  # fmt: skip


def export_runs(whole: Solver, runs: Runs) -> dict[str, Any]:
    """Runs that have ended, for a checkpoint."""
    tree = {"values": runs.values, "calls": runs.oracle_calls, "seconds": runs.seconds}
    best = runs.best
    if best is None:
        return tree | {"best": None}
    kept = {name: getattr(best, name) for name in (*NUMBERS, "stopped", "note")}
    history = np.array(best.history, np.float64).reshape(-1, 5)
    memo = whole.export(best)
    return tree | {
        "best": kept | {"model": best.model, "memo": memo, "history": history}
    }


def restore_runs(
    whole: Solver, problem: Any, objective: Objective, tree: dict[str, Any]
) -> Runs:
    """The runs that `export_runs` described."""
    runs = Runs(list(tree["values"]), tree["calls"], tree["seconds"])
    if (kept := tree["best"]) is not None:
        best = runs.best = State(kept["model"])
        for name in (*NUMBERS, "stopped", "note"):
            setattr(best, name, kept[name])
        best.history = [HistoryPoint(*row) for row in kept["history"].tolist()]
        best.memo = whole.restore(problem, objective, kept["memo"])
    return runs


class LatentLBFGS(LBFGS):
    """L-BFGS for the likelihood of what is known of truths with hidden parts.

    With the hidden parts h of a truth distributed as q_i = P(h | x_i, y_i) by a model
    w, the function

        U(w') = ½‖w'‖² + Σ c_i (log Z_i(w') − E_q <w', φ(x_i, y_i, h)> − H(q_i))

    of w' is convex with losses that are not negative, lies above P, and touches P at w
    with the same gradient. The bounds of `LBFGS` are those of min U: no weights do
    better with these distributions of the hidden parts. They hold at w alone, so that
    earlier ones are forgotten.
    """

    needs = (Likelihood, Latent)  # type: ignore[assignment]

    @classmethod
    def of(cls, settings: dict[str, Any]) -> LatentLBFGS:
        """With those of the settings that it has, None for the usual ones."""
        known = {name: settings.get(name) for name in cls._names()}
        return cls(**{k: v for k, v in known.items() if v is not None})

    def _accept(self, problem: Any, state: State, *values: Any) -> None:
        state.dual = -np.inf
        super()._accept(problem, state, *values)


def learn_known(
    problem: Any, objective: Objective, convex: Solver, state: State
) -> Model | None:
    """The model of the problem's known parts, None without: see `KnownParts`."""
    if not offers(problem, KnownParts):
        return None
    known, block = problem.known_problem()
    weighted = objective._replace(weight=objective.weight[block])
    solved = convex.solve(known, weighted)
    state.oracle_calls += solved.oracle_calls
    return solved.model


def complete_at_random(problem: Any, seed: int) -> None:
    """Complete by the problem's own draw, or at a model of normal random numbers."""
    rng = np.random.default_rng(seed)
    if offers(problem, RandomStarts):
        problem.complete_at_random(rng)
        return
    model = problem.zero()
    model[:] = rng.normal(size=model.shape)
    problem.complete(model)


def follow_truths(
    problem: Any,
    objective: Objective,
    state: State,
    old_truths: Cuts,
    *,
    is_current: bool,
) -> None:
    """Change the objective of a state from the old completions to the new ones.

    `is_current` says whether its value is that of the old ones, with all weights.
    """
    is_exact = abs(state.primal - state.found) <= EXACT * abs(state.found)
    if is_current and problem.formulation.is_additive and is_exact:
        # a better completion is an output without loss, which the search has scored
        gain = problem.margins(state.model, old_truths)
        drop = float(np.sum(objective.weight[old_truths.block] * gain))
        state.primal, state.found = state.primal - drop, state.found - drop
    elif len(old_truths.block) or not is_current:
        evaluate(problem, objective, state)


def start_of(problem: Any, model: Model, support: Support | None) -> Start:
    """Model and planes of this problem; the model alone where planes have no keys."""
    keys = problem.keys()
    if support is None or keys is None:
        return Start(model)
    return Start(model, support, keys, problem.portable_outputs(support.cuts))


def export_last(convex: Solver, last: State | Start) -> dict[str, Any]:
    """Where the next convex solve begins, for a checkpoint."""
    memo = support = None
    if isinstance(last, State):
        memo = convex.export(last)
    elif last.support is not None:
        support = last.support.cuts._asdict() | {"alpha": last.support.alpha}
    return {"model": last.model, "memo": memo, "support": support}


def restore_last(
    problem: Any, objective: Objective, convex: Solver, tree: dict[str, Any]
) -> State | Start:
    """What `export_last` gave, the truths completed as they were at that model."""
    model, support = tree["model"], tree["support"]
    problem.complete(model)
    if tree["memo"] is not None:  # of a round with all weights, see `CCCP.step`
        return State(model, memo=convex.restore(problem, objective, tree["memo"]))
    if support is None:
        return Start(model)
    planes = Support(Cuts(*(support[name] for name in Cuts._fields)), support["alpha"])
    return start_of(problem, model, planes)


def local_dual(
    problem: Any, objective: Objective, convex: Solver, solved: State, old_truths: Cuts
) -> float:
    """A lower bound for the convex problem at the new completions."""
    if not len(old_truths.block):
        return solved.dual
    support = convex.support(solved)
    if support is None:
        return -np.inf
    cuts, alpha = support
    model = problem.combine(cuts, alpha)
    offset, mass = (
        np.bincount(cuts.block, each, problem.n_blocks).astype(np.float64)
        for each in (alpha * cuts.b, alpha)
    )
    return objective.dual(problem.dot(model, model), offset, mass)
