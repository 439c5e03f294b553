"""Label vectors: binary labels of all rows at once, judged by F1, ROC area and others."""

from partwise.structures.label_vector.structure import LabelVector

__all__ = ["LabelVector"]
