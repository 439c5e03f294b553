"""Labels of the nodes of graphs and grids."""

from partwise.features.graphs import GraphInput as GraphInput
from partwise.features.graphs import grid_graph as grid_graph
from partwise.structures.graph.structure import Graph as Graph
