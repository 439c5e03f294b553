"""Sections of the report of a tagger: tables, confusion, worst errors, support."""

from __future__ import annotations

from typing import Any

from partwise.metrics import as_span_tags, label_report, span_report
from partwise.outputs.hidden_truths import filled, known_pairs
from partwise.outputs.listings import label_sections
from partwise.report.errors import label_errors
from partwise.report.support import support_pictures, support_sections

Rows = list[list[Any]]


def sequence_sections(
    model: Any, tokens: Rows, y: Rows, y_pred: Rows
) -> dict[str, Any]:
    """What a report shows of labels and their predictions, `tokens` as strings.

    Labels may be None: not known. Then there are no spans, and no errors there.
    """
    pairs = known_pairs(y, y_pred)
    sections = label_sections("label", label_report(*pairs), pairs)
    spans = as_span_tags(y, y_pred) if pairs[0] == y else None
    if spans is not None:
        by_span = label_sections("span", span_report(*spans))
        sections["metrics"] = by_span["metrics"] + sections["metrics"]
    cost = model.structure.cost_matrix()
    errors = label_errors(tokens, filled(y, y_pred), y_pred, model.labels, cost)
    return sections | {"errors": errors} | support_sections(support_pictures(model))
