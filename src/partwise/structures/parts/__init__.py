"""Sets of parts, with a search of the user's."""

from partwise.structures.parts.loss import PartLoss
from partwise.structures.parts.selection import PartSelection

__all__ = ["PartLoss", "PartSelection"]
