"""Progress of a fit: callbacks, lines of text, the estimated share of work done."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.protocol import Solver, State

UNITS = 100  # the work of a fit as scikit-learn's callbacks count it
EVERY = 1.0  # seconds between two lines
# modules of scikit-learn that pass a fit on to a single estimator, or to none
TRANSPARENT = ("sklearn.base", "sklearn.pipeline", "sklearn.callback", "sklearn.utils")


def is_in_search() -> bool:
    """Whether scikit-learn fits several models, of which the present one is one.

    Grid searches, cross-validation and ensembles call `fit` themselves, in the same
    process or in one of theirs. A model that was not trained to its end would be
    compared with others that were.
    """
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("sklearn.") and not name.startswith(TRANSPARENT):
            return True
        frame = frame.f_back
    return False


def share_of_work(solver: Solver, state: State, first: float) -> float:
    """
    Estimate how much of a fit is done, from 0 to 1.

    Gaps close about geometrically, so the share is that of the logarithm of the gap,
    from the first one to the tolerance; or the share of a limit, if that is larger.

    Parameters
    ----------
    solver : Solver
        Its tolerance, or ε, and its limits.
    state : State
    first : float
        The first gap, or violation, that was finite; NaN while there was none.
    """
    shares = [0.0, state.n_iter / solver.max_iter]
    if solver.time_limit is not None:
        shares.append(state.seconds / solver.time_limit)
    target, now = aim(solver, state)
    if 0 < target < first and now > 0:
        shares.append(math.log(first / now) / math.log(first / target))
    return min(1.0, max(shares))


def aim(solver: Solver, state: State) -> tuple[float, float]:
    """The value at which the stopping rule ends the fit, and the present value."""
    if solver.eps is not None:
        return solver.eps, state.violation
    value = state.point().objective
    gap = (value - state.dual) / value if value else np.inf
    return solver.tol, gap


def tell_stage(estimator: Any, text: str) -> None:
    """Tell the callbacks of an estimator what a fit does besides iterations."""
    for listener in getattr(estimator, "_skl_callbacks", ()):
        if hasattr(listener, "on_stage"):
            listener.on_stage(text)


class FitProgress:
    """
    Reports of a fit to scikit-learn's callbacks, and as lines of text.

    The task of a fit has `UNITS` tasks: one, ``"iterations"``, holds a task
    ``"iteration"`` with metadata for each of them; the others, ``"share"``, end as the
    estimated work is done, so that bars that count tasks move evenly.

    Parameters
    ----------
    estimator : StructuredEstimator
    solver : Solver
    """

    def __init__(self, estimator: Any, solver: Solver) -> None:
        self.estimator = estimator
        self.solver = solver
        self.callbacks = getattr(estimator, "_skl_callbacks", ())
        self.first = math.nan
        self.done = 0  # units
        self.next_line = 0.0
        self.last_line = 0  # iteration
        self.root = estimator._init_callback_context(max_subtasks=UNITS)
        self.root.call_on_fit_task_begin(estimator=estimator)
        self.iterations = self.root.subcontext("iterations", max_subtasks=None)
        self.iterations.call_on_fit_task_begin(estimator=estimator)

    @property
    def report(self) -> Callable[[State], bool] | None:
        """What the solver calls after each iteration."""
        return self._report if self.callbacks or self.estimator.verbose else None

    @property
    def pulse(self) -> Callable[[State], None] | None:
        """What the solver calls within an iteration; None without callbacks for it."""
        listeners = [each for each in self.callbacks if hasattr(each, "on_pulse")]
        if not listeners:
            return None

        def call(state: State) -> None:
            for listener in listeners:
                listener.on_pulse(state.n_iter + 1, state.share)

        return call

    def stage(self, text: str, seconds: float) -> None:
        """Tell what begins after the iterations, where it may take a while.

        Parameters
        ----------
        text : str
        seconds : float
            That the iterations took.
        """
        tell_stage(self.estimator, text)
        if self.estimator.verbose and seconds >= EVERY:
            print(f"[{self._name()}] {text}", flush=True)

    def end(self, state: State) -> None:
        """The last line, and the end of all tasks."""
        if self.estimator.verbose:
            if self.last_line < state.n_iter:
                self._print(state)
            reached = state.stopped in ("converged", "search exhausted")
            ending = state.stopped if reached else f"stopped: {state.stopped}"
            print(f"[{self._name()}] {ending}", flush=True)
        self.iterations.call_on_fit_task_end(estimator=self.estimator)
        self.root.call_on_fit_task_end(estimator=self.estimator)

    def _report(self, state: State) -> bool:
        verbose = self.estimator.verbose
        if verbose and (verbose > 1 or state.seconds >= self.next_line):
            self.next_line = state.seconds + EVERY
            self._print(state)
        if not self.callbacks:
            return False
        _, gap = aim(self.solver, state)
        if math.isnan(self.first) and math.isfinite(gap):
            self.first = gap
        units = int((UNITS - 1) * share_of_work(self.solver, state, self.first))
        while self.done < units:
            self.done += 1
            unit = self.root.subcontext("share")
            unit.call_on_fit_task_begin(estimator=self.estimator)
            unit.call_on_fit_task_end(estimator=self.estimator)
        task = self.iterations.subcontext("iteration")
        task.call_on_fit_task_begin(estimator=self.estimator)
        value = state.point().objective
        metadata = {
            "iteration": state.n_iter,
            "objective": value,
            "is_estimate": not np.isfinite(state.primal),
            "bound": state.dual,
            "gap": (value - state.dual) / value if value else np.inf,
            "seconds": state.seconds,
            "oracle_calls": state.oracle_calls,
        }
        return bool(
            task.call_on_fit_task_end(estimator=self.estimator, metadata=metadata)
        )

    def _name(self) -> str:
        return type(self.estimator).__name__

    def _print(self, state: State) -> None:
        self.last_line = state.n_iter
        value = state.point().objective
        about = "" if np.isfinite(state.primal) else "≈"
        gap = (value - state.dual) / value if value else np.inf
        parts = [f"iteration {state.n_iter}"]
        if np.isfinite(value):
            parts.append(f"objective {about}{value:.6g}")
        if np.isfinite(state.dual):
            parts.append(f"bound {state.dual:.6g}")
        if np.isfinite(gap):
            parts.append(f"gap {about}{gap:.2%}")
        parts.append(f"{state.oracle_calls:,} oracle calls")
        parts.append(f"{state.seconds:.1f} s")
        print(f"[{self._name()}] {', '.join(parts)}", flush=True)
