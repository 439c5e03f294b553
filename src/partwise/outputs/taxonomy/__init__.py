"""Classes in a tree or lattice."""
