"""Alignments of two sequences: `Alignment`."""

from partwise.structures.alignment.structure import Alignment

__all__ = ["Alignment"]
