"""Charts of primal, dual and relative gap during training."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from partwise.report import svg
from partwise.report.content import HistoryPoint
from partwise.report.wording import column, number, power
from partwise.state import relative

_WIDTH, _HEIGHT = 440, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 12, 46
_MOST_POINTS = 400  # more are not visible at the width of a panel
_MOST_MARKERS = 24
_MOST_TABLE_ROWS = 25
_CEILING = 4.0  # times the best primal: an early overshoot must not flatten the rest


@dataclass
class Panel:
    """One chart and the words above it."""

    title: str
    svg: str


@dataclass
class Convergence:
    """Panels, the remarks beneath them and the history as a table."""

    panels: list[Panel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)
    has_dual: bool = False
    has_gap: bool = False


@dataclass(frozen=True)
class _Axis:
    title: str
    unit: str
    values: list[float]


def convergence(
    history: Sequence[HistoryPoint],
    *,
    tolerance: float | None = None,
    dual_note: str = "",
    is_exact: bool = True,
    in_rounds: bool = False,
) -> Convergence:
    """Draw a history over seconds and over oracle calls.

    Parameters
    ----------
    history : sequence of HistoryPoint
    tolerance : float or None
        Relative gap to draw as a line.
    dual_note : str
        Why there is no dual bound, where that is so.
    is_exact : bool
        Whether the primal values are true ones. If not, primal − dual is no gap
        and none is drawn.
    in_rounds : bool
        Whether points are rounds of completing hidden parts; the objective is then
        drawn over them first.
    """
    points = thin(history, _MOST_POINTS)
    primal = [_finite(p.primal) for p in points]
    dual = [_finite(p.dual) for p in points]
    gap = [_relative_gap(p) for p in points]
    axes = (
        _Axis("over time", "seconds", [_finite(p.seconds) for p in points]),
        _Axis(
            "over oracle calls", "oracle calls", [float(p.oracle_calls) for p in points]
        ),
    )
    figure = Convergence(rows=_table(thin(history, _MOST_TABLE_ROWS)))
    figure.has_dual = any(map(math.isfinite, dual))
    figure.has_gap = is_exact and figure.has_dual
    has_objective = figure.has_dual or any(map(math.isfinite, primal))
    if not is_exact:
        gap = [math.nan] * len(points)
    has_positive_gap = any(g > 0 and math.isfinite(g) for g in gap)
    low, high = _objective_range(primal, dual)
    if in_rounds and has_objective:
        number_of = {id(point): k for k, point in enumerate(history, 1)}
        rounds = _Axis("by round", "rounds", [float(number_of[id(p)]) for p in points])
        chart = _objective_panel(rounds, primal, dual, low, high, is_exact)
        figure.panels.append(Panel("Objective by round", chart))
    for axis in axes:
        if has_objective:
            chart = _objective_panel(axis, primal, dual, low, high, is_exact)
            figure.panels.append(Panel(f"Objective {axis.title}", chart))
        if has_positive_gap:
            chart = _gap_panel(axis, gap, tolerance)
            figure.panels.append(Panel(f"Relative gap {axis.title}", chart))
    figure.notes = _notes(points, primal, dual, gap, low, high, dual_note)
    guessed = [p for p in history if p.is_estimate and math.isfinite(p.primal)]
    if guessed:
        figure.notes.append(
            f"Until {number(guessed[-1].seconds, 3)} seconds primal and gap are the "
            "solver's estimates, not evaluated by a pass over the data."
        )
    if not is_exact:
        figure.notes.append(
            "The oracle was inexact: the true primal may lie above its line, so "
            "there is no gap to draw."
        )
    return figure


def thin(history: Sequence[HistoryPoint], most: int) -> list[HistoryPoint]:
    """At most `most` points, evenly chosen, with the first and the last."""
    n = len(history)
    if n <= most:
        return list(history)
    return [history[round(k * (n - 1) / (most - 1))] for k in range(most)]


def _table(points: list[HistoryPoint]) -> list[tuple[str, ...]]:
    """Seconds, oracle calls, primal, dual and gap as aligned text."""
    columns = (
        column([p.seconds for p in points]),
        [number(p.oracle_calls) for p in points],
        column([p.primal for p in points], 7),
        column([p.dual for p in points], 7),
        # a gap shrinks by orders of magnitude: digits matter, not decimals
        [number(None if math.isnan(g) else g, 3) for g in map(_relative_gap, points)],
    )
    return list(zip(*columns, strict=True))


def _finite(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else math.nan


def _relative_gap(point: HistoryPoint) -> float:
    if point.dual is None:
        return math.nan
    return _finite(relative(point.primal, point.dual))


def _objective_range(primal: list[float], dual: list[float]) -> tuple[float, float]:
    """Vertical range: all of both lines, unless an overshoot would flatten them."""
    uppers = [v for v in primal if math.isfinite(v)]
    lowers = [v for v in dual if math.isfinite(v)]
    if not uppers + lowers:
        return 0.0, 1.0
    low, high = min(lowers + uppers), max(lowers + uppers)
    best = min(uppers, default=high)
    if best > 0:
        high = min(high, _CEILING * best)
        low = max(low, -best)
    if 0 < low < 0.4 * high:
        low = 0.0
    if high == low:
        margin = abs(high) * 0.05 or 0.5
        return low - margin, high + margin
    margin = 0.04 * (high - low)
    return low - (margin if low else 0.0), high + margin


def _notes(
    points: list[HistoryPoint],
    primal: list[float],
    dual: list[float],
    gap: list[float],
    low: float,
    high: float,
    dual_note: str,
) -> list[str]:
    notes = []
    if not any(map(math.isfinite, primal)):
        notes.append("No finite primal value was recorded.")
    elif n := sum(map(math.isnan, primal)):
        where = f"{n} of {len(points)} points"
        notes.append(f"No finite primal at {where}: lines pass over them.")
    if not any(map(math.isfinite, dual)):
        reason = dual_note or "none was recorded, so there is no gap to draw."
        notes.append(f"No dual bound: {reason}")
    if any(v > high for v in primal):
        notes.append(f"Values above {number(high, 3)} run out of the objective chart.")
    if any(v < low for v in dual):
        notes.append(f"Values below {number(low, 3)} run out of the objective chart.")
    if any(g <= 0 for g in gap):
        notes.append("A gap of zero or less has no place on a logarithmic axis.")
    if len(points) == 1:
        notes.append("The history has a single point.")
    return notes


def _frame(
    axis: _Axis, y: svg.Scale, y_ticks: list[tuple[float, str]]
) -> tuple[svg.Scale, list[str]]:
    """Horizontal scale, grid, ticks and axis title of a panel."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    last = max((v for v in axis.values if math.isfinite(v)), default=0.0)
    x = svg.Scale(0.0, last if last > 0 else 1.0, float(_LEFT), float(right))
    shapes = []
    for value, words in y_ticks:
        at = y(value)
        line = {"x1": _LEFT, "x2": right, "y1": at, "y2": at, "class": "grid"}
        shapes.append(svg.element("line", line))
        shapes.append(svg.text(_LEFT - 8, at + 4, words, anchor="end"))
    base = {"x1": _LEFT, "x2": right, "y1": bottom, "y2": bottom, "class": "axis"}
    shapes.append(svg.element("line", base))
    ticks = svg.linear_ticks(x.low, x.high, 5)
    if axis.unit != "seconds":  # numbers of rounds and calls are whole
        ticks = [value for value in ticks if value.is_integer()]
    for value, words in _named(ticks):
        at = x(value)
        tick = {"x1": at, "x2": at, "y1": bottom, "y2": bottom + 4, "class": "axis"}
        shapes.append(svg.element("line", tick))
        anchor = "end" if at > right - 12 else "middle"
        shapes.append(
            svg.text(min(at, right + _RIGHT - 4), bottom + 19, words, "", anchor)
        )
    middle = (_LEFT + right) / 2
    shapes.append(svg.text(middle, _HEIGHT - 6, axis.unit, "axis-title"))
    return x, shapes


