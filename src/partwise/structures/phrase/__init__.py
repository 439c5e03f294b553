"""Phrase-structure trees."""

from partwise.structures.phrase.structure import Grammar

__all__ = ["Grammar"]
