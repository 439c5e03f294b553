"""Clusterings: by spanning forests, whose links are hidden, or by all pairs."""

from partwise.structures.clustering.items import Items as Items
from partwise.structures.clustering.structure import Clustering as Clustering
from partwise.structures.clustering.structure import (
    CorrelationClustering as CorrelationClustering,
)
from partwise.structures.clustering.structure import Forest as Forest
from partwise.structures.clustering.structure import Partition as Partition
