"""Outputs of a user's own structure with hidden parts."""
