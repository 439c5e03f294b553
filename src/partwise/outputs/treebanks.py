"""Tables and warnings that the evaluations of both kinds of parser share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from partwise.outputs.task import Listing


def unseen_warning(
    what: str, labels: Iterable[str], known: Iterable[Any], note: str = ""
) -> tuple[dict[str, int], list[str]]:
    """Labels of the data that the model cannot predict, counted, and as a warning."""
    names = {str(name) for name in known}
    unseen = Counter(label for label in labels if label not in names)
    if not unseen:
        return {}, []
    listed = ", ".join(f"{name} ({n})" for name, n in sorted(unseen.items())[:10])
    warning = f"{what} unknown to the model{note}: {listed}"
    return dict(unseen), [warning]


def listing(what: str, header: Sequence[str], rows: Sequence[Any]) -> Listing:
    """A table of rates, the name first and the number last."""
    return Listing("", (what, *header), shares(rows))


def shares(rows: Sequence[Any]) -> list[list[str]]:
    """Rows as text: a name, rates, a number."""
    return [
        [str(name), *(f"{rate:.4f}" for rate in rates), f"{support:,}"]
        for name, *rates, support in rows
    ]
