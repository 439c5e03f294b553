"""The report of a phrase-structure parser: scores and drawn errors."""

from collections.abc import Sequence
from typing import Any

from partwise.metrics import (
    bracket_confusion,
    bracket_length_report,
    bracket_report,
    measure_phrases,
)
from partwise.metrics.bracketing import bracketing_pairs
from partwise.metrics.brackets import sentence_scores
from partwise.report.branches import draw_phrase_tree
from partwise.report.content import (
    Confusion,
    FeatureGroup,
    MetricTable,
    Picture,
    Report,
)

Trees = Sequence[Any]

_MOST_WORDS = 25  # of a drawn sentence
_NOTE = (
    "The predicted tree stands above the true one. Framed phrases are in one of them "
    "only."
)


def phrase_report(
    *,
    y: Trees,
    y_pred: Trees,
    caption: str = "Evaluation",
    features: Sequence[FeatureGroup] = (),
    n_failures: int | None = None,
    n_too_long: int = 0,
    n_errors: int = 10,
    **page: Any,
) -> Report:
    """Fill a report from a parser's predictions.

    Parameters
    ----------
    y, y_pred : lists of PhraseTree
        A prediction may be None where parsing failed.
    caption : str
        What was evaluated.
    features : list of FeatureGroup
    n_failures : int, optional
        Sentences without a parse, where they have a tree nevertheless; those that are
        None by default.
    n_too_long : int
        Those of them that were too long to be parsed.
    n_errors : int
        How many errors to draw.
    **page
        Title, certificate and the like, see `Report`.
    """
    return Report(
        metrics=_tables(y, y_pred, caption, n_failures, n_too_long),
        confusion=Confusion(*bracket_confusion(y, y_pred)),
        features=list(features),
        drawings=_worst_errors(y, y_pred, n_errors),
        drawings_note=_NOTE,
        **page,
    )


def _tables(
    y: Trees, y_pred: Trees, caption: str, n_failures: int | None, n_too_long: int
) -> list[MetricTable]:
    overall: dict[str, Any] = dict(measure_phrases(y, y_pred))
    if n_failures is not None:
        overall["failures"] = n_failures
    if n_too_long:
        overall["failures, too long"] = n_too_long
    header = ("label", "precision", "recall", "F1", "number")
    by_length = ("words", "F1", "exact match", "crossing", "sentences")
    return [
        MetricTable(caption, overall),
        MetricTable("By label", {}, header, bracket_report(y, y_pred)),
        MetricTable(
            "By length of the sentence", {}, by_length, bracket_length_report(y, y_pred)
        ),
    ]


def _worst_errors(y: Trees, y_pred: Trees, n: int) -> list[Picture]:
    """Sentences with the most wrong or missed phrases that can be read at a glance."""
    wrong = []
    for s, (gold, parse) in enumerate(bracketing_pairs(y, y_pred)):
        if parse is None or gold.length > _MOST_WORDS:
            continue
        score = sentence_scores(gold, parse)
        n_wrong = score.n_predicted + score.n_true - 2 * score.n_correct
        if n_wrong:
            wrong.append((-n_wrong, s, score))
    return [
        Picture(
            f"sentence {s}: {score.n_correct} phrases right, "
            f"{score.n_predicted - score.n_correct} wrong, "
            f"{score.n_true - score.n_correct} missed",
            draw_phrase_tree(y_pred[s], truth=y[s]),
        )
        for _, s, score in sorted(wrong)[:n]
    ]
