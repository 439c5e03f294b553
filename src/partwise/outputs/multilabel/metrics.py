"""Metrics of sets of labels."""

from partwise.metrics.sets import METRICS as METRICS
from partwise.metrics.sets import all_measures as all_measures
