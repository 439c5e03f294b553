"""Metrics of clusterings by name."""

from __future__ import annotations

from partwise.metrics.clusters import (
    b_cubed_f1,
    ceaf_e_f1,
    ceaf_m_f1,
    conll_f1,
    mitre_loss,
    muc_f1,
    pair_loss,
)
from partwise.metrics.registry import Metric

METRICS = {
    entry.name: entry
    for entry in (
        Metric("muc_f1", muc_f1, True, "F1 of links", "clusters"),
        Metric("mitre_loss", mitre_loss, False, "100 (1 - MUC F1)", "clusters"),
        Metric("pair_loss", pair_loss, False, "wrong pairs, per cent", "clusters"),
        Metric("b_cubed_f1", b_cubed_f1, True, "F1 of items' clusters", "clusters"),
        Metric("ceaf_m_f1", ceaf_m_f1, True, "aligned clusters, items", "clusters"),
        Metric("ceaf_e_f1", ceaf_e_f1, True, "aligned clusters", "clusters"),
        Metric("conll_f1", conll_f1, True, "mean of MUC, B3 and CEAF", "clusters"),
    )
}
