"""Sequence logos of motifs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partwise.report import svg
from partwise.report.content import Picture

if TYPE_CHECKING:
    import numpy as np

LETTERS = "ACGT"
COLOURS = {"A": "#2a9d4a", "C": "#2b6cb0", "G": "#d69e2e", "T": "#c53030"}
WIDTH, HEIGHT = 24.0, 120.0  # of a place, and of two bits
CAPITAL = 0.72  # height of a capital letter, in font sizes


def information(pwm: np.ndarray) -> np.ndarray:
    """
    Bits of each place: 2 − entropy, (length,).

    Examples
    --------
    >>> import numpy as np
    >>> information(np.array([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])).tolist()
    [2.0, 0.0]
    """
    import numpy as np

    safe = np.maximum(pwm, 1e-12)
    return np.maximum(2.0 + np.sum(pwm * np.log2(safe), axis=1), 0.0)


def draw_logo(pwm: np.ndarray) -> svg.Drawing:
    """
    Draw the sequence logo of Schneider and Stephens (1990) of a motif.

    Letters of a place stand on each other, the most frequent on top; a letter's height
    is its probability times the bits of the place.

    Parameters
    ----------
    pwm : array (length, 4)
        Probabilities of A, C, G and T.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> import numpy as np
    >>> picture = draw_logo(np.array([[0.9, 0.1, 0.0, 0.0]]))
    >>> picture.startswith("<svg"), picture.count("<text")
    (True, 3)
    """
    letters = []
    for j, (row, bits) in enumerate(zip(pwm, information(pwm), strict=True)):
        base = HEIGHT
        for k in sorted(range(len(row)), key=lambda letter: row[letter]):
            size = float(row[k] * bits) / 2.0 * HEIGHT
            if size < 0.5:
                continue
            scale = size / (CAPITAL * 20.0)
            place = (
                f"translate({WIDTH * (j + 0.5):.1f} {base:.1f}) scale(1.5 {scale:.4f})"
            )
            style = {"font-size": 20, "font-family": "sans-serif", "font-weight": 700}
            fill = {"fill": COLOURS[LETTERS[k]], "text-anchor": "middle"}
            letters.append(
                svg.element("text", {"transform": place, **style, **fill}, LETTERS[k])
            )
            base -= size
        number = {"x": WIDTH * (j + 0.5), "y": HEIGHT + 16, "text-anchor": "middle"}
        number |= {"font-size": 11, "font-family": "sans-serif", "fill": "currentColor"}
        letters.append(svg.element("text", number, str(j + 1)))
    return svg.drawing(
        WIDTH * len(pwm), HEIGHT + 22, "sequence logo", letters, standalone=True
    )


def logo_sections(pwm: np.ndarray) -> dict[str, Any]:
    """The logo of a motif as sections of a report, under its most frequent letters."""
    consensus = "".join(LETTERS[k] for k in pwm.argmax(axis=1).tolist())
    return {
        "pictures": [Picture(consensus, draw_logo(pwm))],
        "pictures_title": "Motif",
        "pictures_note": "Letters of its best windows in training sequences that have "
        "it; a letter's height is its share of the information of its place.",
    }
