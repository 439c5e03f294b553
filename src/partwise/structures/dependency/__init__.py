"""Dependency trees."""

from partwise.structures.dependency.structure import Arborescence

__all__ = ["Arborescence"]
