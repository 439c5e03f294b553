"""The content of a report, as plain data.

Any output fills these classes with strings and numbers, so a new output needs no change
in the page. A section whose field is empty is left out of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.certificate import Certificate
    from partwise.state import HistoryPoint as SolverPoint

Cell = str | float | int | None


@dataclass
class HistoryPoint:
    """State of the solver at one moment.

    `primal` may be inf before the first full pass and nan where it was not
    evaluated, `dual` −inf or None. `is_estimate` marks a primal that the solver
    estimated instead of computing it by a full pass.
    """

    seconds: float
    oracle_calls: int
    primal: float
    dual: float | None = None
    is_estimate: bool = False

    @classmethod
    def of_solver(cls, point: SolverPoint) -> HistoryPoint:
        """A point of an estimator's ``history_``."""
        is_estimate = not math.isfinite(point.primal)
        return cls(*point[:2], point.objective, point.dual, is_estimate)


@dataclass
class MetricTable:
    """Figures of one evaluation.

    Parameters
    ----------
    caption : str
        What was evaluated, such as ``"Test file"``.
    values : dict of str to number or str
        The few figures to read first.
    header : sequence of str
    rows : sequence of sequence of cells
        A table beneath them, such as precision and recall by span type. All
        numbers of a column get the same number of decimals.
    """

    caption: str
    values: dict[str, Cell] = field(default_factory=dict)
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(
                    f"table {self.caption!r} has {len(self.header)} columns but a row "
                    f"of {len(row)} cells; give every row one cell per column"
                )


@dataclass
class Confusion:
    """Counts of predicted labels (columns) by true label (rows)."""

    labels: Sequence[str]
    matrix: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        n = len(self.labels)
        if len(self.matrix) != n or any(len(row) != n for row in self.matrix):
            raise ValueError(
                f"confusion matrix must be {n} × {n}, one row and one column for each "
                "label; count with the same list of labels on both axes"
            )


@dataclass
class FeatureGroup:
    """Heaviest features of one label: (feature, weight) pairs."""

    name: str
    positive: Sequence[tuple[str, float]] = ()
    negative: Sequence[tuple[str, float]] = ()


@dataclass
class ErrorExample:
    """One wrongly predicted example, shown in context."""

    tokens: Sequence[str]
    gold: Sequence[str]
    predicted: Sequence[str]
    loss: float | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.gold) == len(self.predicted):
            raise ValueError(
                f"error example has {len(self.tokens)} tokens, {len(self.gold)} gold "
                f"and {len(self.predicted)} predicted labels; give one label per token"
            )


@dataclass
class Picture:
    """A drawing: SVG text (str) or the bytes of a PNG or SVG file.

    `alt` describes it to people who do not see it; the caption by default.
    """

    caption: str
    image: str | bytes
    alt: str = ""


@dataclass
class Report:
    """Everything the page shows.

    Parameters
    ----------
    title, subtitle : str
    facts : list of (str, str)
        Data, number of examples, C, solver, seed, seconds, versions.
    certificate : Certificate or None
    history : list of HistoryPoint
        In the order of time; also the ``history_`` of an estimator.
    tolerance : float or None
        Relative gap asked for, for the headline and as a line in the gap chart.
    metrics : list of MetricTable
    confusion : Confusion or None
    features : list of FeatureGroup
    errors : list of ErrorExample
        Worst first.
    pictures : list of Picture
    pictures_title, pictures_note : str
        What they show, and how to read them.
    drawings : list of Picture
        Wrongly predicted outputs drawn beside the truth, worst first. They keep their
        size and scroll, whereas `pictures` shrink to the page.
    drawings_note : str
        How to read them.
    """

    title: str
    subtitle: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    certificate: Certificate | None = None
    history: Sequence[Any] = ()
    tolerance: float | None = None
    metrics: list[MetricTable] = field(default_factory=list)
    confusion: Confusion | None = None
    features: list[FeatureGroup] = field(default_factory=list)
    errors: list[ErrorExample] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    pictures_title: str = "Pictures"
    pictures_note: str = ""
    drawings: list[Picture] = field(default_factory=list)
    drawings_note: str = ""

    def __post_init__(self) -> None:
        self.history = [
            p if isinstance(p, HistoryPoint) else HistoryPoint.of_solver(p)
            for p in self.history
        ]
