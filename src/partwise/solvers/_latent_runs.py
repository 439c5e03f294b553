"""Starts, restarts and duals of the rounds of `cccp.py`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from partwise.protocol import (
    Cuts,
    Forking,
    KnownParts,
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
from partwise.state import EXACT


def best_of(
    runs: Sequence[Solver],
    problem: Any,
    objective: Objective,
    start: Any,
    callback: Callable[[State], Any] | None,
    pulse: Callable[[State], Any] | None,
) -> State:
    """The run of smallest objective; `problem` is left with its completions.

    The first one has the start. Runs are parallel where the problem can be forked, and
    one after the other where it cannot; their results are the same.
    """
    clock = time.perf_counter()
    starts = [start] + [None] * (len(runs) - 1)
    states: list[State] = []
    # a fork begins at the first completions, whatever another run has left behind
    is_forked = offers(problem, Forking)
    problems = [problem.fork() if is_forked else problem for _ in runs]
    if is_forked and problem.n_jobs > 1:
        with ThreadPoolExecutor(problem.n_jobs) as threads:
            states += threads.map(
                lambda run, fork, first: run.solve(fork, objective, start=first),
                runs, problems, starts,
            )  # fmt: skip
    else:
        for run, fork, first in zip(runs, problems, starts, strict=True):
            states.append(
                run.solve(fork, objective, start=first, callback=callback, pulse=pulse)
            )
            if states[-1].stopped in ("interrupted", "callback"):
                break
    best = min(states, key=lambda state: state.found)
    problem.complete(best.model)  # depends on the model alone: those of its run
    best.oracle_calls = sum(state.oracle_calls for state in states)
    values = ", ".join(f"{state.found:.6g}" for state in states)
    best.note += f"; best of {len(states)} runs with objectives {values}"
    best.seconds = time.perf_counter() - clock
    return best


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
