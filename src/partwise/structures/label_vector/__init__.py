"""Label vectors: binary labels of all rows at once, judged by one measure."""

from partwise.structures.label_vector.structure import LabelVector

__all__ = ["LabelVector"]
