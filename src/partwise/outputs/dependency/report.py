"""The report of a dependency parser: scores, confusions, drawn errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.metrics import (
    arc_length_report,
    confusion,
    measure_dependencies,
    relation_report,
    sentence_length_report,
)
from partwise.metrics.dependencies import universal_relation
from partwise.readers.trees import DependencyTree, is_projective
from partwise.report.arcs import draw_dependency_tree
from partwise.report.content import (
    Confusion,
    FeatureGroup,
    MetricTable,
    Picture,
    Report,
)
from partwise.report.support import NOTE, TITLE, count_words, heaviest_examples

if TYPE_CHECKING:
    from partwise.outputs.dependency.model import DependencyModel
    from partwise.readers.table import Table

Trees = Sequence[DependencyTree]

_MOST_WORDS = 25  # of a drawn sentence
_NOTE = (
    "Above the words stands the predicted tree, its wrong arcs in colour; below them "
    "hang the true arcs that it lacks."
)


def dependency_report(
    *,
    words: Sequence[Sequence[str]],
    y: Trees,
    y_pred: Trees,
    tags: Sequence[Sequence[str]] | None = None,
    caption: str = "Evaluation",
    n_errors: int = 12,
    **page: Any,
) -> Report:
    """Fill a report from a parser's predictions.

    Parameters
    ----------
    words, tags : lists of lists of str
        The evaluated sentences, as they are drawn.
    y, y_pred : lists of DependencyTree
    caption : str
        What was evaluated.
    n_errors : int
        How many errors to draw.
    **page
        Title, certificate and the like, see `Report`.
    """
    relations = [
        [[universal_relation(label) for label in tree[1]] for tree in trees]
        for trees in (y, y_pred)
    ]
    labels, matrix = confusion(*relations)
    return Report(
        metrics=_tables(y, y_pred, caption),
        confusion=Confusion(labels, matrix.tolist()),
        drawings=_worst_errors(words, tags, y, y_pred, n_errors),
        drawings_note=_NOTE,
        **page,
    )


def parser_sections(model: DependencyModel, table: Table) -> dict[str, Any]:
    """What `dependency_report` takes of a model and the evaluated sentences."""
    pairs = model.scoring.named_weights(model.weights, 15)
    sides = [[p for p in pairs if p[1] > 0], [p for p in pairs if p[1] < 0]]
    tags = next((name for name in ("upos", "xpos") if name in table.columns), None)
    return {
        "words": table.strings("form"),
        "tags": None if tags is None else table.strings(tags),
        "features": [FeatureGroup("arcs", *sides)] if pairs else [],
        "pictures": support_tree_pictures(model),
        "pictures_title": TITLE,
        "pictures_note": NOTE,
    }


def _tables(y: Trees, y_pred: Trees, caption: str) -> list[MetricTable]:
    crossed = [
        sum(not is_projective(tree[0]) for tree in trees) for trees in (y, y_pred)
    ]
    overall: dict[str, Any] = dict(measure_dependencies(y, y_pred))
    overall["non-projective, true"], overall["non-projective, predicted"] = crossed
    header = ("precision", "recall", "F1", "number")
    return [
        MetricTable(caption, overall),
        MetricTable(
            "By distance of the head",
            {},
            ("words apart", *header),
            arc_length_report(y, y_pred),
        ),
        MetricTable(
            "By length of the sentence",
            {},
            ("words", "UAS", "LAS", "sentences"),
            sentence_length_report(y, y_pred),
        ),
        MetricTable(
            "By relation", {}, ("relation", *header), relation_report(y, y_pred)
        ),
    ]


def _worst_errors(
    words: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]] | None,
    y: Trees,
    y_pred: Trees,
    n: int,
) -> list[Picture]:
    """Sentences with the most wrong words, as long as they can be read at a glance."""
    wrong = []
    for s, (true, predicted) in enumerate(zip(y, y_pred, strict=True)):
        pairs = zip(zip(*true, strict=True), zip(*predicted, strict=True), strict=True)
        n_wrong = sum(a != b for a, b in pairs)
        if n_wrong and len(words[s]) <= _MOST_WORDS:
            wrong.append((-n_wrong, s))
    return [
        Picture(
            f"sentence {s}: {-count} of {len(words[s])} words attached wrongly",
            draw_dependency_tree(
                words[s], y_pred[s], truth=y[s], tags=None if tags is None else tags[s]
            ),
        )
        for count, s in sorted(wrong)[:n]
    ]


def support_tree_pictures(
    model: DependencyModel, n_sentences: int = 5, n_trees: int = 2
) -> list[Picture]:
    """
    Draw the training sentences with the largest α, wrong arcs above the words.

    Parameters
    ----------
    model : DependencyModel
    n_sentences, n_trees : int
        How many sentences, and how many wrong trees of each.

    Returns
    -------
    list of Picture
        Empty for a model without its dual.
    """
    support, pictures = model.support, []
    for i, planes in heaviest_examples(support, n_sentences):
        truth = _tree(model, support.truth(i))
        n_outputs = count_words(model.structure.n_outputs(len(truth[0])))
        for rank, p in enumerate(planes[:n_trees].tolist(), 1):
            caption = (
                f"Training sentence {int(support.rows[i])}: support structure {rank} "
                f"of {len(planes)} among {n_outputs} trees, "
                f"α = {float(support.alpha[p]):.3g}"
            )
            tree = _tree(model, support.output(p))
            drawn = draw_dependency_tree(support.tokens[i], tree, truth=truth)
            pictures.append(Picture(caption, drawn))
    return pictures


def _tree(model: DependencyModel, code: np.ndarray) -> tuple[list[int], list[str]]:
    """Heads and labels of codes; without labels, empty ones."""
    names = model.joint_labels
    size = max(len(names), 1)
    heads = (code // size).tolist()
    labels = [names[c % size] if names else "" for c in code.tolist()]
    return heads, labels
