"""Full passes of the oracle, in pieces: they report progress and end when time is over.

Rows are searched one by one whatever the pieces, so the bits do not depend on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partwise.protocol import Cuts, Model, Objective, Problem, State, join
from partwise.solvers._pieces import in_pieces

PIECE = 0.25  # seconds of a piece, about
GRACE = 0.5  # seconds that a last evaluation may take beyond the time limit


class Pass(NamedTuple):
    """Cuts of all blocks at one model, and its objective by them."""

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


def evaluate(problem: Problem, objective: Objective, state: State) -> Cuts:
    """Set the objective of the model of `state` by a full pass; returns its cuts."""
    evaluation = full_pass(problem, objective, state.model, state, is_last=True)
    assert evaluation is not None
    state.primal, state.found = evaluation.primal, evaluation.found
    return evaluation.cuts


def ask_all(
    problem: Problem, model: Model, state: State, *, is_last: bool = False
) -> Cuts | None:
    """The most violated plane of each block, see `full_pass`."""
    n = problem.n_blocks
    pieces: list[Cuts] = []

    def ask(first: int, last: int) -> int:
        rows = None if last - first == n else np.arange(first, last)
        pieces.append(problem.oracle(model, rows))
        state.oracle_calls += last - first
        return last

    done = in_pieces(problem.effort(), ask, state, seconds=PIECE, is_last=is_last)
    return join(pieces) if done == n else None
