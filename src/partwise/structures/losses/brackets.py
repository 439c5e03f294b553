"""Losses of phrase-structure trees, by counts of brackets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.parameters import SettingsError
from partwise.structures.losses.base import FRONTIER, Loss, loss_named
from partwise.structures.losses.tokens import ZeroOne


@dataclass(frozen=True)
class Bracketing:
    """A tree as losses see it."""

    tree: Any  # equal for equal trees
    brackets: frozenset[tuple[str, int, int]]  # (label, begin, end)


class BracketLoss(Loss):
    """A loss that follows from the brackets that two trees share."""

    @abstractmethod
    def at(self, n_gold: int, n_correct: int, n_predicted: int) -> float:
        """Δ by the counts of true, of correct and of predicted brackets."""

    def loss(self, y: Bracketing, y_hat: Bracketing) -> float:
        """Δ(y, ŷ)."""
        gold, predicted = y.brackets, y_hat.brackets
        return self.at(len(gold), len(gold & predicted), len(predicted))


class Brackets(BracketLoss):
    """Costs of brackets that are missed and of brackets that are made up.

    Parameters
    ----------
    missed, spurious : float
        Cost of each true bracket that was not predicted, and of each predicted bracket
        that is not true.

    Examples
    --------
    >>> Brackets().at(n_gold=4, n_correct=3, n_predicted=5)
    3.0
    >>> Brackets(missed=2.0).at(n_gold=4, n_correct=3, n_predicted=5)
    4.0
    """

    def __init__(self, missed: float = 1.0, spurious: float = 1.0) -> None:
        self.missed = missed
        self.spurious = spurious

    def at(self, n_gold: int, n_correct: int, n_predicted: int) -> float:
        """Δ by counts."""
        missed, spurious = n_gold - n_correct, n_predicted - n_correct
        return float(self.missed * missed + self.spurious * spurious)

    def saved(self) -> str:
        """The name of even costs."""
        return "brackets" if self.prices() == (1.0, 1.0) else super().saved()

    def prices(self) -> tuple[float, float]:
        """The two costs, checked."""
        costs = float(self.missed), float(self.spurious)
        if not np.isfinite(costs).all() or min(costs) < 0 or max(costs) == 0:
            raise SettingsError(f"<cost={self!r}>: give numbers ≥ 0, not both zero")
        return costs


class BracketF1(BracketLoss):
    """1 − F1 of the brackets.

    Examples
    --------
    >>> BracketF1().at(n_gold=3, n_correct=2, n_predicted=5)
    0.5
    """

    name = "f1"
    search = FRONTIER

    def at(self, n_gold: int, n_correct: int, n_predicted: int) -> float:
        """Δ by counts."""
        return 1.0 - 2.0 * n_correct / max(n_gold + n_predicted, 1)


BRACKET_LOSSES: Mapping[str, Callable[[], Loss]] = {
    "zero_one": ZeroOne,
    "brackets": Brackets,
    "f1": BracketF1,
}


def bracket_loss(cost: Any) -> Loss:
    """The loss that a grammar's `cost` stands for: a name or a loss of trees."""
    if isinstance(cost, ZeroOne | Brackets | BracketF1):
        return cost
    return loss_named(cost, BRACKET_LOSSES, "")
