"""Metrics of alignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.metrics.registry import Metric


def lost_share(truth: Any, predicted: Any, tolerance: int) -> float:
    """Share of reference pairs (i, j) without a pair (i, j'), |j − j'| ≤ tolerance."""
    reference = np.asarray(truth).reshape(-1, 2).tolist()
    partner = dict(np.asarray(predicted).reshape(-1, 2).tolist())
    lost = sum(
        i not in partner or abs(partner[i] - j) > tolerance for i, j in reference
    )
    return lost / len(reference) if reference else 0.0


def q(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Percentage of reference pairs that are predicted, a mean over alignments.

    Examples
    --------
    >>> q([[(0, 0), (1, 1)]], [[(0, 0), (1, 3)]]), q4([[(1, 1)]], [[(1, 3)]])
    (50.0, 100.0)
    """
    return _mean(y_true, y_pred, 0)


def q4(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Percentage of reference pairs that are predicted at most four places off."""
    return _mean(y_true, y_pred, 4)


def homologue_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of examples whose best candidate is the true one."""
    right = [int(a[0]) == int(b[0]) for a, b in zip(y_true, y_pred, strict=True)]
    return sum(right) / max(len(right), 1)


def _mean(y_true: Sequence[Any], y_pred: Sequence[Any], tolerance: int) -> float:
    pairs = list(zip(y_true, y_pred, strict=True))
    shares = [1.0 - lost_share(_pairs(a), _pairs(b), tolerance) for a, b in pairs]
    return 100.0 * sum(shares) / max(len(shares), 1)


def _pairs(output: Any) -> Any:
    """The alignment of an output; that of candidates comes with a number."""
    is_choice = isinstance(output, tuple) and isinstance(output[0], int | np.integer)
    return output[1] if is_choice else output


def by_family(
    families: Sequence[str], y_true: Sequence[Any], y_pred: Sequence[Any]
) -> list[tuple[str, float, float, int]]:
    """(family, q, q4, number of alignments), in the order of the first ones.

    Examples
    --------
    >>> by_family(["f", "g", "f"], [[(0, 0)]] * 3, [[(0, 0)], [], [(0, 2)]])
    [('f', 50.0, 100.0, 2), ('g', 0.0, 0.0, 1)]
    """
    members: dict[str, list[int]] = {}
    for i, family in enumerate(families):
        members.setdefault(family, []).append(i)
    rows = []
    for family, here in members.items():
        both = [y_true[i] for i in here], [y_pred[i] for i in here]
        rows.append((family or "-", q(*both), q4(*both), len(here)))
    return rows


METRICS = {
    entry.name: entry
    for entry in (
        Metric("q", q, True, "% of reference pairs found", "alignments"),
        Metric("q4", q4, True, "% of them within four places", "alignments"),
        Metric(
            "homologue_accuracy",
            homologue_accuracy,
            True,
            "homologues among decoys",
            "alignments",
        ),
    )
}
