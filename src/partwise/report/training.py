"""How training went, from the solver's own records to what the page shows."""

import math
from collections.abc import Sequence
from typing import Any

from partwise.report.content import Certificate, HistoryPoint, Report


def training_report(
    title: str,
    subtitle: str = "",
    *,
    facts: Sequence[tuple[str, str]] = (),
    certificate: dict[str, Any] | None = None,
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
    certificate : dict, optional
        As `partwise.Certificate.to_dict` gives it.
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
        certificate=stated_certificate(certificate),
        history=history_points(history),
        tolerance=tolerance,
        **sections,
    )


def stated_certificate(certificate: dict[str, Any] | None) -> Certificate | None:
    """Certificate of the page from what `partwise.Certificate.to_dict` gives."""
    if certificate is None:
        return None
    names = Certificate.__dataclass_fields__
    return Certificate(**{k: v for k, v in certificate.items() if k in names})


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
