"""Metrics that count labelled spans (chunks, entities), with conlleval's semantics."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from partwise.metrics._pairs import Labels, Rates, paired, rates

# Prefixes of BILOU and BMES, read as those of BIOES.
_SYNONYMS = {"L": "E", "U": "S", "M": "I"}


class Span(NamedTuple):
    """A labelled stretch of tokens: `labels[start:end]`."""

    type: str
    start: int
    end: int


class SpanRow(NamedTuple):
    """How well the spans of one type are found; `support` counts the true ones."""

    type: str
    precision: float
    recall: float
    f1: float
    support: int


def spans(labels: Sequence[str]) -> list[Span]:
    """Read the spans of one tag sequence, as the conlleval script does.

    A span opens at `B-` or `S-`, and at an `I-` or `E-` that continues nothing;
    it closes after `E-` or `S-`, and before whatever does not continue it. So
    BIO, IOB1 and BIOES tags are read without saying which they are, and
    malformed sequences have a meaning too.

    Parameters
    ----------
    labels : sequence of str
        `O`, or a prefix B, I, E, S (or L, U, M of the BILOU and BMES schemes)
        with `-` and the type. A prefix alone has the type `_`.

    Returns
    -------
    list of Span
        (type, start, end) from left to right, `end` being one past the last token.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(type='PER', start=0, end=2), Span(type='LOC', start=3, end=4)]
    """
    found = []
    open_type, start = None, 0
    for position, label in enumerate(labels):
        prefix, type_ = parse_tag(label)
        if prefix not in "IE" or type_ != open_type:
            if open_type is not None:
                found.append(Span(open_type, start, position))
            open_type, start = (None if prefix == "O" else type_), position
        if prefix in "ES" and open_type is not None:
            found.append(Span(open_type, start, position + 1))
            open_type = None
    if open_type is not None:
        found.append(Span(open_type, start, len(labels)))
    return found


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
    return [
        SpanRow(
            type_,
            *rates(counts.correct[type_], counts.predicted[type_], counts.true[type_]),
            counts.true[type_],
        )
        for type_ in sorted(counts.true.keys() | counts.predicted.keys())
    ]


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
        found = set(true_spans).intersection(predicted_spans)
        counts.correct.update(span.type for span in found)
    return counts


def _overall(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> Rates:
    counts = _count(y_true, y_pred)
    return rates(counts.correct.total(), counts.predicted.total(), counts.true.total())


@lru_cache(maxsize=4096)
def parse_tag(label: str) -> tuple[str, str]:
    """Split a tag into its prefix, as in BIOES, and its type."""
    if (
        not isinstance(label, str)
        or label[:1] not in tuple("OBIESLUM")
        or label[1:2] not in ("", "-")
    ):
        raise ValueError(
            f"label {label!r} is not a span tag: expected O, B-TYPE, I-TYPE, E-TYPE or "
            "S-TYPE; token_accuracy and macro_f1 take labels of any kind"
        )
    return _SYNONYMS.get(label[0], label[0]), label[2:] or "_"


def as_span_tags(
    y: Sequence[Labels], y_pred: Sequence[Labels]
) -> tuple[Sequence[Labels], Sequence[Labels]] | None:
    """The labels, where they are span tags; None where they are not.

    They are when everything predicted is one and some label has a type. A true label
    that is none then becomes a span of its own, which no prediction can match.
    """
    predicted = {label for row in y_pred for label in row}
    true = {label for row in y for label in row}
    if not all(map(_is_span_tag, predicted)):
        return None
    if not any(_is_span_tag(t) and "-" in t for t in predicted | true):
        return None
    strange = {label for label in true if not _is_span_tag(label)}
    if strange:
        y = [[f"S-{t}" if t in strange else t for t in row] for row in y]
    return y, y_pred


def _is_span_tag(label: Any) -> bool:
    try:
        spans([label])
    except ValueError:
        return False
    return True
