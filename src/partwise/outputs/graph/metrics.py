"""Metrics of labelled graphs: nodes are counted as tokens are."""

from __future__ import annotations

from partwise.metrics.registry import Metric
from partwise.metrics.tokens import token_accuracy, token_error

_LISTED = (
    Metric("node_accuracy", token_accuracy, True, "nodes with the right label"),
    Metric("node_error", token_error, False, "nodes with a wrong label"),
)
METRICS = {entry.name: entry for entry in _LISTED}
