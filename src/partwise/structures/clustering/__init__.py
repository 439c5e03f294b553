"""Clusterings by spanning forests, whose links are hidden."""

from partwise.structures.clustering.structure import Clustering as Clustering
from partwise.structures.clustering.structure import Forest as Forest
from partwise.structures.clustering.structure import Items as Items
