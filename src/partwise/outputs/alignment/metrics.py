"""Metrics of alignments by name."""

from __future__ import annotations

from partwise.metrics.alignments import homologue_accuracy, q, q4
from partwise.metrics.registry import Metric

METRICS = {
    entry.name: entry
    for entry in (
        Metric("q", q, True, "% of reference pairs found", "alignments"),
        Metric("q4", q4, True, "% of them within four places", "alignments"),
        Metric(
            "homologue_accuracy",
            homologue_accuracy,
            True,
            "homologues among decoys",
            "alignments",
        ),
    )
}
