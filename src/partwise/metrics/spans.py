"""Metrics that count labelled spans (chunks, entities), with conlleval's semantics."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from partwise.metrics._pairs import Labels, Rates, paired, rate_rows, rates
from partwise.readers.span_tags import Span as Span
from partwise.readers.span_tags import is_span_tag
from partwise.readers.span_tags import spans as spans


def span_precision(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Share of the predicted spans that are right in type, start and end.

    Parameters
    ----------
    y_true, y_pred : sequences of tag sequences
        True and predicted tags, see `spans`.

    Returns
    -------
    float
        Between 0 and 1; 0 when no span is predicted.

    Examples
    --------
    >>> span_precision([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    0.5
    """
    return _overall(y_true, y_pred).precision


def span_recall(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Share of the true spans that are found with their type, start and end.

    Between 0 and 1, 0 when there is no true span; see `span_precision`.

    Examples
    --------
    >>> span_recall([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    1.0
    """
    return _overall(y_true, y_pred).recall


def span_f1(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Harmonic mean of `span_precision` and `span_recall`: the F1 of conlleval.

    Between 0 and 1, 0 when no span is right; see `span_precision`.

    Examples
    --------
    >>> span_f1([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    0.6666666666666666
    """
    return _overall(y_true, y_pred).f1


class SpanRow(NamedTuple):
    """How well the spans of one type are found; `support` counts the true ones."""

    type: str
    precision: float
    recall: float
    f1: float
    support: int


def span_report(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> list[SpanRow]:
    """Precision, recall, F1 and support of each span type, sorted by type.

    Parameters
    ----------
    y_true, y_pred : sequences of tag sequences
        True and predicted tags, see `spans`.

    Returns
    -------
    list of SpanRow
        One row (type, precision, recall, f1, support) per type that occurs in the
        truth or in the prediction. An undefined rate (0/0) is 0.

    Examples
    --------
    >>> for row in span_report([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]]):
    ...     print(row.type, row.precision, row.recall, row.support)
    LOC 0.0 0.0 1
    PER 0.5 1.0 1
    """
    counts = _count(y_true, y_pred)
    types = sorted(counts.true.keys() | counts.predicted.keys())
    return rate_rows(SpanRow, types, *counts)


class _Counts(NamedTuple):
    """Number of spans of each type."""

    correct: Counter[str]
    predicted: Counter[str]
    true: Counter[str]


def _count(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> _Counts:
    counts = _Counts(Counter(), Counter(), Counter())
    for true, predicted in paired(y_true, y_pred):
        true_spans, predicted_spans = spans(true), spans(predicted)
        counts.true.update(span.type for span in true_spans)
        counts.predicted.update(span.type for span in predicted_spans)
        correct = set(true_spans).intersection(predicted_spans)
        counts.correct.update(span.type for span in correct)
    return counts


def _overall(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> Rates:
    counts = _count(y_true, y_pred)
    return rates(counts.correct.total(), counts.predicted.total(), counts.true.total())


def as_span_tags(
    y: Sequence[Labels], y_pred: Sequence[Labels]
) -> tuple[Sequence[Labels], Sequence[Labels]] | None:
    """The labels, if they are span tags, else None.

    They are if all predicted labels are span tags and some label has a type. A true
    label that is no span tag then counts as a span that no prediction can match.
    """
    predicted = {label for row in y_pred for label in row}
    true = {label for row in y for label in row}
    if not all(map(is_span_tag, predicted)):
        return None
    if not any(is_span_tag(t) and "-" in t for t in predicted | true):
        return None
    others = {label for label in true if not is_span_tag(label)}
    if others:
        y = [[f"S-{t}" if t in others else t for t in row] for row in y]
    return y, y_pred
