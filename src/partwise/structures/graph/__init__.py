"""Labels of the nodes of graphs and grids."""

from partwise.structures.graph.inputs import GraphInput as GraphInput
from partwise.structures.graph.inputs import grid_graph as grid_graph
from partwise.structures.graph.structure import Graph as Graph
