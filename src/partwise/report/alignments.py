"""Alignments drawn as two rows of letters, and tables of scores as heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from partwise.report import svg
from partwise.report.content import Picture
from partwise.report.wording import visible

_CELL, _ROW, _TYPE = 15.0, 22.0, 13
_MARGIN, _NAMES = 10.0, 16.0
_FONT = "ui-monospace, monospace"
_COLUMNS = 60  # of one stretch of a drawing
_LONGEST = 400  # letters of a sequence that is drawn
_NOTE = (
    "A blue line is a match of the reference, an orange one contradicts it, a grey one "
    "is not in it. Dots mark letters with a reference partner; hollow ones were missed."
)
RIGHT, WRONG, EXTRA = svg.COLOURS["truth"], svg.COLOURS["wrong"], "#8a8f98"


def draw_alignment(
    a: Sequence[str], b: Sequence[str], pairs: Any, truth: Any = None
) -> svg.Drawing:
    """
    Draw an alignment, a above b, in stretches of 60 columns.

    Parameters
    ----------
    a, b : sequences of str
        Letters.
    pairs : int array (k, 2)
        The alignment to draw.
    truth : int array (m, 2), optional
        Reference pairs. Matches that are among them are blue, matches of tokens that
        the reference aligns otherwise orange, others grey. A dot above or below marks a
        token with a reference partner, hollow where the drawn alignment misses it.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> drawn = draw_alignment("MKV", "MV", [(0, 0), (2, 1)], [(0, 0), (1, 1)])
    >>> drawn.startswith("<svg") and "1 of 2 reference pairs" in drawn
    True
    """
    chosen = [(int(i), int(j)) for i, j in pairs]
    reference = {(int(i), int(j)) for i, j in (() if truth is None else truth)}
    matched = reference & set(chosen)
    columns = list(_columns(len(a), len(b), chosen))
    shapes: list[str] = []
    n_rows = -(-len(columns) // _COLUMNS)
    for k, (i, j) in enumerate(columns):
        x = _MARGIN + _CELL * (k % _COLUMNS + 0.5)
        y = _MARGIN + (3 * _ROW + _NAMES) * (k // _COLUMNS)
        if i is not None and j is not None:
            colour = EXTRA
            if (i, j) in matched or truth is None:
                colour = RIGHT
            elif any(i == p or j == q for p, q in reference):
                colour = WRONG
            line = {"x1": x, "x2": x, "y1": y + _ROW + 4, "y2": y + 1.6 * _ROW - 2}
            shapes.append(
                svg.element("line", line | {"stroke": colour, "stroke-width": 2})
            )
        for side, token, letters, at in (
            (0, i, a, y + _ROW),
            (1, j, b, y + 2.3 * _ROW),
        ):
            letter = "–" if token is None else visible(letters[token], 1)
            shapes.append(_letter(x, at, letter, token is None))
            marked = token is not None and any(
                pair[side] == token for pair in reference
            )
            if marked:
                is_found = any(pair[side] == token for pair in matched)
                level = y + 2 if side == 0 else y + 2.3 * _ROW + 8
                shapes.append(_dot(x, level, is_found))
    width = 2 * _MARGIN + _CELL * min(len(columns), _COLUMNS)
    height = 2 * _MARGIN + n_rows * (3 * _ROW + _NAMES)
    label = f"Alignment of {len(a)} and {len(b)} letters, {len(chosen)} pairs"
    if truth is not None:
        label += f"; {len(matched)} of {len(reference)} reference pairs are there"
    return svg.drawing(width, height, label, shapes, css="alignment", standalone=True)


def draw_heat_map(
    rows: Sequence[str], columns: Sequence[str], values: Any, title: str = ""
) -> svg.Drawing:
    """
    Draw a table of scores: blue above zero, orange below, paler the nearer to it.

    Parameters
    ----------
    rows, columns : sequences of str
    values : array (n_rows, n_columns)
    title : str

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> draw_heat_map("AC", "AC", [[4, -1], [-1, 9]]).count("<rect")
    4
    """
    table = [list(map(float, row)) for row in values]
    top = max((abs(value) for row in table for value in row), default=0.0) or 1.0
    left = _MARGIN + _CELL * 1.4
    shapes = [_letter(_MARGIN, _MARGIN + 6, title, False, "start")] if title else []
    above = _MARGIN + (_NAMES if title else 0.0) + _CELL
    for k, name in enumerate(columns):
        shapes.append(
            _letter(left + _CELL * (k + 0.5), above - 4, visible(name, 3), False)
        )
    for r, name in enumerate(rows):
        y = above + _CELL * r
        shapes.append(_letter(left - _CELL * 0.6, y + 12, visible(name, 3), False))
        for c in range(len(columns)):
            value = table[r][c]
            box: dict[str, object] = {
                "x": left + _CELL * c,
                "y": y,
                "width": _CELL,
                "height": _CELL,
                "fill": RIGHT if value >= 0 else WRONG,
                "fill-opacity": f"{min(1.0, abs(value) / top):.2f}",
            }
            shapes.append(svg.element("rect", box))
    width = max(left + _CELL * len(columns), _MARGIN + 0.62 * _TYPE * len(title))
    width += _MARGIN
    height = above + _CELL * len(rows) + _MARGIN
    label = f"{title or 'Scores'}: {len(rows)} × {len(columns)}, largest {top:.3g}"
    return svg.drawing(width, height, label, shapes, css="heat", standalone=True)


def _columns(
    n: int, m: int, pairs: Sequence[tuple[int, int]]
) -> Iterable[tuple[int | None, int | None]]:
    """Tokens of either side in each column, None at gaps."""
    i = j = 0
    for i_next, j_next in [*pairs, (n, m)]:
        yield from ((k, None) for k in range(i, i_next))
        yield from ((None, k) for k in range(j, j_next))
        if (i_next, j_next) != (n, m):
            yield i_next, j_next
        i, j = i_next + 1, j_next + 1


def _letter(x: float, y: float, words: str, faint: bool, anchor: str = "middle") -> str:
    style: dict[str, object] = {"text-anchor": anchor, "font-family": _FONT}
    if faint:
        style["opacity"] = "0.4"
    return svg.styled_text(x, y, words, _TYPE, style)


def _dot(x: float, y: float, is_found: bool) -> str:
    colour = RIGHT if is_found else WRONG
    fill = colour if is_found else "none"
    return svg.element(
        "circle", {"cx": x, "cy": y, "r": 2.2, "fill": fill, "stroke": colour}
    )


def matrix_pictures(matrices: dict[str, Any]) -> list[Picture]:
    """Heat maps of substitution matrices by their names."""
    return [
        Picture(
            f"{name}: largest {abs(table.scores).max(initial=0.0):.3g}",
            draw_heat_map(table.rows, table.columns, table.scores, name),
        )
        for name, table in matrices.items()
    ]


def worst_alignments(
    letters: Sequence[tuple[Sequence[str], Sequence[str]]],
    y: Sequence[Any],
    y_pred: Sequence[Any],
    names: Sequence[Sequence[str]],
    n: int,
) -> list[Picture]:
    """The n alignments that lose most of their reference, of sequences fit to draw."""
    # imported here: metrics need numpy, drawings do not
    from partwise.metrics.alignments import lost_share

    lost = []
    for i, (truth, predicted) in enumerate(zip(y, y_pred, strict=True)):
        share = lost_share(truth, predicted, 0)
        if share > 0 and max(map(len, letters[i])) <= _LONGEST:
            lost.append((-share, i))
    pictures = []
    for share, i in sorted(lost)[:n]:
        a, b = letters[i]
        caption = f"{names[i][0]}: {names[i][1]} and {names[i][2]}, {-share:.0%} lost"
        pictures.append(Picture(caption, draw_alignment(a, b, y_pred[i], y[i])))
    return pictures


def alignment_sections(
    letters: Sequence[tuple[Sequence[str], Sequence[str]]],
    y: Sequence[Any],
    y_pred: Sequence[Any],
    names: Sequence[Sequence[str]],
    matrices: dict[str, Any],
) -> dict[str, Any]:
    """
    Sections of a report: the worst alignments, and substitution matrices.

    Parameters
    ----------
    letters : list of (a, b)
    y : list of int arrays (k, 2)
        Reference pairs that count.
    y_pred : list of int arrays (k, 2)
    names : list of (family, name, name)
    matrices : dict of SubstitutionMatrix by name
    """
    return {
        "drawings": worst_alignments(letters, y, y_pred, names, 8),
        "drawings_note": _NOTE,
        "pictures": matrix_pictures(matrices),
        "pictures_title": "Scores of substitutions",
        "pictures_note": "Rows are letters of the first sequence, blue is above zero. "
        "Letters whose scores are those of the start are left out.",
    }
