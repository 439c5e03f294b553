"""How training went, from the solver's own records to what the page shows."""

import math
from collections.abc import Sequence
from typing import Any

from partwise.certificate import Certificate
from partwise.report.content import HistoryPoint, Report


def training_report(
    title: str,
    subtitle: str = "",
    *,
    facts: Sequence[tuple[str, str]] = (),
    certificate: Certificate | None = None,
    history: Sequence[Any] = (),
    tolerance: float | None = None,
    **sections: Any,
) -> Report:
    """
    The report of a training.

    Parameters
    ----------
    title, subtitle : str
    facts : list of (str, str)
    certificate : Certificate, optional
    history : list of partwise.protocol.HistoryPoint
        Objectives before the first full pass are the solver's estimates.
    tolerance : float, optional
    **sections
        What was evaluated: other fields of `Report`.

    Returns
    -------
    Report
    """
    return Report(
        title,
        subtitle,
        facts=list(facts),
        certificate=certificate,
        history=history_points(history),
        tolerance=tolerance,
        **sections,
    )


def history_points(history: Sequence[Any]) -> list[HistoryPoint]:
    """Points of the page from `partwise.protocol.HistoryPoint`."""
    return [
        HistoryPoint(
            p.seconds,
            p.oracle_calls,
            p.objective,
            p.dual,
            is_estimate=not math.isfinite(p.primal),
        )
        for p in history
    ]
