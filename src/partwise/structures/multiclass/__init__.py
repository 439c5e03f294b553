"""One of K classes: the structure of multiclass classification."""

from partwise.structures.multiclass.structure import Multiclass

__all__ = ["Multiclass"]
