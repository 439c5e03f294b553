"""Partitions of items, learned from examples."""
