"""The certificate in words and as an interval: primal ≥ optimum ≥ dual.

The upper bar of the figure shows the objective to scale from zero, so that the interval
is as small on paper as it is in truth; the lower one enlarges it. Its words are HTML,
not SVG: the shapes stretch with the page, type must not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from partwise.report import svg
from partwise.report.wording import Digits, at_most_percent, bracket, nonfinite, number

if TYPE_CHECKING:
    from partwise.certificate import Certificate

_WIDTH = 1000
_BAR, _BEAM, _BAND = 10, 52, 32  # heights of the bar, the beam and the enlarged band
_PRIMAL_AT = 0.86  # of the bar's length, so that the beam opens to both sides
_EQUAL = 1e-13  # relative; a smaller interval has no width worth drawing
_NOISE = 1e-9  # relative; dual and primal are sums over the data in different orders

_STOPPED = {
    "time limit": "Stopped by the time limit",
    "interrupted": "Interrupted",
    "callback": "Stopped by a callback",
    "max_iter": "Stopped at the maximum number of iterations",
    "search exhausted": "Stopped: the search found nothing more",
    "estimated": "Estimated from counts",
}


@dataclass
class Verdict:
    """The head of the page."""

    headline: str
    explanation: str
    stopped: str
    is_converged: bool
    upper: Digits | None = None
    upper_name: str = "primal"
    upper_meaning: str = "objective of this model"
    lower: Digits | None = None
    lower_name: str = ""
    lower_meaning: str = ""
    width: str = ""
    figure: str = ""
    details: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def verdict(certificate: Certificate, tolerance: float | None = None) -> Verdict:
    """State what a certificate proves, and no more.

    Parameters
    ----------
    certificate : Certificate
    tolerance : float, optional
        Relative gap at which training was asked to stop.
    """
    c = certificate
    name, meaning = _source(c)
    result = Verdict(
        headline="",
        explanation="",
        stopped=_end(c, tolerance),
        is_converged=c.stopped == "converged",
        upper=Digits(number(c.primal, 8), ""),
        details=_details(c, name),
        note=c.note,
    )
    if c.is_generative:
        result.is_converged, result.upper = True, None
        result.headline = "A generative model: nothing was minimised"
        result.explanation = (
            "Its weights are logarithms of relative frequencies in the training data, "
            "so there is neither an objective nor a gap."
        )
        return result
    if nonfinite(c.primal):
        result.upper = Digits("", number(c.primal))
        result.headline = "No finite objective was reached"
        result.explanation = (
            "Training ended before one full pass over the data, "
            "so nothing is known about the distance to the optimum."
        )
        return result
    if c.relative_gap is None:
        result.upper_name, result.upper_meaning = "primal, at least", "heuristic search"
        result.headline = f"The objective is at least {number(c.primal, 5)}"
        result.explanation = (
            "The search for violated outputs was a heuristic: it may have missed worse "
            "ones, so the true objective may be higher and there is no gap."
        )
        return result
    if not c.exact_oracle:
        result.upper_name = "primal, at most"
        result.upper_meaning = "by the bounds of a search that was not exact"
    if (c.dual or 0.0) - c.primal > _NOISE * abs(c.primal):
        result.lower, result.upper = bracket(c.dual or 0.0, c.primal)
        result.lower_name, result.lower_meaning = name, meaning
        result.headline = "The bounds contradict each other"
        result.explanation = (
            "The lower bound lies above the objective of this model, which no "
            "correct solver and oracle can bring about: do not rely on this model."
        )
        return result
    if not name and c.primal > 0:
        result.headline = "Distance to the optimum unknown"
        result.explanation = (
            "No bound above zero is known, so the optimum may be anywhere "
            "between zero and the objective of this model."
        )
        return result
    result.lower, result.upper = bracket(c.lower, c.primal)
    result.lower_name, result.lower_meaning = name, meaning
    if c.relative_gap <= _EQUAL:
        result.headline = "Optimal to working precision"
        result.explanation = (
            "Both bounds agree: no model of this form has a lower objective."
        )
        return result
    result.width = number(c.primal - c.lower, 3)
    result.figure = _figure(c.lower, c.primal)
    most = at_most_percent(c.relative_gap)
    result.headline = f"No other weights lower the objective by more than {most}"
    result.explanation = (
        "The optimum of this training problem lies between the lower bound and "
        "the objective of this model. The relative gap is their distance, divided by "
        "the objective."
    )
    return result


def _end(c: Certificate, tolerance: float | None) -> str:
    """How training ended, and the tolerance."""
    if tolerance is None or c.is_generative or c.relative_gap is None:
        return _STOPPED.get(c.stopped, c.stopped.capitalize())
    target = f"a relative gap of {at_most_percent(tolerance)}"
    if c.stopped == "converged":
        return f"Converged to {target}, as asked for"
    ended = _STOPPED.get(c.stopped, c.stopped.capitalize())
    return f"{ended}; asked for was {target}" if ended else ""


def _source(c: Certificate) -> tuple[str, str]:
    """Name and meaning of the best lower bound; empty where none is above zero."""
    if c.dual is not None and c.dual >= c.lower:
        return "dual", "no model can go lower"
    if c.lower > 0:
        return "lower bound", "from the data alone: primal − ½‖g‖²"
    return "", ""


def _details(c: Certificate, source: str) -> list[tuple[str, str]]:
    if c.is_generative:
        return []
    rows = []
    if c.relative_gap is not None:
        rows.append(("Relative gap", at_most_percent(c.relative_gap)))
    else:
        rows.append(("Relative gap", "none"))
    rows.append(("Oracle calls", number(c.oracle_calls)))
    if c.n_planes:
        rows.append(("Constraints added", number(c.n_planes)))
    rows.append(("Search", c.search))
    if c.search == "bounded":
        rows.append(("Objective, at least", number(c.at_least, 6)))
    if c.is_relaxed:
        rows.append(("Problem", "a relaxation of the training problem"))
    if c.is_local:
        rows.append(("Optimum", "local: that of the hidden parts as last completed"))
    # the figure names the dual where it is the bound drawn
    if c.dual is None:
        rows.append(("Dual", "no dual bound"))
    elif source != "dual" or c.relative_gap is None:
        rows.append(("Dual", number(c.dual, 6)))
    if c.data_bound is not None:
        rows.append(("Bound from the data alone", number(c.data_bound, 3)))
    return rows


def _figure(lower: float, upper: float) -> str:
    """Bar to scale, beam, and the enlarged interval; the page adds the words."""
    at = [v / upper * _PRIMAL_AT * _WIDTH for v in (lower, upper)]
    sliver = max(at[1] - at[0], 2.0)
    left, right = at[1] - sliver, at[1]
    top, bottom = _BAR, _BAR + _BEAM
    beam = [(left, top), (right, top), (_WIDTH, bottom), (0, bottom)]
    shapes = [
        svg.element(
            "rect", {"x": 0, "y": 0, "width": _WIDTH, "height": _BAR, "class": "track"}
        ),
        svg.element(
            "rect", {"x": 0, "y": 0, "width": left, "height": _BAR, "class": "below"}
        ),
        svg.element("path", {"d": svg.path(beam) + "Z", "class": "beam"}),
        svg.element(
            "rect",
            {"x": left, "y": 0, "width": sliver, "height": _BAR, "class": "between"},
        ),
        svg.element(
            "rect",
            {"x": 0, "y": bottom, "width": _WIDTH, "height": _BAND, "class": "between"},
        ),
    ]
    for x, css in ((0, "dual cap"), (_WIDTH, "primal cap")):
        end = {"x1": x, "x2": x, "y1": bottom, "y2": bottom + _BAND, "class": css}
        shapes.append(svg.element("line", end))
    label = (
        f"Interval that holds the optimum: from {number(lower, 8)} to "
        f"{number(upper, 8)}, drawn to scale and enlarged."
    )
    drawn = svg.drawing(_WIDTH, _BAR + _BEAM + _BAND, label, shapes, css="interval")
    return drawn.replace("<svg ", '<svg preserveAspectRatio="none" ', 1)
