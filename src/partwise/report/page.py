"""The page: from content to HTML, and from HTML to a file."""

import math
import os
import re
from collections.abc import Sequence
from functools import cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from partwise.files import write_atomically
from partwise.report import wording
from partwise.report.content import (
    Cell,
    Confusion,
    ErrorExample,
    FeatureGroup,
    Picture,
    Report,
)

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_MOST_LABELS = 20  # rows of the confusion matrix
_MOST_PAIRS = 8  # lines in the list of most frequent confusions
_MOST_GROUPS = 12  # feature groups shown unfolded
_MOST_TOKENS = 60  # of one error example
_CONTEXT = 8  # tokens kept around a difference
_COLUMN = 460  # pixels of a column of pictures
_LONG_TABLE = 20  # rows from which a table stands in two halves beside each other
_NARROW_TABLE = 6  # columns for which there is room twice


class ReportPathError(ValueError):
    """The report cannot be written to the given path."""


def render(report: Report) -> str:
    """Write a report as one self-contained HTML page.

    The same content gives the same text.
    """
    from partwise.report.convergence import convergence
    from partwise.report.verdict import verdict

    certificate = report.certificate
    has_course = report.history and not (certificate and certificate.is_generative)
    page = (
        _environment()
        .get_template("page.html.jinja")
        .render(
            report=report,
            verdict=verdict(certificate, report.tolerance) if certificate else None,
            convergence=convergence(
                report.history,
                tolerance=report.tolerance,
                dual_note=certificate.note if certificate else "",
                # a gap stated in spite of an inexact oracle rests on a relaxation
                is_exact=certificate is None
                or certificate.exact_oracle
                or certificate.gap is not None,
                in_rounds=certificate is not None and certificate.is_local,
            )
            if has_course
            else None,
            tables=[_table(m.header, m.rows) for m in report.metrics],
            confusion=_confusion(report.confusion) if report.confusion else None,
            heaviest=_heaviest(report.features),
            n_open_groups=_MOST_GROUPS,
            errors=[_shorten(e) for e in report.errors],
            pictures=_embedded(report.pictures),
            drawings=_embedded(report.drawings),
        )
    )
    # a lone surrogate in a token has no UTF-8 form and would fail only in `write`
    return page.encode("utf-8", "replace").decode("utf-8")


