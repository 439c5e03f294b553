"""What all losses have in common: a value, and the search that they need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import Parameters

# How the most violated output is found; kernels use the same numbers.
ADDITIVE = 0  # the best output after adding the loss to the scores of parts
TWO_BEST = 1  # one of the two best outputs: all wrong outputs cost the same
FRONTIER = 2  # the best output of every value of the loss
PLAIN = 3  # the best output, without a loss: prediction


class Loss(Parameters, ABC):
    """Δ(y, ŷ): what it costs to predict ŷ where y is true.

    Requires
        Δ(y, y) = 0 and Δ(y, ŷ) ≥ 0.

    Attributes
    ----------
    search : int
        What margin rescaling with an L1 penalty needs: `ADDITIVE` where the loss is a
        sum over parts, `TWO_BEST` where it is 1 for every wrong output, else
        `FRONTIER`.
    """

    name: ClassVar[str] = ""  # in model files
    search: ClassVar[int] = ADDITIVE

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ), in plain Python."""

    def search_under(self, formulation: Formulation) -> int:
        """The search that this loss needs under a formulation."""
        if self.search == TWO_BEST or formulation.rescaling == "hard":
            return TWO_BEST
        return self.search if formulation.is_additive else FRONTIER

    def saved(self) -> Any:
        """The loss in a model file: a name, a number or an array."""
        if not self.name:
            raise SettingsError(
                f"<cost={self!r}>: a model file keeps losses by their names and "
                "numbers, and this one has none; set cost to one that has before saving"
            )
        return self.name


Kind = TypeVar("Kind", bound=Loss)


def loss_named(cost: Any, losses: Mapping[str, Callable[[], Kind]], rest: str) -> Kind:
    """The loss of a name.

    Parameters
    ----------
    cost : str
    losses : mapping of names to losses
    rest : str
        What else a user may give, for the error message.

    Examples
    --------
    >>> from partwise.structures.losses import TOKEN_LOSSES
    >>> loss_named("hamming", TOKEN_LOSSES, "")
    Hamming()
    """
    if not isinstance(cost, str) or cost not in losses:
        raise SettingsError(f"<cost={cost!r}>: choose {', '.join(losses)}{rest}")
    return losses[cost]()
