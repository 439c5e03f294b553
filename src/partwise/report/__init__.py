"""One HTML file that tells how training went and what the model does.

>>> from partwise import Certificate
>>> from partwise.report import Report, render
>>> report = Report("Digits", certificate=Certificate(2.0, 2.0, dual=1.9))
>>> "by more than 5" in render(report)
True
"""

from partwise.report.arcs import dependency_picture
from partwise.report.branches import phrase_tree_picture
from partwise.report.content import (
    Confusion,
    ErrorExample,
    FeatureGroup,
    HistoryPoint,
    MetricTable,
    Picture,
    Report,
)
from partwise.report.digits import digit_string_picture
from partwise.report.page import ReportPathError, render, write

__all__ = [
    "Confusion",
    "ErrorExample",
    "FeatureGroup",
    "HistoryPoint",
    "MetricTable",
    "Picture",
    "Report",
    "ReportPathError",
    "dependency_picture",
    "digit_string_picture",
    "phrase_tree_picture",
    "render",
    "write",
]
