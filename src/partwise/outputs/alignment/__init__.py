"""Alignments of two sequences, and which of several candidates is the homologue."""
