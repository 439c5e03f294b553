"""What a report says about a classifier."""

from __future__ import annotations

from typing import Any

from partwise.metrics import confusion, label_report
from partwise.report.content import Confusion, MetricTable, Report
from partwise.report.training import history_points, stated_certificate


def multiclass_report(
    y: list[Any],
    y_pred: list[Any],
    *,
    values: dict[str, float],
    caption: str,
    certificate: dict[str, Any] | None = None,
    history: Any = (),
    **common: Any,
) -> Report:
    """
    Fill a report from the predictions of a classifier.

    Parameters
    ----------
    y, y_pred : lists of classes
    values : dict
        The measures to read first.
    caption : str
        What was evaluated.
    certificate : dict, optional
        As `partwise.Certificate.to_dict` gives it.
    history : list of HistoryPoint
    common
        Further fields of the report.
    """
    labels, matrix = confusion([y], [y_pred])
    header = ("class", "precision", "recall", "F1", "number")
    rows = [(str(row.label), *row[1:]) for row in label_report([y], [y_pred])]
    return Report(
        certificate=stated_certificate(certificate),
        history=history_points(history),
        metrics=[
            MetricTable(caption, dict(values)),
            MetricTable("By class", {}, header, rows),
        ],
        confusion=Confusion([str(label) for label in labels], matrix.tolist()),
        **common,
    )