def write(report: Report, path: str | os.PathLike[str]) -> Path:
    """Render a report into a file, whole or not at all.

    Parameters
    ----------
    report : Report
    path : str or path
        An existing file is replaced.

    Returns
    -------
    pathlib.Path
        The path written.

    Raises
    ------
    ReportPathError
        If the path cannot be written; the message names it and the remedy.
    """
    target = Path(path)
    text = render(report)
    if target.is_dir():
        raise ReportPathError(
            f"cannot write the report to {str(target)!r}: it is a folder; "
            f"give a file name, such as {str(target / 'report.html')!r}"
        )
    try:
        write_atomically(target, text.encode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportPathError(
            f"cannot write the report to {str(target)!r}: {reason}; choose a file "
            "in an existing folder that you may write to"
        ) from error
    return target


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("partwise.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = wording.number
    environment.filters["figure"] = wording.figure
    environment.filters["visible"] = wording.visible
    environment.filters["count"] = wording.count
    environment.filters["weight"] = wording.signed
    environment.filters["share"] = _share
    environment.filters["breakable"] = _breakable
    return environment


class _Embedded(NamedTuple):
    markup: "Markup"
    caption: str
    is_wide: bool  # for a column; the type of drawings does not shrink


def _embedded(pictures: Sequence[Picture]) -> list[_Embedded]:
    from markupsafe import Markup

    from partwise.report.embedding import embed

    embedded = []
    for picture in pictures:
        markup = embed(picture.image, picture.alt or picture.caption)
        width = re.match(r'<svg[^>]*? width="([\d.]+)"', markup)
        is_wide = width is not None and float(width[1]) > _COLUMN
        embedded.append(_Embedded(Markup(markup), picture.caption, is_wide))
    return embedded


class _Table(NamedTuple):
    header: list[tuple[str, bool]]  # name, whether the column holds numbers
    rows: list[list[str]]

    @property
    def halves(self) -> list[list[list[str]]]:
        """The rows, in two parts where they are many and short."""
        n = len(self.rows)
        if n < _LONG_TABLE or len(self.header) > _NARROW_TABLE:
            return [self.rows]
        middle = (n + 1) // 2
        return [self.rows[:middle], self.rows[middle:]]


def _table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> _Table:
    columns = list(zip(*rows, strict=True))
    is_number = [
        all(v is None or isinstance(v, Real) for v in values) for values in columns
    ]
    texts = [wording.column(values) for values in columns]
    return _Table(
        list(zip(header, is_number or [False] * len(header), strict=True)),
        [list(row) for row in zip(*texts, strict=True)],
    )


class _Pair(NamedTuple):
    gold: str
    predicted: str
    n: int
    share: float  # of the tokens with that gold label


class _ConfusionView(NamedTuple):
    labels: list[str]
    rows: list[list[tuple[int, float, bool]]]  # count, shade, on diagonal
    pairs: list[_Pair]
    n_labels: int
    n_predictions: int
    n_errors: int
    n_errors_shown: int


def _confusion(confusion: Confusion) -> _ConfusionView:
    """Keep the labels with the most errors, in the order they were given."""
    matrix = [[int(v) for v in row] for row in confusion.matrix]
    n = len(matrix)
    row_sums = [sum(row) for row in matrix]
    column_sums = [sum(row[j] for row in matrix) for j in range(n)]
    errors = [row_sums[i] + column_sums[i] - 2 * matrix[i][i] for i in range(n)]
    shown = sorted(sorted(range(n), key=lambda i: (-errors[i], i))[:_MOST_LABELS])
    labels = [str(label) for label in confusion.labels]
    wrong = [(matrix[i][j], i, j) for i in range(n) for j in range(n) if i != j]
    worst = sorted(((m, i, j) for m, i, j in wrong if m), key=lambda t: (-t[0], *t[1:]))
    most = max((m / row_sums[i] for m, i, _ in worst), default=1.0)

    def shade(i: int, j: int) -> float:
        share = matrix[i][j] / (row_sums[i] or 1)
        # a good model's errors are all small shares: the root keeps them apart
        return share if i == j else math.sqrt(share / most)

    return _ConfusionView(
        labels=[labels[i] for i in shown],
        rows=[[(matrix[i][j], shade(i, j), i == j) for j in shown] for i in shown],
        pairs=[
            _Pair(labels[i], labels[j], m, m / row_sums[i])
            for m, i, j in worst[:_MOST_PAIRS]
        ],
        n_labels=n,
        n_predictions=sum(row_sums),
        n_errors=sum(m for m, _, _ in wrong),
        n_errors_shown=sum(matrix[i][j] for i in shown for j in shown if i != j),
    )


def _heaviest(features: Sequence[FeatureGroup]) -> float:
    """Largest weight of all groups: one scale, so that labels can be compared."""
    weights = [abs(w) for g in features for _, w in (*g.positive, *g.negative)]
    return max((w for w in weights if wording.nonfinite(w) is None), default=0.0) or 1.0


def _share(weight: float, heaviest: float) -> float:
    """Length of a weight's bar, between 0 and 1."""
    if wording.nonfinite(weight) is not None:
        return 0.0
    return abs(weight) / heaviest


def _breakable(text: str) -> "Markup":
    """Let a conjunction of features wrap after its bars before it wraps anywhere."""
    from markupsafe import Markup

    return Markup("|<wbr>").join(text.split("|"))


class _Token(NamedTuple):
    text: str
    gold: str
    predicted: str
    is_wrong: bool


class _ErrorView(NamedTuple):
    pieces: list[_Token | int]  # an integer is a number of tokens left out
    n_wrong: int
    n_tokens: int
    example: Any


def _shorten(example: ErrorExample) -> _ErrorView:
    """Keep the differences with their context; long texts lose the rest."""
    n = len(example.tokens)
    wrong = [t for t in range(n) if str(example.gold[t]) != str(example.predicted[t])]
    if n <= _MOST_TOKENS:
        shown = list(range(n))
    else:
        near = {
            t
            for w in wrong[:_MOST_TOKENS] or [0]
            for t in range(max(0, w - _CONTEXT), min(n, w + _CONTEXT + 1))
        }
        shown = sorted(near)[:_MOST_TOKENS]
    pieces: list[_Token | int] = []
    end = 0
    for t in [*shown, n]:
        if t > end:
            pieces.append(t - end)
        if t < n:
            gold, predicted = str(example.gold[t]), str(example.predicted[t])
            token = str(example.tokens[t])
            pieces.append(_Token(token, gold, predicted, gold != predicted))
        end = t + 1
    return _ErrorView(pieces, len(wrong), n, example)
