"""One HTML file that tells how training went and what the model does.

>>> from partwise.report import Certificate, Report, render
>>> report = Report("Digits", certificate=Certificate(primal=2.0, dual=1.9, gap=0.1))
>>> "best possible objective" in render(report)
True
"""

from partwise.report.arcs import dependency_picture
from partwise.report.branches import phrase_tree_picture
from partwise.report.content import (
    Certificate,
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
    "Certificate",
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
