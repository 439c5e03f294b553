"""Sets of labels, with scores of single labels and of pairs."""

from partwise.structures.multilabel.structure import Multilabel as Multilabel
