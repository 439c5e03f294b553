"""The report of a tagger: tables, confusion, features, worst errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.metrics import (
    as_span_tags,
    confusion,
    label_report,
    measure_labels,
    span_report,
)
from partwise.report import support
from partwise.report.content import Confusion, ErrorExample, MetricTable, Report
from partwise.report.support import support_pictures

if TYPE_CHECKING:
    from partwise.outputs.sequence.model import SequenceModel

Labels = list[list[Any]]


def sequence_report(
    model: SequenceModel,
    *,
    tokens: Sequence[Sequence[str]],
    y: Labels,
    y_pred: Labels,
    caption: str = "Evaluation",
    n_errors: int = 20,
    **page: Any,
) -> Report:
    """Fill a report from a tagger and its predictions.

    Parameters
    ----------
    model : SequenceModel
    tokens : list of lists of str
        The evaluated sequences, as they are shown.
    y, y_pred : lists of lists of labels
    caption : str
        What was evaluated.
    n_errors : int
        How many errors to show.
    **page
        Title, certificate, features and the like, see `Report`.
    """
    labels, matrix = confusion(y, y_pred)
    return Report(
        metrics=_tables(y, y_pred, caption),
        confusion=Confusion([str(label) for label in labels], matrix.tolist()),
        errors=_worst_errors(model, tokens, y, y_pred, n_errors),
        pictures=support_pictures(model),
        pictures_title=support.TITLE,
        pictures_note=support.NOTE,
        **page,
    )


def _tables(y: Labels, y_pred: Labels, caption: str) -> list[MetricTable]:
    header = ("precision", "recall", "F1", "number")
    rows = [(str(row.label), *row[1:]) for row in label_report(y, y_pred)]
    by_label = MetricTable("By label", {}, ("label", *header), rows)
    overall = MetricTable(caption, dict(measure_labels(y, y_pred)))
    as_spans = as_span_tags(y, y_pred)
    if as_spans is None:
        return [overall, by_label]
    span_rows = [(row.type, *row[1:]) for row in span_report(*as_spans)]
    return [overall, MetricTable("By span", {}, ("span", *header), span_rows), by_label]


def _worst_errors(
    model: SequenceModel,
    tokens: Sequence[Sequence[str]],
    y: Labels,
    y_pred: Labels,
    n: int,
) -> list[ErrorExample]:
    """Sequences of largest loss, as the chain counts it; a new label costs 1."""
    number = {str(label): k for k, label in enumerate(model.labels)}
    cost = model.structure.cost_matrix()
    errors = []
    for row, (true, predicted) in enumerate(zip(y, y_pred, strict=True)):
        loss = 0.0
        for a, b in zip(true, predicted, strict=True):
            if a != b:
                known = str(a) in number and str(b) in number
                loss += cost[number[str(a)], number[str(b)]] if known else 1.0
        if loss > 0:
            errors.append((-loss, row))
    return [
        ErrorExample(
            list(tokens[row]),
            [str(label) for label in y[row]],
            [str(label) for label in y_pred[row]],
            loss=-loss,
            note=f"sequence {row}",
        )
        for loss, row in sorted(errors)[:n]
    ]
