"""Label sequences."""

from partwise.structures.chain.structure import Chain

__all__ = ["Chain"]
