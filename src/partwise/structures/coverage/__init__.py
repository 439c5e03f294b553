"""Subsets that cover as much as possible."""

from partwise.structures.coverage.structure import Coverage as Coverage
