"""Full passes of the oracle, in pieces: they report progress and end when time is over.

Rows are searched one by one whatever the pieces, so the bits do not depend on them.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from partwise.protocol import Cuts, Model, Objective, Problem, State, join

PIECE = 0.25  # seconds of a piece, about
GRACE = 0.5  # seconds that a last evaluation may take beyond the time limit


class Pass(NamedTuple):
    """Cuts of all blocks at one model, and what they say about its objective."""

    cuts: Cuts
    primal: float  # at most, by bounds
    found: float  # at least, by violations


def full_pass(
    problem: Problem,
    objective: Objective,
    model: Model,
    state: State,
    *,
    is_last: bool = False,
) -> Pass | None:
    """Ask every block; None when the time was over before the end.

    `is_last` finishes in any case.
    """
    cuts = ask_all(problem, model, state, is_last=is_last)
    if cuts is None:
        return None
    square = problem.dot(model, model)
    return Pass(
        cuts,
        objective.primal(square, cuts.bound),
        objective.primal(square, cuts.violation),
    )


def ask_all(
    problem: Problem, model: Model, state: State, *, is_last: bool = False
) -> Cuts | None:
    """The most violated plane of each block, see `full_pass`."""
    n = problem.n_blocks
    effort = np.concatenate([[0.0], np.cumsum(problem.effort())])
    pieces: list[Cuts] = []
    first, speed = 0, effort[-1] / 16 / PIECE
    while first < n:
        began = time.perf_counter()
        reach = effort[first] + speed * PIECE
        last = int(np.searchsorted(effort, reach, side="right")) - 1
        last = min(max(last, first + 1), n)
        rows = None if last - first == n else np.arange(first, last)
        pieces.append(problem.oracle(model, rows))
        state.oracle_calls += last - first
        spent = max(time.perf_counter() - began, 1e-6)
        speed = min((effort[last] - effort[first]) / spent, 8 * speed)
        first = last
        if first < n and state.is_late(first / n) and not is_last:
            return None
    return join(pieces)
