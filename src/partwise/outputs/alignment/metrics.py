"""Metrics of alignments."""

from partwise.metrics.alignments import METRICS as METRICS
