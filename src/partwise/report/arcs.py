"""Dependency trees drawn as arcs over the words of a sentence.

The predicted arcs stand above the words. Where the prediction is wrong, its arc is
coloured and heavier, and the true arc hangs below the words, so that the two never hide
each other.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from partwise.report import svg
from partwise.report.wording import visible

_WORD, _TAG, _LABEL = 16, 11, 11.5  # type sizes
_GAP = 14.0  # between words
_PORT = 7.0  # between arcs at one word
_LEVEL = 22.0  # between arcs above each other, room for a label
_RADIUS = 11.0
_ARROW = 4.0
_MARGIN = 10.0


class Arc(NamedTuple):
    """Numbers of its words from 1 (head 0 is the root), and how it is drawn."""

    head: int
    dependent: int
    label: str
    kind: str = ""  # "", "wrong" or "truth"


def draw_dependency_tree(
    words: Sequence[str],
    tree: Any,
    *,
    truth: Any = None,
    tags: Sequence[str] | None = None,
) -> svg.Drawing:
    """Draw a dependency tree.

    Parameters
    ----------
    words : sequence of str
    tree : (heads, labels)
        The tree to draw above the words.
    truth : (heads, labels), optional
        Where it differs, arcs are marked and the true ones drawn below the words.
    tags : sequence of str, optional
        Shown beneath the words.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> drawn = draw_dependency_tree(["it", "works"], ([2, 0], ["nsubj", "root"]))
    >>> "nsubj" in drawn and drawn.startswith("<svg")
    True
    """
    above, below = _arcs(len(words), tree, truth)
    if tags is not None and len(tags) != len(words):
        raise ValueError(f"{len(tags)} tags for {len(words)} words")
    names = [visible(word, 24) or "\u00a0" for word in words]
    kinds = [visible(tag, 12) for tag in tags] if tags is not None else []
    sides = [_Side(above), _Side(below)]
    wrong = {arc.dependent for arc in above if arc.kind}
    centre, width = _place_words(names, kinds, sides, wrong)
    top = _MARGIN + sides[0].height
    baseline = top + _WORD
    bottom = baseline + 6 + (_TAG + 3 if kinds else 0)
    shapes = []
    for side, level, sign in ((sides[0], top, -1.0), (sides[1], bottom, 1.0)):
        for arc in side.arcs:
            shapes += _draw(arc, side, centre, level, sign)
    for i, name in enumerate(names, start=1):
        shapes.append(_words(centre[i], baseline, name, _WORD, bold=i in wrong))
        if kinds:
            shapes.append(
                _words(centre[i], baseline + _TAG + 4, kinds[i - 1], _TAG, faint=True)
            )
    height = bottom + (sides[1].height if below else 0.0) + _MARGIN
    label = f"Dependency tree of: {' '.join(names)}"
    if truth is not None:
        label += f". {len(wrong)} of {len(words)} words are attached otherwise"
    return svg.drawing(
        width, height, visible(label, 400), shapes, css="arcs", standalone=True
    )


def _arcs(n: int, tree: Any, truth: Any) -> tuple[list[Arc], list[Arc]]:
    """Arcs above the words, and those below."""
    for name, one in (("tree", tree), ("truth", truth)):
        if one is None:
            continue
        heads, labels = one
        if len(heads) != n or len(labels) != n:
            raise ValueError(
                f"{name} has {len(heads)} heads and {len(labels)} labels for {n} words"
            )
        if any(not 0 <= head <= n for head in heads):
            raise ValueError(f"{name} has a head outside the sentence of {n} words")
    above, below = [], []
    for i, (head, label) in enumerate(zip(*tree, strict=True), start=1):
        kind = ""
        if truth is not None:
            true = Arc(truth[0][i - 1], i, str(truth[1][i - 1]), "truth")
            if (true.head, true.label) != (head, str(label)):
                kind = "wrong"
                below.append(true)
        above.append(Arc(int(head), i, str(label), kind))
    return above, below


class _Side:
    """Arcs on one side of the words: how far out each runs, and where it lands."""

    def __init__(self, arcs: Sequence[Arc]) -> None:
        inner = [arc for arc in arcs if arc.head]
        self.arcs = sorted(
            inner, key=lambda a: (abs(a.head - a.dependent), a.dependent)
        )
        self.level: dict[Arc, int] = {}
        for arc in self.arcs:
            low, high = sorted(arc[:2])
            under = [
                level
                for other, level in self.level.items()
                if min(other[:2]) < high and low < max(other[:2])
            ]
            self.level[arc] = 1 + max(under, default=0)
        for arc in arcs:
            if not arc.head:  # the root's arrow comes from outside all of its arcs
                below = [
                    self.level[other]
                    for other in self.arcs
                    if other.head and arc.dependent in other[:2]
                ]
                self.level[arc] = 1 + max(below, default=0)
                self.arcs.append(arc)
        self.ports = self._ports()

    @property
    def height(self) -> float:
        """Room for the arcs, the top label included."""
        most = max(self.level.values(), default=0)
        return most * _LEVEL + _LABEL + 2 if most else 0.0

    def port(self, arc: Arc, word: int) -> float:
        """Distance of the end of an arc from the centre of its word."""
        order = self.ports[word]
        return (order.index(arc) - (len(order) - 1) / 2) * _PORT

    def _ports(self) -> dict[int, list[Arc]]:
        """Order of the arcs at each word that keeps nested arcs apart.

        From left to right: arcs to the left, the inner ones first; then the arc to the
        head, if that is no neighbour inside; then arcs to the right, the outer first.
        """
        at: dict[int, list[Arc]] = {}
        for arc in self.arcs:
            for word in filter(None, arc[:2]):
                at.setdefault(word, []).append(arc)

        def place(word: int, arc: Arc) -> tuple[int, int]:
            if not arc.head:
                return 0, 0
            other = sum(arc[:2]) - word
            return (-1, word - other) if other < word else (1, word - other)

        return {w: sorted(arcs, key=lambda a: place(w, a)) for w, arcs in at.items()}


def _place_words(
    names: list[str], tags: list[str], sides: list[_Side], bold: set[int]
) -> tuple[list[float], float]:
    """Centres of the words (from 1) such that words and labels have room."""
    n = len(names)
    widths = [
        max(
            svg.text_width(names[i], _WORD) * (1.1 if i + 1 in bold else 1.0),
            svg.text_width(tags[i], _TAG) if tags else 0.0,
            *(_PORT * len(side.ports.get(i + 1, ())) for side in sides),
        )
        for i in range(n)
    ]
    centre = [0.0] * (n + 1)
    right = _MARGIN
    for i in range(n):
        centre[i + 1] = right + widths[i] / 2
        right += widths[i] + _GAP
    # a label stands on its arc, so that neighbours of a long relation move apart;
    # the shortest arcs first, because room they take helps the longer ones
    for side in sides:
        for arc in side.arcs:
            if not arc.head:
                continue
            low, high = sorted(arc[:2])
            room = centre[high] + side.port(arc, high)
            room -= centre[low] + side.port(arc, low)
            missing = svg.text_width(_shown(arc), _LABEL) + 10 - room
            if missing > 0:
                for word in range(high, n + 1):
                    centre[word] += missing
    right = max((centre[i + 1] + widths[i] / 2 for i in range(n)), default=0.0)
    for side in sides:
        for arc in side.arcs:
            if not arc.head:  # its label stands to the right of the arrow
                at = centre[arc.dependent] + side.port(arc, arc.dependent)
                right = max(right, at + 5 + svg.text_width(_shown(arc), _LABEL))
    return centre, right + _MARGIN


def _draw(
    arc: Arc, side: _Side, centre: list[float], level: float, sign: float
) -> list[str]:
    """Line, arrow head and label of an arc."""
    outside = level + sign * (side.level[arc] * _LEVEL - 6)
    end = centre[arc.dependent] + side.port(arc, arc.dependent)
    tip = level + sign * 2
    back = tip + sign * _ARROW * 1.7
    label_at = outside - 4 if sign < 0 else outside + _LABEL
    if arc.head:
        start = centre[arc.head] + side.port(arc, arc.head)
        low, high = sorted((start, end))
        r = min(_RADIUS, (high - low) / 2, abs(outside - back))
        corner = outside - sign * r
        begins, ends = (
            (level + sign * 2, back) if start < end else (back, level + sign * 2)
        )
        data = (
            f"M{svg.coord(low)} {svg.coord(begins)}V{svg.coord(corner)}"
            f"Q{svg.coord(low)} {svg.coord(outside)} {svg.coord(low + r)} "
            f"{svg.coord(outside)}H{svg.coord(high - r)}"
            f"Q{svg.coord(high)} {svg.coord(outside)} {svg.coord(high)} "
            f"{svg.coord(corner)}V{svg.coord(ends)}"
        )
        middle = _free_place(arc, side, centre, low, high)
        label = _words(middle, label_at, _shown(arc), _LABEL, kind=arc.kind)
    else:
        far = outside + sign * 8
        data = f"M{svg.coord(end)} {svg.coord(far)}V{svg.coord(back)}"
        label = _words(
            end + 5, label_at, _shown(arc), _LABEL, kind=arc.kind, anchor="start"
        )
    line: dict[str, object] = {"d": data, "fill": "none"}
    head: dict[str, object] = {
        "d": svg.path(
            [(end, tip), (end - _ARROW, back), (end + _ARROW, back), (end, tip)]
        )
    }
    if arc.kind:
        line |= {"stroke": svg.COLOURS[arc.kind], "stroke-width": "2"}
        line |= {"class": f"{arc.kind}-frame"}
        head |= {"fill": svg.COLOURS[arc.kind], "class": arc.kind}
    else:
        line |= {"stroke": "currentColor", "stroke-width": "1.1"}
        line |= {"stroke-opacity": ".55"}
        head |= {"fill": "currentColor", "fill-opacity": ".7"}
    return [svg.element("path", line), svg.element("path", head), label]


def _free_place(
    arc: Arc, side: _Side, centre: list[float], low: float, high: float
) -> float:
    """Middle of the label: that of the arc, unless lines of outer arcs run there."""
    feet = [low, high]
    for other in side.arcs:
        if side.level[other] > side.level[arc]:
            places = [centre[w] + side.port(other, w) for w in other[:2] if w]
            feet += [x for x in places if low < x < high]
    feet.sort()
    middle = (low + high) / 2
    half = svg.text_width(_shown(arc), _LABEL) / 2 + 2
    if not any(abs(x - middle) < half for x in feet[1:-1]):
        return middle
    left, right = max(itertools.pairwise(feet), key=lambda gap: gap[1] - gap[0])
    return (left + right) / 2


def _shown(arc: Arc) -> str:
    return visible(arc.label, 24)


def _words(
    x: float,
    y: float,
    words: str,
    size: float,
    *,
    kind: str = "",
    anchor: str = "middle",
    bold: bool = False,
    faint: bool = False,
) -> str:
    style: dict[str, object] = {"text-anchor": anchor}
    if kind:
        style |= {"fill": svg.COLOURS[kind], "class": kind, "font-weight": 600}
    if bold:
        style["font-weight"] = 600
    if faint:
        style["opacity"] = ".65"
    return svg.styled_text(x, y, words, size, style)
