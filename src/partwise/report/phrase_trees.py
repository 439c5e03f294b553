"""Phrase-structure trees drawn as branches, tidily.

The words stand in one line, each phrase in the row above its highest child. In a row,
trees are tidy after Reingold and Tilford (1981): a parent stands above the middle of
its children, a subtree is drawn alike wherever it stands, and neighbours move together
until their outlines touch.
"""

import math
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partwise.report import svg
from partwise.report.wording import visible

if TYPE_CHECKING:
    from partwise.metrics.bracketing import Bracket
    from partwise.readers.trees import PhraseTree

_LABEL, _TAG, _WORD = 14, 12, 15  # type sizes
_LEVEL = 46.0  # from label to label
_GAP = 13.0  # between neighbours
_RADIUS = 7.0
_BRANCH = 2.0  # room beside a branch
_MARGIN = 12.0
_TITLE = 26.0


@dataclass
class Node:
    """A drawn node; a tag carries its word."""

    label: str
    word: str = ""
    children: list["Node"] = field(default_factory=list)
    is_marked: bool = False
    row: int = 0  # above the words
    x: float = 0.0  # of the middle, from that of the parent
    left: list[float] = field(default_factory=list)  # outline by row, from the middle
    right: list[float] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Room for its text."""
        if self.word:
            return max(
                svg.text_width(self.label, _TAG), svg.text_width(self.word, _WORD)
            )
        return svg.text_width(self.label, _LABEL) * 1.1 + (8 if self.is_marked else 0)


def draw_phrase_tree(
    tree: Any, *, truth: Any = None, titles: tuple[str, str] = ("predicted", "truth")
) -> svg.Drawing:
    """Draw a phrase-structure tree, or a predicted one above the true one.

    Parameters
    ----------
    tree : (label, children) or nltk.Tree
    truth : (label, children) or nltk.Tree, optional
        The true tree over the same words, drawn below. Phrases that only one of the
        two has are framed and coloured.
    titles : (str, str)
        What stands above either tree where there are two.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> tree = ("NP", (("DT", ("the",)), ("NN", ("cat",))))
    >>> drawn = draw_phrase_tree(tree)
    >>> drawn.startswith("<svg") and "cat" in drawn
    True
    """
    # imported here: metrics and readers need numpy, the other figures do not
    from partwise.metrics.bracketing import EVERYTHING, bracketing
    from partwise.readers.trees import as_phrase_tree

    first = as_phrase_tree(tree)
    words = _leaves(first)
    label = f"Phrase structure of: {' '.join(words)}"
    if truth is None:
        shapes, width, height = _draw(_node(first, Counter()), "", "wrong")
        return _drawing(shapes, width, height, label)
    second = as_phrase_tree(truth)
    if words != _leaves(second):
        raise ValueError(
            f"tree has the words {' '.join(words)[:60]!r}, truth has "
            f"{' '.join(_leaves(second))[:60]!r}; draw trees of the same sentence"
        )
    predicted, gold = (bracketing(t, EVERYTHING).brackets for t in (first, second))
    upper, width, height = _draw(_node(first, predicted - gold), titles[0], "wrong")
    lower, other_width, other_height = _draw(
        _node(second, gold - predicted), titles[1], "truth"
    )
    move = {"transform": f"translate(0 {svg.coord(height)})"}
    wrong, missed = (predicted - gold).total(), (gold - predicted).total()
    label += f". {wrong} wrong and {missed} missed"
    return _drawing(
        [*upper, svg.element("g", move, *lower)],
        max(width, other_width),
        height + other_height,
        label + " phrases",
    )


def _drawing(
    shapes: Sequence[str], width: float, height: float, label: str
) -> svg.Drawing:
    return svg.drawing(
        width, height, visible(label, 400), shapes, css="branches", standalone=True
    )


def _leaves(tree: "PhraseTree") -> list[str]:
    if isinstance(tree[1][0], str):
        return [tree[1][0]]
    return [word for child in tree[1] for word in _leaves(child)]


def _node(tree: "PhraseTree", marked: "Counter[Bracket]") -> Node:
    """Nodes to draw; of equal phrases above each other the outer ones are marked."""
    from partwise.readers.brackets import without_functions

    left = Counter(marked)

    def visit(node: "PhraseTree", start: int) -> tuple[Node, int]:
        label, children = node
        if isinstance(children[0], str):
            return Node(visible(label, 12), visible(children[0], 24) or "\u00a0"), (
                start + 1
            )
        drawn = Node(visible(label, 16))
        end = start + len(_leaves(node))
        key = (without_functions(label), start, end)
        if left[key] > 0:
            left[key] -= 1
            drawn.is_marked = True
        for child in children:
            below, start = visit(child, start)
            drawn.children.append(below)
        return drawn, end

    return visit(tree, 0)[0]


def _arrange(node: Node) -> None:
    """Place the children around the middle of their parent, and find its outline."""
    half = node.width / 2
    for child in node.children:
        _arrange(child)
    node.row = max((child.row + 1 for child in node.children), default=0)
    for child in node.children:  # the branch that comes down to a lower child
        child.left += [-_BRANCH] * (node.row - 1 - child.row)
        child.right += [_BRANCH] * (node.row - 1 - child.row)
    places: list[float] = []
    edge = [-math.inf] * node.row  # right end of what is placed, by row
    for child in node.children:
        at = max(map(operator.sub, edge, child.left)) + _GAP if places else 0.0
        places.append(at)
        edge = [at + right for right in child.right]
    middle = (places[0] + places[-1]) / 2 if places else 0.0
    for child, at in zip(node.children, places, strict=True):
        child.x = at - middle
    outer = [(child.x + e for e in child.left) for child in node.children[:1]]
    node.left = [*(outer[0] if outer else ()), -half]
    outer = [(child.x + e for e in child.right) for child in node.children[-1:]]
    node.right = [*(outer[0] if outer else ()), half]


def _draw(root: Node, title: str, kind: str) -> tuple[list[str], float, float]:
    """Shapes of a whole tree with its size."""
    _arrange(root)
    head = _TITLE if title else 0.0
    width = max(root.right) - min(root.left)
    least = svg.text_width(title, _TAG)
    branches: list[str] = []
    frames: list[str] = []
    texts: list[str] = []
    if title:
        style: dict[str, object] = {"text-anchor": "start", "opacity": ".7"}
        texts.append(svg.styled_text(_MARGIN, _MARGIN + _TAG, title, _TAG, style))
    deepest = 0.0

    def visit(node: Node, x: float, y: float) -> None:
        nonlocal deepest
        if node.word:
            texts.append(svg.styled_text(x, y, node.label, _TAG, {"opacity": ".7"}))
            texts.append(svg.styled_text(x, y + _WORD + 5, node.word, _WORD))
            deepest = max(deepest, y + _WORD + 5)
            return
        style: dict[str, object] = {"font-weight": 600}
        if node.is_marked:
            style |= {"fill": svg.COLOURS[kind], "class": kind}
            frames.append(_frame(node, x, y, kind))
        texts.append(svg.styled_text(x, y, node.label, _LABEL, style))
        for child in node.children:
            below = y + (node.row - child.row) * _LEVEL
            branches.append(_branch(x, y, x + child.x, below))
            visit(child, x + child.x, below)

    visit(root, _MARGIN - min(root.left), _MARGIN + head + _LABEL)
    # one opacity for all, or branches that share a piece would be darker there
    lines = {"fill": "none", "stroke": "currentColor", "stroke-width": "1.1"}
    shapes = [svg.element("path", {"d": data}) for data in branches]
    grouped = [svg.element("g", lines | {"opacity": ".5"}, *shapes)] if shapes else []
    size = max(width, least) + 2 * _MARGIN, deepest + _MARGIN
    return [*grouped, *frames, *texts], *size


def _branch(x: float, y: float, at: float, below: float) -> str:
    """Path from a parent to a child: along a shoulder, then down."""
    shoulder, end = y + 16, below - 15
    r = min(_RADIUS, abs(at - x))
    turn = at - math.copysign(r, at - x)
    data = f"M{svg.coord(x)} {svg.coord(y + 7)}V{svg.coord(end)}"
    if r > 0.5:
        data = (
            f"M{svg.coord(x)} {svg.coord(y + 7)}V{svg.coord(shoulder)}"
            f"H{svg.coord(turn)}Q{svg.coord(at)} {svg.coord(shoulder)} "
            f"{svg.coord(at)} {svg.coord(shoulder + r)}V{svg.coord(end)}"
        )
    return data


def _frame(node: Node, x: float, y: float, kind: str) -> str:
    """Frame around a label, for those who do not see the colour."""
    frame: dict[str, object] = {"x": x - node.width / 2, "y": y - 15.0, "rx": 4}
    frame |= {"width": node.width, "height": 20, "fill": "none"}
    frame |= {"stroke": svg.COLOURS[kind], "stroke-width": "1.5"}
    return svg.element("rect", frame | {"class": f"{kind}-frame"})
