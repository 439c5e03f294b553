"""Losses of dependency trees: wrong heads, and wrong labels at right heads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Floats, Ints
from partwise.structures.losses.base import Loss, loss_named

MAX_STEPS = 4  # of the loss between a right and a wrong head


class ArcLoss(Loss):
    """The number of wrong heads, and a share of the number of wrong labels.

    Parameters
    ----------
    label_cost : float
        What a wrong label at the right head costs, from 0 to 1; a wrong head costs 1.
    normalized : bool
        Divide by the number of words.

    Notes
    -----
    Outputs are pairs (heads, labels) of integer arrays. A subclass may redefine `unit`.

    Examples
    --------
    >>> ArcLoss(0.5).loss(([2, 0], [1, 0]), ([2, 0], [2, 0]))
    0.5
    """

    def __init__(self, label_cost: float = 0.0, normalized: bool = False) -> None:
        self.label_cost = label_cost
        self.normalized = normalized

    def unit(self, n_words: Ints) -> Floats:
        """What a wrong head costs in sentences of these lengths."""
        return 1.0 / n_words if self.normalized else np.ones(len(n_words))

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) of two pairs (heads, labels)."""
        (heads, labels), (heads_hat, labels_hat) = y, y_hat
        wrong = np.not_equal(heads, heads_hat)
        mislabelled = ~wrong & np.not_equal(labels, labels_hat)
        total = float(np.sum(wrong) + self.label_cost * np.sum(mislabelled))
        return total * float(self.unit(np.array([len(wrong)]))[0])

    def saved(self) -> Any:
        """A name, or the cost of a label; a file keeps `normalized` beside it."""
        if type(self) is not ArcLoss:
            return super().saved()
        names = {share: name for name, share in ARC_LOSSES.items()}
        return names.get(self.label_cost, self.label_cost)

    def steps(self) -> int:
        """How many times the cost of a wrong label is in that of a wrong head."""
        cost = self.label_cost
        steps = 1 if cost in (0.0, 1.0) else round(1 / cost)
        if cost and (steps > MAX_STEPS or steps * cost != 1.0):
            raise CapabilityError(
                f"<cost={cost!r}>: slack rescaling and L2 run over every value of "
                f"the loss; use 1, 1/2, 1/3 or 1/4, or <formulation='margin'> with "
                "<penalty='l1'>"
            )
        return steps


ARC_LOSSES: Mapping[str, float] = {"uas": 0.0, "las": 1.0}


def arc_loss(cost: Any, normalized: bool) -> ArcLoss:
    """The loss that `cost` stands for: a name, a share or an `ArcLoss` itself."""
    if isinstance(cost, ArcLoss):
        return cost
    if isinstance(cost, int | float) and 0.0 <= cost <= 1.0:
        return ArcLoss(float(cost), normalized)
    named = {
        name: partial(ArcLoss, share, normalized) for name, share in ARC_LOSSES.items()
    }
    return loss_named(cost, named, " or a number from 0 to 1")
