"""What each field reports: metrics of lists of label lists.

>>> from partwise.metrics import span_f1
>>> span_f1([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
0.6666666666666666
"""

from partwise.metrics.registry import METRICS, Metric, Scorer, metric, scorer
from partwise.metrics.spans import (
    Span,
    SpanRow,
    span_f1,
    span_precision,
    span_recall,
    span_report,
    spans,
)
from partwise.metrics.tokens import (
    LabelRow,
    confusion,
    exact_match,
    label_report,
    macro_f1,
    token_accuracy,
    token_error,
)

__all__ = [
    "METRICS",
    "LabelRow",
    "Metric",
    "Scorer",
    "Span",
    "SpanRow",
    "confusion",
    "exact_match",
    "label_report",
    "macro_f1",
    "metric",
    "scorer",
    "span_f1",
    "span_precision",
    "span_recall",
    "span_report",
    "spans",
    "token_accuracy",
    "token_error",
]
