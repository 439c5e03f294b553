"""What a report says about an aligner: alignments, the matrix, gap scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partwise.features.annotated import letters_of
from partwise.outputs.alignment.metrics import lost_share
from partwise.report.alignments import draw_alignment, draw_heat_map
from partwise.report.content import MetricTable, Picture

if TYPE_CHECKING:
    from partwise.outputs.alignment.model import AlignmentModel

_LONGEST = 400  # letters of a sequence that is drawn
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
    return {
        "metrics": [MetricTable("Gap scores", {}, *gap_table(model))],
        "drawings": _worst(X, y, y_pred, names, 8),
        "drawings_note": _NOTE,
        "pictures": _matrices(model),
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


def _matrices(model: AlignmentModel) -> list[Picture]:
    try:
        learned = model.matrix()
    except ValueError:  # no template compares letters alone
        return []
    tables = [("Learned", learned)]
    if model.start is not None:
        tables.append(("Start", model.matrix(model.start)))
    return [
        Picture(
            f"{name}: largest {abs(table.scores).max(initial=0.0):.3g}",
            draw_heat_map(table.rows, table.columns, table.scores, name),
        )
        for name, table in tables
    ]


def _worst(
    X: Sequence[Any], y: Sequence[Any], y_pred: Sequence[Any], names: Any, n: int
) -> list[Picture]:
    """Alignments that lose most of their reference."""
    lost = []
    for i, (truth, predicted) in enumerate(zip(y, y_pred, strict=True)):
        share = lost_share(truth, predicted, 0)
        if share > 0 and max(len(letters_of(x)) for x in X[i]) <= _LONGEST:
            lost.append((-share, i))
    pictures = []
    for share, i in sorted(lost)[:n]:
        a, b = map(letters_of, X[i])
        caption = f"{names[i][0]}: {names[i][1]} and {names[i][2]}, {-share:.0%} lost"
        pictures.append(Picture(caption, draw_alignment(a, b, y_pred[i], y[i])))
    return pictures
