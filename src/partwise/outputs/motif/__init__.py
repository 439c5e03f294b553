"""Classes of sequences by a hidden motif."""
