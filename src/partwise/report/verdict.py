"""The certificate in words and as an interval: primal ≥ optimum ≥ dual.

The upper bar of the figure shows the objective to scale from zero (or from a
negative bound), so that the interval is as small on paper as it is in truth; the
lower one enlarges it. Its words are HTML, not SVG: the shapes stretch with the
page, type must not.
"""

import math
from dataclasses import dataclass, field

from partwise.report import svg
from partwise.report.content import Certificate
from partwise.report.wording import (
    Digits,
    at_most_percent,
    bracket,
    nonfinite,
    number,
)

_WIDTH = 1000
_BAR, _BEAM, _BAND = 10, 52, 32  # heights of the bar, the beam and the enlarged band
_PRIMAL_AT = 0.86  # of the bar's length, so that the beam opens to both sides
_EQUAL = 1e-13  # relative; a smaller interval has no width worth drawing
_NOISE = 1e-9  # relative; dual and primal are sums over the data in different orders

_STOPPED = {
    "converged": "Converged",
    "time limit": "Stopped by the time limit",
    "interrupted": "Interrupted",
    "callback": "Stopped by a callback",
    "max_iter": "Stopped at the maximum number of iterations",
    "search exhausted": "Stopped: the search found nothing more",
}


@dataclass
class Verdict:
    """What the head of the page says."""

    headline: str
    explanation: str
    stopped: str
    is_converged: bool
    upper: Digits
    upper_name: str
    upper_meaning: str
    lower: Digits | None = None
    lower_name: str = ""
    lower_meaning: str = ""
    width: str = ""
    start: str = ""
    figure: str = ""
    details: list[tuple[str, str]] = field(default_factory=list)
    note: str = ""


def verdict(certificate: Certificate) -> Verdict:
    """State what a certificate proves, and no more."""
    c = certificate
    lower, source = _lower_bound(c)
    is_bound = c.exact_oracle or c.at_most is not None or c.gap is not None
    has_dual_drawn = source[0] == "dual" and is_bound and math.isfinite(c.primal)
    result = Verdict(
        headline="",
        explanation="",
        stopped=_STOPPED.get(c.stopped, c.stopped),
        is_converged=c.stopped == "converged",
        upper=Digits(number(c.primal, 8), ""),
        upper_name="primal",
        upper_meaning="objective of this model",
        details=_details(c, has_dual_drawn),
        note=c.note,
    )
    if nonfinite(c.primal):
        result.upper = Digits("", number(c.primal))
        result.headline = "No finite objective was reached"
        result.explanation = (
            "Training ended before one full pass over the data, "
            "so nothing is known about the distance to the optimum."
        )
        return result
    if not is_bound:
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
    if lower is None:
        result.headline = "Distance to the optimum unknown"
        result.explanation = (
            "The solver gives no lower bound, so the optimum may be anywhere "
            "between zero and the objective of this model."
        )
        return result
    result.lower, result.upper = bracket(lower, c.primal)
    result.lower_name, result.lower_meaning = source
    if lower - c.primal > _NOISE * abs(c.primal):
        result.headline = "The bounds contradict each other"
        result.explanation = (
            "The lower bound lies above the objective of this model, which no "
            "correct solver and oracle can bring about: do not rely on this model."
        )
        return result
    if c.primal - lower <= _EQUAL * abs(c.primal):
        result.headline = "Optimal to working precision"
        result.explanation = (
            "Both bounds agree: no model of this form has a lower objective."
        )
        return result
    result.width = number(c.primal - lower, 3)
    result.start = number(min(0.0, lower), 3)
    result.figure = _figure(lower, c.primal)
    result.headline, result.explanation = _claim(lower, c.primal)
    return result


def _lower_bound(c: Certificate) -> tuple[float | None, tuple[str, str]]:
    """Best lower bound on the optimum, with its name and meaning."""
    bounds = []
    if c.dual is not None and math.isfinite(c.dual):
        bounds.append((c.dual, ("dual", "no model can go lower")))
    if c.data_bound is not None and math.isfinite(c.data_bound):
        meaning = "from the data alone: primal − ½‖g‖²"
        reached = c.primal if c.at_least is None else c.at_least
        bounds.append((reached - c.data_bound, ("lower bound", meaning)))
    return max(bounds, key=lambda bound: bound[0], default=(None, ("", "")))


def _claim(lower: float, upper: float) -> tuple[str, str]:
    between = (
        "The optimum of this training problem lies between the lower bound and "
        "the objective of this model."
    )
    gap = upper - lower
    if lower > 0 and gap <= lower:
        within = at_most_percent(gap / lower)
        return f"Within {within} of the best possible objective", between
    if lower > 0:
        times = number(math.ceil(10 * upper / lower) / 10, 3)
        return f"At most {times} times the best possible objective", between
    return f"At most {number(gap, 3)} above the best possible objective", between


def _details(c: Certificate, has_dual_drawn: bool) -> list[tuple[str, str]]:
    rows = []
    if c.relative_gap is not None:
        rows.append(("Relative gap", number(c.relative_gap, 3)))
    elif c.gap is None:
        rows.append(("Relative gap", "none"))
    rows.append(("Oracle calls", number(c.oracle_calls)))
    if c.n_planes:
        rows.append(("Constraints added", number(c.n_planes)))
    kind = "bounded" if c.at_most is not None else "heuristic"
    rows.append(("Search", "exact" if c.exact_oracle else kind))
    if not c.exact_oracle and c.at_most is not None and c.at_least is not None:
        rows.append(("Objective, at least", number(c.at_least, 6)))
    if c.is_relaxed:
        rows.append(("Problem", "a relaxation of the training problem"))
    if c.is_local:
        rows.append(("Optimum", "local: that of the hidden parts as last completed"))
    # the figure names the dual where it is the bound drawn
    if c.dual is None:
        rows.append(("Dual", "no dual bound"))
    elif not has_dual_drawn:
        rows.append(("Dual", number(c.dual, 6)))
    if c.data_bound is not None:
        rows.append(("Bound from the data alone", number(c.data_bound, 3)))
    return rows


def _figure(lower: float, upper: float) -> str:
    """Bar to scale, beam, and the enlarged interval; the page adds the words."""
    start = min(0.0, lower)
    span = (upper - start) / _PRIMAL_AT or 1.0
    at = [(v - start) / span * _WIDTH for v in (lower, upper)]
    sliver = max(at[1] - at[0], 2.0)
    left, right = at[1] - sliver, at[1]
    top, bottom = _BAR, _BAR + _BEAM
    beam = [(left, top), (right, top), (_WIDTH, bottom), (0, bottom)]
    shapes = [
        svg.element(
            "rect",
            {"x": 0, "y": 0, "width": _WIDTH, "height": _BAR, "class": "track"},
        ),
        svg.element(
            "rect",
            {"x": 0, "y": 0, "width": left, "height": _BAR, "class": "below"},
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
