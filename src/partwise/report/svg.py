"""Elements of the figures: shapes, text, scales, ticks, lines.

The figures are written by hand instead of by matplotlib: an SVG from matplotlib
turns text into paths or names fonts, fixes its colours and weighs 20-50 kB a
panel, whereas these few elements take their colours and type from the page's
style sheet, so that dark mode, print and narrow screens work, and weigh 2-5 kB.
A new kind of picture (the arcs of a tree, an alignment) is a function in a file
of its own built from these.
"""

import itertools
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

NAMESPACE = "http://www.w3.org/2000/svg"

# of drawings that stand alone: both are legible on white and on black. The page's style
# sheet overrides them by the classes "wrong" and "truth".
COLOURS = {"wrong": "#c85408", "truth": "#2b7cc4"}

FONT = "system-ui, sans-serif"

Point = tuple[float, float]


class Drawing(str):
    """
    SVG as text, which a notebook shows as a picture.

    Text and lines have the colour of what surrounds them, so that dark and light
    notebooks both work.

    Examples
    --------
    >>> from pathlib import Path
    >>> picture = drawing(8, 8, "a dot", ['<circle cx="4" cy="4" r="2"/>'])
    >>> picture._repr_html_().startswith("<div")
    True
    >>> Path("dot.svg").write_text(picture, encoding="utf-8")  # doctest: +SKIP
    """

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto;max-width:100%">{self}</div>'


def coord(x: float) -> str:
    """Write a coordinate with one decimal at most."""
    text = f"{x:.1f}"
    return text[:-2] if text.endswith(".0") else text


def element(name: str, attributes: Mapping[str, object], *children: str) -> str:
    """Write one element; attribute values are escaped, children are markup."""
    written = "".join(
        f' {key}="{coord(v) if isinstance(v, float) else escape(str(v))}"'
        for key, v in attributes.items()
    )
    if not children:
        return f"<{name}{written}/>"
    return f"<{name}{written}>{''.join(children)}</{name}>"


def text(x: float, y: float, words: str, css: str = "", anchor: str = "middle") -> str:
    """Write words at a point, in the type of the page; they are escaped here."""
    attributes = {"x": float(x), "y": float(y), "text-anchor": anchor}
    if css:
        attributes["class"] = css
    return element("text", attributes, escape(words))


def styled_text(
    x: float, y: float, words: str, size: float, style: Mapping[str, object] = {}
) -> str:
    """Write words of a size at a point; `style` has more or other attributes."""
    plain: dict[str, object] = {"x": float(x), "y": float(y), "text-anchor": "middle"}
    plain |= {"font-family": FONT, "font-size": size, "fill": "currentColor"}
    return element("text", plain | dict(style), escape(words))


# in parts of the type size, as the usual sans-serif faces have them
_NARROW, _WIDE = frozenset("ijl.,:;'|!()[]-`fItr \""), frozenset("mwMW@%—…")


def text_width(words: str, size: float) -> float:
    """Room that words need, to a few percent: the reader's font is not known."""
    total = 0.0
    for c in words:
        if unicodedata.combining(c):
            continue
        if c in _NARROW:
            total += 0.36
        elif c in _WIDE or unicodedata.east_asian_width(c) in "WF":
            total += 1.0
        elif c.isupper():
            total += 0.7
        else:
            total += 0.58
    return total * size


def path(points: Iterable[Point]) -> str:
    """Path data of a line through points."""
    return "M" + "L".join(f"{coord(x)} {coord(y)}" for x, y in points)


def drawing(
    width: float,
    height: float,
    label: str,
    children: Iterable[str],
    *,
    css: str = "",
    standalone: bool = False,
) -> Drawing:
    """Write a whole drawing.

    Parameters
    ----------
    width, height : float
        Size of the coordinate system.
    label : str
        What a screen reader says in place of the drawing.
    children : iterable of str
        Markup.
    css : str
        Class names.
    standalone : bool
        Whether the text must also work as a file of its own, which needs the
        name space and a size.
    """
    attributes: dict[str, object] = {}
    if standalone:
        attributes |= {"xmlns": NAMESPACE, "width": coord(width)}
        attributes |= {"height": coord(height)}
    attributes |= {"viewBox": f"0 0 {coord(width)} {coord(height)}"}
    attributes |= {"role": "img", "aria-label": label}
    if css:
        attributes["class"] = css
    return Drawing(element("svg", attributes, "\n", "\n".join(children), "\n"))


def linear_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About `n` round numbers between two bounds."""
    raw = (high - low) / max(n, 1)
    if not (math.isfinite(raw) and raw > 0):
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def decades(low: float, high: float) -> list[int]:
    """Exponents of the powers of ten between two positive bounds, about six at most."""
    first = math.ceil(math.log10(low) - 1e-9)
    last = math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first + 1) / 6))
    return [e for e in range(first, last + 1) if e % every == 0]


@dataclass(frozen=True)
class Scale:
    """Map of the interval [low, high] to [start, stop], linear or logarithmic."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Place of a value."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        if high == low:
            return (self.start + self.stop) / 2
        return self.start + (value - low) / (high - low) * (self.stop - self.start)


def clip_line(line: Sequence[Point], low: float, high: float) -> list[list[Point]]:
    """Parts of a line with low ≤ y ≤ high, cut exactly at the bounds."""
    if len(line) == 1:
        return [list(line)] if low <= line[0][1] <= high else []
    parts: list[list[Point]] = []
    for (x0, y0), (x1, y1) in itertools.pairwise(line):
        if max(y0, y1) < low or min(y0, y1) > high:
            continue
        ends: list[Point] = []
        for x, y in ((x0, y0), (x1, y1)):
            bound = min(max(y, low), high)
            ends.append(
                (x, y)
                if bound == y
                else (x0 + (bound - y0) / (y1 - y0) * (x1 - x0), bound)
            )
        if parts and parts[-1][-1] == ends[0]:
            parts[-1].append(ends[1])
        else:
            parts.append(ends)
    return parts
