"""Losses Δ(y, ŷ) as objects: what counts as an error, and how much.

A structure has the loss as its parameter `cost`: a name, the numbers of a loss
(a matrix, a share), or an object of this package. A new loss is a class in a file of
its own; nothing else changes.
"""

from partwise.structures.losses.arcs import ARC_LOSSES, ArcLoss
from partwise.structures.losses.base import (
    ADDITIVE,
    FRONTIER,
    PLAIN,
    TWO_BEST,
    Loss,
    loss_named,
)
from partwise.structures.losses.brackets import (
    BRACKET_LOSSES,
    BracketF1,
    Bracketing,
    BracketLoss,
    Brackets,
)
from partwise.structures.losses.tokens import (
    TOKEN_LOSSES,
    CostMatrix,
    Hamming,
    NormalizedHamming,
    TokenCosts,
    TokenLoss,
    ZeroOne,
)

__all__ = [
    "ADDITIVE", "ARC_LOSSES", "BRACKET_LOSSES", "FRONTIER", "PLAIN", "TOKEN_LOSSES",
    "TWO_BEST", "ArcLoss", "BracketF1", "BracketLoss", "Bracketing", "Brackets",
    "CostMatrix", "Hamming", "Loss", "NormalizedHamming", "TokenCosts", "TokenLoss",
    "ZeroOne", "loss_named",
]  # fmt: skip