def _named(ticks: list[float]) -> list[tuple[float, str]]:
    """Round numbers with their names, of as many digits as tell them apart."""
    digits = 4
    while digits < 12 and any(
        abs(float(f"{value:.{digits}g}") - value) > 1e-9 * abs(value) for value in ticks
    ):
        digits += 1
    largest = max(map(abs, ticks), default=0.0)
    units = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
    # one unit for all: 5k beside 10k
    unit, suffix = next(((u, s) for least, u, s in units if largest >= least), (1, ""))
    return [
        (value, number(float(value / unit), digits) + (suffix if value else ""))
        for value in ticks
    ]


def _line(
    xs: list[float], ys: list[float], x: svg.Scale, y: svg.Scale, css: str
) -> list[str]:
    """One series: its line, markers when they are few, and a dot at the end."""
    known = [p for p in zip(xs, ys, strict=True) if math.isfinite(sum(p))]
    place: Callable[[svg.Point], svg.Point] = lambda p: (x(p[0]), y(p[1]))  # noqa: E731
    shapes = []
    # clipped after placing: lines are straight in the drawing, not on a log axis
    for part in svg.clip_line([place(p) for p in known], y.stop, y.start):
        if len(part) > 1:
            shapes.append(svg.element("path", {"d": svg.path(part), "class": css}))
    visible = [p for p in known if y.low <= p[1] <= y.high]
    marked = visible if len(visible) <= _MOST_MARKERS else visible[-1:]
    for point in marked:
        cx, cy = place(point)
        radius = "3.5" if point == marked[-1] else "2"
        dot = {"cx": cx, "cy": cy, "r": radius, "class": f"{css} dot"}
        shapes.append(svg.element("circle", dot))
    return shapes


