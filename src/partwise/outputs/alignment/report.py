"""What a report says about an aligner: alignments, the matrix, gap scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.features.annotated import letters_of
from partwise.report.alignments import matrix_pictures, worst_alignments
from partwise.report.content import MetricTable

if TYPE_CHECKING:
    from partwise.outputs.alignment.model import AlignmentModel
    from partwise.readers.substitution import SubstitutionMatrix

_NOTE = (
    "A blue line is a match of the reference, an orange one contradicts it, a grey one "
    "is not in it. Dots mark letters with a reference partner; hollow ones were missed."
)


def alignment_sections(
    model: AlignmentModel,
    X: Sequence[Any],
    y: Sequence[Any],
    y_pred: Sequence[Any],
    names: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """
    Gap scores, the worst alignments, and the learned matrix.

    Parameters
    ----------
    model : AlignmentModel
    X : list of (a, b)
    y : list of int arrays (k, 2)
        Reference pairs that count.
    y_pred : list of int arrays (k, 2)
    names : list of (family, name, name)
    """
    letters = [(letters_of(a), letters_of(b)) for a, b in X]
    return {
        "metrics": [MetricTable("Gap scores", {}, *gap_table(model))],
        "drawings": worst_alignments(letters, y, y_pred, names, 8),
        "drawings_note": _NOTE,
        "pictures": matrix_pictures(_matrices(model)),
        "pictures_title": "Scores of substitutions",
        "pictures_note": "Rows are letters of the first sequence, blue is above zero.",
    }


def gap_table(model: AlignmentModel) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of all gap scores, beside those that training started from."""
    rows: list[list[Any]] = []
    for title, base, entries in model.tables():
        if title.startswith("gap"):
            for k, name in enumerate(entries):
                begun = [] if model.start is None else [float(model.start[base + k])]
                rows.append([name, float(model.weights[base + k]), *begun])
    header = ["gap", "score"] + (["start"] if model.start is not None else [])
    return header, rows[:100]


def _matrices(model: AlignmentModel) -> dict[str, SubstitutionMatrix]:
    try:
        learned = {"Learned": model.matrix()}
    except ValueError:  # no template compares letters alone
        return {}
    start = {} if model.start is None else {"Start": model.matrix(model.start)}
    return learned | start
