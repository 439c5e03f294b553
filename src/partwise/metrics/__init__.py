"""Metrics of label sequences and of trees, as each field reports them.

>>> from partwise.metrics import span_f1
>>> span_f1([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
0.6666666666666666
"""

from partwise.metrics.bracketing import COLLINS, EVERYTHING, EvalbParameters
from partwise.metrics.brackets import (
    BracketLengthRow,
    BracketRow,
    BracketScores,
    bracket_confusion,
    bracket_length_report,
    bracket_report,
    crossing_brackets,
    evalb,
    labelled_f1,
    labelled_precision,
    labelled_recall,
    tag_accuracy,
)
from partwise.metrics.dependencies import (
    ArcLengthRow,
    RelationRow,
    SentenceLengthRow,
    arc_length_report,
    clas,
    las,
    relation_report,
    sentence_length_report,
    tree_match,
    uas,
)
from partwise.metrics.measures import (
    measure_dependencies,
    measure_labels,
    measure_phrases,
)
from partwise.metrics.registry import METRICS, Metric, Scorer, metric, scorer
from partwise.metrics.significance import McNemar, bracket_decisions, mcnemar
from partwise.metrics.spans import (
    Span,
    SpanRow,
    as_span_tags,
    span_f1,
    span_precision,
    span_recall,
    span_report,
    spans,
)
from partwise.metrics.tokens import (
    LabelRow,
    confusion,
    label_report,
    macro_f1,
    token_accuracy,
    token_error,
)
from partwise.metrics.whole import exact_match

__all__ = [
    "COLLINS",
    "EVERYTHING",
    "METRICS",
    "ArcLengthRow",
    "BracketLengthRow",
    "BracketRow",
    "BracketScores",
    "EvalbParameters",
    "LabelRow",
    "McNemar",
    "Metric",
    "RelationRow",
    "Scorer",
    "SentenceLengthRow",
    "Span",
    "SpanRow",
    "arc_length_report",
    "as_span_tags",
    "bracket_confusion",
    "bracket_decisions",
    "bracket_length_report",
    "bracket_report",
    "clas",
    "confusion",
    "crossing_brackets",
    "evalb",
    "exact_match",
    "label_report",
    "labelled_f1",
    "labelled_precision",
    "labelled_recall",
    "las",
    "macro_f1",
    "mcnemar",
    "measure_dependencies",
    "measure_labels",
    "measure_phrases",
    "metric",
    "relation_report",
    "scorer",
    "sentence_length_report",
    "span_f1",
    "span_precision",
    "span_recall",
    "span_report",
    "spans",
    "tag_accuracy",
    "token_accuracy",
    "token_error",
    "tree_match",
    "uas",
]
