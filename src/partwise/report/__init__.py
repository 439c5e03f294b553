"""The report of a training as one HTML file, and drawings of outputs.

>>> from partwise import Certificate
>>> from partwise.report import Report, render
>>> report = Report("Digits", certificate=Certificate(2.0, 2.0, dual=1.9))
>>> "by more than 5" in render(report)
True

`draw` draws an output over its input, as pages and notebooks show it; the other
functions draw a kind of output each.

>>> from partwise.report import draw
>>> drawn = draw(["it", "works"], ([2, 0], ["nsubj", "root"]))
>>> "nsubj" in drawn and drawn.startswith("<svg")
True
"""

from partwise.report.alignments import draw_alignment, draw_heat_map
from partwise.report.arcs import draw_dependency_tree
from partwise.report.content import (
    Confusion,
    ErrorExample,
    FeatureGroup,
    HistoryPoint,
    MetricTable,
    Picture,
    Report,
)
from partwise.report.digits import draw_digits
from partwise.report.drawing import draw
from partwise.report.labels import draw_sequence
from partwise.report.logos import draw_logo
from partwise.report.page import ReportPathError, render, write
from partwise.report.phrase_trees import draw_phrase_tree
from partwise.report.svg import Drawing

__all__ = [
    "Confusion",
    "Drawing",
    "ErrorExample",
    "FeatureGroup",
    "HistoryPoint",
    "MetricTable",
    "Picture",
    "Report",
    "ReportPathError",
    "draw",
    "draw_alignment",
    "draw_dependency_tree",
    "draw_digits",
    "draw_heat_map",
    "draw_logo",
    "draw_phrase_tree",
    "draw_sequence",
    "render",
    "write",
]
