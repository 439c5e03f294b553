"""The worst errors of a prediction: sequences with both labels, trees drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from partwise.metrics import confusion
from partwise.metrics.bracketing import bracketing_pairs
from partwise.metrics.brackets import sentence_scores
from partwise.metrics.dependencies import universal_relation
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.report.arcs import draw_dependency_tree
from partwise.report.content import Confusion, ErrorExample, Picture
from partwise.report.phrase_trees import draw_phrase_tree

MOST_WORDS = 25  # of a drawn sentence, which can be read at a glance


def label_errors(
    tokens: Sequence[Sequence[str]],
    y: Sequence[Sequence[Any]],
    y_pred: Sequence[Sequence[Any]],
    labels: Sequence[Any],
    cost: Any,
    n: int = 20,
) -> list[ErrorExample]:
    """
    Sequences of largest loss.

    Parameters
    ----------
    tokens : list of lists of str
        The sequences, as they are shown.
    y, y_pred : lists of lists of labels
    labels : list
        Those that the model knows; any other costs 1.
    cost : array (L, L)
        Of the column's label for the row's.
    n : int
    """
    number = {str(label): k for k, label in enumerate(labels)}
    losses = []
    for true, predicted in zip(y, y_pred, strict=True):
        loss = 0.0
        for a, b in zip(map(str, true), map(str, predicted), strict=True):
            if a != b:
                is_known = a in number and b in number
                loss += cost[number[a], number[b]] if is_known else 1.0
        losses.append(loss)
    return [
        ErrorExample(
            list(tokens[row]), list(map(str, y[row])), list(map(str, y_pred[row])),
            loss=losses[row], note=f"sequence {row}",
        )
        for row in _worst(losses, n)
    ]  # fmt: skip


def arc_errors(
    words: Sequence[Sequence[str]],
    y: Sequence[Any],
    y_pred: Sequence[Any],
    tags: Sequence[Sequence[str]] | None = None,
    n: int = 12,
) -> dict[str, Any]:
    """
    Sections of a report: sentences with the most wrong words, and how to read them.

    Parameters
    ----------
    words, tags : lists of lists of str
        The sentences, as they are drawn.
    y, y_pred : lists of DependencyTree
    n : int
    """
    counts = []
    for true, predicted, sentence in zip(y, y_pred, words, strict=True):
        pairs = zip(zip(*true, strict=True), zip(*predicted, strict=True), strict=True)
        n_wrong = sum(a != b for a, b in pairs)
        counts.append(n_wrong if len(sentence) <= MOST_WORDS else 0)
    drawings = [
        Picture(
            f"sentence {s}: {counts[s]} of {len(words[s])} words attached wrongly",
            draw_dependency_tree(
                words[s], y_pred[s], truth=y[s], tags=None if tags is None else tags[s]
            ),
        )
        for s in _worst(counts, n)
    ]
    note = (
        "Above the words stands the predicted tree, its wrong arcs in colour; below "
        "them hang the true arcs that it lacks."
    )
    return {"drawings": drawings, "drawings_note": note}


def relation_sections(X: Table, y: Sequence[Any], y_pred: Sequence[Any]) -> Any:
    """Sections of a report: confused relations, without subtypes, and `arc_errors`."""
    y, y_pred = ([DependencyTree(*tree) for tree in trees] for trees in (y, y_pred))
    universal = [
        [list(map(universal_relation, tree.labels)) for tree in trees]
        for trees in (y, y_pred)
    ]
    labels, matrix = confusion(*universal)
    name = next((name for name in ("upos", "xpos") if name in X.columns), None)
    tags = None if name is None else X.strings(name)
    drawn = arc_errors(X.strings("form"), y, y_pred, tags)
    return {"confusion": Confusion(labels, matrix.tolist())} | drawn


def phrase_errors(
    y: Sequence[Any], y_pred: Sequence[Any], n: int = 10
) -> dict[str, Any]:
    """
    Sections of a report: sentences with the most wrong or missed phrases.

    Parameters
    ----------
    y, y_pred : lists of phrase-structure trees
        A prediction may be None where parsing failed.
    n : int
    """
    captions, counts = [], []
    for s, (gold, parse) in enumerate(bracketing_pairs(y, y_pred)):
        caption, n_wrong = "", 0
        if parse is not None and gold.length <= MOST_WORDS:
            score = sentence_scores(gold, parse)
            n_made_up = score.n_predicted - score.n_correct
            n_missed = score.n_true - score.n_correct
            n_wrong = n_made_up + n_missed
            caption = (
                f"sentence {s}: {score.n_correct} phrases right, {n_made_up} wrong, "
                f"{n_missed} missed"
            )
        captions.append(caption)
        counts.append(n_wrong)
    drawings = [
        Picture(captions[s], draw_phrase_tree(y_pred[s], truth=y[s]))
        for s in _worst(counts, n)
    ]
    note = (
        "The predicted tree stands above the true one. Framed phrases are in one of "
        "them only."
    )
    return {"drawings": drawings, "drawings_note": note}


def _worst(losses: Iterable[float], n: int) -> list[int]:
    """The n examples of largest loss, the first of equal ones first."""
    rows = [(-loss, row) for row, loss in enumerate(losses) if loss > 0]
    return [row for _, row in sorted(rows)[:n]]
