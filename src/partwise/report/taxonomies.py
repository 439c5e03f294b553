"""A taxonomy drawn as an indented tree, with the errors that pass along its edges.

One line per node, children below their parent and further right. An error of a row
passes along the edges of the way from its true to its predicted class; such an edge is
drawn the wider the more errors it carries.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from partwise.report import svg
from partwise.report.wording import visible

_LINE = 22.0  # from node to node
_STEP = 26.0  # from parent to child
_SIZE = 13
_MARGIN = 10.0
_WIDEST = 7.0  # edge
_MOST_NODES = 80  # drawn: those with the most errors, and the way to them
_WRONG = svg.COLOURS["wrong"]

NOTE = (
    "The way from the true to the predicted class passes along edges: the wider an "
    "edge, the more errors. Missed rows belong below the node and went elsewhere, "
    "wrong ones came from elsewhere."
)


class NodeErrors(NamedTuple):
    """A node and what happened to the rows below it."""

    name: str
    parent: int  # number of the node that it is drawn under, −1 at the top
    n_rows: int  # whose true classes are here or below
    missed: int  # of these, predicted elsewhere
    wrong: int  # rows of other classes that were predicted here or below


def node_errors(
    names: Sequence[Any], parents: Sequence[Sequence[int]], y: Any, y_pred: Any
) -> list[NodeErrors]:
    """Errors of each node, from 0/1 arrays (n_rows, n_nodes), ancestors included."""
    columns = zip(
        names, parents, y.sum(axis=0), (y > y_pred).sum(axis=0),
        (y < y_pred).sum(axis=0), strict=True,
    )  # fmt: skip
    return [
        NodeErrors(str(name), up[0] if up else -1, int(n), int(missed), int(wrong))
        for name, up, n, missed, wrong in columns
    ]


def draw_taxonomy(nodes: Sequence[NodeErrors]) -> str:
    """Draw a taxonomy with errors along its edges.

    Parameters
    ----------
    nodes : sequence of NodeErrors
        Parents before children.

    Returns
    -------
    str
        SVG.

    Examples
    --------
    >>> nodes = [NodeErrors("bird", -1, 9, 0, 0), NodeErrors("owl", 0, 4, 2, 1)]
    >>> drawn = draw_taxonomy(nodes)
    >>> drawn.startswith("<svg") and "missed 2, wrong 1" in drawn
    True
    """
    shown = _chosen(nodes)
    order = _in_lines(nodes, shown)
    line = {z: n for n, (z, _) in enumerate(order)}
    depth = dict(order)
    peak = max([1, *(nodes[z].missed + nodes[z].wrong for z in shown)])
    edges, texts, width = [], [], 0.0
    for z, n in line.items():
        node = nodes[z]
        x, y = _MARGIN + depth[z] * _STEP, _MARGIN + (n + 0.7) * _LINE
        errors = node.missed + node.wrong
        if node.parent >= 0:
            above = _MARGIN + (line[node.parent] + 0.7) * _LINE
            edges.append(_edge(x, above, y, errors, errors / peak))
        words = visible(node.name, 40)
        texts.append(_text(x, y, words, {"font-weight": 600 if errors else 400}))
        right = x + svg.text_width(words, _SIZE) * 1.1 + 10.0
        note = f"{node.n_rows} rows"
        style: dict[str, object] = {"opacity": ".7"}
        if errors:
            note += f", missed {node.missed}, wrong {node.wrong}"
            style = {"fill": _WRONG, "class": "wrong"}
        texts.append(_text(right, y, note, style))
        width = max(width, right + svg.text_width(note, _SIZE))
    height = 2 * _MARGIN + len(order) * _LINE
    label = f"Taxonomy of {len(nodes)} nodes with the errors along its edges"
    if len(shown) < len(nodes):
        left = f"{len(nodes) - len(shown)} more nodes with fewer errors"
        texts.append(_text(_MARGIN, height, left, {"opacity": ".7"}))
        height += _LINE
        width = max(width, svg.text_width(left, _SIZE))
    return svg.drawing(
        width + 2 * _MARGIN, height, label, [*edges, *texts], css="taxonomy",
        standalone=True,
    )  # fmt: skip


def _chosen(nodes: Sequence[NodeErrors]) -> set[int]:
    """Nodes with the most errors, with all that are above them."""
    ranked = sorted(
        range(len(nodes)), key=lambda z: -(nodes[z].missed + nodes[z].wrong)
    )
    shown: set[int] = set()
    for z in ranked:
        way = []
        while z >= 0 and z not in shown:
            way.append(z)
            z = nodes[z].parent
        if len(shown) + len(way) > _MOST_NODES:
            break
        shown.update(way)
    return shown


def _in_lines(nodes: Sequence[NodeErrors], shown: set[int]) -> list[tuple[int, int]]:
    """Nodes from top to bottom with their depth."""
    children: dict[int, list[int]] = {}
    for z in sorted(shown):
        children.setdefault(nodes[z].parent, []).append(z)
    order: list[tuple[int, int]] = []
    waiting = [(z, 0) for z in reversed(children.get(-1, []))]
    while waiting:
        z, depth = waiting.pop()
        order.append((z, depth))
        waiting += [(c, depth + 1) for c in reversed(children.get(z, []))]
    return order


def _edge(x: float, above: float, y: float, errors: int, share: float) -> str:
    """From below the parent down, then right to the child."""
    left = x - _STEP + 6.0
    points = [(left, above + 6.0), (left, y - 4.0), (x - 3.0, y - 4.0)]
    style: dict[str, object] = {"d": svg.path(points), "fill": "none"}
    if not errors:
        style |= {"stroke": "currentColor", "opacity": ".35"}
        return svg.element("path", style)
    width = 1.0 + share * (_WIDEST - 1.0)
    style |= {"stroke": _WRONG, "stroke-width": f"{width:.1f}", "opacity": ".6"}
    return svg.element("path", style | {"class": "wrong-frame"})


def _text(x: float, y: float, words: str, style: dict[str, object]) -> str:
    return svg.styled_text(x, y, words, _SIZE, {"text-anchor": "start"} | style)
