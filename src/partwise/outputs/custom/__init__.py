"""Outputs of a user's own structure."""
