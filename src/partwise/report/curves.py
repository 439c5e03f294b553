"""Curves of scores against truths: precision and recall, ROC, values of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from partwise.report import svg
from partwise.report.content import Picture

_SIDE, _LEFT, _TOP, _BOTTOM = 240.0, 44.0, 30.0, 40.0
_MOST = 300  # points or bars that are drawn
_LINE = "#1f77b4"
_GRID = "#8886"


def precision_recall(y_true: Any, scores: Any) -> list[svg.Point]:
    """
    (recall, precision) when the rows of the highest scores are positive.

    Parameters
    ----------
    y_true : array (n,) of 0 and 1
    scores : array (n,)

    Returns
    -------
    list of (float, float)
        A point for each threshold; rows of equal score go together.

    Examples
    --------
    >>> precision_recall([1, 0, 1], [0.9, 0.5, 0.1])
    [(0.5, 1.0), (0.5, 0.5), (1.0, 0.6666666666666666)]
    """
    tp, n = _counts(y_true, scores)
    return list(zip((tp / max(tp[-1], 1)).tolist(), (tp / n).tolist(), strict=True))


def roc(y_true: Any, scores: Any) -> list[svg.Point]:
    """
    (false positive rate, true positive rate), from (0, 0) to (1, 1).

    Examples
    --------
    >>> roc([1, 0, 1], [0.9, 0.5, 0.1])
    [(0.0, 0.0), (0.0, 0.5), (1.0, 0.5), (1.0, 1.0)]
    """
    tp, n = _counts(y_true, scores)
    fp = n - tp
    x = np.append(0.0, fp / max(fp[-1], 1))
    y = np.append(0.0, tp / max(tp[-1], 1))
    return list(zip(x.tolist(), y.tolist(), strict=True))


def mean_precision(queries: Iterable[tuple[Any, Any]]) -> list[svg.Point]:
    """(recall, mean precision over queries) at recall 0, 0.1, …, 1.

    The precision at a level of recall is the largest at this or a higher recall;
    queries without relevant rows count as zero.

    Parameters
    ----------
    queries : iterable of (grades, row numbers from the first place on)

    Examples
    --------
    >>> mean_precision([(np.array([1, 0, 1]), np.array([0, 1, 2]))])[5:7]
    [(0.5, 1.0), (0.6, 0.6666666666666666)]
    """
    levels = np.arange(11) / 10
    total, n = np.zeros(11), 0
    for truth, rows in queries:
        n += 1
        places = np.flatnonzero(truth[rows] > 0) + 1
        if not len(places):
            continue
        precision = np.arange(1, len(places) + 1) / places
        largest = np.maximum.accumulate(precision[::-1])[::-1]
        # the first relevant row at which a level is reached
        first = np.maximum(np.ceil(levels * len(places) - 1e-9).astype(int) - 1, 0)
        total += largest[first]
    return list(zip(levels.tolist(), (total / max(n, 1)).tolist(), strict=True))


def _counts(y_true: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """True positives and all positives, for each threshold from the top down."""
    values = np.asarray(scores, float)
    order = np.argsort(-values, kind="stable")
    tp = np.cumsum(np.asarray(y_true)[order] == 1)
    last = np.append(values[order][1:] < values[order][:-1], True)
    return tp[last], np.flatnonzero(last) + 1


def curve(points: Sequence[svg.Point], x_name: str, y_name: str) -> str:
    """
    Draw a line through points of the unit square.

    Parameters
    ----------
    points : sequence of (x, y)
    x_name, y_name : str
        Of the axes.

    Returns
    -------
    str
        SVG.

    Examples
    --------
    >>> curve([(0.0, 0.0), (1.0, 1.0)], "recall", "precision").count("<path")
    1
    """
    at = np.unique(np.linspace(0, len(points) - 1, _MOST).astype(int))
    x, y = _scales()
    line = svg.path([(x(points[k][0]), y(points[k][1])) for k in at.tolist()])
    shape = svg.element("path", {"d": line, "fill": "none", "stroke": _LINE})
    return _framed([shape], x_name, y_name, [0.0, 0.5, 1.0])


def bars(values: Any, x_name: str, y_name: str) -> str:
    """
    Draw values from 0 to 1 as bars, the largest first.

    Examples
    --------
    >>> bars([0.5, 1.0], "query", "average precision").count("<rect")
    2
    """
    ranked = np.sort(np.asarray(values, float))[::-1]
    at = np.unique(np.linspace(0, len(ranked) - 1, _MOST).astype(int))
    x, y = _scales()
    width = _SIDE / len(at)
    shapes = [
        svg.element(
            "rect",
            {
                "x": svg.coord(x(0.0) + width * k),
                "y": svg.coord(y(value)),
                "width": svg.coord(max(width - 0.2, 0.2)),
                "height": svg.coord(y(0.0) - y(value)),
                "fill": _LINE,
            },
        )
        for k, value in enumerate(ranked[at].tolist())
    ]
    return _framed(shapes, x_name, y_name, [])


def curve_sections(y_true: Any, scores: Any) -> dict[str, Any]:
    """Both curves as sections of a report, for rows of two classes."""
    recall, rates = precision_recall(y_true, scores), roc(y_true, scores)
    return {
        "pictures": [
            Picture("Precision and recall", curve(recall, "recall", "precision")),
            Picture("ROC", curve(rates, "false positives", "true positives")),
        ],
        "pictures_title": "Curves",
        "pictures_note": "Each point is a threshold; shares of rows.",
    }


def _scales() -> tuple[svg.Scale, svg.Scale]:
    return (
        svg.Scale(0.0, 1.0, _LEFT, _LEFT + _SIDE),
        svg.Scale(0.0, 1.0, _TOP + _SIDE, _TOP),
    )


def _framed(
    shapes: list[str], x_name: str, y_name: str, x_ticks: Sequence[float]
) -> str:
    """Shapes with axes from 0 to 1 and their names."""
    x, y = _scales()
    frame = []
    for value in (0.0, 0.5, 1.0):
        ends = {"x1": x(0.0), "x2": x(1.0), "y1": y(value), "y2": y(value)}
        frame.append(svg.element("line", {**ends, "stroke": _GRID}))
        frame.append(svg.text(_LEFT - 6, y(value) + 4, f"{value:g}", anchor="end"))
    for value in x_ticks:
        frame.append(svg.text(x(value), _TOP + _SIDE + 16, f"{value:g}"))
    frame.append(svg.text(x(0.5), _TOP + _SIDE + 34, x_name))
    frame.append(svg.text(_LEFT, _TOP - 14, y_name, anchor="start"))
    size = _LEFT + _SIDE + 12, _TOP + _SIDE + _BOTTOM
    label = f"{y_name} against {x_name}"
    return svg.drawing(*size, label, [*frame, *shapes], standalone=True)
