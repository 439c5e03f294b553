"""Progress of training: objective, bound, relative gap and time."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from partwise.cli.output import percent, say, shown

FIRST_LINE = 2.0  # seconds without a line
SLOWER = 1.3  # how the interval between lines grows
LAST_LINE = 60.0  # seconds, to which it grows


class Pace:
    """When lines are due: first after two seconds, later at growing intervals."""

    def __init__(self) -> None:
        self._interval = FIRST_LINE
        self._last = time.perf_counter()

    def is_due(self) -> bool:
        """Whether it is time for the next line."""
        return time.perf_counter() - self._last >= self._interval

    def step(self) -> None:
        """A line has been shown."""
        if self.is_due():
            self._interval = min(SLOWER * self._interval, LAST_LINE)
        self._last = time.perf_counter()


class GapBar:
    """A scikit-learn callback that shows how the duality gap closes.

    On a terminal it is a bar that runs from a gap of 100 % to `tol` on a logarithmic
    scale; elsewhere a line after the first iteration, and then every few seconds, at
    growing intervals, also within an iteration.

    Parameters
    ----------
    tol : float
        Relative gap at which training will stop.
    begin : callable, optional
        Called after each iteration: from the first on there is a model.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> tagger = SequenceTagger(tol=0.01)
    >>> tagger.set_callbacks(GapBar(0.01))  # doctest: +SKIP
    """

    def __init__(
        self, tol: float = 1e-3, begin: Callable[[], None] | None = None
    ) -> None:
        self.tol = tol
        self.begin = begin
        self._bar: Any = None
        self._pace = Pace()
        self._last = 0
        self._n_runs = 1
        self._began = time.perf_counter()

    def setup(self, estimator: Any, context: Any) -> None:
        """Called before the fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Start the bar with the first iteration, after features were made."""
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        if context.parent is not None and self._bar is None and is_terminal:
            self._start()

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, metadata: Any = None
    ) -> None:
        """Show where training stands."""
        if not metadata:
            return
        if self.begin is not None:
            self.begin()
        if metadata["iteration"] <= self._last:  # a model of labels, or a new start
            self._pace = Pace()
            self._n_runs += 1
            if self._bar is None:
                say(f"run {self._n_runs} of the solver")
        self._last = metadata["iteration"]
        are_finite = map(math.isfinite, (metadata["objective"], metadata["bound"]))
        if not any(are_finite):  # a generative model has neither
            return
        gap = metadata["gap"]
        mark = "≈" if metadata["is_estimate"] else ""
        text = (
            f"objective {mark}{_value(metadata['objective'])}  "
            f"bound {_value(metadata['bound'])}  "
            f"gap {_share_of(gap, mark)}"
        )
        if self._bar is not None:
            self._bar.update(0, completed=self._share(gap), figures=text)
        elif metadata["iteration"] == 1 or self._pace.is_due():
            self._pace.step()
            say(f"iteration {metadata['iteration']}: {text}")

    def on_pulse(self, iteration: int, share: float) -> None:
        """Show that a long iteration moves."""
        step = f"iteration {iteration}, {share:.0%}"
        if self._bar is not None:
            self._bar.update(0, step=step)
        elif self._pace.is_due():
            self._pace.step()
            say(step)

    def on_stage(self, text: str) -> None:
        """Show what begins after the iterations, if training was not over at once."""
        if self._bar is not None:
            self._bar.update(0, step=text)
        elif time.perf_counter() - self._began > FIRST_LINE:
            say(text)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Leave the last state on the screen."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            BarColumn(bar_width=None),  # the rest of the line
            TextColumn("{task.fields[figures]}", markup=False),
            TextColumn("{task.fields[step]}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            expand=True,
        )
        self._bar.add_task("training", total=1.0, figures="", step="")
        self._bar.start()

    def _share(self, gap: float) -> float:
        if not 0 < gap < 1 or not 0 < self.tol < 1:
            return 0.0 if gap else 1.0
        return min(1.0, math.log(gap) / math.log(self.tol))


class GramProgress:
    """Prints the cost of a Gram matrix before it is computed, then its progress.

    Parameters
    ----------
    interval : float
        Seconds between two lines.
    """

    def __init__(self, interval: float = 5.0) -> None:
        self.interval = interval
        self._next = interval

    def begin(self, estimate: Any) -> None:
        """Time and memory of the matrix, unless it takes neither a second nor 10 MB."""
        if max(estimate.seconds, 1e-7 * estimate.bytes) >= 1.0:
            say(f"Gram matrix: {estimate}")

    def __call__(self, progress: Any) -> None:
        """A line every `interval` seconds."""
        if progress.seconds >= self._next and progress.done < 1:
            self._next = progress.seconds + self.interval
            say(
                f"Gram matrix: {percent(progress.done)}, about "
                f"{progress.remaining:.0f} s left"
            )


def _share_of(gap: float, mark: str) -> str:
    text = percent(gap) if math.isfinite(gap) else "–"
    return text if text.startswith("below") else mark + text


def _value(number: float) -> str:
    return shown(number, 5) if math.isfinite(number) else "–"
