"""What a report says about a classifier."""

from __future__ import annotations

from typing import Any

from partwise.metrics import confusion, label_report
from partwise.outputs.multiclass.metrics import METRICS
from partwise.outputs.sequence.report import telling_features
from partwise.report.content import Confusion, MetricTable, Report
from partwise.report.training import history_points, stated_certificate


def multiclass_report(
    model: Any,
    y: list[Any],
    y_pred: list[Any],
    *,
    caption: str,
    certificate: dict[str, Any] | None = None,
    history: Any = (),
    **common: Any,
) -> Report:
    """Fill a report from a classifier and its predictions."""
    labels, matrix = confusion([y], [y_pred])
    values = {name: metric.function(y, y_pred) for name, metric in METRICS.items()}
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
        features=telling_features(model),
        **common,
    )
