"""Labels of the nodes of graphs and grids."""
