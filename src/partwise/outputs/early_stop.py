"""Warnings about fits that ended before their tolerance."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from partwise.certificate import Certificate
from partwise.parameters import level_of_caller, worded_warning
from partwise.protocol import Solver, State


class InterruptedFitWarning(UserWarning):
    """Ctrl-C has ended a fit; the model is the best one found until then."""


def warn_of_early_stop(solver: Solver, state: State, certificate: Certificate) -> None:
    """Say what a fit has reached that was interrupted or came to a limit."""
    name, gap = type(solver).__name__, certificate.relative_gap
    if state.stopped == "interrupted":
        reached = "" if gap is None else f", at a relative gap of {gap:.2%}"
        text = (
            f"{name} was interrupted after {state.n_iter} iterations; the model is the "
            f"best until then{reached}"
        )
        warnings.warn(InterruptedFitWarning(text), stacklevel=level_of_caller())
    if state.stopped in ("max_iter", "time limit") and np.isfinite(state.dual):
        reached = "without a known gap"
        if gap is not None:
            reached = f"at a relative gap of {gap:.2%}"
        limit = state.stopped.replace("max_iter", "<max_iter>")
        text = (
            f"{name} stopped by {limit} {reached}; raise <max_iter> or <time_limit>, "
            "or accept a larger <tol>"
        )
        warning = worded_warning(ConvergenceWarning, text)
        warnings.warn(warning, stacklevel=level_of_caller())
