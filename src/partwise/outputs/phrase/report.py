"""What a report says about a phrase-structure parser: scores and drawn errors."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from partwise.metrics import EVERYTHING, bracket_report, evalb
from partwise.metrics.bracketing import bracketing_pairs
from partwise.metrics.brackets import BracketScores, sentence_scores, total
from partwise.metrics.lengths import SENTENCE_LENGTHS, bin_name, length_name
from partwise.report.branches import phrase_tree_picture
from partwise.report.content import (
    Confusion,
    FeatureGroup,
    MetricTable,
    Picture,
    Report,
)
from partwise.report.training import training_report

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
    n_errors : int
        How many errors to draw.
    **page
        Title, certificate and the like, see `training_report`.
    """
    return training_report(
        metrics=_tables(y, y_pred, caption, n_failures),
        confusion=_confusion(y, y_pred),
        features=list(features),
        drawings=_worst_errors(y, y_pred, n_errors),
        drawings_note=_NOTE,
        **page,
    )


def measure(y: Trees, y_pred: Trees) -> dict[str, float]:
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


def _tables(
    y: Trees, y_pred: Trees, caption: str, n_failures: int | None
) -> list[MetricTable]:
    overall: dict[str, Any] = dict(measure(y, y_pred))
    if n_failures is not None:
        overall["failures"] = n_failures
    header = ("label", "precision", "recall", "F1", "number")
    by_length = ("words", "F1", "exact match", "crossing", "sentences")
    return [
        MetricTable(caption, overall),
        MetricTable("By label", {}, header, bracket_report(y, y_pred)),
        MetricTable(
            "By length of the sentence", {}, by_length, list(length_rows(y, y_pred))
        ),
    ]


class LengthRow(NamedTuple):
    """Scores of sentences of some length; `support` counts the sentences."""

    length: str
    f1: float
    exact_match: float
    crossing: float
    support: int


def length_rows(y: Trees, y_pred: Trees) -> Iterator[LengthRow]:
    """Scores by the number of words of the sentence."""
    groups: dict[str, list[BracketScores]] = {}
    for gold, found in bracketing_pairs(y, y_pred):
        name = length_name(gold.length)
        groups.setdefault(name, []).append(sentence_scores(gold, found))
    for name in (bin_name(*bounds) for bounds in SENTENCE_LENGTHS):
        if name in groups:
            here = total(groups[name])
            yield LengthRow(
                name, here.f1, here.exact_match, here.crossing, here.n_sentences
            )


def _confusion(y: Trees, y_pred: Trees) -> Confusion:
    """Labels of phrases over the same words."""
    counts: Counter[tuple[str, str]] = Counter()
    for gold, found in bracketing_pairs(y, y_pred):
        if found is None:
            continue
        same = gold.brackets & found.brackets
        for (label, _, _), n in same.items():
            counts[label, label] += n
        missed: dict[tuple[int, int], list[str]] = {}
        for label, *span in sorted((gold.brackets - same).elements()):
            missed.setdefault((span[0], span[1]), []).append(label)
        for label, *span in sorted((found.brackets - same).elements()):
            if missed.get((span[0], span[1])):
                counts[missed[span[0], span[1]].pop(0), label] += 1
    labels = sorted({label for pair in counts for label in pair})
    return Confusion(labels, [[counts[a, b] for b in labels] for a in labels])


def _worst_errors(y: Trees, y_pred: Trees, n: int) -> list[Picture]:
    """Sentences with the most wrong or missed phrases that can be read at a glance."""
    wrong = []
    for s, (gold, found) in enumerate(bracketing_pairs(y, y_pred)):
        if found is None or gold.length > _MOST_WORDS:
            continue
        score = sentence_scores(gold, found)
        n_wrong = score.n_predicted + score.n_true - 2 * score.n_correct
        if n_wrong:
            wrong.append((-n_wrong, s, score))
    return [
        Picture(
            f"sentence {s}: {score.n_correct} phrases right, "
            f"{score.n_predicted - score.n_correct} wrong, "
            f"{score.n_true - score.n_correct} missed",
            phrase_tree_picture(y_pred[s], truth=y[s]),
        )
        for _, s, score in sorted(wrong)[:n]
    ]