def _objective_panel(
    axis: _Axis,
    primal: list[float],
    dual: list[float],
    low: float,
    high: float,
    has_band: bool,
) -> str:
    y = svg.Scale(low, high, float(_HEIGHT - _BOTTOM), float(_TOP))
    x, shapes = _frame(axis, y, _named(svg.linear_ticks(low, high)))
    between = [
        (x(t), y(min(max(p, low), high)), y(min(max(d, low), high)))
        for t, p, d in zip(axis.values, primal, dual, strict=True)
        if math.isfinite(t + p + d)
    ]
    if has_band and len(between) > 1:
        outline = [(t, p) for t, p, _ in between] + [(t, d) for t, _, d in between][
            ::-1
        ]
        band = {"d": svg.path(outline) + "Z", "class": "band"}
        shapes.append(svg.element("path", band))
    shapes += _line(axis.values, dual, x, y, "dual")
    shapes += _line(axis.values, primal, x, y, "primal")
    label = f"Objective {axis.title}"
    for name, values in (("primal", primal), ("dual", dual)):
        label += _ends(name, values)
    return svg.drawing(_WIDTH, _HEIGHT, label + ".", shapes, css="chart")


def _gap_panel(axis: _Axis, gap: list[float], tolerance: float | None) -> str:
    positive = [g if g > 0 else math.nan for g in gap]
    shown = [g for g in positive if math.isfinite(g)]
    has_line = tolerance is not None and math.isfinite(tolerance) and tolerance > 0
    bounds = shown + ([tolerance] if has_line and tolerance else [])
    low = 10.0 ** math.floor(math.log10(min(bounds)) - 0.05)
    high = 10.0 ** math.ceil(math.log10(max(bounds)) + 0.05)
    y = svg.Scale(low, high, float(_HEIGHT - _BOTTOM), float(_TOP), is_log=True)
    ticks = [
        (10.0**e, {0: "1", 1: "10"}.get(e, power(e))) for e in svg.decades(low, high)
    ]
    x, shapes = _frame(axis, y, ticks)
    label = f"Relative gap {axis.title}, logarithmic axis" + _ends("gap", positive)
    if has_line and tolerance:
        at = y(tolerance)
        line = {"x1": _LEFT, "x2": _WIDTH - _RIGHT, "y1": at, "y2": at}
        shapes.append(svg.element("line", line | {"class": "tolerance"}))
        words = f"tolerance {number(tolerance, 3)}"
        # the gap comes down from the upper left: the lower left is free
        shapes.append(svg.text(_LEFT + 6, at - 6, words, "tolerance-name", "start"))
        label += f"; {words}"
    shapes += _line(axis.values, positive, x, y, "gap")
    return svg.drawing(_WIDTH, _HEIGHT, label + ".", shapes, css="chart")


def _ends(name: str, values: list[float]) -> str:
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return ""
    if len(finite) == 1:
        return f"; {name} {number(finite[0])}"
    return f"; {name} from {number(finite[0])} to {number(finite[-1])}"
