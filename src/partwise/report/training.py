"""How training went, from the solver's own records to what the page shows."""

import math
from collections.abc import Sequence
from typing import Any

from partwise.report.content import Certificate, HistoryPoint


def stated_certificate(certificate: dict[str, Any] | None) -> Certificate | None:
    """Certificate of the page from what `partwise.Certificate.to_dict` gives."""
    if certificate is None:
        return None
    names = Certificate.__dataclass_fields__
    return Certificate(**{k: v for k, v in certificate.items() if k in names})


def history_points(history: Sequence[Any]) -> list[HistoryPoint]:
    """Points of the page from `partwise.protocol.HistoryPoint`.

    Objectives before the first full pass are the solver's estimates.
    """
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
