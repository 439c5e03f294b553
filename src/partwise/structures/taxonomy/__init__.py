"""Classes in a tree or lattice, one or several per example."""

from partwise.structures.taxonomy.node_sets import NodeSets as NodeSets
from partwise.structures.taxonomy.structure import Taxonomy as Taxonomy
