"""Strings of handwritten digits, drawn as pixels with their labels beneath."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from partwise.report import svg
from partwise.report.wording import visible

if TYPE_CHECKING:
    import numpy as np

_LEVELS = 16  # grey levels of scikit-learn's digits; one path each keeps files small
_PIXEL = 5
_SPACE = 8
_LABELS = 46  # height of the two lines of labels
_MARGIN = 74  # room for the words "truth" and "predicted"
_WRONG = svg.COLOURS["wrong"]


def draw_digits(
    images: "np.ndarray",
    gold: Sequence[object],
    predicted: Sequence[object],
    *,
    per_row: int = 10,
) -> svg.Drawing:
    """Draw a string of digit images with the true and the predicted labels.

    Parameters
    ----------
    images : array of shape (T, height, width)
        Grey values between 0 (paper) and 1 (ink).
    gold, predicted : sequence of T labels
    per_row : int
        Images side by side before the string wraps.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows. A wrong label is framed and set
        in bold as well as coloured.

    Examples
    --------
    >>> drawn = draw_digits([[[0.0, 1.0]], [[1.0, 0.0]]], "17", "11")
    >>> "1 of 2 wrong" in drawn
    True
    """
    import numpy as np

    pixels = np.asarray(images, dtype=float)
    if pixels.ndim != 3 or not len(pixels) == len(gold) == len(predicted):
        raise ValueError(
            f"images of shape {pixels.shape} with {len(gold)} gold and "
            f"{len(predicted)} predicted labels: give one 2-D image (T × height × "
            "width) and one label of each kind per position"
        )
    n, n_rows, n_columns = pixels.shape
    levels = np.rint(np.clip(np.nan_to_num(pixels), 0, 1) * _LEVELS).astype(int)
    width, height = n_columns * _PIXEL, n_rows * _PIXEL
    lines = max(1, -(-n // per_row))
    line_height = height + _LABELS + 12
    total_width = _MARGIN + max(1, min(n, per_row)) * (width + _SPACE)

    shapes: list[str] = []
    runs: dict[int, list[str]] = {}
    n_wrong = 0
    for line in range(lines):
        y = line * line_height + 4
        shapes.append(_words(0, y + height + 18, "truth", "row-name"))
        shapes.append(_words(0, y + height + 38, "predicted", "row-name"))
    for t in range(n):
        x = _MARGIN + (t % per_row) * (width + _SPACE)
        y = (t // per_row) * line_height + 4
        _add_runs(runs, levels[t], x, y)
        is_wrong = str(gold[t]) != str(predicted[t])
        if is_wrong:
            n_wrong += 1
            shapes.append(_wrong_frame(x, y, width, height))
        middle, below = x + width // 2, y + height
        shapes.append(_words(middle, below + 18, gold[t], "right"))
        kind = "wrong" if is_wrong else "right"
        shapes.append(_words(middle, below + 38, predicted[t], kind))
    ink = [
        svg.element(
            "path",
            {
                "fill": "currentColor",
                "fill-opacity": f"{level / _LEVELS:.3g}",
                "shape-rendering": "crispEdges",
                "d": "".join(runs[level]),
            },
        )
        for level in sorted(runs)
    ]
    label = (
        f"Digit string, truth {' '.join(map(str, gold))}, predicted "
        f"{' '.join(map(str, predicted))}: {n_wrong} of {n} wrong"
    )
    return svg.drawing(
        total_width,
        lines * line_height - 6,
        visible(label, 400),
        ink + shapes,
        css="digits",
        standalone=True,
    )


def _words(x: int, y: int, words: object, kind: str) -> str:
    """One label, or the name of a line of labels."""
    colour = _WRONG if kind == "wrong" else "currentColor"
    style: dict[str, object] = {"class": kind, "fill": colour}
    if kind == "row-name":
        style |= {"text-anchor": "start", "opacity": ".7"}
        return svg.styled_text(x, y, str(words), 13, style)
    if kind == "wrong":
        style["font-weight"] = 700
    return svg.styled_text(x, y, visible(words, 6), 15, style)


def _wrong_frame(x: int, y: int, width: int, height: int) -> str:
    """Frame around an image and its labels, for those who do not see the colour."""
    frame: dict[str, object] = {"x": x - 3, "y": y - 3, "rx": 3, "fill": "none"}
    frame |= {"width": width + 6, "height": height + _LABELS + 2}
    frame |= {"stroke": _WRONG, "stroke-width": "1.5", "class": "wrong-frame"}
    return svg.element("rect", frame)


def _add_runs(runs: dict[int, list[str]], levels: "np.ndarray", x: int, y: int) -> None:
    """Collect horizontal runs of equal grey as path data by grey level."""
    for r, row in enumerate(levels.tolist()):
        start = 0
        for c in range(1, len(row) + 1):
            if c < len(row) and row[c] == row[start]:
                continue
            if row[start]:
                size = (c - start) * _PIXEL
                data = (
                    f"M{x + start * _PIXEL} {y + r * _PIXEL}h{size}v{_PIXEL}h-{size}z"
                )
                runs.setdefault(row[start], []).append(data)
            start = c
