"""Certificates, explanations and tables in notebooks: fragments of HTML.

Notebooks have style sheets of their own, light or dark ones. So fragments bring their
style in attributes, take the colour of text from where they stand, and use beside it
only colours that are legible on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from partwise.report import svg
from partwise.report.verdict import verdict
from partwise.report.wording import visible

if TYPE_CHECKING:
    from partwise.certificate import Certificate

_PRIMAL, _DUAL, _BETWEEN = svg.COLOURS["truth"], "#128a70", "#d9a520"
_CELL = "text-align:left;padding:2px 14px 2px 0;background:none;border:0"
_NUMBER = _CELL + ";text-align:right;font-variant-numeric:tabular-nums"
_FAINT = "opacity:.7;font-size:90%"
_ROWS = 60  # of a table that are shown


def certificate_html(certificate: Certificate) -> str:
    """
    What a certificate proves: its headline, the two bounds, and details.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    str
        HTML.
    """
    words = verdict(certificate)
    lines = [_div(words.stopped, _FAINT), _div(words.headline, "font-weight:600")]
    if words.lower is not None and words.upper is not None:
        lines.append(_interval(certificate.lower, certificate.primal))
        ends = (
            (words.lower_name, words.lower, _DUAL, "left"),
            (words.upper_name, words.upper, _PRIMAL, "right"),
        )
        cells = [
            f'<div style="text-align:{side}"><span style="color:{colour}">'
            f"{escape(name)}</span> {escape(''.join(digits))}</div>"
            for name, digits, colour, side in ends
        ]
        row = "display:flex;justify-content:space-between"
        lines.append(f'<div style="{row}">{"".join(cells)}</div>')
    elif words.upper is not None:
        lines.append(_div(f"{words.upper_name} {''.join(words.upper)}"))
    details = " · ".join(f"{name} {value}" for name, value in words.details)
    lines += [_div(text, _FAINT) for text in (details, words.note) if text]
    return f'<div style="max-width:34em;line-height:1.5">{"".join(lines)}</div>'


def explanation_html(
    picture: str, caption: str, summary: str, reasons: Iterable[str]
) -> str:
    """
    An explanation: the outputs drawn, and a table of reasons.

    Parameters
    ----------
    picture : str
        Winner and runner-up as SVG.
    caption : str
        How to read it.
    summary : str
        Score and lead.
    reasons : iterable of str
        Lines that begin with a share of the lead.

    Returns
    -------
    str
        HTML.
    """
    rows = [reason.split(None, 1) for reason in reasons]
    return (
        f'<div style="overflow-x:auto;max-width:100%">{picture}</div>'
        + (_div(caption, _FAINT) if caption else "")
        + _div(summary, "margin:6px 0")
        + (table_html((), rows, numbers=1) if rows else "")
    )


def table_html(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: int = 0
) -> str:
    """
    A plain table; the first `numbers` columns are set to the right.

    Examples
    --------
    >>> "<td" in table_html((), [("+1.5", "word=the")], numbers=1)
    True
    """
    styles = [_NUMBER] * numbers
    lines = []
    if header:
        cells = [_cell("th", name, _CELL) for name in header]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    for row in rows[:_ROWS]:
        cells = [
            _cell("td", value, styles[k] if k < numbers else _CELL)
            for k, value in enumerate(row)
        ]
        lines.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    style = "border-collapse:collapse;border:0;margin:0"
    return f'<table style="{style}">{"".join(lines)}</table>'


def columns_html(
    title: str, names: Sequence[str], sequences: Sequence[Sequence[Sequence[str]]]
) -> str:
    """
    Sequences with named columns, one below the other; tokens stand side by side.

    Parameters
    ----------
    title : str
    names : sequence of k names
    sequences : sequence of sequences of k lists of str
    """
    tables = []
    for columns in sequences:
        pairs = zip(names, columns, strict=True)
        rows = [[name, *column[:_ROWS]] for name, column in pairs]
        table = table_html((), rows)
        tables.append(f'<div style="overflow-x:auto;margin:8px 0">{table}</div>')
    return _div(title, _FAINT) + "".join(tables)


def _interval(lower: float, upper: float) -> str:
    """A bar to scale from zero, its end that holds the optimum in another colour."""
    share = 100.0 * min(max(lower / upper if upper else 1.0, 0.0), 1.0)
    below = f"flex:0 0 {share:.2f}%;background:currentColor;opacity:.25"
    between = f"flex:1 1 0;min-width:3px;background:{_BETWEEN}"
    bars = f'<div style="{below}"></div><div style="{between}"></div>'
    return f'<div style="display:flex;height:10px;margin:8px 0 4px">{bars}</div>'


def _div(text: str, style: str = "") -> str:
    return f'<div style="{style}">{escape(visible(text, 2000))}</div>'


def _cell(tag: str, text: str, style: str) -> str:
    return f'<{tag} style="{style}">{escape(visible(text, 200))}</{tag}>'
