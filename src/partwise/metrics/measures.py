"""All figures that a field reports of its outputs, by their usual names."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from partwise.metrics.bracketing import EVERYTHING
from partwise.metrics.brackets import bracket_length_report, bracket_report, evalb
from partwise.metrics.dependencies import (
    CONTENT_RELATIONS,
    arc_length_report,
    clas,
    las,
    relation_report,
    sentence_length_report,
    tree_match,
    uas,
    universal_relation,
)
from partwise.metrics.registry import METRICS
from partwise.metrics.spans import as_span_tags

Outputs = Sequence[Any]
RATES = ("precision", "recall", "f1", "n")


class Breakdown(NamedTuple):
    """Figures of parts of the data."""

    name: str  # in JSON
    title: str  # in a report
    header: Sequence[str]
    rows: Sequence[Any]  # a name, rates, a number


def measure_labels(
    y: Outputs, y_pred: Outputs, *, with_spans: bool = True
) -> dict[str, float]:
    """All metrics that these labels have; those of spans only for span tags."""
    as_spans = as_span_tags(y, y_pred) if with_spans else None
    values = {}
    for name, metric in METRICS.items():
        if metric.output not in ("labels", "any"):
            continue
        if not name.startswith("span_"):
            values[name] = metric.function(y, y_pred)
        elif as_spans is not None:
            values[name] = metric.function(*as_spans)
    return values


def measure_dependencies(y: Outputs, y_pred: Outputs) -> dict[str, float]:
    """All scores of dependency trees that these relations have."""
    values = {"uas": uas(y, y_pred), "las": las(y, y_pred)}
    labels = {label for tree in y for label in tree[1] if label is not None}
    if any(":" in label for label in labels):
        values["las_subtypes"] = las(y, y_pred, subtypes=True)
    if CONTENT_RELATIONS.intersection(map(universal_relation, labels)):
        values["clas"] = clas(y, y_pred)
    values["exact_match"] = tree_match(y, y_pred)
    values["unlabelled_match"] = tree_match(y, y_pred, labelled=False)
    return values


def measure_phrases(y: Outputs, y_pred: Outputs) -> dict[str, float]:
    """All scores of phrase-structure trees, EVALB's first."""
    scores = evalb(y, y_pred)
    return {
        "labelled_f1": scores.f1,
        "labelled_precision": scores.precision,
        "labelled_recall": scores.recall,
        "labelled_f1_with_punctuation": evalb(y, y_pred, parameters=EVERYTHING).f1,
        "exact_match": scores.exact_match,
        "tag_accuracy": scores.tag_accuracy,
        "crossing_brackets": scores.crossing,
        "failures": scores.n_failures,
    }


def break_down_dependencies(y: Outputs, y_pred: Outputs) -> list[Breakdown]:
    """By relation, distance and length."""
    relations = relation_report(y, y_pred)
    distances = arc_length_report(y, y_pred)
    lengths = sentence_length_report(y, y_pred)
    by_length = ("words", "uas", "las", "sentences")
    by_distance = ("words apart", *RATES)
    return [
        Breakdown("relations", "By relation", ("relation", *RATES), relations),
        Breakdown("arc_lengths", "By distance of the head", by_distance, distances),
        Breakdown("sentence_lengths", "By length of the sentence", by_length, lengths),
    ]


def break_down_phrases(y: Outputs, y_pred: Outputs) -> list[Breakdown]:
    """By label and length."""
    labels, lengths = bracket_report(y, y_pred), bracket_length_report(y, y_pred)
    by_length = ("words", "f1", "exact", "crossing", "sentences")
    return [
        Breakdown("labels", "By label", ("label", *RATES), labels),
        Breakdown("sentence_lengths", "By length of the sentence", by_length, lengths),
    ]
