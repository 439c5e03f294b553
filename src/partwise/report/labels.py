"""Sequences drawn as tokens with their labels beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.report import svg
from partwise.report.wording import visible

_WORD, _LABEL = 15, 12  # type sizes
_LINE = 17.0  # from label to label
_GAP, _BETWEEN = 12.0, 16.0  # between tokens, between lines of them
_MARGIN = 8.0
_WIDEST = 860.0  # longer sequences wrap


def draw_sequence(
    tokens: Sequence[Any], labels: Sequence[Any], *, truth: Sequence[Any] | None = None
) -> svg.Drawing:
    """Draw a sequence of tokens with its labels.

    Parameters
    ----------
    tokens : sequence of n tokens
    labels : sequence of n labels
        The label ``O`` is pale.
    truth : sequence of n labels, optional
        Where it differs, the label is marked and the true one stands below it.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> drawn = draw_sequence(["Jordan", "wins"], ["B-LOC", "O"], truth=["B-PER", "O"])
    >>> "B-PER" in drawn and "1 of 2 labels differ" in drawn
    True
    """
    n = len(tokens)
    for name, given in (("labels", labels), ("truth", truth)):
        if given is not None and len(given) != n:
            raise ValueError(f"{name} has {len(given)} labels for {n} tokens")
    words = [visible(token, 40) or "\u00a0" for token in tokens]
    names = [visible(label, 40) for label in labels]
    true = names if truth is None else [visible(label, 40) for label in truth]
    n_rows = 2 if true == names else 3
    height = _WORD + 5 + _LINE * (n_rows - 1) + _BETWEEN
    x, y, right = _MARGIN, _MARGIN, 0.0
    shapes: list[str] = []
    for word, label, other in zip(words, names, true, strict=True):
        texts = [svg.text_width(word, _WORD), svg.text_width(label, _LABEL)]
        width = max(*texts, svg.text_width(other, _LABEL)) * 1.05
        if x + width > _WIDEST and x > _MARGIN:
            x, y = _MARGIN, y + height
        shapes += _token(x + width / 2, y, word, label, other)
        right = max(right, x + width)
        x += width + _GAP
    about = f"Sequence: {' '.join(words)}"
    if truth is not None:
        n_wrong = sum(a != b for a, b in zip(names, true, strict=True))
        about += f". {n_wrong} of {n} labels differ"
    size = max(right, _MARGIN) + _MARGIN, y + height - _BETWEEN + _MARGIN
    return svg.drawing(
        *size, visible(about, 400), shapes, css="labels", standalone=True
    )


def _token(x: float, y: float, word: str, label: str, other: str) -> list[str]:
    """A token, its label, and the true one where it is another."""
    is_wrong = label != other
    bold: dict[str, object] = {"font-weight": 600} if is_wrong else {}
    style: dict[str, object] = {"opacity": ".45" if label == "O" else ".8"}
    if is_wrong:
        style = _colour("wrong")
    below = y + _WORD + 3 + _LINE
    shapes = [
        svg.styled_text(x, y + _WORD, word, _WORD, bold),
        svg.styled_text(x, below, label, _LABEL, style),
    ]
    if is_wrong:
        truth = svg.styled_text(x, below + _LINE, other, _LABEL, _colour("truth"))
        shapes.append(truth)
    return shapes


def _colour(kind: str) -> dict[str, object]:
    return {"fill": svg.COLOURS[kind], "class": kind, "font-weight": 600}
